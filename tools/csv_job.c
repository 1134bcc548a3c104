/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/csv_job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/fail.h"
#include "cli/run_job.h"
#include "operators/plan/write.h"

/* Nothing that the plan holds grows with the data. */
#define OPERATOR_BYTES (UINT64_C(1) << 40)

/* ---- the plan ------------------------------------------------------------ */

static weir_err open_part(void *arg, uint32_t part, struct wi_write_file *out,
                          struct weir_error *err)
{
    csv_dir_part_name(part, out->name);
    return csv_dir_part_open(arg, part, &out->fd, err);
}

static weir_err add_table(const struct csv_job *job, weir_plan *plan,
                          struct weir_error *err)
{
    weir_table *table;
    weir_err rc = csv_plan_table(job->plan, &table, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = weir_plan_table(plan, "file", table, err);
    if (rc != WEIR_OK) {
        weir_table_close(table);
    }
    return rc;
}

static weir_err add_shuffle(const struct csv_job *job, weir_plan *plan,
                            struct weir_error *err)
{
    const uint32_t n = job->n_keys;
    char(*names)[CSV_COLUMN_NAME_BYTES] = calloc(n, sizeof(*names));
    const char **keys = calloc(n, sizeof(*keys));
    weir_err rc = WEIR_ERR_NO_MEMORY;
    if (names == NULL || keys == NULL) {
        (void)tool_fail(err, rc, "no memory for %u keys", n);
    } else {
        for (uint32_t i = 0; i < n; i++) {
            csv_plan_column_name(job->keys[i], names[i]);
            keys[i] = names[i];
        }
        const struct weir_plan_shuffle_params p = {.input = "rows",
                                                   .partitioning = WEIR_HASH,
                                                   .keys = keys,
                                                   .n_keys = n};
        rc = weir_plan_shuffle(plan, "partitions", &p, err);
    }
    free(keys);
    free(names);
    return rc;
}

static weir_err add_write(const struct csv_job *job, weir_plan *plan,
                          struct weir_error *err)
{
    const uint32_t n = job->plan->n_columns;
    struct wi_str *header = calloc(n, sizeof(*header));
    if (header == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u names", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct csv_column *c = &job->plan->columns[i];
        header[i] = (struct wi_str){c->name_len == 0 ? NULL : c->name,
                                    (uint32_t)c->name_len};
    }
    const struct wi_plan_write_params p = {.input = "partitions",
                                           .header = header,
                                           .file = open_part,
                                           .arg = (void *)(uintptr_t)job->dir};
    weir_err rc = wi_plan_write(plan, "files", &p, err);
    free(header);
    return rc;
}

static weir_err build(const struct csv_job *job, weir_plan *plan,
                      struct weir_error *err)
{
    weir_err rc = add_table(job, plan, err);
    if (rc == WEIR_OK) {
        rc = weir_plan_scan(plan, "rows", "file", NULL, 0, err);
    }
    if (rc == WEIR_OK) {
        rc = add_shuffle(job, plan, err);
    }
    if (rc == WEIR_OK) {
        rc = add_write(job, plan, err);
    }
    return rc == WEIR_OK ? weir_plan_result(plan, "files", err) : rc;
}

/* ---- the run ------------------------------------------------------------- */

static int64_t number(const struct ArrowArray *batch, uint32_t column,
                      int64_t row)
{
    const struct ArrowArray *a = batch->children[column];
    return ((const int64_t *)a->buffers[1])[batch->offset + a->offset + row];
}

static weir_err take_tally(void *arg, const struct ArrowArray *batch,
                           struct weir_error *err)
{
    struct csv_tally *tally = arg;
    (void)err;
    for (int64_t row = 0; row < batch->length; row++) {
        tally[number(batch, WI_WRITE_PART, row)] = (struct csv_tally){
            .rows = (uint64_t)number(batch, WI_WRITE_ROWS, row),
            .bytes = (uint64_t)number(batch, WI_WRITE_BYTES, row),
        };
    }
    return WEIR_OK;
}

/* The command made the plan: the name of the operator that failed says nothing
 * to the user. */
static void leave_out_operator(struct weir_error *err)
{
    char *name = strstr(err->message, "operator ");
    const char *after = name == NULL ? NULL : strstr(name, ": ");
    if (after != NULL) {
        memmove(name, after + 2, strlen(after + 2) + 1);
    }
}

static weir_err check_rows(const struct csv_job *job,
                           const struct csv_tally *tally,
                           struct weir_error *err)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < job->nodes * job->workers; i++) {
        rows += tally[i].rows;
    }
    return rows == job->plan->rows
               ? WEIR_OK
               : tool_fail(err, WEIR_ERR_DATA,
                           "%s: the file was changed while it was read",
                           job->plan->path);
}

static weir_err run(const struct csv_job *job, const weir_plan *plan,
                    struct csv_tally *tally, struct weir_error *err)
{
    const struct run_job params = {
        .plan = plan,
        .nodes = job->nodes,
        .workers = job->workers,
        .transport = job->transport,
        .identity = job->identity,
        .memory_bytes = OPERATOR_BYTES,
        .ring_bytes = job->memory_bytes,
        .stopped_ns = job->stopped_ns,
        .rows = take_tally,
        .rows_arg = tally,
        .progress = job->progress,
    };
    struct run_op *ops = calloc(run_job_operators(plan), sizeof(*ops));
    if (ops == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for figures");
    }
    weir_err rc = run_job_run(&params, ops, err);
    free(ops);
    if (rc != WEIR_OK) {
        leave_out_operator(err);
        return rc;
    }
    return check_rows(job, tally, err);
}

weir_err csv_job_run(const struct csv_job *job, struct csv_tally *tally_out,
                     struct weir_error *err)
{
    const size_t bytes = job->nodes * job->workers * sizeof(*tally_out);
    struct csv_tally *tally = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    weir_plan *plan;
    if (tally == MAP_FAILED) {
        return tool_fail_errno(err, "shared memory");
    }
    weir_err rc = weir_plan_open(&plan, err);
    if (rc == WEIR_OK) {
        rc = build(job, plan, err);
        rc = rc == WEIR_OK ? run(job, plan, tally, err) : rc;
        weir_plan_close(plan);
    }
    if (rc == WEIR_OK) {
        memcpy(tally_out, tally, bytes);
    }
    (void)munmap(tally, bytes);
    return rc;
}
