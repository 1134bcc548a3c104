/* SPDX-License-Identifier: Apache-2.0 */
/* A first shuffle: two nodes, here in one process with a thread each. Both send
 * the numbers 0..49999; equal numbers meet on one node, whoever sent them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/weir.h>

enum { NODES = 2, NUMBERS = 50000 };

static weir_node *nodes[NODES];
static unsigned char seen[NODES][NUMBERS]; /* [node][number]: how often */

static void check(weir_err rc, const struct weir_error *err)
{
    if (rc != WEIR_OK) {
        fprintf(stderr, "%s: %s\n", weir_err_name(rc), err->message);
        exit(1);
    }
}

static void keep(struct ArrowArray *array)
{
    (void)array; /* our batch lies on the stack */
}

static void *run_node(void *arg)
{
    const int self = *(const int *)arg;
    struct weir_error err = {0};

    /* Every node opens the same query and the same shuffle. */
    const struct weir_query_params query_params = {.id = 1};
    weir_query *query;
    check(weir_query_open(nodes[self], &query_params, &query, &err), &err);
    const struct weir_field column = {.name = "number", .format = "l"};
    struct ArrowSchema schema;
    check(weir_schema_build(&column, 1, &schema, &err), &err);
    const char *const keys[] = {"number"};
    const struct weir_shuffle_params params = {.id = 1,
                                               .schema = &schema,
                                               .partitioning = WEIR_HASH,
                                               .keys = keys,
                                               .n_keys = 1};
    weir_shuffle *shuffle;
    weir_writer *writer;
    weir_reader *reader;
    check(weir_shuffle_open(query, &params, &shuffle, &err), &err);
    check(weir_writer_open(shuffle, 0, &writer, &err), &err);
    check(weir_reader_open(shuffle, 0, &reader, &err), &err);

    /* The rows, as Arrow has them: a struct of one int64 column. */
    static int64_t numbers[NODES][NUMBERS];
    for (int64_t i = 0; i < NUMBERS; i++) {
        numbers[self][i] = i;
    }
    const void *values[] = {NULL, numbers[self]}, *none[] = {NULL};
    struct ArrowArray child = {NUMBERS, 0,    0,    2,    0,
                               values,  NULL, NULL, keep, NULL};
    struct ArrowArray *children[] = {&child};
    const struct ArrowArray rows = {NUMBERS, 0,        0,    1,    1,
                                    none,    children, NULL, keep, NULL};

    /* Try all; wait when nothing moved. Taking never stops, so no ring stays
     * full for ever. */
    enum { PUSH, FINISH, SENT } step = PUSH;
    weir_err got = WEIR_OK;
    while (got != WEIR_DONE || step != SENT) {
        struct ArrowArray batch;
        weir_err put = step == PUSH     ? weir_writer_push(writer, &rows)
                       : step == FINISH ? weir_writer_finish(writer)
                                        : WEIR_AGAIN;
        step += put == WEIR_OK;
        got = weir_reader_next(reader, &batch); /* WEIR_DONE stays so */
        if (got == WEIR_OK) {
            const int64_t *number = batch.children[0]->buffers[1];
            for (int64_t i = 0; i < batch.length; i++) {
                seen[self][number[i]]++;
            }
            batch.release(&batch);
        }
        if (put < 0 || got < 0) {
            check(weir_query_status(query, &err), &err);
        }
        if (put == WEIR_AGAIN && got != WEIR_OK && step != SENT + 1) {
            weir_worker_wait(nodes[self], 0, WEIR_FOREVER);
        }
    }
    schema.release(&schema);
    weir_query_close(query);
    return NULL;
}
