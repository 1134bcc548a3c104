/* SPDX-License-Identifier: Apache-2.0 */
/** Taking asks; who leads (work.h) has the worker of the node. */
#ifndef WI_SCAN_SERVE_H
#define WI_SCAN_SERVE_H

/**
 * Take the asks that are there. If that makes no task, look who is gone or
 * idle, and wait for asks.
 *
 * @param arg  struct weir_scan_server
 *
 * Blocks:     until something happens for the worker, the lock let go
 * Threads:    one at a time, the lock held
 */
void wi_scan_lead(void *arg);

#endif /* WI_SCAN_SERVE_H */
