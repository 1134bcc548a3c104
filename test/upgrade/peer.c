/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of three members of a cluster whose processes were built from different
 * versions of Weir. Made by run.sh with the headers and the library of each; so
 * only what the oldest of them has may be used here.
 *
 *   peer TRANSPORT CLUSTER SELF    prints "address A"; reads a line "A0 A1 A2";
 *                                  prints "rows N sum S", or "failed: why" and
 *                                  exits with 1
 *
 * Every member shuffles ROWS rows [number, its text] by the hash of the text,
 * and adds up what comes. A row whose text is not that of its number is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/weir.h>

enum { MEMBERS = 3, ROWS = 100000, BATCH = 1000, TEXT = 16, LINE = 512 };

static struct weir_error why;
static weir_query *query;

struct made {
    int64_t number[BATCH];
    int32_t start[BATCH + 1];
    char text[BATCH * TEXT];
};

static int ok(weir_err rc)
{
    if (rc < 0) {
        if (query != NULL) {
            (void)weir_query_status(query, &why);
        }
        (void)printf("failed: %s: %s\n", weir_err_name(rc), why.message);
        exit(EXIT_FAILURE);
    }
    return rc == WEIR_OK;
}

static weir_node *join(const char *transport, const char *cluster,
                       uint32_t self)
{
    static char line[LINE];
    static char name[MEMBERS][32];
    struct weir_member members[MEMBERS];
    for (uint32_t i = 0; i < MEMBERS; i++) {
        (void)snprintf(name[i], sizeof(name[i]), "%s-%u", cluster, i);
    }
    struct weir_node_params p = {.name = name[self], .transport = transport};
    weir_node *node = NULL;
    ok(weir_node_open(&p, &node, &why));
    (void)printf("address %s\n", weir_node_address(node));
    (void)fflush(stdout);
    if (fgets(line, sizeof(line), stdin) == NULL) {
        (void)printf("failed: no addresses\n");
        exit(EXIT_FAILURE);
    }
    char *rest = line;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct weir_member){.name = name[i], .workers = 1};
        members[i].address = strtok_r(rest, " \n", &rest);
    }
    ok(weir_node_join(node, members, MEMBERS, &why));
    return node;
}

/* Numbers first .. first + BATCH - 1. */
static void make(struct made *made, int64_t first)
{
    for (int i = 0; i < BATCH; i++) {
        made->number[i] = first + i;
        int len = snprintf(made->text + made->start[i], TEXT, "%" PRId64,
                           made->number[i]);
        made->start[i + 1] = made->start[i] + len;
    }
}

static void borrowed(struct ArrowArray *array)
{
    array->release = NULL;
}

static weir_err push(weir_writer *writer, const struct made *made)
{
    const void *numbers[] = {NULL, made->number};
    const void *texts[] = {NULL, made->start, made->text};
    struct ArrowArray column[] = {{.length = BATCH,
                                   .n_buffers = 2,
                                   .buffers = numbers,
                                   .release = borrowed},
                                  {.length = BATCH,
                                   .n_buffers = 3,
                                   .buffers = texts,
                                   .release = borrowed}};
    struct ArrowArray *columns[] = {&column[0], &column[1]};
    struct ArrowArray batch = {.length = BATCH,
                               .n_children = 2,
                               .n_buffers = 1,
                               .buffers = numbers,
                               .children = columns,
                               .release = borrowed};
    return weir_writer_push(writer, &batch);
}

struct came {
    uint64_t rows;
    uint64_t sum;
};

static int right(const struct ArrowArray *batch, int64_t row, int64_t *number)
{
    const int64_t *numbers = batch->children[0]->buffers[1];
    const int32_t *start = batch->children[1]->buffers[1];
    const char *texts = batch->children[1]->buffers[2];
    char text[TEXT + 1];
    *number = numbers[batch->children[0]->offset + row];
    start += batch->children[1]->offset + row;
    int len = snprintf(text, sizeof(text), "%" PRId64, *number);
    return len == start[1] - start[0] &&
           memcmp(text, texts + start[0], (size_t)len) == 0;
}

/* True: nothing more will come. */
static int take(weir_reader *reader, struct came *came)
{
    struct ArrowArray batch;
    weir_err rc;
    while ((rc = weir_reader_next(reader, &batch)) == WEIR_OK) {
        for (int64_t i = 0; i < batch.length; i++) {
            int64_t number = 0;
            if (!right(&batch, i, &number)) {
                (void)printf("failed: the text of %" PRId64 " is wrong\n",
                             number);
                exit(EXIT_FAILURE);
            }
            came->sum += (uint64_t)number;
        }
        came->rows += (uint64_t)batch.length;
        batch.release(&batch);
    }
    ok(rc);
    return rc == WEIR_DONE;
}

static void run(weir_node *node, weir_writer *writer, weir_reader *reader,
                int64_t first, struct came *came)
{
    int64_t next = first;
    int finished = 0;
    int drained = 0;
    struct made *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        ok(WEIR_ERR_NO_MEMORY);
    }
    make(made, next);
    while (!finished || !drained) {
        int moved = 0;
        drained = drained || take(reader, came);
        if (next < first + ROWS && ok(push(writer, made))) {
            next += BATCH;
            make(made, next);
            moved = 1;
        }
        finished = finished ||
                   (next == first + ROWS && ok(weir_writer_finish(writer)));
        if (!moved && (!finished || !drained)) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
        }
    }
    free(made);
}

static void shuffle(weir_node *node, int64_t first, struct came *came)
{
    const struct weir_field fields[] = {{"number", "l", 0}, {"text", "u", 0}};
    const char *const keys[] = {"text"};
    struct ArrowSchema schema;
    ok(weir_schema_build(fields, 2, &schema, &why));
    struct weir_query_params q = {.id = 1};
    struct weir_shuffle_params s = {.id = 1,
                                    .schema = &schema,
                                    .partitioning = WEIR_HASH,
                                    .keys = keys,
                                    .n_keys = 1};
    weir_shuffle *exchange = NULL;
    weir_writer *writer = NULL;
    weir_reader *reader = NULL;
    ok(weir_query_open(node, &q, &query, &why));
    ok(weir_shuffle_open(query, &s, &exchange, &why));
    ok(weir_writer_open(exchange, 0, &writer, &why));
    ok(weir_reader_open(exchange, 0, &reader, &why));
    schema.release(&schema);
    run(node, writer, reader, first, came);
    weir_query_close(query);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        return 2;
    }
    struct came came = {0};
    uint32_t self = (uint32_t)strtoul(argv[3], NULL, 10);
    weir_node *node = join(argv[1], argv[2], self);
    shuffle(node, (int64_t)self * ROWS, &came);
    (void)printf("rows %" PRIu64 " sum %" PRIu64 "\n", came.rows, came.sum);
    weir_node_close(node);
    return 0;
}
