/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's side. What it has mapped already it reads and lends by itself,
 * without a lock: the cache of a fetch holds such pieces, and looks at their
 * `revoked` each time. All else goes by way of the link, under the node's lock.
 */
#include "core/region/fetch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/peer.h"
#include "core/link/post.h"
#include "core/link/worker.h"
#include "core/region/fetch_open.h"
#include "core/region/piece.h"
#include "core/region/tally.h"

static struct wi_op *op_of(struct wi_list *n)
{
    return wi_container_of(n, struct wi_op, on_fetch);
}

void wi_fetch_put(struct wi_op *op)
{
    struct wi_worker *w = op->fetch->worker;
    wi_lq_put(&op->fetch->moved, &op->node);
    wi_worker_notify(w, WI_ATTN_EVENT);
}

/* ---- the cache ----------------------------------------------------------- */

static uint32_t place_of(uint32_t member, const struct weir_name *name,
                         uint64_t unit)
{
    uint64_t h = (name->id + unit * 0x9e3779b97f4a7c15ull) ^
                 (name->space << 20) ^ ((uint64_t)member << 40);
    h *= 0xff51afd7ed558ccdull;
    return (uint32_t)(h >> 32) % WI_CACHED;
}

static bool serves(const struct wi_piece *p, const struct wi_op *op)
{
    uint32_t access = op->kind == WI_OP_PUT ? WI_ACCESS_WRITE : WI_ACCESS_READ;
    return p != NULL && p->member == op->member &&
           wi_name_equal(&p->name, &op->name) && (p->access & access) != 0 &&
           wi_tally_is_even(p->tally) &&
           wi_load_rlx(&p->revoked) == 0 && /* rlx: the cache is a user */
           op->off >= p->off && op->off - p->off < p->bytes &&
           op->bytes <= p->bytes - (op->off - p->off);
}

/* A piece that has all of it, or NULL. */
static struct wi_piece *look_up(struct weir_fetch *f, const struct wi_op *op)
{
    struct wi_piece *p = f->cached[place_of(op->member, &op->name, 0)];
    if (wi_likely(serves(p, op))) {
        return p;
    }
    uint64_t unit = op->off >> WI_STAGED_SHIFT;
    p = f->cached[place_of(op->member, &op->name, unit)];
    return serves(p, op) ? p : NULL;
}

static void keep(struct weir_fetch *f, struct wi_piece *p)
{
    struct wi_piece **at =
        &f->cached[place_of(p->member, &p->name, wi_piece_unit(p))];
    if (*at != p && !p->once) {
        if (*at != NULL) {
            wi_piece_drop(*at);
        }
        wi_piece_hold(p);
        *at = p;
    }
}

void wi_fetch_purge(struct weir_fetch *f, bool all)
{
    struct wi_regions *rs = f->node->engine.regions;
    uint32_t now = wi_load_rlx(&rs->revokes); /* rlx: a hint */
    if (!all && now == f->revokes) {
        return;
    }
    f->revokes = now;
    for (uint32_t i = 0; i < WI_CACHED; i++) {
        struct wi_piece *p = f->cached[i];
        /* rlx: as in serves() */
        if (p != NULL && (all || wi_load_rlx(&p->revoked) != 0)) {
            wi_piece_drop(p);
            f->cached[i] = NULL;
        }
    }
}

/* ---- taking operations --------------------------------------------------- */

static void recycle(struct weir_fetch *f, struct wi_op *op)
{
    if (op->arena != NULL) {
        wi_node_lock(f->node);
        wi_op_clear(op);
        wi_node_unlock(f->node);
    } else {
        wi_op_clear(op);
    }
    op->state = WI_OP_FREE;
    wi_list_push_back(&f->free, &op->on_fetch);
}

static void take_returned(struct weir_fetch *f)
{
    struct wi_lq_node *n;
    while ((n = wi_lq_take(&f->returned)) != NULL) {
        recycle(f, wi_container_of(n, struct wi_op, node));
    }
}

/* An operation of so many bytes, or NULL: that would be too much. */
static struct wi_op *take_op(struct weir_fetch *f, uint64_t bytes)
{
    uint64_t charge = wi_min_u64(bytes, f->max_bytes);
    /* rlx: only a number; who gives bytes back wakes the worker */
    uint64_t used = f->taken_bytes - wi_load_rlx(&f->returned_bytes);
    if (wi_list_empty(&f->free)) {
        take_returned(f);
    }
    if (wi_list_empty(&f->free) || charge > f->max_bytes - used) {
        return NULL;
    }
    struct wi_op *op = op_of(wi_list_take(&f->free));
    f->taken_bytes += charge;
    f->under_way++;
    op->charge = charge;
    op->at = 0;
    op->code = WEIR_OK;
    op->user = NULL;
    op->lend = NULL;
    return op;
}

/* The bytes are mapped: what is there to do is done at once. */
static void serve(struct weir_fetch *f, struct wi_op *op, struct wi_piece *p)
{
    uint8_t *at = p->base + (op->off - p->off);
    if (op->kind == WI_OP_PUT) {
        memcpy(at, op->user, op->bytes);
    } else if (op->user != NULL) {
        memcpy(op->user, at, op->bytes);
    } else {
        wi_piece_hold(p);
        op->piece = p;
        op->lend = at;
    }
    op->at = op->bytes;
    op->region_bytes = p->region_bytes;
    op->incarnation = p->incarnation;
    op->state = WI_OP_OVER;
    wi_list_push_back(&f->ended, &op->on_fetch);
}

/* Start those on the list, and post what they have queued. The engine is woken
 * only if it has to know: that costs as much as the message. */
static void start_all(struct weir_fetch *f, struct wi_list *list)
{
    struct wi_engine *e = &f->node->engine;
    struct wi_link *l = NULL;
    struct wi_list *n;
    if (wi_list_empty(list)) {
        return;
    }
    wi_node_lock(f->node);
    uint64_t tick_ns = e->tick_ns;
    uint64_t begun = ++e->regions->begun;
    bool opens = false;
    while ((n = wi_list_take(list)) != NULL) {
        struct wi_op *op = op_of(n);
        op->begun = begun;
        op->sure = false;
        op->asked = op->bytes;
        op->deadline_ns = wi_time_add(e->now_ns, f->timeout_ns);
        struct wi_link *on = wi_op_start(op); /* one peer's, all of them */
        l = on != NULL ? on : l;
        opens = opens || (on != NULL && on->state != WI_LINK_OPEN);
    }
    if (l != NULL && !l->self) {
        wi_link_pump(l);
    }
    if (opens || e->tick_ns < tick_ns) {
        wi_engine_kick(e);
    }
    wi_node_unlock(f->node);
}

static void submit(struct weir_fetch *f, struct wi_op *op, struct wi_list *list)
{
    struct wi_piece *p = op->bytes != 0 ? look_up(f, op) : NULL;
    if (p != NULL) {
        serve(f, op, p);
    } else {
        wi_list_push_back(list, &op->on_fetch);
    }
}

/* As many bytes as the peer says, to a place of a length of its own. */
static bool is_endless(const struct weir_get *get)
{
    return get->bytes == UINT64_MAX && get->dst != NULL;
}

weir_err weir_fetch_get(weir_fetch *fetch, weir_peer *peer,
                        const struct weir_get *gets, uint32_t n,
                        uint32_t *taken_out)
{
    struct wi_list list;
    uint32_t i = 0;
    if (wi_unlikely(fetch == NULL || peer == NULL || gets == NULL ||
                    taken_out == NULL)) {
        return WEIR_ERR_ARG;
    }
    if (wi_unlikely(wi_engine_inherited(&fetch->node->engine))) {
        return WEIR_ERR_STATE;
    }
    wi_list_init(&list);
    for (; i < n; i++) {
        if (is_endless(&gets[i])) {
            break;
        }
        struct wi_op *op = take_op(fetch, gets[i].bytes);
        if (op == NULL) {
            break;
        }
        op->kind = WI_OP_GET;
        op->member = peer->member;
        op->name = gets[i].name;
        op->off = gets[i].off;
        op->bytes = gets[i].bytes;
        op->user = gets[i].dst;
        op->tag = gets[i].tag;
        submit(fetch, op, &list);
    }
    start_all(fetch, &list);
    *taken_out = i;
    if (i < n && is_endless(&gets[i])) {
        return WEIR_ERR_ARG;
    }
    return i == n ? WEIR_OK : WEIR_AGAIN;
}

weir_err weir_fetch_put(weir_fetch *fetch, weir_peer *peer,
                        const struct weir_put *puts, uint32_t n,
                        uint32_t *taken_out)
{
    struct wi_list list;
    uint32_t i = 0;
    if (fetch == NULL || peer == NULL || puts == NULL || taken_out == NULL) {
        return WEIR_ERR_ARG;
    }
    if (wi_engine_inherited(&fetch->node->engine)) {
        return WEIR_ERR_STATE;
    }
    wi_list_init(&list);
    *taken_out = 0;
    for (; i < n; i++) {
        if (puts[i].src == NULL && puts[i].bytes != 0) {
            break;
        }
        struct wi_op *op = take_op(fetch, puts[i].bytes);
        if (op == NULL) {
            break;
        }
        op->kind = WI_OP_PUT;
        op->member = peer->member;
        op->name = puts[i].name;
        op->off = puts[i].off;
        op->bytes = puts[i].bytes;
        op->user = (uint8_t *)(uintptr_t)puts[i].src;
        op->tag = puts[i].tag;
        submit(fetch, op, &list);
    }
    start_all(fetch, &list);
    *taken_out = i;
    if (i < n && puts[i].src == NULL && puts[i].bytes != 0) {
        return WEIR_ERR_ARG;
    }
    return i == n ? WEIR_OK : WEIR_AGAIN;
}

weir_err weir_fetch_ask(weir_fetch *fetch, weir_peer *peer,
                        const struct weir_name *name, const void *bytes,
                        uint32_t len, uint64_t tag)
{
    struct wi_list list;
    if (fetch == NULL || peer == NULL || name == NULL || len > WI_ASK_BYTES ||
        (bytes == NULL && len != 0)) {
        return WEIR_ERR_ARG;
    }
    if (wi_engine_inherited(&fetch->node->engine)) {
        return WEIR_ERR_STATE;
    }
    struct wi_op *op = take_op(fetch, 0);
    if (op == NULL) {
        return WEIR_AGAIN;
    }
    op->buf = malloc(WI_ASK_BYTES); /* for the answer, too */
    op->buf_bytes = WI_ASK_BYTES;
    if (op->buf == NULL) {
        fetch->under_way--;
        recycle(fetch, op);
        return WEIR_ERR_NO_MEMORY;
    }
    if (len != 0) {
        memcpy(op->buf, bytes, len);
    }
    op->kind = WI_OP_ASK;
    op->member = peer->member;
    op->name = *name;
    op->off = 0;
    op->bytes = len;
    op->region_bytes = 0;
    op->tag = tag;
    wi_list_init(&list);
    wi_list_push_back(&list, &op->on_fetch);
    start_all(fetch, &list);
    return WEIR_OK;
}

/* ---- taking what has ended ----------------------------------------------- */

/* As much of the operation as this piece has. False: no memory. */
static bool copy(struct weir_fetch *f, struct wi_op *op)
{
    struct wi_piece *p = op->piece;
    uint64_t at = op->off + op->at - p->off;
    uint64_t bytes = wi_min_u64(op->bytes - op->at, p->bytes - at);
    keep(f, p);
    if (op->kind == WI_OP_PUT) {
        memcpy(p->base + at, op->user + op->at, bytes);
    } else if (op->user != NULL) {
        memcpy(op->user + op->at, p->base + at, bytes);
    } else if (bytes == op->bytes) {
        wi_piece_hold(p);
        op->lend = p->base + at;
    } else {
        if (op->buf == NULL && !wi_op_alloc(op)) {
            return false;
        }
        memcpy(op->buf + op->at, p->base + at, bytes);
    }
    op->at += bytes;
    return true;
}

static void go_on(struct weir_fetch *f, struct wi_op *op)
{
    struct wi_piece *lent = NULL;
    weir_err rc = WEIR_OK;
    if (op->state == WI_OP_OVER) {
        wi_list_push_back(&f->ended, &op->on_fetch);
        return;
    }
    if (op->state == WI_OP_COPYING) {
        rc = copy(f, op) ? WEIR_OK : WEIR_ERR_NO_MEMORY;
        lent = op->lend != NULL ? op->piece : NULL;
    } else if (op->state == WI_OP_MOVING && op->kind == WI_OP_GET &&
               wi_op_in_turns(op)) {
        memcpy(op->user + op->at, op->buf, op->transfer.done);
    }
    wi_node_lock(f->node);
    op->code = rc != WEIR_OK ? rc : op->code;
    wi_op_landed(op);
    wi_node_unlock(f->node);
    if (lent != NULL) {
        op->piece = lent; /* over: nobody else looks at it */
    }
}

/* Bytes of the program that did not go there by themselves. */
static void hand_over(struct wi_op *op)
{
    if (op->kind == WI_OP_GET && op->code == WEIR_OK && op->user != NULL &&
        op->buf != NULL && !wi_op_in_turns(op)) {
        memcpy(op->user, op->buf, op->bytes);
    }
}

static void show(struct weir_fetch *f, struct wi_op *op, struct weir_got *got)
{
    uint8_t *ptr = op->kind == WI_OP_PUT ? NULL
                   : op->user != NULL    ? op->user
                   : op->lend != NULL    ? op->lend
                                         : op->buf;
    bool good = op->code == WEIR_OK;
    bool lent =
        good && op->kind == WI_OP_GET && op->user == NULL && op->bytes != 0;
    *got = (struct weir_got){
        .tag = op->tag,
        .code = op->code,
        .ptr = good ? ptr : NULL,
        .bytes = good ? op->bytes : 0,
        .region_bytes = good ? op->region_bytes : 0,
        .incarnation = op->incarnation,
        .lent = lent ? (uint64_t)(op - f->ops) + 1 : 0,
        .mapped = lent && op->lend != NULL,
    };
    if (lent) {
        op->state = WI_OP_LENT;
        f->lent_bytes += op->charge;
    } else {
        f->taken_bytes -= op->charge;
        f->last = op;
    }
}

weir_err weir_fetch_next(weir_fetch *fetch, struct weir_got *got_out)
{
    struct wi_lq_node *n;
    if (wi_unlikely(fetch == NULL || got_out == NULL)) {
        return WEIR_ERR_ARG;
    }
    if (wi_unlikely(wi_engine_inherited(&fetch->node->engine))) {
        return WEIR_ERR_STATE;
    }
    if (fetch->last != NULL) {
        recycle(fetch, fetch->last);
        fetch->last = NULL;
    }
    while ((n = wi_lq_take(&fetch->moved)) != NULL) {
        go_on(fetch, wi_container_of(n, struct wi_op, node));
    }
    struct wi_list *first = wi_list_take(&fetch->ended);
    if (first == NULL) {
        take_returned(fetch);
        wi_fetch_purge(fetch, false);
        return fetch->under_way != 0 ? WEIR_AGAIN : WEIR_DONE;
    }
    hand_over(op_of(first));
    show(fetch, op_of(first), got_out);
    fetch->under_way--;
    return WEIR_OK;
}

const char *weir_fetch_error(const weir_fetch *fetch)
{
    if (fetch == NULL || fetch->last == NULL || fetch->last->code == WEIR_OK) {
        return "";
    }
    return fetch->last->text != NULL ? fetch->last->text
                                     : weir_err_text(fetch->last->code);
}
