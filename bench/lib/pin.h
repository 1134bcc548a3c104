/* SPDX-License-Identifier: Apache-2.0 */
/** Cores of this process, and binding to one of them. */
#ifndef WB_PIN_H
#define WB_PIN_H

#include <stdint.h>

#include <weir/error.h>

/** Cores that this process may use, at least 1. Errors: none. Blocks: never.
 *  Threads: any. Ownership: nothing. */
uint32_t wb_cores(void);

/**
 * Bind the calling thread, and the threads it starts, to one core.
 *
 * @param nth  counts through the allowed cores, again from the first after the
 *             last
 *
 * Errors:     WEIR_ERR_SYSTEM
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wb_pin(uint32_t nth, struct weir_error *err);

#endif /* WB_PIN_H */
