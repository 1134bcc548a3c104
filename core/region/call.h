/* SPDX-License-Identifier: Apache-2.0 */
/** Calls of peers that wait at the owner: FINDs for which there is no region or
 *  no room yet, and asks. */
#ifndef WI_CALL_H
#define WI_CALL_H

#include "core/region/regions.h"

enum wi_call_kind { WI_CALL_FIND, WI_CALL_ASK };

struct wi_call {
    struct wi_list on_share;
    struct wi_list on_list; /* regions' waiting, or the asks' */
    struct wi_share *share; /* NULL: nobody waits for it any more */
    struct weir_asks *asks; /* NULL: no ask */
    enum wi_call_kind kind;
    uint32_t member;
    uint64_t incarnation;
    uint64_t id;
    uint64_t round;
    bool taken;
    char peer[WI_NAME_BYTES]; /* taken: the entry may go before its answer */
    union {
        struct wi_msg_find find;
        struct wi_msg_ask ask; /* up to its len */
    } m;
};

struct weir_asks {
    struct weir_node *node;
    struct wi_list on_regions;
    uint64_t space;
    struct wi_worker *worker;
    uint64_t round;         /* of the last one taken */
    struct wi_list waiting; /* by round */
    struct wi_list taken;
};

/** FIND and ASK. */
weir_err wi_call_on_find(struct wi_share *s, const struct wi_msg_find *m,
                         struct weir_error *err);
weir_err wi_call_on_ask(struct wi_share *s, const struct wi_msg_ask *m,
                        struct weir_error *err);

/** LEAVE. */
void wi_call_on_leave(struct wi_share *s, uint32_t call);

/** Try FINDs that wait again. Returns how many were answered. */
uint32_t wi_calls_retry(struct wi_engine *e);

/** The link is gone, and its calls with it. */
void wi_calls_forget(struct wi_share *s);

/** Stop answering; under the lock. */
void wi_asks_free(struct weir_asks *asks);

#endif /* WI_CALL_H */
