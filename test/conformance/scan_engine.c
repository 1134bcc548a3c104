/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conformance/scan_engine.h"

#include <assert.h>
#include <errno.h>
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stream of numbers. */
struct numbers {
    struct wt_scan_engine *engine;
    weir_scan_job *job;
    uint32_t batches; /* left */
    uint32_t rows;
    int64_t at;
    uint32_t fail_bytes; /* afterwards: fails with so long a text */
    bool block;          /* afterwards: does not come back */
    char *text;
};

/* ---- waiting ------------------------------------------------------------- */

struct blocked {
    struct wt_scan_engine *engine;
    bool cancelled;
};

static void unblock(void *arg)
{
    struct blocked *b = arg;
    (void)pthread_mutex_lock(&b->engine->lock);
    b->cancelled = true;
    b->engine->cancelled++;
    (void)pthread_cond_broadcast(&b->engine->changed);
    (void)pthread_mutex_unlock(&b->engine->lock);
}

static void block(struct wt_scan_engine *e, weir_scan_job *job)
{
    struct blocked b = {e, false};
    weir_scan_job_on_cancel(job, unblock, &b);
    (void)pthread_mutex_lock(&e->lock);
    e->blocked++;
    (void)pthread_cond_broadcast(&e->changed);
    while (!b.cancelled) {
        (void)pthread_cond_wait(&e->changed, &e->lock);
    }
    e->blocked--;
    (void)pthread_mutex_unlock(&e->lock);
    weir_scan_job_on_cancel(job, NULL, NULL);
}

/* ---- numbers ------------------------------------------------------------- */

static char *make_text(uint32_t bytes)
{
    char *text = malloc((size_t)bytes + 1);
    memset(text, 'x', bytes);
    text[bytes] = '\0';
    return text;
}

void wt_scan_engine_schema(struct ArrowSchema *out)
{
    ArrowSchemaInit(out);
    int rc = ArrowSchemaSetTypeStruct(out, 1);
    rc |= ArrowSchemaSetType(out->children[0], NANOARROW_TYPE_INT64);
    rc |= ArrowSchemaSetName(out->children[0], "n");
    assert(rc == 0);
}

void wt_scan_engine_batch(int64_t first, uint32_t rows, struct ArrowArray *out)
{
    struct ArrowSchema schema;
    wt_scan_engine_schema(&schema);
    int rc = ArrowArrayInitFromSchema(out, &schema, NULL);
    schema.release(&schema);
    rc |= ArrowArrayStartAppending(out);
    for (uint32_t i = 0; i < rows; i++) {
        rc |= ArrowArrayAppendInt(out->children[0], first + i);
    }
    out->length = rows;
    rc |= ArrowArrayFinishBuildingDefault(out, NULL);
    assert(rc == 0);
}

static int numbers_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    (void)s;
    wt_scan_engine_schema(out);
    return 0;
}

static int numbers_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct numbers *n = s->private_data;
    out->release = NULL;
    if (n->batches > 0) {
        n->batches--;
        wt_scan_engine_batch(n->at, n->rows, out);
        n->at += n->rows;
        return 0;
    }
    if (n->fail_bytes > 0) {
        n->text = make_text(n->fail_bytes);
        return EIO;
    }
    if (n->block) {
        block(n->engine, n->job);
        return ECANCELED;
    }
    return 0;
}

static const char *numbers_error(struct ArrowArrayStream *s)
{
    return ((struct numbers *)s->private_data)->text;
}

static void numbers_release(struct ArrowArrayStream *s)
{
    struct numbers *n = s->private_data;
    (void)pthread_mutex_lock(&n->engine->lock);
    n->engine->streams--;
    (void)pthread_cond_broadcast(&n->engine->changed);
    (void)pthread_mutex_unlock(&n->engine->lock);
    free(n->text);
    free(n);
    s->release = NULL;
}

static void make_numbers(const struct numbers *n, struct ArrowArrayStream *out)
{
    struct numbers *copy = malloc(sizeof(*copy));
    *copy = *n;
    *out = (struct ArrowArrayStream){numbers_schema, numbers_next,
                                     numbers_error, numbers_release, copy};
    (void)pthread_mutex_lock(&n->engine->lock);
    n->engine->streams++;
    (void)pthread_mutex_unlock(&n->engine->lock);
}

/* ---- rows of the client -------------------------------------------------- */

static void take_rows(struct wt_scan_engine *e, struct ArrowArrayStream *bind)
{
    struct ArrowArray batch;
    int status = 0;
    while ((status = bind->get_next(bind, &batch)) == 0 &&
           batch.release != NULL) {
        const int64_t *values = batch.children[0]->buffers[1];
        (void)pthread_mutex_lock(&e->lock);
        e->took_rows += (uint64_t)batch.length;
        for (int64_t i = 0; i < batch.length; i++) {
            e->took_sum += values[i];
        }
        (void)pthread_mutex_unlock(&e->lock);
        batch.release(&batch);
    }
    (void)pthread_mutex_lock(&e->lock);
    e->took_status = status;
    (void)pthread_mutex_unlock(&e->lock);
}

/* ---- requests ------------------------------------------------------------ */

static weir_err fail(uint32_t bytes, struct weir_scan_fault *fault,
                     struct weir_error *err)
{
    fault->text = make_text(bytes);
    fault->vendor = 42;
    (void)snprintf(fault->sqlstate, sizeof(fault->sqlstate), "22012");
    err->code = WEIR_ERR_QUERY_DATA;
    (void)snprintf(err->message, sizeof(err->message), "short");
    return WEIR_ERR_QUERY_DATA;
}

static weir_err with_bind(struct wt_scan_engine *e,
                          const struct weir_scan_request *request,
                          struct ArrowArrayStream *out, int64_t *rows_out,
                          struct weir_scan_fault *fault)
{
    if (request->bind == NULL) {
        return WEIR_ERR_ARG;
    }
    if (strcmp(request->text, "echo") == 0) {
        *out = *request->bind;
        request->bind->release = NULL;
        return WEIR_OK;
    }
    take_rows(e, request->bind);
    *rows_out = (int64_t)e->took_rows;
    if (e->took_status == 0 || strcmp(request->text, "gulp") == 0) {
        return WEIR_OK;
    }
    fault->text = strdup(request->bind->get_last_error(request->bind));
    return WEIR_ERR_QUERY_DATA;
}

static weir_err engine_open(void *arg, const struct weir_scan_request *request,
                            weir_scan_job *job, struct ArrowArrayStream *out,
                            int64_t *rows_out, struct weir_scan_fault *fault,
                            struct weir_error *err)
{
    struct wt_scan_engine *e = arg;
    struct numbers n = {.engine = e, .job = job, .rows = 10};
    uint32_t bytes;
    const char *text = request->text;
    (void)pthread_mutex_lock(&e->lock);
    e->opens++;
    (void)pthread_mutex_unlock(&e->lock);
    if (strcmp(text, "take") == 0 || strcmp(text, "gulp") == 0 ||
        strcmp(text, "echo") == 0) {
        return with_bind(e, request, out, rows_out, fault);
    }
    if (strcmp(text, "nothing") == 0) {
        *rows_out = 7;
        return WEIR_OK;
    }
    if (sscanf(text, "fail %u", &bytes) == 1) {
        return fail(bytes, fault, err);
    }
    if (strcmp(text, "block") == 0) {
        block(e, job);
        err->code = WEIR_ERR_CANCELLED;
        return WEIR_ERR_CANCELLED;
    }
    n.block = sscanf(text, "block-next %u %u", &n.batches, &n.rows) == 2;
    if (n.block || sscanf(text, "numbers %u %u", &n.batches, &n.rows) == 2 ||
        sscanf(text, "fail-next %u %u", &n.batches, &n.fail_bytes) == 2) {
        make_numbers(&n, out);
        return WEIR_OK;
    }
    err->code = WEIR_ERR_ARG;
    (void)snprintf(err->message, sizeof(err->message), "what is '%s'?", text);
    return WEIR_ERR_ARG;
}

void wt_scan_engine_init(struct wt_scan_engine *e, struct weir_scan_engine *out)
{
    (void)pthread_mutex_init(&e->lock, NULL);
    (void)pthread_cond_init(&e->changed, NULL);
    *out = (struct weir_scan_engine){.open = engine_open, .arg = e};
}

void wt_scan_engine_fini(struct wt_scan_engine *e)
{
    (void)pthread_cond_destroy(&e->changed);
    (void)pthread_mutex_destroy(&e->lock);
}
