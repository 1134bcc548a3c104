/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/op.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/neutral.h"
#include "core/link/life.h"
#include "core/link/members.h"
#include "core/link/post.h"
#include "core/link/send.h"
#include "core/region/fetch.h"
#include "core/region/piece.h"
#include "core/region/share.h"
#include "core/ring/arena.h"
#include "core/transport.h"

/* Of an operation for which there is not as much memory as it has bytes. */
#define TURN_BYTES (1u << 20)

static struct wi_engine *engine_of(const struct wi_op *op)
{
    return &op->fetch->node->engine;
}

static struct wi_op *on_share(struct wi_list *n)
{
    return wi_container_of(n, struct wi_op, on_share);
}

static struct wi_op *on_call(struct wi_list *n)
{
    return wi_container_of(n, struct wi_op, on_call);
}

static void unlink_op(struct wi_op *op)
{
    wi_list_remove(&op->on_call);
    wi_list_remove(&op->on_share);
    if (op->share != NULL) {
        struct wi_link *l = op->share->link;
        op->share = NULL;
        wi_link_rest(l);
    }
}

/* ---- ends ---------------------------------------------------------------- */

static void drop_piece(struct wi_op *op)
{
    if (op->piece != NULL) {
        wi_piece_drop(op->piece);
        op->piece = NULL;
    }
}

static void finish(struct wi_op *op)
{
    drop_piece(op);
    unlink_op(op);
    op->state = WI_OP_OVER;
    wi_fetch_put(op);
}

static void note(struct wi_op *op, weir_err code, const char *fmt, va_list ap)
{
    static const char *const kind[] = {"get", "put", "ask"};
    char text[WEIR_ERROR_MESSAGE_BYTES];
    int n = snprintf(text, sizeof(text),
                     "%s %" PRIu64 "/%" PRIu64 " at %s: ", kind[op->kind],
                     op->name.space, op->name.id,
                     wi_member_name(engine_of(op), op->member));
    (void)wi_neutral_vformat(text + n, sizeof(text) - (size_t)n, fmt, ap);
    op->code = code;
    free(op->text);
    op->text = strdup(text);
}

/* Nobody has to answer it any more. */
static void leave_call(struct wi_op *op)
{
    struct wi_share *s = op->share;
    if (s == NULL ||
        (op->state != WI_OP_FINDING && op->state != WI_OP_ASKING)) {
        return;
    }
    s->room = true; /* for those that wait for their turn */
    wi_engine_kick(s->link->engine);
    if (op->state == WI_OP_FINDING) {
        wi_find_leave(op);
    } else {
        union wi_msg m;
        wi_msg_init(&m, WI_MSG_LEAVE);
        m.word.arg = op->call;
        s->asked_bytes -= wi_ask_charge((uint32_t)op->bytes);
        if (s->link->state != WI_LINK_DEAD) {
            wi_link_send_soon(s->link, &m);
        }
    }
}

void wi_op_fail(struct wi_op *op, weir_err code, const char *fmt, ...)
{
    va_list ap;
    if (op->state == WI_OP_COPYING) {
        return; /* the bytes are there: it ends well */
    }
    va_start(ap, fmt);
    note(op, code, fmt, ap);
    va_end(ap);
    if (op->state == WI_OP_MOVING) {
        if (op->share != NULL && op->share->link->state != WI_LINK_DEAD) {
            wi_transfer_stop(op->share->link, &op->transfer);
        }
        return;
    }
    leave_call(op);
    finish(op);
}

bool wi_op_alloc(struct wi_op *op)
{
    op->buf =
        aligned_alloc(WI_CACHE_LINE, wi_align_up(op->bytes, WI_CACHE_LINE));
    op->buf_bytes = op->bytes;
    return op->buf != NULL;
}

void wi_op_clear(struct wi_op *op)
{
    drop_piece(op);
    if (op->arena != NULL) {
        wi_arena_free(op->arena, op->buf, op->buf_bytes);
    } else {
        free(op->buf);
    }
    free(op->text);
    op->arena = NULL;
    op->buf = NULL;
    op->text = NULL;
}

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

/* How much it is; false: that is not there, or another region than the one that
 * it began with has the name. */
static bool fits(struct wi_op *op, uint64_t handle, uint64_t region_bytes)
{
    if (op->at != 0 && op->handle != handle) {
        wi_op_fail(op, WEIR_ERR_NOT_FOUND, "the region was closed meanwhile");
        return false;
    }
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

void wi_op_found(struct wi_op *op, struct wi_piece *p)
{
    op->piece = p;
    if (!fits(op, p->handle, p->region_bytes)) {
        return;
    }
    if (op->at == op->bytes) {
        finish(op);
    } else if (p->base != NULL) {
        op->state = WI_OP_COPYING;
        wi_fetch_put(op);
    } else {
        move(op);
    }
}

void wi_op_beyond(struct wi_op *op, uint64_t handle, uint64_t region_bytes)
{
    if (fits(op, handle, region_bytes)) {
        if (op->bytes != op->at) { /* the owner contradicts itself */
            wi_op_fail(op, WEIR_ERR_PEER_PROTOCOL, "it found nothing there");
        } else {
            finish(op);
        }
    }
}

/* False: not now. */
static bool send_ask(struct wi_op *op)
{
    struct wi_share *s = op->share;
    union wi_msg m;
    uint32_t charge = wi_ask_charge((uint32_t)op->bytes);
    if (charge > WI_ASKED_MAX - s->asked_bytes) {
        return false;
    }
    wi_msg_init(&m, WI_MSG_ASK);
    op->call = ++s->last_call;
    s->asked_bytes += charge;
    m.ask.call = op->call;
    m.ask.space = op->name.space;
    m.ask.id = op->name.id;
    m.ask.len = (uint32_t)op->bytes;
    if (op->bytes != 0) {
        memcpy(m.ask.bytes, op->buf, op->bytes);
    }
    op->state = WI_OP_ASKING;
    wi_list_remove(&op->on_call);
    wi_link_send(s->link, &m);
    return true;
}

/* False: no room to ask for its piece. */
static bool look(struct wi_op *op)
{
    struct wi_piece *p = wi_piece_get(op->share, op);
    if (p != NULL) {
        wi_list_remove(&op->on_call);
        wi_op_found(op, p);
    }
    return p != NULL || wi_piece_find(op->share, op);
}

/* The link is open. False: it waits for its turn. */
static bool go_on(struct wi_op *op)
{
    if ((op->share->link->caps & WI_WIRE_CAP_REGION) == 0) {
        wi_op_fail(op, WEIR_ERR_PEER_VERSION,
                   "it runs a version without regions");
        return true;
    }
    return op->kind == WI_OP_ASK ? send_ask(op) : look(op);
}

static void wait_turn(struct wi_op *op)
{
    struct wi_share *s = op->share;
    wi_list_push_back(op->kind == WI_OP_ASK ? &s->asking : &s->looking,
                      &op->on_call);
}

/* Asks that are short pass long ones. What looks for its piece goes in order:
 * who is behind one that may not ask for it may not either. */
void wi_ops_go_on(struct wi_share *s)
{
    if (s->link->state != WI_LINK_OPEN) {
        return;
    }
    while (!wi_list_empty(&s->looking) && go_on(on_call(s->looking.next))) {
    }
    wi_list_each(n, &s->asking)
    {
        (void)go_on(on_call(n));
    }
    wi_link_pump(s->link);
}

struct wi_link *wi_op_start(struct wi_op *op)
{
    struct wi_engine *e = engine_of(op);
    struct wi_link *l = wi_link_need(e, op->member);
    bool alive = l != NULL && l->state != WI_LINK_DEAD;
    struct wi_share *s = alive ? wi_share_of(l) : NULL;
    op->state = WI_OP_WAITING;
    if (s == NULL) {
        wi_op_fail(op, l == NULL ? WEIR_ERR_NO_MEMORY : WEIR_ERR_PEER_LOST,
                   "no link");
        return NULL;
    }
    op->share = s;
    wi_list_push_back(&s->ops, &op->on_share);
    wi_engine_due(e, op->deadline_ns);
    if (l->state != WI_LINK_OPEN || !go_on(op)) {
        wait_turn(op);
    }
    return l;
}

/* ---- the worker ---------------------------------------------------------- */

static void send_sync(struct wi_op *op)
{
    struct wi_share *s = op->share;
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_SYNC);
    op->call = ++s->last_call;
    m.word.arg = op->call;
    op->state = WI_OP_SYNCING;
    wi_link_send(s->link, &m);
}

void wi_op_landed(struct wi_op *op)
{
    bool posted = op->state == WI_OP_MOVING;
    drop_piece(op);
    if (posted && op->code == WEIR_OK) {
        op->at += op->transfer.done;
    }
    op->state = WI_OP_LANDED;
    if (op->code != WEIR_OK ||
        (op->at == op->bytes && (op->kind != WI_OP_PUT || !posted))) {
        finish(op);
    } else if (op->share == NULL || op->share->link->state == WI_LINK_DEAD) {
        wi_op_fail(op, WEIR_ERR_PEER_LOST, "the link was lost meanwhile");
    } else if (op->at == op->bytes) {
        send_sync(op);
    } else {
        struct wi_link *l = op->share->link;
        if (!go_on(op)) {
            wait_turn(op);
        }
        wi_link_pump(l);
    }
}

/* ---- what comes ---------------------------------------------------------- */

static struct wi_op *by_call(struct wi_share *s, enum wi_op_state state,
                             uint32_t call)
{
    wi_list_each(n, &s->ops)
    {
        if (on_share(n)->state == state && on_share(n)->call == call) {
            return on_share(n);
        }
    }
    return NULL;
}

weir_err wi_op_on_answer(struct wi_share *s, const struct wi_msg_answer *m,
                         struct weir_error *err)
{
    struct wi_op *op = by_call(s, WI_OP_ASKING, m->call);
    if (m->len > WI_ASK_BYTES) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL, "ANSWER of %u bytes",
                       m->len);
    }
    if (op == NULL) {
        return WEIR_OK; /* too late */
    }
    s->asked_bytes -= wi_ask_charge((uint32_t)op->bytes);
    op->state = WI_OP_LANDED;
    op->incarnation = s->link->peer_incarnation;
    if (m->code == WEIR_AGAIN) {
        wi_op_fail(op, WEIR_ERR_BUDGET, "it has no room for more asks now");
    } else if (m->code != WEIR_OK) {
        wi_op_fail(op, wi_peer_code(m->code), "%.*s", (int)m->len,
                   (const char *)m->bytes);
    } else {
        memcpy(op->buf, m->bytes, m->len);
        op->bytes = m->len;
        finish(op);
    }
    wi_ops_go_on(s);
    return WEIR_OK;
}

void wi_op_on_synced(struct wi_share *s, uint32_t call)
{
    struct wi_op *op = by_call(s, WI_OP_SYNCING, call);
    if (op != NULL) {
        op->state = WI_OP_LANDED;
        finish(op);
    }
}

/* ---- links --------------------------------------------------------------- */

void wi_ops_link_gone(struct wi_share *s, bool clean, weir_err code,
                      const char *why)
{
    struct wi_list again;
    bool on = clean && !s->link->engine->closing;
    wi_list_init(&again);
    wi_list_each(n, &s->ops)
    {
        struct wi_op *op = on_share(n);
        if (op->state == WI_OP_COPYING) {
            unlink_op(op);
        } else if (on && op->state == WI_OP_WAITING) {
            unlink_op(op);
            wi_list_push_back(&again, &op->on_share);
        } else if (op->code == WEIR_OK) {
            wi_op_fail(op, code < 0 ? code : WEIR_ERR_PEER_LOST, "%s", why);
        }
    }
    struct wi_list *n;
    while ((n = wi_list_take(&again)) != NULL) {
        (void)wi_op_start(on_share(n));
    }
}

void wi_ops_let_go(struct wi_share *s, const struct wi_piece *p)
{
    wi_list_each(n, &s->ops)
    {
        struct wi_op *op = on_share(n);
        if (op->piece == p && op->state == WI_OP_MOVING) {
            wi_transfer_stop(s->link, &op->transfer);
        }
    }
}

void wi_ops_link_over(struct wi_share *s)
{
    while (!wi_list_empty(&s->ops)) {
        struct wi_op *op = on_share(s->ops.next);
        unlink_op(op);
        if (!op->transfer.over) { /* nobody else will say that it has ended */
            wi_fetch_put(op);
        }
    }
}
