/* SPDX-License-Identifier: Apache-2.0 */
/** How far a worker is, for whoever shows it. */
#ifndef WL_COUNTER_H
#define WL_COUNTER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

/** In memory that all processes share, a cache line each. Written by that
 *  worker only; readers may see an older value. */
struct wl_counter {
    alignas(64) _Atomic uint64_t rows;
};

#endif /* WL_COUNTER_H */
