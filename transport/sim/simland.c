/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each operation does where it lands.
 *
 * Everything runs in one thread, so `completed` is stored relaxed: the reader
 * is the same thread.
 */
#include <assert.h>
#include <string.h>

#include "core/base/atomic.h"
#include "transport/sim/simconn.h"

/* The granted bytes that an operation names, NULL if it may not touch them. */
static uint8_t *granted(const struct wi_simend *owner,
                        const struct wi_simop *op)
{
    uint32_t access =
        op->kind == WI_SIMOP_READ ? WI_ACCESS_READ : WI_ACCESS_WRITE;
    const struct wi_granted *g = wi_grants_find(&owner->grants, op->key, access,
                                                op->remote_off, op->len);
    return g != NULL ? g->base + op->remote_off : NULL;
}

WI_COLD static void refuse_access(const struct wi_simop *op, const char *verb)
{
    wi_simconn_break(op->end->conn,
                     "sim:%u tried to %s outside of granted memory: %u bytes "
                     "at offset %llu, key %llx",
                     op->end->flow.from, verb, op->len,
                     (unsigned long long)op->remote_off,
                     (unsigned long long)op->key);
}

void wi_simend_done(struct wi_simend *e)
{
    if (e->state != WI_SIMEND_OPEN) {
        return;
    }
    e->n_outstanding--;
    if (e->again && e->n_outstanding <= WI_SIM_QUEUE_OPS / 2) {
        e->again = false;
        wi_simend_report(e, WI_SIMFLAG_SENDABLE);
    }
}

/* Writes land in order, answers land in order, and a read reaches the peer
 * after everything posted before it. So all is done up to the later of the
 * last write and the last answer; if a read waits for its answer, up to it. */
static void complete(struct wi_simend *e, uint64_t seq)
{
    e->rma_pos = wi_max_u64(e->rma_pos, seq + 1);
    uint64_t pos = e->rma_pos;
    if (e->reads.head != NULL) {
        pos = wi_min_u64(pos, e->reads.head->seq);
    }
    /* relaxed: see the top of this file */
    wi_store_rlx(&e->ep.completed, pos);
    wi_simend_done(e);
    wi_simend_report(e, WI_SIMFLAG_SENDABLE);
}

static void land_connect(struct wi_simend *to)
{
    struct wi_transport *t = to->conn->net->ports[to->flow.from].transport;
    if (t == NULL) {
        wi_simend_post(to, WI_SIMOP_REFUSE);
        return;
    }
    to->ep.transport = t;
    to->state = WI_SIMEND_OPEN;
    wi_simconn_hold(to->conn);
    wi_simend_report(to, WI_SIMFLAG_ACCEPTED);
    wi_simend_post(to, WI_SIMOP_ACCEPT);
}

/* Let those look who look on. */
static void landed(const struct wi_simend *to, const struct wi_simop *op,
                   uint8_t *bytes)
{
    const struct wi_simnet_watch *w = &to->conn->net->watch;
    if (w->landed != NULL) {
        w->landed(w->arg, op->end->flow.from, to->flow.from,
                  op->kind == WI_SIMOP_MESSAGE, bytes, op->len);
    }
}

static void land_write(struct wi_simend *to, struct wi_simop *op)
{
    uint8_t *at = granted(to, op);
    if (at == NULL) {
        refuse_access(op, "write");
        return;
    }
    const struct wi_simnet_watch *w = &to->conn->net->watch;
    if (w->write != NULL) {
        w->write(w->arg, op->end->flow.from, to->flow.from, at, op->len);
    }
    memcpy(at, op->local, op->len);
    landed(to, op, at);
    if (op->end->state == WI_SIMEND_OPEN) {
        complete(op->end, op->seq);
    }
}

/* Returns true if op went into the reader's list. */
static bool land_read(struct wi_simend *to, struct wi_simop *op)
{
    if (granted(to, op) == NULL) {
        refuse_access(op, "read");
        return false;
    }
    struct wi_simop *answer =
        wi_simop_open(to->conn->net, WI_SIMOP_ANSWER, to, 0);
    if (answer == NULL || op->end->state != WI_SIMEND_OPEN) {
        if (answer != NULL) {
            wi_simop_close(to->conn->net, answer);
        }
        return false;
    }
    answer->len = op->len;
    wi_simops_append(&op->end->reads, op);
    wi_simops_append(&to->out, answer);
    wi_simend_start(to);
    return true;
}

static void land_answer(struct wi_simend *to, struct wi_simend *from)
{
    if (from->state != WI_SIMEND_OPEN) {
        return; /* its memory may be gone; its FIN is on the way */
    }
    struct wi_simop *op = wi_simops_take(&to->reads);
    assert(op != NULL);
    const uint8_t *bytes = granted(from, op);
    if (bytes != NULL) {
        memcpy(op->local, bytes, op->len);
        to->reads_done++;
        complete(to, op->seq);
    } else { /* it was, when the read arrived */
        refuse_access(op, "read");
    }
    wi_simop_close(to->conn->net, op);
}

/* An operation has landed at an end that is open. True if op lives on. */
static bool land_open(struct wi_simend *to, struct wi_simop *op)
{
    switch (op->kind) {
    case WI_SIMOP_MESSAGE:
        landed(to, op, wi_simop_data(op));
        wi_simops_append(&to->inbox, op);
        wi_simend_report(to, 0);
        return true;
    case WI_SIMOP_WRITE:
        land_write(to, op);
        return false;
    case WI_SIMOP_READ:
        return land_read(to, op);
    default:
        assert(op->kind == WI_SIMOP_ANSWER);
        land_answer(to, op->end);
        return false;
    }
}

static void land_op(struct wi_simop *op)
{
    struct wi_simconn *c = op->end->conn;
    struct wi_simend *to = wi_simend_peer(op->end);
    bool lives = false;
    switch (op->kind) {
    case WI_SIMOP_CONNECT:
        land_connect(to);
        break;
    case WI_SIMOP_ACCEPT:
        if (to->state == WI_SIMEND_CONNECTING) {
            to->state = WI_SIMEND_OPEN;
            wi_simend_report(to, WI_SIMFLAG_CONNECTED);
        }
        break;
    case WI_SIMOP_REFUSE:
        wi_simconn_break(c, "sim:%u refused: nothing listens there",
                         op->end->flow.from);
        break;
    case WI_SIMOP_FIN:
        wi_simconn_break(c, "sim:%u closed the link", op->end->flow.from);
        break;
    default:
        lives = to->state == WI_SIMEND_OPEN && land_open(to, op);
        break;
    }
    if (!lives) {
        wi_simop_close(c->net, op);
    }
}

void wi_simland(struct wi_simxfer *x)
{
    struct wi_simop *op = wi_container_of(x, struct wi_simop, x);
    struct wi_simconn *c = op->end->conn;
    struct wi_simnet *net = c->net;
    if (!c->broken &&
        wi_simwire_chance(&net->wire, net->params.faults.cut_ppm)) {
        wi_simland_torn(x);
        wi_simconn_break(c, "the link between sim:%u and sim:%u was cut",
                         op->end->flow.from, op->end->flow.to);
    }
    (void)wi_simconn_take_flying(x);
    while (op != NULL) {
        struct wi_simop *next = op->next;
        if (c->broken) {
            wi_simop_close(net, op);
        } else {
            land_op(op);
        }
        op = next;
    }
    wi_simconn_drop(c);
}

void wi_simland_torn(struct wi_simxfer *x)
{
    struct wi_simop *op = wi_container_of(x, struct wi_simop, x);
    struct wi_simend *to = wi_simend_peer(op->end);
    if (op->end->conn->broken || to->state != WI_SIMEND_OPEN) {
        return;
    }
    uint64_t left =
        wi_simwire_random(&op->end->conn->net->wire) % (x->bytes + 1u);
    for (; op != NULL && left > 0; op = op->next) {
        uint64_t n = wi_min_u64(left, wi_simop_wire_bytes(op));
        uint8_t *at = op->kind == WI_SIMOP_WRITE ? granted(to, op) : NULL;
        if (at != NULL) {
            memcpy(at, op->local, n < op->len ? n & ~(uint64_t)7 : n);
        }
        left -= n;
    }
}
