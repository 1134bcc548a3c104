/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a connection: opening, breaking, leaving, and going on the wire. */
#include "transport/sim/simconn.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/neutral.h"

enum {
    SMALL_BYTES = 1024, /* any number of operations up to this size share ... */
    XFER_OPS = 16,      /* ... one transfer, up to this many */
    READ_BYTES = 16,    /* a read's request on the wire */
};

/* ---- operations ---------------------------------------------------------- */

struct wi_simop *wi_simop_open(struct wi_simnet *net, enum wi_simop_kind kind,
                               struct wi_simend *end, uint32_t n)
{
    uint8_t pool_size = 0;
    size_t bytes = wi_max_u64(sizeof(struct wi_simop),
                              offsetof(struct wi_simop, data) + n);
    struct wi_simop *op = wi_simpool_take(&net->pool, bytes, &pool_size);
    if (wi_unlikely(op == NULL)) {
        net->wire.no_memory = true;
        return NULL;
    }
    op->end = end;
    op->local = NULL;
    op->len = n;
    op->kind = (uint8_t)kind;
    op->pool_size = pool_size;
    op->owns_local = false;
    return op;
}

void wi_simop_close(struct wi_simnet *net, struct wi_simop *op)
{
    if (op->owns_local) {
        free(op->local);
    }
    wi_simpool_put(&net->pool, op, op->pool_size);
}

void wi_simops_clear(struct wi_simnet *net, struct wi_simops *l)
{
    struct wi_simop *op;
    while ((op = wi_simops_take(l)) != NULL) {
        wi_simop_close(net, op);
    }
}

uint32_t wi_simop_wire_bytes(const struct wi_simop *op)
{
    switch (op->kind) {
    case WI_SIMOP_MESSAGE:
    case WI_SIMOP_WRITE:
    case WI_SIMOP_ANSWER:
        return op->len;
    case WI_SIMOP_READ:
        return READ_BYTES;
    default:
        return 0;
    }
}

/* ---- connections --------------------------------------------------------- */

static void init_end(struct wi_simend *e, struct wi_simconn *c, uint32_t from,
                     uint32_t to)
{
    e->conn = c;
    e->flow.from = from;
    e->flow.to = to;
}

struct wi_simconn *wi_simconn_open(struct wi_simnet *net, uint32_t from,
                                   uint32_t to)
{
    struct wi_simconn *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    init_end(&c->end[0], c, from, to);
    init_end(&c->end[1], c, to, from);
    c->end[0].ep.transport = net->ports[from].transport;
    c->end[0].state = WI_SIMEND_CONNECTING;
    c->refs = 1;
    c->net = net;
    c->next = net->conns;
    if (c->next != NULL) {
        c->next->prev = c;
    }
    net->conns = c;
    return c;
}

void wi_simconn_hold(struct wi_simconn *c)
{
    c->refs++;
}

void wi_simconn_drop(struct wi_simconn *c)
{
    assert(c->refs > 0);
    if (--c->refs != 0) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        struct wi_simend *e = &c->end[i];
        wi_simops_clear(c->net, &e->posted);
        wi_simops_clear(c->net, &e->out);
        wi_simops_clear(c->net, &e->reads);
        wi_simops_clear(c->net, &e->inbox);
        wi_grants_fini(&e->grants);
    }
    if (c->prev == NULL) {
        c->net->conns = c->next;
    } else {
        c->prev->next = c->next;
    }
    if (c->next != NULL) {
        c->next->prev = c->prev;
    }
    free(c->reason);
    free(c);
}

static bool is_held(const struct wi_simend *e)
{
    return e->state != WI_SIMEND_UNUSED && e->state != WI_SIMEND_GONE;
}

static void announce_port(struct wi_simnet *net, uint32_t i)
{
    struct wi_simport *p = &net->ports[i];
    if (p->ready) {
        return;
    }
    p->ready = true;
    p->next_ready = 0;
    if (net->ready_head == 0) {
        net->ready_head = i + 1;
    } else {
        net->ports[net->ready_tail - 1].next_ready = i + 1;
    }
    net->ready_tail = i + 1;
}

void wi_simend_report(struct wi_simend *e, unsigned flag)
{
    struct wi_simnet *net = e->conn->net;
    if (!is_held(e) ||
        (e->state == WI_SIMEND_BROKEN && flag != WI_SIMFLAG_CLOSED)) {
        return; /* nothing comes after CLOSED */
    }
    e->flags = (uint8_t)(e->flags | flag);
    announce_port(net, e->flow.from);
    if (e->ready) {
        return;
    }
    struct wi_simport *p = &net->ports[e->flow.from];
    e->ready = true;
    e->next_ready = NULL;
    wi_simconn_hold(e->conn);
    if (p->ready_head == NULL) {
        p->ready_head = e;
    } else {
        p->ready_tail->next_ready = e;
    }
    p->ready_tail = e;
}

void wi_simconn_break(struct wi_simconn *c, const char *fmt, ...)
{
    if (c->broken) {
        return;
    }
    c->broken = true;
    c->reason = malloc(WI_REASON_BYTES);
    if (c->reason != NULL) {
        va_list args;
        va_start(args, fmt);
        (void)wi_neutral_vformat(c->reason, WI_REASON_BYTES, fmt, args);
        va_end(args);
    }
    for (int i = 0; i < 2; i++) {
        if (is_held(&c->end[i])) {
            c->end[i].state = WI_SIMEND_BROKEN;
            wi_simend_report(&c->end[i], WI_SIMFLAG_CLOSED);
        }
    }
}

void wi_simend_start(struct wi_simend *e)
{
    if (!e->flow.active) {
        wi_simconn_hold(e->conn); /* for its place in the turn */
    }
    wi_simwire_start(&e->conn->net->wire, &e->flow);
}

void wi_simend_post(struct wi_simend *e, enum wi_simop_kind kind)
{
    struct wi_simop *op = wi_simop_open(e->conn->net, kind, e, 0);
    if (op != NULL) {
        wi_simops_append(&e->out, op);
        wi_simend_start(e);
    }
}

/* The memory of this write will be gone before it lands: keep a copy. */
static bool adopt(struct wi_simop *op)
{
    if (op->kind != WI_SIMOP_WRITE || op->owns_local) {
        return true;
    }
    void *copy = malloc(op->len);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, op->local, op->len);
    op->local = copy;
    op->owns_local = true;
    return true;
}

static bool adopt_all(struct wi_simend *e)
{
    bool ok = true;
    for (struct wi_simop *f = e->flying.head; f != NULL; f = f->next_flying) {
        for (struct wi_simop *op = f; op != NULL; op = op->next) {
            ok = adopt(op) && ok;
        }
    }
    for (struct wi_simop *op = e->out.head; op != NULL; op = op->next) {
        ok = adopt(op) && ok;
    }
    return ok;
}

void wi_simend_leave(struct wi_simend *e)
{
    struct wi_simconn *c = e->conn;
    e->state = WI_SIMEND_GONE;
    wi_simops_clear(c->net, &e->posted);
    wi_simops_clear(c->net, &e->reads);
    wi_simops_clear(c->net, &e->inbox);
    if (c->net->wire.ports[e->flow.from].dead) {
        wi_simops_clear(c->net, &e->out);
    }
    if (!c->broken && !adopt_all(e)) {
        c->net->wire.no_memory = true;
        wi_simconn_break(c, "out of memory");
    }
    if (!c->broken && !c->net->wire.ports[e->flow.from].dead) {
        wi_simend_post(e, WI_SIMOP_FIN);
    }
    wi_simconn_drop(c);
}

/* ---- onto the wire ------------------------------------------------------- */

struct wi_simxfer *wi_simconn_take(struct wi_simflow *flow)
{
    struct wi_simend *e = wi_container_of(flow, struct wi_simend, flow);
    if (e->conn->broken) {
        wi_simops_clear(e->conn->net, &e->out);
    }
    struct wi_simop *first = e->out.head;
    if (first == NULL) {
        wi_simconn_drop(e->conn);
        return NULL;
    }
    struct wi_simop *last = first;
    uint32_t bytes = wi_simop_wire_bytes(first);
    uint32_t large = bytes > SMALL_BYTES;
    for (uint32_t n = 1; n < XFER_OPS && last->next != NULL; n++) {
        uint32_t more = wi_simop_wire_bytes(last->next);
        large += more > SMALL_BYTES;
        if (large > 1) {
            break;
        }
        bytes += more;
        last = last->next;
    }
    e->out.head = last->next;
    last->next = NULL;
    first->x.flow = flow;
    first->x.bytes = bytes;
    first->next_flying = NULL;
    if (e->flying.head == NULL) {
        e->flying.head = first;
    } else {
        e->flying.tail->next_flying = first;
    }
    e->flying.tail = first;
    wi_simconn_hold(e->conn);
    return &first->x;
}

/* Nearly always the first one: a flow keeps its order, but what is lost on
 * arrival may overtake what is still being received. */
struct wi_simop *wi_simconn_take_flying(struct wi_simxfer *x)
{
    struct wi_simop *op = wi_container_of(x, struct wi_simop, x);
    struct wi_simops *l = &op->end->flying;
    struct wi_simop *before = NULL;
    struct wi_simop *at = l->head;
    while (at != op) {
        before = at;
        at = at->next_flying;
    }
    if (before == NULL) {
        l->head = op->next_flying;
    } else {
        before->next_flying = op->next_flying;
    }
    if (l->tail == op) {
        l->tail = before;
    }
    return op;
}

void wi_simconn_lose(struct wi_simxfer *x)
{
    struct wi_simop *op = wi_simconn_take_flying(x);
    struct wi_simconn *c = op->end->conn;
    while (op != NULL) {
        struct wi_simop *next = op->next;
        wi_simop_close(c->net, op);
        op = next;
    }
    wi_simconn_drop(c);
}
