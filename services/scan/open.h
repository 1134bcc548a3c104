/* SPDX-License-Identifier: Apache-2.0 */
/** OPEN, where an engine's thread does it: request to stream and schema. */
#ifndef WI_SCAN_OPEN_H
#define WI_SCAN_OPEN_H

#include "services/scan/scan.h"

/**
 * Have the engine of its data set open a scan. What goes wrong is the scan's
 * failure.
 *
 * Blocks:     while the engine works
 * Threads:    who is busy with it, the lock not held
 */
void wi_scan_scan_open(struct wi_scan_scan *scan);

/** Release what the engine gave. As wi_scan_scan_open. */
void wi_scan_scan_release(struct wi_scan_scan *scan);

#endif /* WI_SCAN_OPEN_H */
