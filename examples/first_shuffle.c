/* SPDX-License-Identifier: Apache-2.0 */
/* A first shuffle: node 0 sends every number twice, nodes 1 and 2 receive them,
 * and equal ones meet. Nodes are threads here; they may be processes anywhere. */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <weir/weir.h>

enum { NODES = 3, NUMBERS = 51200 };
static weir_node *nodes[NODES];
static unsigned char seen[NODES][NUMBERS]; /* [node][number]: how often */
static struct weir_error why;

static void check(weir_err rc)
{
    if (rc < 0) { /* positive codes are not errors */
        errx(1, "%s: %s", weir_err_name(rc), why.message);
    }
}

static void send_all(weir_shuffle *shuffle, const struct ArrowSchema *schema)
{
    weir_writer *writer;
    weir_row_writer *rows;
    check(weir_writer_open(shuffle, 0, &writer, &why));
    check(weir_row_writer_open(writer, schema, NUMBERS, &rows, &why));
    for (int64_t i = 0; i < 2 * NUMBERS; i++) {
        check(weir_row_set_int64(rows, 0, i % NUMBERS));
        check(weir_row_end_wait(rows)); /* every NUMBERS rows are pushed */
    }
    weir_row_writer_close(rows);
    check(weir_writer_finish_wait(writer));
}

static void receive_all(weir_shuffle *shuffle, unsigned char *count)
{
    weir_reader *reader;
    struct ArrowArray batch;
    check(weir_reader_open(shuffle, 0, &reader, &why));
    weir_err rc;
    while ((rc = weir_reader_next_wait(reader, &batch)) == WEIR_OK) {
        const int64_t *numbers = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++) {
            count[numbers[i]]++;
        }
        batch.release(&batch); /* its room goes back to the sender */
    }
    check(rc); /* WEIR_DONE: all came, each row once */
}

/* Every node opens the same query with the same shuffle. */
static void *run(void *arg)
{
    const uint32_t self = (uint32_t)((weir_node **)arg - nodes);
    const uint32_t sender = 0, receivers[] = {1, 2};
    const char *const key = "number";
    const struct weir_field column = {key, "l", 0}; /* int64, no nulls */
    const struct weir_query_params q = {.id = 1};
    struct ArrowSchema schema;
    check(weir_schema_build(&column, 1, &schema, &why));
    struct weir_shuffle_params p = {.schema = &schema, .keys = &key};
    p.n_keys = 1, p.producers = &sender, p.n_producers = 1;
    p.consumers = receivers, p.n_consumers = 2; /* by hash: the default */
    weir_query *query;
    weir_shuffle *shuffle;
    check(weir_query_open(nodes[self], &q, &query, &why));
    check(weir_shuffle_open(query, &p, &shuffle, &why));
    self == 0 ? send_all(shuffle, &schema) : receive_all(shuffle, seen[self]);
    weir_query_close(query); /* with its writer or reader */
    schema.release(&schema);
    weir_node_close(nodes[self]); /* waits until what was sent is taken */
    return NULL;
}

int main(void)
{
    struct weir_member members[NODES];
    pthread_t threads[NODES];
    char names[NODES][32];
    for (int i = 0; i < NODES; i++) {
        snprintf(names[i], sizeof(names[i]), "first-%d-%d", (int)getpid(), i);
        const struct weir_node_params params = {.name = names[i]};
        check(weir_node_open(&params, &nodes[i], &why));
        members[i].name = names[i], members[i].workers = 1;
        members[i].address = weir_node_address(nodes[i]);
    }
    for (int i = 0; i < NODES; i++) {
        check(weir_node_join(nodes[i], members, NODES, &why));
        pthread_create(&threads[i], NULL, run, &nodes[i]);
    }
    for (int i = 0; i < NODES; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < NUMBERS; i++) {
        if (seen[1][i] + seen[2][i] != 2 || seen[1][i] == 1) {
            errx(1, "%d came %d and %d times", i, seen[1][i], seen[2][i]);
        }
    }
}
