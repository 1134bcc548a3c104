/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/pack.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/cc.h"
#include "core/format/text.h"

/* Where the next bytes go; NULL: no memory. */
static uint8_t *room(struct wi_packed *p, uint64_t bytes)
{
    if (wi_unlikely(p->used + bytes > p->bytes)) {
        size_t more = (p->used + bytes) * 2 + 64;
        uint8_t *mem = realloc(p->mem, more);
        if (mem == NULL) {
            return NULL;
        }
        p->mem = mem;
        p->bytes = more;
    }
    uint8_t *to = p->mem + p->used;
    p->used += bytes;
    return to;
}

static bool put_u32(struct wi_packed *p, uint32_t value)
{
    uint8_t *to = room(p, 4);
    if (to != NULL) {
        wi_store_u32(to, value);
    }
    return to != NULL;
}

static bool put_bits(struct wi_packed *p, const uint8_t *bits, uint64_t at,
                     uint32_t n)
{
    uint8_t *to = room(p, ((uint64_t)n + 7) / 8);
    if (to == NULL) {
        return false;
    }
    memset(to, 0, ((size_t)n + 7) / 8);
    for (uint32_t i = 0; i < n; i++) {
        to[i / 8] |= (uint8_t)(wi_bit(bits, at + i) << i % 8);
    }
    return true;
}

static bool put_validity(struct wi_packed *p, const struct wi_view *v,
                         uint64_t from, uint32_t n)
{
    uint8_t *flag = room(p, 1);
    if (flag == NULL) {
        return false;
    }
    *flag = v->validity != NULL;
    return v->validity == NULL || put_bits(p, v->validity, v->offset + from, n);
}

/* Lengths, then bytes. */
static bool put_var(struct wi_packed *p, const struct wi_view *v, uint64_t from,
                    uint32_t n)
{
    uint64_t bytes = 0;
    uint8_t *lens = room(p, (uint64_t)n * 4);
    for (uint32_t i = 0; lens != NULL && i < n; i++) {
        uint32_t len = wi_text_len(v, from + i);
        wi_store_u32(lens + (size_t)i * 4, len);
        bytes += len;
    }
    uint8_t *to = lens != NULL ? room(p, bytes) : NULL;
    for (uint32_t i = 0; to != NULL && i < n; i++) {
        uint32_t len;
        const uint8_t *text = wi_text_at(v, from + i, &len);
        memcpy(to, text, len);
        to += len;
    }
    return to != NULL;
}

static bool put_column(struct wi_packed *p, const struct wi_column *c,
                       const struct wi_view *v, uint64_t from, uint32_t n)
{
    uint64_t at = v->offset + from;
    const uint8_t *values = v->values;
    uint8_t *to = NULL;
    if (c->nullable && !put_validity(p, v, from, n)) {
        return false;
    }
    switch (c->kind) {
    case WI_KIND_FIXED:
        to = room(p, (uint64_t)n * c->width);
        if (to != NULL) {
            memcpy(to, values + at * c->width, (size_t)n * c->width);
        }
        return to != NULL;
    case WI_KIND_BITS:
        return put_bits(p, values, at, n);
    case WI_KIND_VAR:
        return put_var(p, v, from, n);
    case WI_KIND_STRUCT:
        break;
    }
    return true;
}

bool wi_pack_value(struct wi_packed *p, const struct wi_column *list,
                   const struct wi_view *views, uint64_t from, uint32_t n)
{
    const struct wi_schema *s = list->items;
    bool done = list->list == WI_LIST_FIXED || put_u32(p, n);
    for (uint32_t i = 0; done && i < s->n_columns; i++) {
        done = put_column(p, &s->columns[i], &views[i], from, n);
    }
    return done;
}
