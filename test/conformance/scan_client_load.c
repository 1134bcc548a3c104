/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of scan servers: rows the other way, and shared scans. */
#include <errno.h>
#include <stdlib.h>

#include "test/conformance/scan_client.h"

/* Rows of a client: numbers that count up, then their end or an error. */
struct source {
    uint32_t batches;
    uint32_t rows;
    int64_t at;
    bool fails;
    int *released;
};

static int source_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    (void)s;
    wt_scan_engine_schema(out);
    return 0;
}

static int source_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct source *source = s->private_data;
    out->release = NULL;
    if (source->batches == 0) {
        return source->fails ? EIO : 0;
    }
    source->batches--;
    wt_scan_engine_batch(source->at, source->rows, out);
    source->at += source->rows;
    return 0;
}

static const char *source_error(struct ArrowArrayStream *s)
{
    (void)s;
    return "the well is dry";
}

static void source_release(struct ArrowArrayStream *s)
{
    struct source *source = s->private_data;
    ++*source->released;
    s->release = NULL;
}

static void source_stream(struct source *source, struct ArrowArrayStream *out)
{
    *out = (struct ArrowArrayStream){source_schema, source_next, source_error,
                                     source_release, source};
}

static weir_err send(weir_scan_client *c, const char *text,
                     struct source source, struct ArrowArrayStream *stream_out,
                     int64_t *rows_out, struct weir_error *err)
{
    int released = 0;
    struct ArrowArrayStream bind;
    source.released = &released;
    source_stream(&source, &bind);
    const struct weir_scan_request r = {.kind = WEIR_SCAN_INGEST,
                                        .dataset = "raw",
                                        .text = text,
                                        .bind = &bind};
    weir_err code = weir_scan_open(c, &r, stream_out, rows_out, err);
    cr_assert_eq(released, 1, "whatever comes of it");
    return code;
}

void wt_scan_client_rows_are_taken_in(const struct wt_place *place)
{
    static const uint32_t sizes[][2] = {{0, 0},   {1, 0},     {1, 1},
                                        {50, 10}, {30, 9000}, {2, 700000}};
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    int64_t total = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct source source = {.batches = sizes[i][0],
                                      .rows = sizes[i][1]};
        struct weir_error err;
        int64_t rows = -1;
        total += (int64_t)sizes[i][0] * sizes[i][1];
        cr_assert_eq(send(c, "take", source, NULL, &rows, &err), WEIR_OK, "%s",
                     err.message);
        cr_assert_eq(rows, total, "%u", sizes[i][0]);
    }
    wt_pull_close(s, c);
}

/* The engine reads bind in the stream that it has opened. Each batch comes back
 * before the next one is wanted, and the program reads none before all are. */
void wt_scan_client_rows_come_back(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    const struct source source = {.batches = 40, .rows = 20000};
    struct ArrowArrayStream stream;
    struct weir_error err;
    cr_assert_eq(send(c, "echo", source, &stream, NULL, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(wt_pull_all(&stream), 800000);
    wt_pull_close(s, c);
}

static bool has_no_readers(const struct weir_scan_stats *stats)
{
    return stats->readers == 0;
}

void wt_scan_client_rows_that_fail_are_told(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    const struct source bad = {.batches = 3, .rows = 10, .fails = true};
    const struct source good = {.batches = 3, .rows = 10};
    struct weir_error err;
    int64_t rows = 0;
    cr_assert_eq(send(c, "take", bad, NULL, NULL, &err), WEIR_ERR_DATA);
    cr_assert_str_eq(err.message, "the well is dry");
    cr_assert_str_eq(weir_scan_last_fault(c)->text, "the well is dry");
    cr_assert(wt_scan_until(s, has_no_readers)); /* the engine has come back */
    cr_assert_neq(s->engine.took_status, 0);
    /* The engine fails, and takes no more of them. */
    cr_assert_eq(send(c, "fail 2000", good, NULL, NULL, &err),
                 WEIR_ERR_QUERY_DATA);
    cr_assert_eq(strlen(weir_scan_last_fault(c)->text), 2000);
    cr_assert_eq(send(c, "take", good, NULL, &rows, &err), WEIR_OK);
    wt_pull_close(s, c);
}

/* ---- shared -------------------------------------------------------------- */

/* Two clients on two nodes; each batch goes to one of them. */
void wt_scan_client_ranges_are_shared(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 3, NULL);
    weir_scan_client *c[2] = {wt_pull_open(s, 0, NULL),
                              wt_pull_open(s, 2, NULL)};
    const struct weir_scan_request r = {.dataset = "raw",
                                        .text = "numbers 100 10000"};
    struct ArrowArrayStream stream[2];
    struct ArrowSchema schema;
    struct weir_scan_id id;
    struct weir_error err;
    int64_t rows = 0, sum = 0;
    cr_assert_eq(weir_scan_share(c[0], &r, 2, &id, &schema, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_str_eq(schema.children[0]->format, "l");
    schema.release(&schema);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(weir_scan_open_range(c[i], &id, i, &stream[i], &err),
                     WEIR_OK, "%s", err.message);
        if (i == 0) { /* the last one makes the scan nobody's to open */
            struct ArrowArrayStream again;
            cr_assert_eq(weir_scan_open_range(c[1], &id, 0, &again, &err),
                         WEIR_ERR_STATE, "%s", err.message);
            cr_assert_eq(weir_scan_open_range(c[1], &id, 2, &again, &err),
                         WEIR_ERR_ARG, "%s", err.message);
        }
    }
    for (uint32_t left = 2, i = 0; left > 0; i = 1 - i) {
        if (stream[i].release == NULL) {
            continue;
        }
        struct ArrowArray batch = wt_pull_next(&stream[i]);
        if (batch.release == NULL) {
            stream[i].release(&stream[i]);
            left--;
            continue;
        }
        const int64_t *values = batch.children[0]->buffers[1];
        for (int64_t k = 0; k < batch.length; k++) {
            sum += values[k];
        }
        rows += batch.length;
        batch.release(&batch);
    }
    cr_assert_eq(rows, 1000000);
    cr_assert_eq(sum, (int64_t)1000000 * 999999 / 2);
    weir_scan_disconnect(c[1]);
    wt_pull_close(s, c[0]);
}
