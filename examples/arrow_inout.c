/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow in and out. A table with nulls and texts goes in as slices, without a
 * copy; batches that point into the receive ring come out. Every other one is
 * detached and kept; the rest goes to another thread, which releases it.
 *
 *   table --slices--> writer ~~~> reader --+--> kept[] (detached)
 *                                          +--> pipe --> releaser thread
 *
 * One node sends to itself here: rows take the same rings as between nodes.
 * An ArrowArray may be moved by copying its bytes, as the pipe does.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weir/weir.h>

enum { ROWS = 40000, SLICE = 1000, TEXT_BYTES = 16 };

static struct {
    int64_t amount[ROWS]; /* the row's number; null in every third row */
    uint8_t valid[ROWS / 8];
    int32_t start[ROWS + 1]; /* text of row i: bytes start[i] .. start[i+1] */
    char text[ROWS * TEXT_BYTES]; /* the row's number as text */
} table;

static int times[ROWS]; /* how often each row came */
static int hand_over[2];
static struct ArrowArray kept[ROWS];
static int n_kept;
static struct weir_error why;

static int ok(weir_err rc, const char *what)
{
    if (rc < 0) {
        errx(1, "%s: %s: %s", what, weir_err_name(rc), why.message);
    }
    return rc == WEIR_OK;
}

static void fill_table(void)
{
    for (int i = 0; i < ROWS; i++) {
        int len = snprintf(table.text + table.start[i], TEXT_BYTES, "%d", i);
        table.start[i + 1] = table.start[i] + len;
        table.amount[i] = i;
        table.valid[i / 8] |= (uint8_t)((i % 3 != 0) << i % 8);
    }
}

/* Compare each row with the table. Batches of Weir begin at offset 0. */
static void check(const struct ArrowArray *batch)
{
    const int32_t *start = batch->children[0]->buffers[1];
    const char *text = batch->children[0]->buffers[2];
    const uint8_t *valid = batch->children[1]->buffers[0]; /* NULL: all valid */
    const int64_t *amount = batch->children[1]->buffers[1];
    for (int64_t i = 0; i < batch->length; i++) {
        char word[TEXT_BYTES] = "";
        (void)memcpy(word, text + start[i], (size_t)(start[i + 1] - start[i]));
        int row = atoi(word);
        int is_valid = valid == NULL || (valid[i / 8] >> i % 8 & 1) != 0;
        if (is_valid != (row % 3 != 0) || (is_valid && amount[i] != row)) {
            errx(1, "row %d is damaged", row);
        }
        __atomic_fetch_add(&times[row], 1, __ATOMIC_RELAXED);
    }
}

static void *release_batches(void *arg)
{
    struct ArrowArray batch;
    while (read(hand_over[0], &batch, sizeof(batch)) == sizeof(batch)) {
        check(&batch);
        batch.release(&batch); /* ring space goes back, from this thread */
    }
    return arg;
}

/* Take what is there: keep every other batch, hand on the rest. */
static int take(weir_reader *reader)
{
    static int n;
    struct ArrowArray batch;
    weir_err rc;
    while ((rc = weir_reader_next(reader, &batch)) == WEIR_OK) {
        if (n++ % 2 == 0) { /* to keep it, make it ordinary memory */
            ok(weir_batch_detach(&batch), "detach");
            kept[n_kept++] = batch;
        } else if (write(hand_over[1], &batch, sizeof(batch)) < 0) {
            err(1, "hand over");
        }
    }
    ok(rc, "next");
    return rc == WEIR_DONE;
}

static void borrowed(struct ArrowArray *array)
{
    array->release = NULL; /* the table stays */
}

/* Push the table in slices; `offset` of a struct applies to all columns. */
static void run(weir_node *node, weir_writer *writer, weir_reader *reader)
{
    const void *no_nulls[] = {NULL};
    const void *texts[] = {NULL, table.start, table.text};
    const void *amounts[] = {table.valid, table.amount};
    struct ArrowArray text = {
        .length = ROWS, .n_buffers = 3, .buffers = texts, .release = borrowed};
    struct ArrowArray amount = {.length = ROWS,
                                .null_count = -1, /* unknown */
                                .n_buffers = 2,
                                .buffers = amounts,
                                .release = borrowed};
    struct ArrowArray *columns[] = {&text, &amount};
    struct ArrowArray slice = {.length = SLICE,
                               .n_buffers = 1,
                               .buffers = no_nulls,
                               .n_children = 2,
                               .children = columns,
                               .release = borrowed};
    int finished = 0, drained = 0;
    while (!finished || !drained) { /* try everything, then wait */
        drained = drained || take(reader);
        while (slice.offset < ROWS &&
               ok(weir_writer_push(writer, &slice), "push")) {
            slice.offset += SLICE;
        }
        finished = finished || (slice.offset == ROWS &&
                                ok(weir_writer_finish(writer), "end"));
        if (!finished || !drained) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
        }
    }
}

int main(void)
{
    static const struct weir_field fields[] = {{"text", "u", 0},
                                               {"amount", "l", 1}};
    struct weir_node_params n = {.transport = "shm"};
    struct weir_query_params q = {.id = 1};
    struct ArrowSchema schema;
    struct weir_shuffle_params s = {
        .id = 1, .schema = &schema, .partitioning = WEIR_GATHER};
    weir_node *node;
    weir_query *query;
    weir_shuffle *shuffle;
    weir_writer *writer;
    weir_reader *reader;
    fill_table();
    ok(weir_schema_build(fields, 2, &schema, &why), "schema");
    ok(weir_node_open(&n, &node, &why), "open");
    struct weir_member self = {weir_node_name(node), weir_node_address(node),
                               1};
    ok(weir_node_join(node, &self, 1, &why), "join");
    ok(weir_query_open(node, &q, &query, &why), "query");
    ok(weir_shuffle_open(query, &s, &shuffle, &why), "shuffle");
    ok(weir_writer_open(shuffle, 0, &writer, &why), "writer");
    ok(weir_reader_open(shuffle, 0, &reader, &why), "reader");
    schema.release(&schema);

    pthread_t releaser;
    if (pipe(hand_over) != 0 ||
        pthread_create(&releaser, NULL, release_batches, NULL) != 0) {
        errx(1, "no pipe or thread");
    }
    run(node, writer, reader);
    weir_query_close(query); /* batches may be released later */
    (void)close(hand_over[1]);
    (void)pthread_join(releaser, NULL);
    weir_node_close(node); /* only detached ones outlive it */
    for (int i = 0; i < n_kept; i++) {
        check(&kept[i]);
        kept[i].release(&kept[i]);
    }
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        wrong += times[i] != 1;
    }
    (void)printf("%d rows, %d not received exactly once\n", ROWS, wrong);
    return wrong != 0 || n_kept == 0;
}
