/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Payloads: batches that travel together.
 *
 *   stream of the scan --take--> payload --copy--> slot, or answer
 */
#ifndef WI_SCAN_PAYLOAD_H
#define WI_SCAN_PAYLOAD_H

#include "services/scan/parts.h"

struct wi_scan_scan;

/** Zeroed: empty. */
struct wi_scan_payload {
    struct ArrowArray *batches;
    struct wi_scan_split *splits; /* of the same */
    uint32_t n;
    uint32_t cap;
    uint64_t bytes; /* of its batches, as they are laid out */
    uint64_t rows;
    bool taken; /* there is something to send, if only the end */
    bool end;
    weir_err code; /* not WEIR_OK: the scan's fault instead of batches */
};

/**
 * Take batches of a scan: until there are limit_bytes (one batch may be
 * larger), the stream ends or fails, or a millisecond has gone by. Who comes
 * after the end gets that again; after a failure too.
 *
 * Blocks:     while the engine works
 * Threads:    who is busy with the scan, the lock not held
 */
void wi_scan_payload_take(struct wi_scan_scan *scan, struct wi_scan_payload *p,
                          uint64_t limit_bytes);

/** Release its batches; what is left can be used again. */
void wi_scan_payload_clear(struct wi_scan_payload *p);
void wi_scan_payload_fini(struct wi_scan_payload *p);

#endif /* WI_SCAN_PAYLOAD_H */
