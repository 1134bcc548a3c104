/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of ADBC drivers for tests. */
#include "test/unit/services/scan/engines.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <nanoarrow/nanoarrow.h>
#include <stdlib.h>

#ifndef WEIR_ADBC_SQLITE
#define WEIR_ADBC_SQLITE NULL
#endif
#ifndef WEIR_DUCKDB
#define WEIR_DUCKDB NULL
#endif

static const char *const drivers[WT_ENGINES] = {WEIR_ADBC_SQLITE, WEIR_DUCKDB};

/* SQLite's connections to ":memory:" would have a database each. */
static const struct weir_scan_option places[WT_ENGINES] = {
    {"uri", "file:weir_test?mode=memory&cache=shared"}, {"path", ":memory:"}};

int wt_scan_engine_there(enum wt_scan_engine which)
{
    return drivers[which] != NULL;
}

void wt_scan_engine_open(enum wt_scan_engine which,
                         struct weir_scan_engine *engine_out)
{
    struct weir_error err;
    struct weir_scan_adbc_params p = {
        .driver = drivers[which], .options = &places[which], .n_options = 1};
    cr_assert_eq(weir_scan_adbc_open(&p, engine_out, &err), WEIR_OK, "%s",
                 err.message);
}

void wt_ask(const struct weir_scan_engine *engine,
            const struct weir_scan_request *request, struct wt_answer *answer)
{
    struct weir_scan_request r = *request;
    r.text = r.text != NULL ? r.text : "";
    r.dataset = r.dataset != NULL ? r.dataset : "";
    *answer = (struct wt_answer){.rows = -1};
    wi_scan_job_init(&answer->job);
    answer->code = engine->open(engine->arg, &r, &answer->job, &answer->stream,
                                &answer->rows, &answer->fault, &answer->err);
    if (r.bind != NULL && r.bind->release != NULL) {
        r.bind->release(r.bind);
    }
}

void wt_answer_fini(struct wt_answer *answer)
{
    if (answer->stream.release != NULL) {
        answer->stream.release(&answer->stream);
    }
    free(answer->fault.text);
    wi_scan_job_fini(&answer->job);
}

static int64_t sum_of(const struct ArrowArray *batch)
{
    int64_t sum = 0;
    const int64_t *values = batch->children[0]->buffers[1];
    for (int64_t i = 0; i < batch->length; i++) {
        sum += values[batch->children[0]->offset + i];
    }
    return sum;
}

int64_t wt_ask_sum(const struct weir_scan_engine *engine, const char *text)
{
    struct wt_answer a;
    struct weir_scan_request request = {.text = text};
    wt_ask(engine, &request, &a);
    cr_assert_eq(a.code, WEIR_OK, "%s: %s", text, a.err.message);
    int64_t sum = 0;
    for (;;) {
        struct ArrowArray batch = {0};
        cr_assert_eq(a.stream.get_next(&a.stream, &batch), 0, "%s: %s", text,
                     a.stream.get_last_error(&a.stream));
        if (batch.release == NULL) {
            break;
        }
        sum += sum_of(&batch);
        batch.release(&batch);
    }
    wt_answer_fini(&a);
    return sum;
}

/* ---- a stream of numbers ------------------------------------------------- */

struct counter {
    int64_t left;
    int64_t rows;
    int64_t next;
    const char *why; /* it fails at its end; NULL: it does not */
};

static int count_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    (void)s;
    ArrowSchemaInit(out);
    cr_assert_eq(ArrowSchemaSetTypeStruct(out, 1), 0);
    cr_assert_eq(ArrowSchemaSetType(out->children[0], NANOARROW_TYPE_INT64), 0);
    return ArrowSchemaSetName(out->children[0], "i");
}

static int count_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct counter *c = s->private_data;
    struct ArrowSchema schema;
    memset(out, 0, sizeof(*out));
    if (c->left-- == 0) {
        c->left = 0;
        return c->why != NULL ? EIO : 0;
    }
    cr_assert_eq(count_schema(s, &schema), 0);
    cr_assert_eq(ArrowArrayInitFromSchema(out, &schema, NULL), 0);
    schema.release(&schema);
    cr_assert_eq(ArrowArrayStartAppending(out), 0);
    for (int64_t i = 0; i < c->rows; i++) {
        cr_assert_eq(ArrowArrayAppendInt(out->children[0], c->next++), 0);
        cr_assert_eq(ArrowArrayFinishElement(out), 0);
    }
    return ArrowArrayFinishBuildingDefault(out, NULL);
}

static const char *count_error(struct ArrowArrayStream *s)
{
    const struct counter *c = s->private_data;
    return c->why;
}

static void count_release(struct ArrowArrayStream *s)
{
    free(s->private_data);
    s->release = NULL;
}

void wt_count_stream(struct ArrowArrayStream *stream, int64_t n_batches,
                     int64_t rows)
{
    wt_count_stream_fails(stream, n_batches, rows, NULL);
}

void wt_count_stream_fails(struct ArrowArrayStream *stream, int64_t n_batches,
                           int64_t rows, const char *why)
{
    struct counter *c = calloc(1, sizeof(*c));
    cr_assert_not_null(c);
    *c = (struct counter){n_batches, rows, 0, why};
    *stream = (struct ArrowArrayStream){count_schema, count_next, count_error,
                                        count_release, c};
}
