/* SPDX-License-Identifier: Apache-2.0 */
/* A first shuffle: node 0 sends the numbers 0 .. 49999 twice, nodes 1 and 2
 * receive them, and equal numbers meet. The nodes are threads here; processes
 * on other machines would do the same. */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include <weir/weir.h>

enum { NODES = 3, NUMBERS = 50000 };

static weir_node *nodes[NODES];
static int64_t numbers[NUMBERS];
static unsigned char seen[NODES][NUMBERS]; /* [node][number]: how often */

static void check(weir_err rc, const struct weir_error *why)
{
    if (rc < 0) { /* positive codes are not errors */
        errx(1, "%s: %s", weir_err_name(rc), why->message);
    }
}

static void keep(struct ArrowArray *array)
{
    (void)array; /* the rows are ours, not Weir's to free */
}

static void send_all(weir_shuffle *shuffle, struct weir_error *why)
{
    const void *values[] = {NULL, numbers}, *none[] = {NULL};
    struct ArrowArray column = {NUMBERS, 0,    0,    2,    0,
                                values,  NULL, NULL, keep, NULL};
    struct ArrowArray *columns[] = {&column};
    const struct ArrowArray rows = {NUMBERS, 0,       0,    1,    1,
                                    none,    columns, NULL, keep, NULL};
    weir_writer *writer;
    check(weir_writer_open(shuffle, 0, &writer, why), why);
    check(weir_writer_push_wait(writer, &rows), why);
    check(weir_writer_push_wait(writer, &rows), why);
    check(weir_writer_finish_wait(writer), why);
}

static void receive_all(weir_shuffle *shuffle, const struct ArrowSchema *schema,
                        unsigned char *count, struct weir_error *why)
{
    weir_reader *reader;
    struct ArrowArray batch;
    weir_err rc;
    check(weir_reader_open(shuffle, 0, &reader, why), why);
    while ((rc = weir_reader_next_wait(reader, &batch)) == WEIR_OK) {
        struct weir_row_cursor row = weir_row_cursor_at(&batch, schema);
        while (weir_row_next(&row)) {
            count[weir_row_int64(&row, 0)]++;
        }
        batch.release(&batch); /* its room goes back to the sender */
    }
    check(rc, why); /* WEIR_DONE: all came, each row once */
}

/* Every node opens the same query with the same shuffle. */
static void *run(void *arg)
{
    weir_node *node = *(weir_node **)arg;
    const uint32_t self = weir_node_self(node);
    const uint32_t sender = 0, receivers[] = {1, 2};
    const char *const keys[] = {"number"};
    const struct weir_field column = {.name = "number", .format = "l"};
    const struct weir_query_params query_params = {.id = 1};
    struct weir_shuffle_params params = {.id = 1,
                                         .partitioning = WEIR_HASH,
                                         .keys = keys,
                                         .n_keys = 1,
                                         .producers = &sender,
                                         .n_producers = 1,
                                         .consumers = receivers,
                                         .n_consumers = 2};
    struct weir_error why = {.message = "see weir_query_status"};
    struct ArrowSchema schema;
    weir_query *query;
    weir_shuffle *shuffle;
    check(weir_schema_build(&column, 1, &schema, &why), &why);
    params.schema = &schema;
    check(weir_query_open(node, &query_params, &query, &why), &why);
    check(weir_shuffle_open(query, &params, &shuffle, &why), &why);
    if (self == sender) {
        send_all(shuffle, &why);
    } else {
        receive_all(shuffle, &schema, seen[self], &why);
    }
    weir_query_close(query); /* with its writer or reader */
    schema.release(&schema);
    weir_node_close(node); /* waits until what was sent is taken */
    return NULL;
}

int main(void)
{
    struct weir_member members[NODES];
    struct weir_error why;
    pthread_t threads[NODES];
    char names[NODES][32];
    for (int64_t i = 0; i < NUMBERS; i++) {
        numbers[i] = i;
    }
    for (int i = 0; i < NODES; i++) {
        snprintf(names[i], sizeof(names[i]), "first-%d-%d", (int)getpid(), i);
        const struct weir_node_params params = {.name = names[i]};
        check(weir_node_open(&params, &nodes[i], &why), &why);
        members[i] =
            (struct weir_member){names[i], weir_node_address(nodes[i]), 1};
    }
    for (int i = 0; i < NODES; i++) {
        check(weir_node_join(nodes[i], members, NODES, &why), &why);
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
    printf("%d numbers, equal ones met\n", NUMBERS);
}
