/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Things by their 128-bit numbers: clients, readers, shared scans, slots. A
 * thing has its number as first member; the tree is the C library's.
 */
#ifndef WI_SCAN_IDS_H
#define WI_SCAN_IDS_H

#include <stdbool.h>
#include <stdint.h>

struct wi_scan_key {
    uint64_t words[2];
};

struct wi_scan_ids {
    void *root; /* of tsearch; NULL: empty */
};

/** A number that nobody guesses; no word of it is 0. */
struct wi_scan_key wi_scan_key_random(void);

/** False: no memory, or the number is there already. */
bool wi_scan_ids_put(struct wi_scan_ids *ids, struct wi_scan_key *thing);
/** Does nothing if the thing is not there. */
void wi_scan_ids_drop(struct wi_scan_ids *ids, struct wi_scan_key *thing);
/** The thing of that number, or NULL. */
void *wi_scan_ids_find(const struct wi_scan_ids *ids, const uint64_t *words);

#endif /* WI_SCAN_IDS_H */
