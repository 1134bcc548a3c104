/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One get, put or ask of a fetch, from when it is taken until its worker hears
 * that it has ended.
 *
 *   WAITING   for the link, or for its turn to find or ask
 *   FINDING   for FOUND                    -> COPYING (mapped), MOVING (posted)
 *   COPYING   the worker copies, in weir_fetch_next      -> FINDING, OVER
 *   MOVING    a transfer is under way      -> LANDED
 *   LANDED    the worker goes on           -> FINDING, SYNCING, OVER
 *   SYNCING   for SYNCED                   -> FINDING, OVER
 *   ASKING    for ANSWER                   -> OVER
 *   OVER      in the fetch's queue
 *
 * The state changes under the node's lock, but for MOVING -> LANDED, which the
 * end of the transfer makes. COPYING, LANDED and OVER belong to the worker.
 *
 * It may use what was found before it began. It is over when it is sure that
 * the region was still published then: by the tally (tally.h), or by a FIND of
 * its own, of which comes that it is, or another region, with which it begins
 * again.
 */
#ifndef WI_OP_H
#define WI_OP_H

#include "core/link/transfer.h"
#include "core/region/regions.h"

enum wi_op_kind { WI_OP_GET, WI_OP_PUT, WI_OP_ASK };

enum wi_op_state {
    WI_OP_FREE,
    WI_OP_WAITING,
    WI_OP_FINDING,
    WI_OP_COPYING,
    WI_OP_MOVING,
    WI_OP_LANDED,
    WI_OP_SYNCING,
    WI_OP_ASKING,
    WI_OP_OVER,
    WI_OP_LENT,
};

struct wi_op {
    struct wi_lq_node node;  /* on the fetch's queue of what the worker goes
                                on with */
    struct wi_list on_fetch; /* free, or ended */
    struct wi_list on_share;
    struct wi_list on_call; /* a find's, or of those that wait */
    struct weir_fetch *fetch;
    struct wi_share *share; /* NULL: no link has to do with it */
    enum wi_op_kind kind;
    enum wi_op_state state;
    uint32_t member;
    struct weir_name name;
    uint64_t off;
    uint64_t bytes;
    uint64_t asked; /* of `bytes`, which may be UINT64_MAX */
    uint64_t at;    /* bytes that are there */
    uint64_t begun; /* number of the call that began it: wi_regions.begun */
    bool sure;      /* the region was published after that */
    uint64_t tag;
    uint64_t charge; /* of max_bytes */
    uint64_t deadline_ns;
    uint8_t *user;      /* dst or src; NULL: lend */
    uint8_t *buf;       /* ours, instead: of the arena or of malloc */
    uint64_t buf_bytes; /* less than `bytes`: bytes go through it in turns */
    struct wi_arena *arena;
    struct wi_piece *piece;
    struct wi_transfer transfer;
    uint64_t region_bytes;
    uint64_t incarnation;
    uint64_t handle; /* the owner's number of the region, once `at` is not 0 */
    uint32_t call;
    weir_err code;
    char *text;    /* of the error; of malloc, may be NULL */
    uint8_t *lend; /* mapped: where the bytes are */
};

/** Its bytes go through a buffer that is smaller. */
static inline bool wi_op_in_turns(const struct wi_op *op)
{
    return op->user != NULL && op->buf != NULL && op->buf_bytes < op->bytes;
}

/** The byte that it looks for next: of what is whole, the first. */
static inline uint64_t wi_op_place(const struct wi_op *op)
{
    return op->off + (op->at < op->bytes ? op->at : 0);
}

/** Begin an operation whose fields are set; what is posted starts with the next
 *  pump of the link. Returns the link, or NULL. */
struct wi_link *wi_op_start(struct wi_op *op);

/** The worker has come to the end of a piece, or to the end. */
void wi_op_landed(struct wi_op *op);

/** End it with an error. A transfer that is under way ends first. */
void wi_op_fail(struct wi_op *op, weir_err code, const char *fmt, ...)
    WI_PRINTF(3, 4);

/** It has ended, well or not, and the worker hears of it. */
void wi_op_finish(struct wi_op *op);

/** Operations that wait for the link, or for calls to come back, go on. */
void wi_ops_go_on(struct wi_share *s);

/** The link is gone: move to the next one, or fail. */
void wi_ops_link_gone(struct wi_share *s, bool clean, weir_err code,
                      const char *why);
void wi_ops_link_over(struct wi_share *s);

/** Transfers from or to a piece that was revoked stop where they are; what is
 *  left of their operations looks for another piece. */
void wi_ops_let_go(struct wi_share *s, const struct wi_piece *p);

/** ANSWER and SYNCED. */
weir_err wi_op_on_answer(struct wi_share *s, const struct wi_msg_answer *m,
                         struct weir_error *err);
void wi_op_on_synced(struct wi_share *s, uint32_t call);

/** Memory for all of its bytes, 64-byte aligned. False: there is none. */
bool wi_op_alloc(struct wi_op *op);

/** Give back its buffer. Under the node's lock if that is arena memory. */
void wi_op_free_buffer(struct wi_op *op);

/** Give back what the operation has beside the program's memory. Under the
 *  node's lock if it has arena memory. */
void wi_op_clear(struct wi_op *op);

#endif /* WI_OP_H */
