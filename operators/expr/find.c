/* SPDX-License-Identifier: Apache-2.0 */
/* Sixteen places at a time are compared with the first byte of the piece, and
 * with its last at the distance that it has to have; where both agree, which is
 * rare, the bytes between are looked at. Source: W. Muła, SIMD-friendly
 * algorithms for substring searching (generic SIMD), 2016. */
#include "operators/expr/find.h"

#include <string.h>

enum { PLACES = 16, HALF = PLACES / 2 };

typedef uint8_t places __attribute__((vector_size(PLACES)));

struct wanted {
    places first;
    places last;
    struct wi_str piece;
};

static bool is_at(const char *place, struct wi_str piece)
{
    return memcmp(place, piece.data, piece.n_bytes) == 0;
}

/* The first of eight places of which the byte in `bits` is set. */
static bool find_in_half(const char *place, uint64_t bits, struct wi_str piece,
                         uint32_t *at_out)
{
    while (bits != 0) {
        uint32_t i = (uint32_t)__builtin_ctzll(bits) / 8;
        if (is_at(place + i, piece)) {
            *at_out = i;
            return true;
        }
        bits &= ~(UINT64_C(0xff) << (8 * i));
    }
    return false;
}

static inline bool find_in_block(const char *place, const struct wanted *w,
                                 uint32_t *at_out)
{
    places first;
    places last;
    uint64_t half[2];
    memcpy(&first, place, sizeof(first));
    memcpy(&last, place + w->piece.n_bytes - 1, sizeof(last));
    places both = (places)((first == w->first) & (last == w->last));
    memcpy(half, &both, sizeof(half));
    if ((half[0] | half[1]) == 0) {
        return false;
    }
    if (find_in_half(place, half[0], w->piece, at_out)) {
        return true;
    }
    bool found = find_in_half(place + HALF, half[1], w->piece, at_out);
    *at_out += found ? HALF : 0;
    return found;
}

static bool find_one_by_one(const char *text, uint32_t n_places,
                            struct wi_str piece, uint32_t *at_out)
{
    for (uint32_t i = 0; i < n_places; i++) {
        if (text[i] == piece.data[0] && is_at(text + i, piece)) {
            *at_out = i;
            return true;
        }
    }
    return false;
}

bool wi_find(struct wi_str text, struct wi_str piece, uint32_t *at_out)
{
    if (text.n_bytes < piece.n_bytes) {
        return false;
    }
    uint32_t n_places = text.n_bytes - piece.n_bytes + 1;
    if (n_places < PLACES) {
        return find_one_by_one(text.data, n_places, piece, at_out);
    }
    const struct wanted w = {
        (places){0} + (uint8_t)piece.data[0],
        (places){0} + (uint8_t)piece.data[piece.n_bytes - 1], piece};
    uint32_t at = 0;
    uint32_t last = n_places - PLACES; /* of a block, which may overlap */
    for (;;) {
        if (find_in_block(text.data + at, &w, at_out)) {
            *at_out += at;
            return true;
        }
        if (at == last) {
            return false;
        }
        at = last - at < PLACES ? last : at + PLACES;
    }
}
