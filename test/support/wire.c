/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/wire.h"

#include <stddef.h>

static const uint32_t lengths[] = {
    0,   168, 168, 168, 248, 8,   8,  8,   48, 16, 16,   16,   24, 24, 256,
    352, 352, 24,  16,  336, 992, 40, 312, 24, 24, 1056, 1040, 8,  8,  8};

struct wt_msg wt_msg(enum wt_msg_type type)
{
    struct wt_msg m = {.len = lengths[type]};
    wt_put(m.at, (uint64_t)type, 2);
    wt_put(m.at + 2, m.len, 2);
    return m;
}

void wt_set_text(struct wt_msg *m, uint32_t off, uint32_t bytes,
                 const char *text)
{
    size_t n = strnlen(text, bytes - 1);
    memset(m->at + off, 0, bytes);
    memcpy(m->at + off, text, n);
}

void wt_append(struct wt_msg *packet, const struct wt_msg *m)
{
    memcpy(packet->at + packet->len, m->at, m->len);
    packet->len += m->len;
}

/* ---- the checksum -------------------------------------------------------- */

enum { LANES = 8, BLOCK = 64 };

struct sums {
    uint64_t a[LANES], b[LANES], c[LANES], e[LANES];
};

/* A byte of a span, which ends with zeros up to a block. */
static uint64_t word_at(const uint8_t *span, uint64_t n, uint64_t off)
{
    uint8_t bytes[8] = {0};
    for (uint64_t i = 0; i < 8 && off + i < n; i++) {
        bytes[i] = span[off + i];
    }
    return wt_get(bytes, 8);
}

static void add_span(struct sums *s, const uint8_t *span, uint64_t n)
{
    uint64_t blocks = (n + BLOCK - 1) / BLOCK;
    for (uint64_t k = 0; k < blocks; k++) {
        for (uint32_t l = 0; l < LANES; l++) {
            uint64_t off = k * BLOCK + 8 * l;
            uint64_t w = word_at(span, n, off);
            uint64_t u = k == 0 ? w >> 32 : word_at(span, n, off - 4);
            s->a[l] += w;
            s->b[l] += s->a[l];
            s->c[l] += u;
            s->e[l] += s->c[l];
        }
    }
    for (uint32_t l = 0; l < LANES && blocks >= 2; l++) {
        uint64_t last = word_at(span, n, blocks * BLOCK - 8);
        s->c[l] += l == 0 ? last >> 32 : 0;
        s->e[l] += s->c[l];
    }
}

static uint64_t weigh(uint64_t x, uint64_t at)
{
    x *= 0x9e3779b97f4a7c15u * (2 * at + 1);
    return x ^ (x >> 29);
}

static uint64_t fold(const uint64_t v[LANES], uint64_t first)
{
    uint64_t sum = 0;
    for (uint32_t l = 0; l < LANES; l++) {
        sum += weigh(v[l], first + l);
    }
    return sum;
}

static uint64_t mix(uint64_t h)
{
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

uint64_t wt_frame_sum(const uint8_t *at)
{
    struct sums s;
    memset(&s, 0, sizeof(s));
    uint64_t kind = at[4];
    uint64_t words[6] = {kind,
                         wt_get(at + 12, 4),
                         wt_get(at + 36, 4),
                         wt_get(at + 40, 4),
                         wt_get(at + 44, 4),
                         wt_get(at + 48, 4)};
    if (kind == 2) {
        add_span(&s, at + WT_HEADER, words[4]);
    } else {
        add_span(&s, at + WT_TABLE, 8 * words[2]);
        for (uint64_t i = 0; i < words[2]; i++) {
            const uint8_t *entry = at + WT_TABLE + 8 * i;
            add_span(&s, at + wt_get(entry, 4), wt_get(entry + 4, 4));
        }
    }
    uint64_t head = 0;
    for (uint64_t i = 0; i < 6; i++) {
        head += weigh(words[i], 32 + i);
    }
    uint64_t h = mix(fold(s.a, 0) + fold(s.c, 16) + head);
    h = mix(h + fold(s.b, 8) + fold(s.e, 24));
    return h != 0 ? h : 1;
}

void wt_frame_seal(uint8_t *at)
{
    wt_put(at + 24, wt_frame_sum(at), 8);
}

/* ---- frames -------------------------------------------------------------- */

static void put_header(uint8_t *at, uint32_t kind, uint32_t bytes,
                       struct wt_place_in_ring place)
{
    memset(at, 0, bytes);
    wt_put(at, 0x52494557u, 4);
    wt_put(at + 4, kind, 1);
    wt_put(at + 8, bytes, 4);
    wt_put(at + 16, place.pos, 8);
    wt_put(at + 32, place.epoch, 4);
}

uint32_t wt_frame_data(uint8_t *at, struct wt_place_in_ring place,
                       const int64_t *keys, uint32_t rows)
{
    uint32_t bytes = 128 + (8 * rows + 63) / 64 * 64;
    put_header(at, 1, bytes, place);
    wt_put(at + 12, rows, 4);
    wt_put(at + 36, 1, 4);
    wt_put(at + WT_TABLE, 128, 4);
    wt_put(at + WT_TABLE + 4, 8 * rows, 4);
    for (uint32_t i = 0; i < rows; i++) {
        wt_put(at + 128 + 8 * i, (uint64_t)keys[i], 8);
    }
    wt_frame_seal(at);
    return bytes;
}

uint32_t wt_frame_end(uint8_t *at, struct wt_place_in_ring place,
                      const uint64_t sums[4])
{
    put_header(at, 3, 128, place);
    for (uint32_t i = 0; i < 4; i++) {
        wt_put(at + 64 + 8 * i, sums[i], 8);
    }
    return 128;
}

uint32_t wt_frame_chunk(uint8_t *at, struct wt_place_in_ring place,
                        const uint8_t *image, uint32_t total, uint32_t off,
                        uint32_t n)
{
    uint32_t bytes = 64 + (n + 63) / 64 * 64;
    put_header(at, 2, bytes, place);
    wt_put(at + 12, off + n == total ? 1 : 0, 4);
    wt_put(at + 40, off, 4);
    wt_put(at + 44, n, 4);
    wt_put(at + 48, total, 4);
    memcpy(at + WT_HEADER, image + off, n);
    wt_frame_seal(at);
    return bytes;
}

/* ---- fingerprints -------------------------------------------------------- */

static uint64_t fnv(uint64_t h, const void *bytes, uint64_t n)
{
    const uint8_t *b = bytes;
    for (uint64_t i = 0; i < n; i++) {
        h = (h ^ b[i]) * 0x100000001b3u;
    }
    return h;
}

static uint64_t add_word(uint64_t h, uint64_t word)
{
    uint8_t bytes[8];
    wt_put(bytes, word, 8);
    return fnv(h, bytes, 8);
}

static uint64_t add_members(uint64_t h, const struct wt_shuffle_print *s)
{
    h = add_word(h, s->n_members);
    for (uint32_t i = 0; i < s->n_members; i++) {
        h = add_word(h, s->members[i]);
    }
    return h;
}

uint64_t wt_fingerprint(const struct wt_shuffle_print *s)
{
    static const uint64_t start = 0xcbf29ce484222325u;
    static const char schema[] = "key\0l\0"; /* and the empty text's NUL */
    uint64_t h = add_word(start, fnv(start, schema, sizeof(schema)));
    h = add_word(h, 0); /* by hash */
    h = add_word(h, s->seed);
    h = add_word(h, s->n_members); /* destinations */
    h = add_word(h, s->n_members); /* producing workers in all */
    h = add_word(h, 1);            /* of each member */
    h = add_word(h, 1);
    h = add_members(h, s); /* producers, then consumers */
    h = add_members(h, s);
    return add_word(h, 0); /* the key's column */
}
