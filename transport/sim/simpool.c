/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/sim/simpool.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/cc.h"

enum { CHUNK_HEAD = 16, CHUNK_BYTES = 64 * 1024 };

static const uint16_t block_bytes[WI_SIMPOOL_SIZES] = {96, 192, 512, 1536,
                                                       WI_SIMPOOL_LARGEST};

/* Cut a new chunk into blocks of one size. */
WI_COLD static void refill(struct wi_simpool *p, uint8_t size)
{
    char *chunk = aligned_alloc(WI_CACHE_LINE, CHUNK_BYTES);
    if (chunk == NULL) {
        return;
    }
    *(void **)chunk = p->chunks;
    p->chunks = chunk;
    size_t step = block_bytes[size];
    for (size_t at = CHUNK_HEAD; at + step <= CHUNK_BYTES; at += step) {
        wi_simpool_put(p, chunk + at, size);
    }
}

void *wi_simpool_take(struct wi_simpool *p, size_t bytes, uint8_t *size_out)
{
    uint8_t size = 0;
    while (block_bytes[size] < bytes) {
        size++;
        assert(size < WI_SIMPOOL_SIZES);
    }
    if (p->free[size] == NULL) {
        refill(p, size);
    }
    void **block = p->free[size];
    if (block != NULL) {
        p->free[size] = *block;
        *size_out = size;
    }
    return block;
}

void wi_simpool_put(struct wi_simpool *p, void *block, uint8_t size)
{
    *(void **)block = p->free[size];
    p->free[size] = block;
}

void wi_simpool_fini(struct wi_simpool *p)
{
    while (p->chunks != NULL) {
        void *next = *(void **)p->chunks;
        free(p->chunks);
        p->chunks = next;
    }
    *p = (struct wi_simpool){0};
}
