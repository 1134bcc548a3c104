/* SPDX-License-Identifier: Apache-2.0 */
/* What a push checks before it moves a row. */
#include "core/query/push_check.h"

#include <inttypes.h>

#include <weir/layout.h>

#include "core/base/err.h"
#include "core/format/frame_build.h"
#include "core/format/import.h"
#include "core/format/intake.h"
#include "core/format/text.h"
#include "core/link/engine.h"
#include "core/query/query.h"
#include "core/query/writer.h"

static WI_COLD weir_err fail_large(struct weir_writer *w, uint64_t row,
                                   uint64_t bytes)
{
    return wi_fail(&w->error, WEIR_ERR_DATA,
                   "batch: row %" PRIu64 " needs a frame of %" PRIu64
                   " bytes; max_row_bytes is %" PRIu64,
                   row, bytes, w->shuffle->query->engine->cfg.max_row_bytes);
}

/* Is no row larger than max_row_bytes? Rows are looked at only if the whole
 * batch is larger. */
static weir_err check_sizes(struct weir_writer *w,
                            const struct ArrowArray *batch)
{
    const struct wi_schema *s = w->shuffle->schema;
    uint64_t most = w->shuffle->query->engine->cfg.max_row_bytes;
    uint64_t n = (uint64_t)batch->length;
    uint64_t sum = w->row_bytes + 64ull * s->n_var;
    w->flow_bytes += n * s->fixed_bits / 8;
    if (wi_likely(s->n_var == 0 && sum <= most)) {
        return WEIR_OK;
    }
    for (uint32_t i = 0; s->n_var > 0 && n > 0 && i < s->n_columns; i++) {
        if (s->columns[i].kind == WI_KIND_VAR) {
            sum += wi_text_sum(&w->views[i], n);
        }
    }
    w->flow_bytes += sum;
    for (uint64_t row = 0; sum > most && row < n; row++) {
        uint64_t bytes = wi_frame_row_bytes(s, w->views, row);
        if (bytes > most) {
            return fail_large(w, row, bytes);
        }
    }
    return WEIR_OK;
}

static weir_err check_dest(struct weir_writer *w,
                           const struct ArrowArray *batch, const uint32_t *dest)
{
    if ((dest != NULL) != (w->shuffle->kind == WEIR_VECTOR)) {
        return wi_fail(&w->error, WEIR_ERR_ARG,
                       dest != NULL ? "dest is only for WEIR_VECTOR: use "
                                      "weir_writer_push"
                                    : "WEIR_VECTOR needs dest: use "
                                      "weir_writer_push_to");
    }
    for (int64_t i = 0; dest != NULL && i < batch->length; i++) {
        if (wi_unlikely(dest[i] >= w->n_lanes)) {
            return wi_fail(&w->error, WEIR_ERR_ARG,
                           "dest[%" PRId64 "] is %u; destinations are 0 to %u",
                           i, dest[i], w->n_lanes - 1);
        }
    }
    return WEIR_OK;
}

static weir_err import_batch(struct weir_writer *w,
                             const struct ArrowArray *batch)
{
    return wi_likely(w->intake == NULL)
               ? wi_schema_import(w->shuffle->schema, batch, w->views,
                                  &w->error)
               : wi_intake_import(w->intake, batch, w->views, &w->error);
}

static bool is_imported(const struct weir_writer *w,
                        const struct ArrowArray *batch)
{
    return w->intake == NULL ? wi_schema_is_imported(w->shuffle->schema, batch,
                                                     w->batch_rows, w->views)
                             : wi_intake_is_imported(w->intake, batch,
                                                     w->batch_rows, w->views);
}

weir_err wi_push_begin(struct weir_writer *w, const struct ArrowArray *batch,
                       const uint32_t *dest)
{
    if (wi_unlikely(w->finishing)) {
        return wi_fail(&w->error, WEIR_ERR_STATE,
                       "push after finish: the end of the stream is sent");
    }
    weir_err rc = import_batch(w, batch);
    if (wi_likely(rc == WEIR_OK)) {
        rc = check_dest(w, batch, dest);
    }
    if (wi_likely(rc == WEIR_OK) && !w->trust) {
        rc = wi_schema_check_offsets(w->shuffle->schema, w->views,
                                     (uint64_t)batch->length, &w->error);
    }
    if (wi_likely(rc == WEIR_OK)) {
        rc = check_sizes(w, batch);
    }
    if (wi_unlikely(rc != WEIR_OK)) {
        return rc;
    }
    w->dest = dest;
    w->row = 0;
    w->batch_rows = (uint64_t)batch->length;
    w->split_valid = false;
    w->pushing = true;
    return WEIR_OK;
}

weir_err wi_push_resume(struct weir_writer *w, const struct ArrowArray *batch,
                        const uint32_t *dest)
{
    if (wi_likely(dest == w->dest && is_imported(w, batch))) {
        return WEIR_OK;
    }
    return wi_fail(&w->error, WEIR_ERR_STATE,
                   "another batch was begun (%" PRIu64
                   " rows) and is not taken yet: push that one, unchanged, "
                   "until the answer is not WEIR_AGAIN",
                   w->batch_rows);
}

weir_err weir_writer_layout(weir_writer *writer,
                            const struct ArrowSchema *schema)
{
    struct wi_intake *in = NULL;
    weir_err rc = WEIR_OK;
    if (writer == NULL) {
        return WEIR_ERR_ARG;
    }
    if (writer->pushing) {
        return wi_fail(&writer->error, WEIR_ERR_STATE,
                       "layout: a batch is not taken yet: push it until the "
                       "answer is not WEIR_AGAIN");
    }
    if (schema != NULL || writer->shuffle->schema->n_lists > 0) {
        rc = wi_intake_open(writer->shuffle->schema, schema, &in,
                            &writer->error);
    }
    if (rc == WEIR_OK) {
        wi_intake_close(writer->intake);
        writer->intake = in;
    }
    return rc;
}
