/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: any bytes are refused with a message of one line, or are a plan that
 * can be explained and says its columns. */
#include <weir/plan.h>

#include "chbench/chbench.h"
#include "test/fuzz/fuzz.h"

enum { MAX_BYTES = 8192 };

static void look_at(const weir_plan *plan)
{
    struct ArrowSchema schema;
    struct weir_operator op;
    uint32_t n = weir_plan_operators(plan);
    FZ_CHECK(weir_plan_root(plan) < n, "root %u of %u", weir_plan_root(plan),
             n);
    for (uint32_t i = 0; i < n; i++) {
        FZ_CHECK(weir_plan_operator(plan, i, &op) == WEIR_OK, "operator %u", i);
        for (uint32_t k = 0; k < op.n_inputs; k++) {
            FZ_CHECK(op.inputs[k] < i, "%u reads %u", i, op.inputs[k]);
        }
    }
    FZ_CHECK(weir_plan_schema(plan, NULL, &schema, NULL) == WEIR_OK,
             "no schema");
    schema.release(&schema);
    for (int f = WEIR_EXPLAIN_TEXT; f <= WEIR_EXPLAIN_DOT; f++) {
        char *text = NULL;
        FZ_CHECK(weir_plan_explain(plan, (weir_explain_format)f, &text, NULL) ==
                     WEIR_OK,
                 "not explained");
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const struct weir_plan_read_params params = {
        .data_dir = "/nonexistent", .kinds = &ch_kind, .n_kinds = 1};
    struct weir_error err = {.message = ""};
    weir_plan *plan = NULL;
    if (n > MAX_BYTES) {
        return -1;
    }
    char *json = malloc(n != 0 ? n : 1); /* not terminated */
    FZ_CHECK(json != NULL, "no memory");
    if (n != 0) {
        memcpy(json, bytes, n);
    }
    weir_err rc = weir_plan_read(json, n, &params, &plan, &err);
    free(json);
    if (rc == WEIR_OK) {
        look_at(plan);
        weir_plan_close(plan);
    } else {
        FZ_CHECK(err.code == rc && err.message[0] != '\0' &&
                     strchr(err.message, '\n') == NULL,
                 "%s: %s", weir_err_name(rc), err.message);
    }
    return 0;
}
