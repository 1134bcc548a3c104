/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "operators/plan/draft.h"
#include "operators/plan/write.h"

static const struct wi_str *copy_header(struct wi_draft *b,
                                        const struct wi_str *header, uint32_t n)
{
    struct wi_str *copy = wi_draft_take(b, n, sizeof(*copy));
    for (uint32_t i = 0; copy != NULL && i < n; i++) {
        char *text = wi_draft_take(b, header[i].n_bytes + 1u, 1);
        if (text == NULL) {
            return NULL;
        }
        if (header[i].data != NULL) {
            memcpy(text, header[i].data, header[i].n_bytes);
            copy[i] = (struct wi_str){text, header[i].n_bytes};
        }
    }
    return copy;
}

static weir_err build_write(struct wi_draft *b,
                            const struct wi_plan_write_params *params)
{
    static const char *const names[WI_WRITE_COLUMNS] = {
        [WI_WRITE_PART] = "part",
        [WI_WRITE_ROWS] = "rows",
        [WI_WRITE_BYTES] = "bytes",
    };
    const struct wi_type type = {.kind = WI_TYPE_INT64};
    struct wi_plan_op *in;
    wi_draft_at(b, "input");
    weir_err rc = wi_draft_input(b, params->input, &in);
    if (rc != WEIR_OK) {
        return rc;
    }
    b->op->p.write = (struct wi_write_params){
        .columns = &b->op->columns,
        .in = &in->columns,
        .header = copy_header(b, params->header, in->columns.n),
        .file = params->file,
        .arg = params->arg,
    };
    if (b->op->p.write.header == NULL) {
        return wi_draft_no_memory(b);
    }
    wi_draft_at(b, NULL);
    for (uint32_t c = 0; rc == WEIR_OK && c < WI_WRITE_COLUMNS; c++) {
        rc = wi_draft_give(b, names[c], &type, WI_VALUE_NEW);
    }
    return rc;
}

weir_err wi_plan_write(weir_plan *plan, const char *name,
                       const struct wi_plan_write_params *params,
                       struct weir_error *err)
{
    struct wi_draft b = {.plan = plan, .err = err};
    weir_err rc = wi_draft_begin(&b, WI_PLAN_WRITE, name);
    return wi_draft_end(&b, rc == WEIR_OK ? build_write(&b, params) : rc);
}
