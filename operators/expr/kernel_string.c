/* SPDX-License-Identifier: Apache-2.0 */
/* length, lower, upper, substring, ||. Characters of text are code points;
 * each begins with a byte that is not 10xxxxxx. */
#include <string.h>

#include "operators/expr/eval.h"

static inline bool starts_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

static inline int64_t characters(struct wi_str s)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < s.n_bytes; i++) {
        n += starts_character(s.data[i]);
    }
    return n;
}

static weir_err run_length(struct wi_call *c)
{
    const struct wi_str *x = wi_vec_str(&c->arg[0]);
    int64_t *z = c->out->values;
    if (c->node->arg[0]->type.kind == WI_TYPE_UTF8) {
        WI_EACH(c->rows, z[p] = characters(x[p]););
    } else {
        WI_EACH(c->rows, z[p] = x[p].n_bytes;);
    }
    return WEIR_OK;
}

/* Change the case of the 26 ASCII letters from `first` on, and nothing else. */
static inline void change_case(struct wi_str s, char first, char *to)
{
    for (uint32_t i = 0; i < s.n_bytes; i++) {
        unsigned char c = (unsigned char)s.data[i];
        bool letter = (unsigned char)(c - (unsigned char)first) < 26;
        to[i] = (char)(c ^ (letter ? 0x20 : 0));
    }
}

static weir_err run_case(struct wi_call *c)
{
    const struct wi_str *x = wi_vec_str(&c->arg[0]);
    struct wi_str *z = c->out->values;
    char first = c->node->op == WI_OP_LOWER ? 'A' : 'a';
    uint64_t total = 0;
    WI_EACH(c->rows, total += x[p].n_bytes;);
    char *at;
    weir_err code = wi_eval_text_take(c->eval, total, &at);
    if (code != WEIR_OK) {
        return code;
    }
    WI_EACH(c->rows, {
        change_case(x[p], first, at);
        z[p] = (struct wi_str){at, x[p].n_bytes};
        at += x[p].n_bytes;
    });
    return WEIR_OK;
}

static weir_err run_concat(struct wi_call *c)
{
    const struct wi_str *x = wi_vec_str(&c->arg[0]);
    const struct wi_str *y = wi_vec_str(&c->arg[1]);
    const uint8_t *null = c->out->null;
    struct wi_str *z = c->out->values;
    uint64_t total = 0;
    WI_EACH(c->rows, {
        uint64_t n = (uint64_t)x[p].n_bytes + y[p].n_bytes;
        if (n > UINT32_MAX && !wi_is_null(null, p)) {
            return wi_eval_blame(c, p);
        }
        z[p].n_bytes = wi_is_null(null, p) ? 0 : (uint32_t)n;
        total += z[p].n_bytes;
    });
    char *at;
    weir_err code = wi_eval_text_take(c->eval, total, &at);
    if (code != WEIR_OK) {
        return code;
    }
    WI_EACH(c->rows, {
        z[p].data = at;
        if (z[p].n_bytes > 0) {
            memcpy(at, x[p].data, x[p].n_bytes);
            memcpy(at + x[p].n_bytes, y[p].data, y[p].n_bytes);
            at += z[p].n_bytes;
        }
    });
    return WEIR_OK;
}

/* Bytes from the start of s to its n-th character, counted from 0. */
static inline uint32_t offset_of(struct wi_str s, int64_t n, bool text)
{
    if (!text) {
        return n < s.n_bytes ? (uint32_t)n : s.n_bytes;
    }
    uint32_t i = 0;
    while (i < s.n_bytes && n > 0) {
        i++;
        while (i < s.n_bytes && !starts_character(s.data[i])) {
            i++;
        }
        n--;
    }
    return i;
}

/* Those of the characters from .. from+length-1, counted from 1, that exist
 * (ISO/IEC 9075-2, 6.32). */
static inline struct wi_str part(struct wi_str s, int64_t from, int64_t length,
                                 bool text)
{
    int64_t end; /* the first not taken, counted from 0 */
    if (__builtin_add_overflow(from - (from > INT64_MIN), length, &end)) {
        end = INT64_MAX;
    }
    int64_t first = from > 1 ? from - 1 : 0;
    if (end <= first) {
        return (struct wi_str){s.data, 0};
    }
    uint32_t start = offset_of(s, first, text);
    struct wi_str rest = {s.data + start, s.n_bytes - start};
    rest.n_bytes = offset_of(rest, end - first, text);
    return rest;
}

static weir_err run_substring(struct wi_call *c)
{
    const struct wi_str *x = wi_vec_str(&c->arg[0]);
    const int64_t *from = wi_vec_i64(&c->arg[1]);
    const int64_t *length = c->node->n_args > 2 ? c->arg[2].values : NULL;
    const uint8_t *null = c->out->null;
    bool text = c->node->type.kind == WI_TYPE_UTF8;
    struct wi_str *z = c->out->values;
    WI_EACH(c->rows, {
        int64_t n = length == NULL ? INT64_MAX : length[p];
        if (wi_is_null(null, p)) {
            z[p] = (struct wi_str){"", 0};
        } else if (n < 0) {
            return wi_eval_blame(c, p);
        } else {
            z[p] = part(x[p], from[p], n, text);
        }
    });
    return WEIR_OK;
}

weir_err wi_kernel_string(struct wi_call *c)
{
    switch (c->node->op) {
    case WI_OP_LENGTH:
        return run_length(c);
    case WI_OP_SUBSTRING:
        return run_substring(c);
    case WI_OP_CONCAT:
        return run_concat(c);
    default:
        return run_case(c);
    }
}
