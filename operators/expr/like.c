/* SPDX-License-Identifier: Apache-2.0 */
/* LIKE. A pattern is a list of steps: a byte, one character (_), or anything
 * (%). A pattern without _ needs no steps: it is pieces of bytes between the %.
 * The first one stands at the start and the last one at the end; the others are
 * looked for from the left, each behind the one before it, which finds a way if
 * there is one. */
#include "operators/expr/like.h"

#include <string.h>

#include "operators/base/words.h"
#include "operators/expr/find.h"

enum step_kind { STEP_BYTE, STEP_ONE, STEP_ANY };

struct step {
    uint8_t kind;
    char byte;
};

enum shape {
    SHAPE_WHOLE,  /* 'abc' */
    SHAPE_PREFIX, /* 'abc%' */
    SHAPE_SUFFIX, /* '%abc' */
    SHAPE_PIECES, /* 'ab%cd%ef', '%abc%' */
    SHAPE_STEPS,
};

struct wi_like {
    enum shape shape;
    struct wi_str bytes; /* of all STEP_BYTEs */
    struct wi_str head;  /* before the first %; may be empty, as all pieces */
    struct wi_str tail;  /* after the last % */
    struct wi_str *middle;
    uint32_t n_middle;
    struct step *steps;
    uint32_t n;
};

/* The pieces, of steps without STEP_ONE. */
static void cut(struct wi_like *like)
{
    const char *from = like->bytes.data;
    const char *to = from;
    bool first = true;
    for (uint32_t k = 0; k < like->n; k++) {
        struct wi_str piece = {from, (uint32_t)(to - from)};
        if (like->steps[k].kind == STEP_BYTE) {
            to++;
            continue;
        }
        if (first) {
            like->head = piece;
        } else {
            like->middle[like->n_middle++] = piece;
        }
        first = false;
        from = to;
    }
    like->tail = (struct wi_str){from, (uint32_t)(to - from)};
}

static enum shape shape_of(const struct wi_like *like)
{
    const struct step *steps = like->steps;
    uint32_t n = like->n;
    uint32_t n_any = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (steps[k].kind == STEP_ONE) {
            return SHAPE_STEPS;
        }
        n_any += steps[k].kind == STEP_ANY;
    }
    if (n_any == 1 && steps[0].kind == STEP_ANY) {
        return SHAPE_SUFFIX;
    }
    if (n_any == 1 && steps[n - 1].kind == STEP_ANY) {
        return SHAPE_PREFIX;
    }
    return n_any == 0 ? SHAPE_WHOLE : SHAPE_PIECES;
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
    struct wi_str *middle =
        wi_build_take(b, (pattern.n_bytes / 2 + 1u) * sizeof(*middle));
    if (like == NULL || bytes == NULL || steps == NULL || middle == NULL) {
        return NULL;
    }
    like->steps = steps;
    like->middle = middle;
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
    if (like->shape == SHAPE_PIECES) {
        cut(like);
    }
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

static bool match_pieces(const struct wi_like *like, struct wi_str s)
{
    struct wi_str head = {s.data, like->head.n_bytes};
    if (s.n_bytes < (uint64_t)like->head.n_bytes + like->tail.n_bytes) {
        return false;
    }
    struct wi_str tail = {s.data + s.n_bytes - like->tail.n_bytes,
                          like->tail.n_bytes};
    if (!wi_str_same(head, like->head) || !wi_str_same(tail, like->tail)) {
        return false;
    }
    struct wi_str rest = {s.data + head.n_bytes,
                          s.n_bytes - head.n_bytes - tail.n_bytes};
    for (uint32_t i = 0; i < like->n_middle; i++) {
        uint32_t at;
        if (!wi_find(rest, like->middle[i], &at)) {
            return false;
        }
        at += like->middle[i].n_bytes;
        rest = (struct wi_str){rest.data + at, rest.n_bytes - at};
    }
    return true;
}

void wi_like_match(const struct wi_like *like, const struct wi_str *x,
                   struct wi_sel_rows rows, uint8_t *out)
{
    const struct wi_str b = like->bytes;
    const uint32_t n = b.n_bytes;
    switch (like->shape) {
    case SHAPE_WHOLE:
        WI_EACH(rows, out[p] = wi_str_same(x[p], b););
        break;
    case SHAPE_PREFIX:
        WI_EACH(rows, out[p] = x[p].n_bytes >= n &&
                               wi_str_same((struct wi_str){x[p].data, n}, b););
        break;
    case SHAPE_SUFFIX:
        WI_EACH(rows,
                out[p] =
                    x[p].n_bytes >= n &&
                    wi_str_same(
                        (struct wi_str){x[p].data + x[p].n_bytes - n, n}, b););
        break;
    case SHAPE_PIECES:
        WI_EACH(rows, out[p] = match_pieces(like, x[p]););
        break;
    case SHAPE_STEPS:
        WI_EACH(rows, out[p] = match_steps(like, x[p]););
        break;
    }
}
