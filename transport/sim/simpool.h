/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Small blocks in a few sizes, reused from free lists; never given back to the
 * system before fini. Keeps the simulated network free of malloc per message.
 * One thread.
 */
#ifndef WI_SIM_SIMPOOL_H
#define WI_SIM_SIMPOOL_H

#include <stddef.h>
#include <stdint.h>

enum {
    WI_SIMPOOL_SIZES = 5,
    WI_SIMPOOL_LARGEST = 4096 + 128, /* bytes */
};

struct wi_simpool {
    void *free[WI_SIMPOOL_SIZES];
    void *chunks;
};

/** A block of at least `bytes`, 16-byte aligned, not cleared; NULL: no memory.
 *  *size_out goes back in with put. */
void *wi_simpool_take(struct wi_simpool *p, size_t bytes, uint8_t *size_out);

/** Give a block back. */
void wi_simpool_put(struct wi_simpool *p, void *block, uint8_t size);

/** Free everything, blocks in use included. */
void wi_simpool_fini(struct wi_simpool *p);

#endif /* WI_SIM_SIMPOOL_H */
