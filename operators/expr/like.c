/* SPDX-License-Identifier: Apache-2.0 */
/* LIKE. A pattern is a list of steps: a byte, one character (_), or anything
 * (%). A pattern without _ and with % only at its ends needs no steps: its
 * bytes are compared as a whole. */
#include "operators/expr/like.h"

#include <string.h>

enum step_kind { STEP_BYTE, STEP_ONE, STEP_ANY };

struct step {
    uint8_t kind;
    char byte;
};

enum shape {
    SHAPE_WHOLE,  /* 'abc' */
    SHAPE_PREFIX, /* 'abc%' */
    SHAPE_SUFFIX, /* '%abc' */
    SHAPE_PART,   /* '%abc%' */
    SHAPE_STEPS,
};

struct wi_like {
    enum shape shape;
    struct wi_str bytes; /* of all STEP_BYTEs */
    struct step *steps;
    uint32_t n;
};

static enum shape shape_of(const struct wi_like *like)
{
    const struct step *steps = like->steps;
    uint32_t n = like->n;
    bool first = n > 0 && steps[0].kind == STEP_ANY;
    bool last = n > 1 && steps[n - 1].kind == STEP_ANY;
    if (like->bytes.n_bytes + first + last != n) {
        return SHAPE_STEPS;
    }
    return first && last ? SHAPE_PART
           : first       ? SHAPE_SUFFIX
           : last        ? SHAPE_PREFIX
                         : SHAPE_WHOLE;
}

/* The step at byte *i of the pattern; *i moves to the step's last byte. false:
 * what follows the escape character cannot be escaped. */
static bool read_step(struct wi_str pattern, char escape, uint32_t *i,
                      struct step *out)
{
    char c = pattern.data[*i];
    *out = (struct step){STEP_BYTE, c};
    if (escape != 0 && c == escape) {
        if (++*i == pattern.n_bytes) {
            return false;
        }
        out->byte = pattern.data[*i];
        return out->byte == '%' || out->byte == '_' || out->byte == escape;
    }
    out->kind = c == '%' ? STEP_ANY : c == '_' ? STEP_ONE : STEP_BYTE;
    return true;
}

struct wi_like *wi_like_make(struct wi_expr_build *b, uint32_t at,
                             struct wi_str pattern, char escape)
{
    struct wi_like *like = wi_build_take(b, sizeof(*like));
    char *bytes = wi_build_take(b, pattern.n_bytes + 1u);
    struct step *steps =
        wi_build_take(b, (pattern.n_bytes + 1u) * sizeof(*steps));
    if (like == NULL || bytes == NULL || steps == NULL) {
        return NULL;
    }
    like->steps = steps;
    like->bytes.data = bytes;
    for (uint32_t i = 0; i < pattern.n_bytes; i++) {
        struct step step;
        if (!read_step(pattern, escape, &i, &step)) {
            return wi_build_fail(b, at,
                                 "like: %c was expected before %%, _ or itself "
                                 "only",
                                 escape);
        }
        bool again = step.kind == STEP_ANY && like->n > 0 &&
                     steps[like->n - 1].kind == STEP_ANY;
        if (step.kind == STEP_BYTE) {
            bytes[like->bytes.n_bytes++] = step.byte;
        }
        if (!again) {
            steps[like->n++] = step;
        }
    }
    like->shape = shape_of(like);
    return like;
}

static inline uint32_t after_character(struct wi_str s, uint32_t i)
{
    i++;
    while (i < s.n_bytes && ((unsigned char)s.data[i] & 0xc0) == 0x80) {
        i++;
    }
    return i;
}

/* If a step fails, the last % takes one more character. */
static bool match_steps(const struct wi_like *like, struct wi_str s)
{
    uint32_t i = 0;
    uint32_t k = 0;
    uint32_t any_i = 0;
    uint32_t any_k = UINT32_MAX; /* the step after the last % */
    while (i < s.n_bytes || k < like->n) {
        const struct step *step = k < like->n ? &like->steps[k] : NULL;
        if (step != NULL && step->kind == STEP_ANY) {
            any_i = i;
            any_k = ++k;
            continue;
        }
        if (step != NULL && i < s.n_bytes &&
            (step->kind == STEP_ONE || step->byte == s.data[i])) {
            i = step->kind == STEP_ONE ? after_character(s, i) : i + 1;
            k++;
            continue;
        }
        if (any_k == UINT32_MAX || any_i >= s.n_bytes) {
            return false;
        }
        any_i = after_character(s, any_i);
        i = any_i;
        k = any_k;
    }
    return true;
}

/* Short ones have no branch per byte: with random text it is mispredicted. */
static inline bool same_bytes(const char *x, struct wi_str y)
{
    enum { SHORT = 4 };
    int differ = 0;
    if (y.n_bytes > SHORT) {
        return memcmp(x, y.data, y.n_bytes) == 0;
    }
    for (uint32_t i = 0; i < y.n_bytes; i++) {
        differ |= x[i] ^ y.data[i];
    }
    return differ == 0;
}

void wi_like_match(const struct wi_like *like, const struct wi_str *x,
                   struct wi_sel_rows rows, uint8_t *out)
{
    const struct wi_str b = like->bytes;
    const uint32_t n = b.n_bytes;
    switch (like->shape) {
    case SHAPE_WHOLE:
        WI_EACH(rows, out[p] = x[p].n_bytes == n && same_bytes(x[p].data, b););
        break;
    case SHAPE_PREFIX:
        WI_EACH(rows, out[p] = x[p].n_bytes >= n && same_bytes(x[p].data, b););
        break;
    case SHAPE_SUFFIX:
        WI_EACH(rows, out[p] = x[p].n_bytes >= n &&
                               same_bytes(x[p].data + (x[p].n_bytes - n), b););
        break;
    case SHAPE_PART:
        WI_EACH(rows, out[p] = n == 0 || (x[p].n_bytes >= n &&
                                          memmem(x[p].data, x[p].n_bytes,
                                                 b.data, n) != NULL););
        break;
    case SHAPE_STEPS:
        WI_EACH(rows, out[p] = match_steps(like, x[p]););
        break;
    }
}
