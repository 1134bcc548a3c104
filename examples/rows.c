/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows one at a time, for engines that do not think in columns.
 *
 * One node, two workers, each in its own thread. Both make rows of all keys
 * (key, price, text); the hash sends all rows of a key to one of the two,
 * which adds them up. One text in 1000 is larger than a frame: rows of any
 * size travel.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <weir/weir.h>

enum { WORKERS = 2, ROWS = 20000, KEYS = 100, LONG_BYTES = 50000 };
enum { KEY, PRICE, TEXT, COLUMNS };

static const struct weir_field fields[COLUMNS] = {
    {"key", "i", 0}, {"price", "g", 1}, {"text", "u", 0}};
static struct ArrowSchema schema;
static weir_node *node;
static weir_query *query;
static weir_shuffle *shuffle;

struct worker {
    uint32_t number;
    int64_t rows[KEYS], nulls[KEYS], bytes[KEYS];
    double price[KEYS];
};

static int ok(weir_err rc, const char *what)
{
    if (rc < 0) {
        struct weir_error why = {.message = ""};
        (void)weir_query_status(query, &why);
        errx(1, "%s: %s %s", what, weir_err_name(rc), why.message);
    }
    return rc == WEIR_OK;
}

/* Row i: every fifth has no price. */
static int write_row(weir_row_writer *rw, int i)
{
    static const char text[LONG_BYTES] = "";
    ok(weir_row_set_int64(rw, KEY, i % KEYS), "key");
    if (i % 5 != 0) { /* what is not set is null */
        ok(weir_row_set_double(rw, PRICE, 0.5), "price");
    }
    ok(weir_row_set_bytes(rw, TEXT, text, i % 1000 == 0 ? LONG_BYTES : 8),
       "text");
    return ok(weir_row_end(rw), "end of row");
}

/* Take what is there. True: nothing more will come. */
static int take(struct worker *w, weir_reader *reader)
{
    struct ArrowArray batch;
    weir_err rc;
    while ((rc = weir_reader_next(reader, &batch)) == WEIR_OK) {
        struct weir_row_cursor row = weir_row_cursor_at(&batch, &schema);
        while (weir_row_next(&row)) {
            int64_t key = weir_row_int64(&row, KEY);
            uint64_t len;
            (void)weir_row_bytes(&row, TEXT, &len); /* points into the batch */
            w->bytes[key] += (int64_t)len;
            w->rows[key]++;
            if (weir_row_is_null(&row, PRICE)) {
                w->nulls[key]++;
            } else {
                w->price[key] += weir_row_double(&row, PRICE);
            }
        }
        batch.release(&batch);
    }
    ok(rc, "next");
    return rc == WEIR_DONE;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    weir_writer *writer;
    weir_reader *reader;
    weir_row_writer *rw;
    ok(weir_writer_open(shuffle, w->number, &writer, NULL), "writer");
    ok(weir_reader_open(shuffle, w->number, &reader, NULL), "reader");
    ok(weir_row_writer_open(writer, &schema, 0, &rw, NULL), "row writer");
    int written = 0, flushed = 0, finished = 0, drained = 0;
    while (!finished || !drained) { /* try everything, then wait */
        drained = drained || take(w, reader);
        flushed = flushed || ok(weir_row_writer_flush(rw), "flush");
        while (flushed && written < ROWS) { /* else: rings are full, later */
            flushed = write_row(rw, written++) &&
                      (written < ROWS || ok(weir_row_writer_flush(rw), "last"));
        }
        finished =
            finished || (flushed && ok(weir_writer_finish(writer), "end"));
        if (!finished || !drained) {
            (void)weir_worker_wait(node, w->number, WEIR_FOREVER);
        }
    }
    weir_row_writer_close(rw);
    return NULL;
}

int main(void)
{
    struct weir_error why;
    struct weir_node_params n = {.workers = WORKERS};
    struct weir_query_params q = {.id = 1};
    struct weir_shuffle_params s = {.id = 1,
                                    .schema = &schema,
                                    .partitioning = WEIR_HASH,
                                    .keys = &fields[KEY].name,
                                    .n_keys = 1};
    if (weir_schema_build(fields, COLUMNS, &schema, &why) != WEIR_OK ||
        weir_node_open(&n, &node, &why) != WEIR_OK) {
        errx(1, "%s", why.message);
    }
    struct weir_member self = {weir_node_name(node), weir_node_address(node),
                               WORKERS};
    if (weir_node_join(node, &self, 1, &why) != WEIR_OK ||
        weir_query_open(node, &q, &query, &why) != WEIR_OK ||
        weir_shuffle_open(query, &s, &shuffle, &why) != WEIR_OK) {
        errx(1, "%s", why.message);
    }
    static struct worker workers[WORKERS] = {{.number = 0}, {.number = 1}};
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, &workers[1]) != 0) {
        errx(1, "no thread");
    }
    (void)work(&workers[0]);
    (void)pthread_join(thread, NULL);
    weir_query_close(query);
    weir_node_close(node);
    schema.release(&schema);

    int wrong = 0, each = WORKERS * ROWS / KEYS; /* rows of a key */
    for (int k = 0; k < KEYS; k++) {
        const struct worker *w =
            &workers[workers[1].rows[k] > 0]; /* its owner */
        int64_t nulls = k % 5 == 0 ? each : 0;
        int64_t bytes =
            each * 8 + (k == 0 ? WORKERS * ROWS / 1000 * (LONG_BYTES - 8) : 0);
        wrong += workers[0].rows[k] > 0 && workers[1].rows[k] > 0;
        wrong += w->rows[k] != each || w->nulls[k] != nulls ||
                 w->bytes[k] != bytes ||
                 w->price[k] * 2 != (double)(each - nulls);
    }
    (void)printf("%d rows of %d keys, %d keys wrong\n", WORKERS * ROWS, KEYS,
                 wrong);
    return wrong != 0;
}
