/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/scan/plan_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <nanoarrow/nanoarrow.h>
#include <weir/run.h>
#include <weir/weir.h>

#include "cli/fail.h"
#include "tools/scan/batch_copy.h"

struct plan_stream {
    weir_plan *plan;
    weir_node *node;
    weir_run *run;
    weir_scan_job *job;
    struct ArrowArrayView view; /* of batches of the answer */
    struct ArrowArray ready;    /* of the last step */
    struct helper *helpers;     /* workers 1 .. */
    uint32_t n_helpers;
    struct weir_error err; /* of the last call */
};

struct helper {
    struct plan_stream *stream;
    uint32_t worker;
    pthread_t thread;
};

/* ---- work ---------------------------------------------------------------- */

/* A step and, if nothing could move, a wait. */
static weir_err work(const struct plan_stream *s, uint32_t worker)
{
    weir_err rc = weir_run_step(s->run, worker);
    if (rc == WEIR_AGAIN) {
        (void)weir_worker_wait(s->node, worker, WEIR_FOREVER);
    }
    return rc;
}

static void *help(void *arg)
{
    const struct helper *h = arg;
    weir_err rc;
    do {
        rc = work(h->stream, h->worker);
    } while (rc == WEIR_OK || rc == WEIR_AGAIN);
    return NULL;
}

/* Called in a step of worker 0, once at most. */
static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    struct plan_stream *s = arg;
    return batch_copy(&s->view, batch, &s->ready, err);
}

static void cancel(void *arg)
{
    const struct plan_stream *s = arg;
    weir_run_cancel(s->run, "the scan was cancelled");
}

/* What failed the run, if anything did. The node has no other member: its name,
 * which may stand in front, says nothing. */
static weir_err check_run(const struct plan_stream *s, struct weir_error *err)
{
    struct weir_error why;
    const char *name = weir_node_name(s->node);
    const size_t n = strlen(name);
    weir_err rc = weir_run_status(s->run, &why);
    if (rc == WEIR_OK) {
        return rc;
    }
    const bool named = strncmp(why.message, name, n) == 0 &&
                       strncmp(why.message + n, ": ", 2) == 0;
    return tool_fail(err, rc, "%s", why.message + (named ? n + 2 : 0));
}

/* ---- the stream ---------------------------------------------------------- */

static int status_of_run(weir_err code)
{
    switch (code) {
    case WEIR_ERR_CANCELLED:
        return ECANCELED;
    case WEIR_ERR_QUERY_MEMORY:
    case WEIR_ERR_NO_MEMORY:
        return ENOMEM;
    default:
        return EIO;
    }
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct plan_stream *s = stream->private_data;
    weir_err rc = weir_plan_schema(s->plan, NULL, out, &s->err);
    return rc == WEIR_OK ? 0 : status_of_run(rc);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct plan_stream *s = stream->private_data;
    weir_err rc = WEIR_OK;
    while (s->ready.release == NULL && (rc == WEIR_OK || rc == WEIR_AGAIN)) {
        rc = work(s, 0);
    }
    if (rc < 0) {
        return status_of_run(check_run(s, &s->err));
    }
    *out = s->ready; /* released: the end */
    s->ready.release = NULL;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    const struct plan_stream *s = stream->private_data;
    return s->err.message[0] != '\0' ? s->err.message : NULL;
}

static void close_stream(struct plan_stream *s)
{
    weir_scan_job_on_cancel(s->job, NULL, NULL);
    weir_run_cancel(s->run, "its rows are not wanted any more");
    for (uint32_t i = 0; i < s->n_helpers; i++) {
        (void)pthread_join(s->helpers[i].thread, NULL);
    }
    if (s->ready.release != NULL) {
        s->ready.release(&s->ready);
    }
    ArrowArrayViewReset(&s->view);
    weir_run_close(s->run);
    weir_node_close(s->node);
    weir_plan_close(s->plan);
    free(s->helpers);
    free(s);
}

static void release(struct ArrowArrayStream *stream)
{
    close_stream(stream->private_data);
    stream->release = NULL;
}

/* ---- opening ------------------------------------------------------------- */

static weir_err open_view(struct plan_stream *s, struct weir_error *err)
{
    struct ArrowSchema schema;
    struct ArrowError why = {.message = ""};
    weir_err rc = weir_plan_schema(s->plan, NULL, &schema, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (ArrowArrayViewInitFromSchema(&s->view, &schema, &why) != NANOARROW_OK) {
        rc = tool_fail(err, WEIR_ERR_NO_MEMORY, "the rows' schema: %s",
                       why.message);
    }
    schema.release(&schema);
    return rc;
}

/* A node that talks to nobody; who reads slowly is no reason to log. */
static weir_err open_node(struct plan_stream *s, uint32_t workers,
                          struct weir_error *err)
{
    const struct weir_node_params params = {
        .workers = workers,
        .max_members = 1,
        .max_shuffles = weir_run_shuffles(s->plan),
        .stall_ns = WEIR_FOREVER,
    };
    weir_err rc = weir_node_open(&params, &s->node, err);
    return rc == WEIR_OK
               ? weir_node_join_seed(s->node, NULL, 1, WEIR_FOREVER, err)
               : rc;
}

static weir_err start_helpers(struct plan_stream *s, uint32_t n,
                              struct weir_error *err)
{
    s->helpers = calloc(n + 1u, sizeof(*s->helpers));
    if (s->helpers == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for workers");
    }
    while (s->n_helpers < n) {
        struct helper *h = &s->helpers[s->n_helpers];
        *h = (struct helper){.stream = s, .worker = s->n_helpers + 1};
        int code = pthread_create(&h->thread, NULL, help, h);
        if (code != 0) {
            errno = code;
            return tool_fail_errno(err, "a thread for worker %u", h->worker);
        }
        s->n_helpers++;
    }
    return WEIR_OK;
}

static weir_err open_run(struct plan_stream *s,
                         const struct plan_stream_params *p,
                         struct weir_error *err)
{
    const uint32_t workers = p->workers > 0 ? p->workers : 1;
    const struct weir_run_params run = {.query_id = 1,
                                        .memory_bytes = p->memory_bytes,
                                        .rows = take_rows,
                                        .rows_arg = s};
    weir_err rc = open_view(s, err);
    if (rc == WEIR_OK) {
        rc = open_node(s, workers, err);
    }
    if (rc == WEIR_OK) {
        rc = weir_run_open(s->node, s->plan, &run, &s->run, err);
    }
    if (rc == WEIR_OK) {
        rc = check_run(s, err); /* it may have failed to begin */
    }
    return rc == WEIR_OK ? start_helpers(s, workers - 1, err) : rc;
}

weir_err plan_stream_open(weir_plan *plan, const struct plan_stream_params *p,
                          weir_scan_job *job,
                          struct ArrowArrayStream *stream_out,
                          struct weir_error *err)
{
    struct plan_stream *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        weir_plan_close(plan);
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a stream");
    }
    s->plan = plan;
    ArrowArrayViewInitFromType(&s->view, NANOARROW_TYPE_UNINITIALIZED);
    weir_err rc = open_run(s, p, err);
    if (rc != WEIR_OK) {
        close_stream(s);
        return rc;
    }
    s->job = job;
    weir_scan_job_on_cancel(job, cancel, s);
    *stream_out = (struct ArrowArrayStream){.get_schema = get_schema,
                                            .get_next = get_next,
                                            .get_last_error = get_last_error,
                                            .release = release,
                                            .private_data = s};
    return WEIR_OK;
}
