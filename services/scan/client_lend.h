/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Payloads at a client: bytes of the server that are lent, or a copy of them.
 *
 *   lent:  slot --mapped--> arrays ... last release --> slot is given back
 *   copy:  slot --get--> memory of the client --> arrays, slot is given back at
 *          once; the memory is used again after the last release
 */
#ifndef WI_SCAN_CLIENT_LEND_H
#define WI_SCAN_CLIENT_LEND_H

#include "services/scan/client.h"

/** A slot to be given back. */
struct wi_scan_given {
    TAILQ_ENTRY(wi_scan_given) next;
    uint64_t slot;
};

/** Memory for a copy; its bytes follow, 64-byte aligned. */
struct wi_scan_memory {
    TAILQ_ENTRY(wi_scan_memory) next;
    uint64_t bytes;
};

struct wi_scan_payload {
    TAILQ_ENTRY(wi_scan_payload) next; /* of client.lent */
    struct weir_scan_client *client;
    uint64_t number; /* of the OPEN or RANGE whose it is */
    const uint8_t *base;
    uint64_t bytes;
    bool shared;                   /* the server can write to it */
    struct weir_got got;           /* lent != 0: to be released */
    struct wi_scan_memory *memory; /* of a copy, or NULL */
    struct wi_scan_given *slot;    /* not given back yet, or NULL */
    uint32_t holds;                /* under the client's lock */
};

/** A payload that came with an answer: copied. NULL: no memory.
 *  Ownership: wi_scan_payload_drop */
struct wi_scan_payload *wi_scan_payload_copy(struct weir_scan_client *c,
                                             const void *bytes, uint64_t n);

/** One that lies in a slot, and is to be got. The same. */
struct wi_scan_payload *wi_scan_payload_make(struct weir_scan_client *c,
                                             uint64_t number, uint64_t slot,
                                             uint64_t n);

/** Where to get it: dst_out, NULL if it is to be lent. False: no memory. */
bool wi_scan_payload_place(struct wi_scan_payload *p, void **dst_out);

/** It was got. */
void wi_scan_payload_came(struct wi_scan_payload *p,
                          const struct weir_got *got);

/** One user more, or less: any thread. After the last its bytes go back. */
void wi_scan_payload_hold(struct wi_scan_payload *p);
void wi_scan_payload_drop(void *payload);

/** The first n bytes, where nobody else can change them. NULL: no memory.
 *  Ownership: the caller's, to free */
void *wi_scan_payload_private(const struct wi_scan_payload *p, uint64_t n);

/** Up to n slots that are to be given back, moved to a list of the caller's;
 *  and back, if they could not be sent. */
uint32_t wi_scan_givens_take(struct weir_scan_client *c, uint32_t n,
                             struct wi_scan_givens *out);
void wi_scan_givens_return(struct weir_scan_client *c,
                           struct wi_scan_givens *list);
void wi_scan_givens_free(struct wi_scan_givens *list);

/** Up to n slots lent to a stream, and: their memory is kept, the first n of
 *  them are not given back. Both with the client's lock held. */
uint32_t wi_scan_lent_list(struct weir_scan_client *c, uint64_t number,
                           uint32_t n, uint64_t *slots_out);
void wi_scan_lent_keep(struct weir_scan_client *c, uint64_t number, uint32_t n);

/** The server that had the slots is gone: none is given back. */
void wi_scan_lent_forget(struct weir_scan_client *c);

/** Free what is kept to be used again. */
void wi_scan_lend_fini(struct weir_scan_client *c);

#endif /* WI_SCAN_CLIENT_LEND_H */
