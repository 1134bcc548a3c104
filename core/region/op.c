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
#include "core/region/op_found.h"
#include "core/region/piece.h"
#include "core/region/share.h"
#include "core/region/tally.h"
#include "core/ring/arena.h"
#include "core/transport.h"

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

void wi_op_finish(struct wi_op *op)
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
    wi_op_finish(op);
}

bool wi_op_alloc(struct wi_op *op)
{
    op->buf =
        aligned_alloc(WI_CACHE_LINE, wi_align_up(op->bytes, WI_CACHE_LINE));
    op->buf_bytes = op->bytes;
    return op->buf != NULL;
}

void wi_op_free_buffer(struct wi_op *op)
{
    if (op->arena != NULL) {
        wi_arena_free(op->arena, op->buf, op->buf_bytes);
    } else {
        free(op->buf);
    }
    op->arena = NULL;
    op->buf = NULL;
}

void wi_op_clear(struct wi_op *op)
{
    drop_piece(op);
    wi_op_free_buffer(op);
    free(op->text);
    op->text = NULL;
}

/* ---- going on ------------------------------------------------------------ */

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
    if (p != NULL && !wi_op_may_use(op, p)) {
        wi_piece_drop(p);
        p = NULL;
    }
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

static void look_again(struct wi_op *op)
{
    struct wi_link *l = op->share->link;
    if (!go_on(op)) {
        wait_turn(op);
    }
    wi_link_pump(l);
}

static bool is_revoked(const struct wi_piece *p)
{
    return wi_load_rlx(&p->revoked) != 0; /* rlx: written under the lock */
}

void wi_op_landed(struct wi_op *op)
{
    bool posted = op->state == WI_OP_MOVING;
    bool put = posted && op->kind == WI_OP_PUT;
    if (posted && op->code == WEIR_OK) {
        op->at += op->transfer.done;
    }
    if (posted && !put && op->share != NULL) {
        op->sure = op->sure ||
                   (!is_revoked(op->piece) && wi_tally_was_even(op->share));
    }
    op->state = WI_OP_LANDED;
    if (!put || op->at != op->bytes) {
        drop_piece(op); /* else when it is known whether it was revoked */
    }
    if (op->code != WEIR_OK || (op->at == op->bytes && op->sure && !put)) {
        wi_op_finish(op);
    } else if (op->share == NULL || op->share->link->state == WI_LINK_DEAD) {
        wi_op_fail(op, WEIR_ERR_PEER_LOST, "the link was lost meanwhile");
    } else if (put && op->at == op->bytes) {
        send_sync(op);
    } else {
        look_again(op);
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
        wi_op_finish(op);
    }
    wi_ops_go_on(s);
    return WEIR_OK;
}

void wi_op_on_synced(struct wi_share *s, uint32_t call)
{
    struct wi_op *op = by_call(s, WI_OP_SYNCING, call);
    if (op == NULL) {
        return;
    }
    op->state = WI_OP_LANDED;
    op->sure = op->sure || !is_revoked(op->piece); /* REVOKE came before this */
    drop_piece(op);
    if (op->sure) {
        wi_op_finish(op);
    } else {
        look_again(op);
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
