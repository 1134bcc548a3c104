/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process per node, forked before any node is opened. They meet three
 * times: when all addresses are known, when all workers have ended, and when
 * all queries are closed, so that no node leaves while another needs it.
 */
#define _GNU_SOURCE 1
#include "tools/csv_job.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

#include "cli/fail.h"
#include "launch/group.h"
#include "launch/nodes.h"
#include "tools/csv_worker.h"

/* Nothing here may be decided by the clock: the parent sees a process that
 * dies, whatever these say. */
#define PATIENCE_NS UINT64_C(60000000000)
#define LINK_IDLE_NS UINT64_C(86400000000000)
#define NO_TIMEOUT_NS (UINT64_MAX / 4)
#define GRACE_MS 10000

/* One run: the parent's, and a copy in each process. */
struct run {
    const struct csv_job *job;
    struct wl_group *group;
    struct wl_nodes nodes;
    struct csv_tally *tally; /* shared */
    uint32_t self;
    weir_node *node;
    weir_query *query;
    weir_shuffle *shuffle;
    struct ArrowSchema schema;
};

struct thread {
    struct run *run;
    uint32_t worker;
    pthread_t id;
};

/* ---- one process ---------------------------------------------------------------- */

/* A lost peer is another process of this run: what became of it says more than
 * that it is lost. The parent knows soon, and ends this process. */
static void let_cause_speak(const struct weir_error *err)
{
    if (weir_err_scope(err->code) == WEIR_SCOPE_PEER) {
        (void)poll(NULL, 0, GRACE_MS);
    }
}

static void fail_run(struct run *r, struct weir_error *err)
    __attribute__((noreturn));

static void fail_run(struct run *r, struct weir_error *err)
{
    let_cause_speak(err);
    if (weir_err_scope(err->code) == WEIR_SCOPE_QUERY) { /* all have this one */
        wl_group_end(r->group, err);
    }
    wl_group_die(r->group, r->self, err);
}

static weir_err step_to_end(struct run *r, struct csv_worker *w,
                            uint32_t worker, struct weir_error *err)
{
    for (;;) {
        weir_err rc = csv_worker_step(w, err);
        if (rc == WEIR_DONE) {
            return WEIR_OK;
        }
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(r->node, worker, WEIR_FOREVER);
        } else if (rc != WEIR_OK) {
            if (weir_query_status(r->query, NULL) != WEIR_OK) {
                return weir_query_status(r->query, err);
            }
            return err->message[0] != '\0'
                       ? rc
                       : tool_fail(err, rc, "%s", weir_err_text(rc));
        }
    }
}

static void work(struct run *r, uint32_t worker)
{
    const uint32_t id = r->self * r->job->workers + worker;
    const struct csv_worker_params params = {
        .job = r->job,
        .shuffle = r->shuffle,
        .schema = &r->schema,
        .worker = worker,
        .id = id,
        .tally = &r->tally[id],
    };
    struct weir_error err = {.code = WEIR_OK};
    struct csv_worker *w = NULL;
    weir_err rc = csv_worker_open(&params, &w, &err);
    if (rc == WEIR_OK) {
        rc = step_to_end(r, w, worker, &err);
    }
    if (rc != WEIR_OK) {
        /* Before anything is closed: closing would abort the query, and others
         * would report that. */
        err.code = rc;
        fail_run(r, &err);
    }
    csv_worker_close(w);
}

static void *thread_main(void *arg)
{
    const struct thread *t = arg;
    work(t->run, t->worker);
    return NULL;
}

static weir_err run_workers(struct run *r, struct weir_error *err)
{
    uint32_t n = r->job->workers;
    struct thread *threads = calloc(n, sizeof(*threads));
    if (threads == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u workers",
                         n);
    }
    for (uint32_t w = 1; w < n; w++) {
        threads[w] = (struct thread){.run = r, .worker = w};
        int rc = pthread_create(&threads[w].id, NULL, thread_main, &threads[w]);
        if (rc != 0) {
            (void)tool_fail(err, WEIR_ERR_SYSTEM, "start worker %u: %s", w,
                            strerror(rc));
            fail_run(r, err); /* with the threads that run already */
        }
    }
    work(r, 0);
    for (uint32_t w = 1; w < n; w++) {
        (void)pthread_join(threads[w].id, NULL);
    }
    free(threads);
    return WEIR_OK;
}

static weir_err open_shuffle(struct run *r, struct weir_error *err)
{
    uint32_t n = r->job->n_keys;
    char(*names)[CSV_COLUMN_NAME_BYTES] = calloc(n, sizeof(*names));
    const char **keys = calloc(n, sizeof(*keys));
    const struct weir_query_params query = {.id = 1};
    weir_err rc = weir_query_open(r->node, &query, &r->query, err);
    if (rc == WEIR_OK && (names == NULL || keys == NULL)) {
        rc = tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u keys", n);
    }
    if (rc == WEIR_OK) {
        for (uint32_t i = 0; i < n; i++) {
            csv_plan_column_name(r->job->keys[i], names[i]);
            keys[i] = names[i];
        }
        const struct weir_shuffle_params params = {
            .id = 1,
            .schema = &r->schema,
            .partitioning = WEIR_HASH,
            .keys = keys,
            .n_keys = n,
        };
        rc = weir_shuffle_open(r->query, &params, &r->shuffle, err);
    }
    free(keys);
    free(names);
    return rc;
}

static weir_err member(struct wl_group *group, uint32_t self, void *arg,
                       struct weir_error *err)
{
    struct run *r = arg;
    r->self = self;
    csv_dir_forked();
    weir_err rc = wl_nodes_open(&r->nodes, self, &r->node, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(group);
    rc = wl_nodes_join(&r->nodes, r->node, err);
    if (rc == WEIR_OK) {
        rc = csv_plan_schema(r->job->plan, &r->schema, err);
    }
    if (rc == WEIR_OK) {
        rc = open_shuffle(r, err);
    }
    if (rc == WEIR_OK) {
        rc = run_workers(r, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    wl_group_meet(group);
    weir_query_close(r->query);
    r->schema.release(&r->schema);
    wl_group_meet(group);
    wl_nodes_close(r->node);
    return WEIR_OK;
}

/* ---- the parent ------------------------------------------------------------------- */

static weir_err check_rows(const struct csv_job *job,
                           const struct csv_tally *tally,
                           struct weir_error *err)
{
    uint64_t read = 0;
    uint64_t written = 0;
    for (uint32_t i = 0; i < job->nodes * job->workers; i++) {
        read += tally[i].rows_read;
        written += tally[i].rows_written;
    }
    if (read != job->plan->rows || written != job->plan->rows) {
        return tool_fail(err, WEIR_ERR_INTEGRITY,
                         "%" PRIu64 " rows in the file, %" PRIu64
                         " sent, %" PRIu64 " written",
                         job->plan->rows, read, written);
    }
    return WEIR_OK;
}

static void fill_nodes(struct run *r, size_t tally_bytes)
{
    const struct csv_job *job = r->job;
    r->tally = wl_group_shared(r->group);
    r->nodes = (struct wl_nodes){
        .kind = "shuffle",
        .n = job->nodes,
        .address = (void *)((char *)wl_group_shared(r->group) + tally_bytes),
        .params =
            {
                .transport = job->transport,
                .workers = job->workers,
                .max_shuffles = 1,
                .memory_bytes = job->memory_bytes,
                .detect_ns = PATIENCE_NS,
                .connect_ns = PATIENCE_NS,
                .idle_close_ns = LINK_IDLE_NS,
            },
    };
}

weir_err csv_job_run(const struct csv_job *job, struct csv_tally *tally_out,
                     struct weir_error *err)
{
    const uint32_t workers = job->nodes * job->workers;
    const size_t tally_bytes = workers * sizeof(struct csv_tally);
    const struct wl_group_params params = {
        .members = job->nodes,
        .shared_bytes = tally_bytes + job->nodes * (size_t)WL_ADDRESS_BYTES,
        .timeout_ns = NO_TIMEOUT_NS,
        .stopped_ns = job->stopped_ns,
    };
    struct run run = {.job = job};
    weir_err rc = wl_group_open(&params, &run.group, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    fill_nodes(&run, tally_bytes);
    rc = wl_group_run(run.group, member, &run, err);
    if (rc == WEIR_OK) {
        rc = check_rows(job, run.tally, err);
    }
    if (rc == WEIR_OK) {
        memcpy(tally_out, run.tally, tally_bytes);
    }
    wl_group_close(run.group);
    return rc;
}
