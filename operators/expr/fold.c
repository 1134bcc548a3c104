/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on constants are computed once, by the kernels for rows. */
#include <string.h>

#include "operators/expr/check.h"
#include "operators/expr/eval.h"

/* Copy a string's bytes, which go with the evaluation. */
static bool keep(struct wi_expr_build *b, struct wi_value *value)
{
    char *bytes = wi_build_take(b, value->s.n_bytes + 1u);
    if (bytes == NULL) {
        return false;
    }
    if (value->s.n_bytes > 0) {
        memcpy(bytes, value->s.data, value->s.n_bytes);
    }
    value->s.data = bytes;
    return true;
}

struct wi_node *wi_fold(struct wi_expr_build *b, struct wi_node *node)
{
    struct wi_expr alone = {.root = node, .n_slots = wi_node_number(node)};
    struct wi_op_mem mem = {.above = NULL};
    struct wi_chunk row = {.n = 1};
    struct wi_eval *eval;
    struct wi_vec vec;
    weir_err code = wi_eval_open(&alone, &mem, &eval, b->err);
    if (code != WEIR_OK) {
        b->code = b->code != WEIR_OK ? b->code : code;
        return NULL;
    }
    struct wi_node *folded = node;
    if (wi_eval_run(eval, &row, &vec, NULL) == WEIR_OK) {
        struct wi_value value = wi_value_at(&vec, 0);
        if (value.null) { /* its value may be anything */
            value = wi_value_null(&node->type);
        }
        bool kept = vec.rep != WI_STR || keep(b, &value);
        folded = kept ? wi_node_const(b, node->at, &node->type, &value) : NULL;
    }
    wi_eval_close(eval);
    return folded;
}
