/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Slots and rooms: regions of one client, and the memory they take together.
 *
 *   slot:  FREE --take--> FILLING --send--> OUT --give--> FREE
 *   room:  ROOM, which its client writes to
 *
 * Slots are used again by their client, so each is made, registered and mapped
 * once. All count as max_bytes, free ones too; when that is used up, free ones
 * of any client are closed first.
 */
#ifndef WI_SCAN_SLOTS_H
#define WI_SCAN_SLOTS_H

#include <weir/region.h>

#include "services/scan/server.h"

enum wi_scan_slot_state {
    WI_SCAN_SLOT_FREE,
    WI_SCAN_SLOT_FILLING,
    WI_SCAN_SLOT_OUT,
    WI_SCAN_SLOT_ROOM,
};

struct wi_scan_slot {
    struct wi_scan_key key; /* name.id, 0; first */
    TAILQ_ENTRY(wi_scan_slot) on_session;
    struct wi_scan_session *session;
    struct wi_scan_reader *reader; /* OUT: whose payload; NULL: it is gone */
    weir_region *region;
    uint8_t *base;
    uint64_t bytes;
    enum wi_scan_slot_state state;
    uint32_t users; /* ROOM: threads that read it */
    bool marked;    /* see wi_scan_slots_give */
};

/**
 * A slot to fill.
 *
 * @param must  also beyond max_bytes
 *
 * Returns:    FILLING; NULL: nothing to be had, *code_out is WEIR_AGAIN
 *             (max_bytes) or an error, which err has
 * Blocks:     lets the lock go while the kernel makes pages
 * Threads:    any, the lock held; a user of the session
 * Ownership:  sent, or put back with wi_scan_slot_free
 */
struct wi_scan_slot *wi_scan_slot_take(struct weir_scan_server *s,
                                       struct wi_scan_session *session,
                                       uint64_t bytes, bool must,
                                       weir_err *code_out,
                                       struct weir_error *err);

/** It is used no more: free; closed if memory is short or its client gone. */
void wi_scan_slot_free(struct weir_scan_server *s, struct wi_scan_slot *slot);

/** Is there memory for another payload, without what must be? */
bool wi_scan_slots_may(const struct weir_scan_server *s,
                       const struct wi_scan_session *session);

/**
 * Slots that a client gives back.
 *
 * @param ids   n u64, unaligned
 * @param kept  the client goes on reading them: they are closed
 *
 * Errors:     WEIR_ERR_NOT_FOUND (not the client's), WEIR_ERR_DATA (it does not
 *             have that one): nothing is given back then
 */
weir_err wi_scan_slots_give(struct weir_scan_server *s,
                            struct wi_scan_session *session, const uint8_t *ids,
                            uint32_t n, bool kept);

/** A reader is freed: what is out is nobody's payload. */
void wi_scan_slots_forget(struct wi_scan_session *session,
                          const struct wi_scan_reader *reader);

/** Close all that no thread uses. */
void wi_scan_slots_close(struct weir_scan_server *s,
                         struct wi_scan_session *session);

/** ROOM: made by a thread of its own. Takes over the ask. */
void wi_scan_room_open(struct weir_scan_server *s,
                       struct wi_scan_session *session,
                       const struct weir_ask *ask, uint64_t bytes);

/** A room of a client with so many bytes, or NULL. */
struct wi_scan_slot *wi_scan_room_find(struct weir_scan_server *s,
                                       const struct wi_scan_session *session,
                                       uint64_t id, uint64_t bytes);

/** A thread does not use a room any more. */
void wi_scan_room_drop(struct weir_scan_server *s, struct wi_scan_slot *room);

#endif /* WI_SCAN_SLOTS_H */
