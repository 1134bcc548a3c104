/* SPDX-License-Identifier: Apache-2.0 */
/* A first shuffle: three processes have the same numbers each, and exchange
 * them so that equal ones meet in one process. */
#include <err.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/weir.h>

enum { NODES = 3, NUMBERS = 50000 };
static int came[NUMBERS]; /* how often each number came here */
static weir_row_writer *rows;
static struct weir_error why;

static void check(weir_err rc)
{
    if (rc < 0) { /* positive codes are not errors */
        if (why.code != rc) {
            weir_row_writer_error(rows, &why); /* of calls without `err` */
        }
        errx(1, "%s: %s", weir_err_name(rc), why.message);
    }
}

static weir_err send_step(void *writer)
{
    weir_err rc = weir_row_writer_flush(rows);
    rc = rc == WEIR_OK ? weir_writer_finish(writer) : rc;
    return rc == WEIR_OK ? WEIR_DONE : rc; /* WEIR_AGAIN: no room, try later */
}

static weir_err receive_step(void *reader)
{
    struct ArrowArray batch;
    weir_err rc = weir_reader_next(reader, &batch);
    if (rc == WEIR_OK) {
        const int64_t *numbers = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++) {
            came[numbers[i]]++;
        }
        batch.release(&batch); /* its room goes back to the sender */
    }
    return rc; /* WEIR_DONE: all came, each row once */
}

/* The same on every node: from all to all, by the hash of the number. */
static void shuffle_all(weir_node *node)
{
    const char *const key = "number";
    const struct weir_field column = {key, "l", 0}; /* int64, no nulls */
    const struct weir_query_params q = {.id = 1};
    struct weir_shuffle_params p = {.keys = &key, .n_keys = 1};
    struct ArrowSchema schema;
    weir_query *query;
    weir_shuffle *shuffle;
    weir_writer *writer;
    weir_reader *reader;
    check(weir_schema_build(&column, 1, &schema, &why));
    p.schema = &schema;
    check(weir_query_open(node, &q, &query, &why));
    check(weir_shuffle_open(query, &p, &shuffle, &why));
    check(weir_writer_open(shuffle, 0, &writer, &why));
    check(weir_reader_open(shuffle, 0, &reader, &why));
    check(weir_row_writer_open(writer, &schema, NUMBERS + 1, &rows, &why));
    for (int i = 0; i < NUMBERS; i++) {
        check(weir_row_set_int64(rows, 0, i));
        check(weir_row_end(rows));
    }
    struct weir_step steps[] = {{receive_step, reader}, {send_step, writer}};
    check(weir_worker_run(node, 0, steps, 2, WEIR_FOREVER));
    weir_row_writer_close(rows);
    weir_query_close(query); /* with its writer and reader */
    schema.release(&schema);
}

int main(void)
{
    char seed[64]; /* where the first node listens; the others ask there */
    int self = 0, status = 0, wrong = 0;
    snprintf(seed, sizeof(seed), "shm:first-shuffle-%d", (int)getpid());
    while (self < NODES - 1 && fork() == 0) {
        self++; /* each forks the next; nodes are opened after that */
    }
    const struct weir_node_params p = {.listen = self == 0 ? seed + 4 : NULL};
    const char *ask = self == 0 ? NULL : seed;
    weir_node *node;
    check(weir_node_open(&p, &node, &why));
    check(weir_node_join_seed(node, ask, NODES, 20000000000ull, &why));
    shuffle_all(node);
    weir_node_close(node); /* waits until what was sent is taken */
    for (int i = 0; i < NUMBERS; i++) {
        wrong |= came[i] != 0 && came[i] != NODES;
    }
    return wait(&status) < 0 ? wrong : wrong | (status != 0);
}
