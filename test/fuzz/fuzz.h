/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the fuzz targets share: an input that is taken apart from its front,
 * and a check that ends the process, so that the fuzzer keeps the input.
 *
 *   libFuzzer or replay.c --bytes--> LLVMFuzzerTestOneInput (one per program)
 *
 * A target makes the same calls for the same bytes, and gives back all that it
 * took.
 */
#ifndef WT_FUZZ_H
#define WT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** One input. Returns 0; -1: not worth keeping. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/** Hold what must hold for every input. */
#define FZ_CHECK(ok, ...)                                                      \
    do {                                                                       \
        if (!(ok)) {                                                           \
            (void)fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);              \
            (void)fprintf(stderr, __VA_ARGS__);                                \
            (void)fprintf(stderr, "\n");                                       \
            abort();                                                           \
        }                                                                      \
    } while (0)

/** What is left of an input; after its end it goes on as zeros. */
struct fz_input {
    const uint8_t *at;
    size_t left;
};

static inline void fz_take(struct fz_input *in, void *out, size_t n)
{
    size_t have = n < in->left ? n : in->left;
    memset(out, 0, n);
    if (have != 0) {
        memcpy(out, in->at, have);
        in->at += have;
        in->left -= have;
    }
}

static inline uint8_t fz_u8(struct fz_input *in)
{
    uint8_t x;
    fz_take(in, &x, sizeof(x));
    return x;
}

static inline uint16_t fz_u16(struct fz_input *in)
{
    uint16_t x;
    fz_take(in, &x, sizeof(x));
    return x;
}

static inline uint32_t fz_u32(struct fz_input *in)
{
    uint32_t x;
    fz_take(in, &x, sizeof(x));
    return x;
}

static inline uint64_t fz_u64(struct fz_input *in)
{
    uint64_t x;
    fz_take(in, &x, sizeof(x));
    return x;
}

#endif /* WT_FUZZ_H */
