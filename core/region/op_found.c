/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/op_found.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/region/fetch.h"
#include "core/region/tally.h"
#include "core/ring/arena.h"
#include "core/transport.h"

/* Of an operation for which there is not as much memory as it has bytes. */
#define TURN_BYTES (1u << 20)

/* ---- posted -------------------------------------------------------------- */

static void transfer_ended(struct wi_transfer *t)
{
    wi_fetch_put(wi_container_of(t, struct wi_op, transfer));
}

/* Memory of the arena. A large operation on memory of the program does with
 * less, which its bytes go through in turns. */
static weir_err take_arena(struct wi_op *op, struct wi_arena *arena,
                           struct weir_error *err)
{
    op->buf_bytes = op->bytes;
    op->buf = wi_arena_alloc(arena, op->buf_bytes, err);
    if (op->buf == NULL && op->user != NULL && op->bytes > TURN_BYTES) {
        op->buf_bytes = TURN_BYTES;
        op->buf = wi_arena_alloc(arena, op->buf_bytes, err);
    }
    op->arena = op->buf != NULL ? arena : NULL;
    return op->buf != NULL ? WEIR_OK : err->code;
}

/* Memory to move from or to, unless the program's own will do. On a node that
 * is stepped by hand it never does: nobody could wait for its last use. */
static weir_err take_buffer(struct wi_op *op, struct wi_link *l,
                            struct weir_error *err)
{
    bool any = (l->home->ops->caps & WI_CAP_LOCAL_ANY) != 0;
    if (op->buf != NULL ||
        (op->user != NULL && any && !op->fetch->node->engine.cfg.manual)) {
        return WEIR_OK;
    }
    if (!any) {
        return take_arena(op, l->arena, err);
    }
    if (!wi_op_alloc(op)) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "no memory for %" PRIu64 " bytes", op->bytes);
    }
    return WEIR_OK;
}

static void move(struct wi_op *op)
{
    struct wi_link *l = op->share->link;
    struct wi_piece *p = op->piece;
    struct weir_error err;
    uint64_t at = op->off + op->at - p->off;
    weir_err rc = take_buffer(op, l, &err);
    if (rc != WEIR_OK) {
        wi_op_fail(op, rc, "%s", err.message);
        return;
    }
    struct wi_transfer *t = &op->transfer;
    t->local = op->buf != NULL ? op->buf : op->user + op->at;
    t->key = p->key;
    t->off = p->origin + at;
    t->bytes = wi_min_u64(op->bytes - op->at, p->bytes - at);
    t->write = op->kind == WI_OP_PUT;
    if (wi_op_in_turns(op)) {
        t->bytes = wi_min_u64(t->bytes, op->buf_bytes);
    } else if (op->buf != NULL) {
        t->local += op->at;
    }
    if (t->write && op->buf != NULL) {
        memcpy(t->local, op->user + op->at, t->bytes);
    }
    t->ended = transfer_ended;
    op->state = WI_OP_MOVING;
    wi_transfer_start(l, t);
}

/* ---- finding ------------------------------------------------------------- */

/* With another region: the one that it began with may have been closed before
 * that. */
static void begin_again(struct wi_op *op)
{
    op->at = 0;
    op->bytes = op->asked;
    if (op->asked == UINT64_MAX) {
        wi_op_free_buffer(op); /* it may be too small */
    }
}

/* How much it is; false: that is not there, or another region than the one that
 * it began with has the name. */
static bool fits(struct wi_op *op, uint64_t handle, uint64_t region_bytes,
                 bool sure)
{
    if (op->at != 0 && op->handle != handle) {
        if (op->sure) {
            wi_op_fail(op, WEIR_ERR_NOT_FOUND,
                       "the region was closed meanwhile");
            return false;
        }
        begin_again(op);
    }
    op->sure = sure || (op->at != 0 && op->sure);
    op->handle = handle;
    op->region_bytes = region_bytes;
    op->incarnation = op->share->link->peer_incarnation;
    if (op->at == 0 && op->kind == WI_OP_GET && op->bytes == UINT64_MAX &&
        op->off <= region_bytes) {
        op->bytes = region_bytes - op->off;
    }
    if (op->off <= region_bytes && op->bytes <= region_bytes - op->off) {
        return true;
    }
    if (op->kind == WI_OP_GET && op->bytes == 0) {
        return true; /* only wants to know how long it is */
    }
    wi_op_fail(op, WEIR_ERR_ARG,
               "%" PRIu64 " bytes at %" PRIu64 " of a region of %" PRIu64,
               op->bytes, op->off, region_bytes);
    return false;
}

/* Is it known that the region was published after the operation began? */
static bool is_current(const struct wi_op *op, const struct wi_piece *p)
{
    const struct wi_link *l = op->share->link;
    if (p->asked >= op->begun || p->once) {
        return p->asked >= op->begun;
    }
    if (l->self || (l->caps & WI_WIRE_CAP_TALLY) == 0) {
        return true; /* nothing is on its way; that peer does not tell */
    }
    if (op->sure && op->at != 0 && op->handle == p->handle) {
        return true;
    }
    return p->tally != NULL && wi_tally_is_even(p->tally);
}

/* Nothing will be moved that tells whether the piece is current. */
static bool ends_here(const struct wi_op *op, const struct wi_piece *p)
{
    return op->at == op->bytes || op->off >= p->region_bytes ||
           (op->bytes != UINT64_MAX && op->bytes > p->region_bytes - op->off);
}

bool wi_op_may_use(const struct wi_op *op, const struct wi_piece *p)
{
    return is_current(op, p) ||
           (p->base == NULL && !p->once && !ends_here(op, p));
}

void wi_op_found(struct wi_op *op, struct wi_piece *p)
{
    op->piece = p;
    if (!fits(op, p->handle, p->region_bytes, is_current(op, p))) {
        return;
    }
    if (op->at == op->bytes) {
        wi_op_finish(op);
    } else if (p->base != NULL) {
        op->state = WI_OP_COPYING;
        wi_fetch_put(op);
    } else {
        move(op);
    }
}

void wi_op_beyond(struct wi_op *op, uint64_t handle, uint64_t region_bytes)
{
    if (fits(op, handle, region_bytes, true)) {
        if (op->bytes != op->at) { /* the owner contradicts itself */
            wi_op_fail(op, WEIR_ERR_PEER_PROTOCOL, "it found nothing there");
        } else {
            wi_op_finish(op);
        }
    }
}
