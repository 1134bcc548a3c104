/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/text.h"

#include "core/base/bytes.h"
#include "core/base/cc.h"

static const uint8_t *ends_of(const struct wi_view *v, uint64_t row)
{
    return (const uint8_t *)v->values + (v->offset + row) * 4;
}

const uint8_t *wi_text_at(const struct wi_view *v, uint64_t row,
                          uint32_t *len_out)
{
    if (v->texts != NULL) {
        *len_out = v->texts[row].len;
        return v->texts[row].at;
    }
    uint64_t pair = wi_load_u64(ends_of(v, row));
    *len_out = (uint32_t)(pair >> 32) - (uint32_t)pair;
    return v->bytes + (uint32_t)pair;
}

uint32_t wi_text_len(const struct wi_view *v, uint64_t row)
{
    uint32_t len;
    (void)wi_text_at(v, row, &len);
    return len;
}

uint64_t wi_text_sum(const struct wi_view *v, uint64_t n)
{
    uint64_t sum = 0;
    if (v->texts == NULL) {
        return wi_load_u32(ends_of(v, n)) - wi_load_u32(ends_of(v, 0));
    }
    for (uint64_t i = 0; i < n; i++) {
        sum += v->texts[i].len;
    }
    return sum;
}

static inline const struct wi_text *
text_of(const struct wi_text *texts, const struct wi_rows *rows, uint32_t i)
{
    return &texts[rows->idx != NULL ? rows->idx[i] : (uint64_t)rows->first + i];
}

uint32_t wi_text_gather(int32_t *ends, uint8_t *dst, struct wi_var *var,
                        const struct wi_text *texts, const struct wi_rows *rows)
{
    const struct wi_rows own = *rows; /* what is written might alias it */
    const uint32_t cap = var->cap_bytes;
    uint32_t to = var->used;
    uint32_t i;
    for (i = 0; i < own.n; i++) {
        const struct wi_text *t = text_of(texts, &own, i);
        if (wi_unlikely(t->len > cap - to)) {
            break;
        }
        wi_text_move(dst + to, cap - to, t);
        to += t->len;
        ends[i] = (int32_t)to;
    }
    var->end = to;
    return i;
}

uint32_t wi_text_bytes(const struct wi_text *texts, const struct wi_rows *rows)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < rows->n; i++) {
        bytes += text_of(texts, rows, i)->len;
    }
    return bytes;
}
