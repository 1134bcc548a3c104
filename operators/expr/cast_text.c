/* SPDX-License-Identifier: Apache-2.0 */
/* Casts from strings, to strings, and between strings. */
#include <string.h>

#include "operators/base/utf8.h"
#include "operators/expr/check.h"
#include "operators/expr/eval.h"
#include "operators/expr/value.h"

static weir_err read_values(struct wi_call *c)
{
    const struct wi_str *x = wi_vec_str(&c->arg[0]);
    const struct wi_type *to = &c->node->type;
    WI_EACH(c->rows, {
        struct wi_value v = {.null = false};
        if (!wi_is_null(c->out->null, p) &&
            wi_value_read(x[p], to, &v) != WI_READ_OK) {
            return wi_eval_blame(c, p);
        }
        wi_vec_set(c->out, p, &v);
    });
    return WEIR_OK;
}

static weir_err write_values(struct wi_call *c)
{
    const struct wi_type *from = &c->node->arg[0]->type;
    struct wi_str *z = c->out->values;
    char text[WI_VALUE_TEXT_BYTES];
    WI_EACH(c->rows, {
        z[p] = (struct wi_str){"", 0};
        if (!wi_is_null(c->out->null, p)) {
            struct wi_value v = wi_value_at(&c->arg[0], p);
            uint32_t n = wi_value_text(from, &v, text);
            char *at;
            weir_err code = wi_eval_text_take(c->eval, n, &at);
            if (code != WEIR_OK) {
                return code;
            }
            memcpy(at, text, n);
            z[p] = (struct wi_str){at, n};
        }
    });
    return WEIR_OK;
}

/* To text: the bytes must be UTF-8. To fixed(N): there must be N of them. */
static weir_err check_strings(struct wi_call *c)
{
    const struct wi_str *x = wi_vec_str(&c->arg[0]);
    const struct wi_type *to = &c->node->type;
    struct wi_str *z = c->out->values;
    WI_EACH(c->rows, {
        z[p] = wi_is_null(c->out->null, p) ? (struct wi_str){"", 0} : x[p];
        bool ok = to->kind == WI_TYPE_UTF8
                      ? wi_utf8_check(z[p].data, z[p].n_bytes)
                      : z[p].n_bytes == to->n_bytes;
        if (!ok && !wi_is_null(c->out->null, p)) {
            return wi_eval_blame(c, p);
        }
    });
    return WEIR_OK;
}

weir_err wi_kernel_cast_text(struct wi_call *c)
{
    bool from = wi_type_rep(&c->node->arg[0]->type) == WI_STR;
    bool to = wi_type_rep(&c->node->type) == WI_STR;
    return from && to ? check_strings(c)
           : from     ? read_values(c)
                      : write_values(c);
}
