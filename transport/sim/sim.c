/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport "sim": core/transport.h over the simulated network.
 *
 * Differences from a real one, on purpose: one thread drives all nodes, so
 * there is no lock and no edge; memory is not populated, so that hundreds of
 * nodes fit (mem_open gives address space, not pages); max_links is not
 * enforced, since endpoints cost a few hundred bytes.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/err.h"
#include "transport/sim/simconn.h"

enum {
    AGAIN_NS = 1000, /* how long a seeded AGAIN lasts */
    BORROWED = 1,    /* wi_mem.handle */
};

struct simtransport {
    struct wi_transport base;
    struct wi_simnet *net;
    uint32_t port;
    struct wi_simops lent; /* messages that the last poll handed out */
};

static struct simtransport *of_transport(struct wi_transport *t)
{
    return wi_container_of(t, struct simtransport, base);
}

static struct wi_simend *of_ep(struct wi_ep *ep)
{
    return wi_container_of(ep, struct wi_simend, ep);
}

/* ---- node ---------------------------------------------------------------- */

static uint32_t free_port(const struct wi_simnet *net)
{
    uint32_t i = 0;
    while (i < net->params.ports && net->ports[i].taken) {
        i++;
    }
    return i;
}

extern const struct wi_transport_ops wi_sim_ops;

static weir_err open_node(const struct wi_transport_params *params,
                          struct wi_transport **out, struct weir_error *err)
{
    const struct wi_simport_ref *ref = params->arg;
    if (ref == NULL || ref->net == NULL) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "sim: no network was given; nodes of this transport "
                       "are opened by weir_sim_open");
    }
    if (params->advertise != NULL) {
        return wi_fail(err, WEIR_ERR_ARG, "advertise: sim has ports alone");
    }
    uint32_t port =
        ref->port == WI_SIMPORT_ANY ? free_port(ref->net) : ref->port;
    if (port >= ref->net->params.ports) {
        return wi_fail(err, WEIR_ERR_ARG, "sim: the network has only %u ports",
                       ref->net->params.ports);
    }
    if (ref->net->ports[port].transport != NULL) {
        return wi_fail(err, WEIR_ERR_ARG, "sim: port %u is taken", port);
    }
    struct simtransport *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "sim: no memory for a node");
    }
    t->base.ops = &wi_sim_ops;
    t->net = ref->net;
    t->port = port;
    ref->net->ports[port].transport = &t->base;
    ref->net->ports[port].taken = true;
    *out = &t->base;
    return WEIR_OK;
}

static struct wi_simend *take_ready(struct wi_simport *p)
{
    struct wi_simend *e = p->ready_head;
    p->ready_head = e->next_ready;
    e->ready = false;
    return e;
}

static void close_node(struct wi_transport *base)
{
    struct simtransport *t = of_transport(base);
    struct wi_simport *p = &t->net->ports[t->port];
    while (p->ready_head != NULL) {
        struct wi_simend *e = take_ready(p);
        if ((e->flags & WI_SIMFLAG_ACCEPTED) != 0 &&
            e->state != WI_SIMEND_GONE) {
            wi_simend_leave(e); /* nobody else has heard of it */
        }
        wi_simconn_drop(e->conn);
    }
    p->transport = NULL;
    wi_simops_clear(t->net, &t->lent);
    free(t);
}

static void get_address(struct wi_transport *base, char *text)
{
    (void)snprintf(text, WI_ADDRESS_BYTES, "sim:%u", of_transport(base)->port);
}

/* ---- memory -------------------------------------------------------------- */

static weir_err open_memory(struct wi_transport *base, size_t bytes,
                            struct wi_mem *out, struct weir_error *err)
{
    struct simtransport *t = of_transport(base);
    struct wi_simport *port = &t->net->ports[t->port];
    if (port->refuses_memory) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "sim: no %zu bytes: memory is refused", bytes);
    }
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "sim: no %zu bytes of address space: %s; see ulimit -v "
                       "and vm.max_map_count",
                       bytes, strerror(errno));
    }
    port->memory_bytes += bytes;
    *out = (struct wi_mem){.base = p, .bytes = bytes};
    return WEIR_OK;
}

static weir_err borrow_memory(struct wi_transport *t,
                              const struct wi_borrow *what, uint32_t access,
                              struct wi_mem *out, struct weir_error *err)
{
    (void)t;
    (void)access;
    (void)err;
    *out = (struct wi_mem){
        .base = what->base, .bytes = what->bytes, .handle = BORROWED};
    return WEIR_OK;
}

static void close_memory(struct wi_transport *base, struct wi_mem *mem)
{
    const struct simtransport *t = of_transport(base);
    if (mem->handle != BORROWED) {
        t->net->ports[t->port].memory_bytes -= mem->bytes;
        int rc = munmap(mem->base, mem->bytes);
        assert(rc == 0);
        (void)rc;
    }
    *mem = (struct wi_mem){0};
}

static weir_err grant(struct wi_ep *ep, const struct wi_mem *mem,
                      uint32_t access, uint64_t *key_out,
                      struct weir_error *err)
{
    struct wi_simend *e = of_ep(ep);
    const struct wi_granted what = {
        .base = mem->base, .bytes = mem->bytes, .access = access};
    uint64_t noise = wi_simwire_random(&e->conn->net->wire);
    return wi_grants_add(&e->grants, &what, (uint32_t)(noise >> 32), key_out,
                         err);
}

/* What is still under way is looked up again where it lands, or its answer. */
static weir_err ungrant(struct wi_ep *ep, const struct wi_mem *mem,
                        uint64_t key)
{
    (void)mem;
    wi_grants_drop(&of_ep(ep)->grants, key);
    return WEIR_OK;
}

/* ---- connections --------------------------------------------------------- */

static bool parse_address(const char *text, uint32_t ports, uint32_t *port_out)
{
    if (strncmp(text, "sim:", 4) != 0 || text[4] == 0) {
        return false;
    }
    uint64_t port = 0;
    for (const char *p = text + 4; *p != 0; p++) {
        if (*p < '0' || *p > '9' || port > ports) {
            return false;
        }
        port = port * 10 + (uint64_t)(*p - '0');
    }
    *port_out = (uint32_t)port;
    return port < ports;
}

static weir_err decode(const struct simtransport *t, const char *address,
                       uint32_t *port_out, struct weir_error *err)
{
    if (!parse_address(address, t->net->params.ports, port_out)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "'%.100s' is not an address of this network: sim:0 to "
                       "sim:%u",
                       address, t->net->params.ports - 1);
    }
    return WEIR_OK;
}

static weir_err check_address(struct wi_transport *base, const char *address,
                              struct weir_error *err)
{
    uint32_t port = 0;
    return decode(of_transport(base), address, &port, err);
}

static weir_err start_connect(struct wi_transport *base, const char *address,
                              struct wi_ep **ep_out, struct weir_error *err)
{
    struct simtransport *t = of_transport(base);
    uint32_t to = 0;
    weir_err rc = decode(t, address, &to, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_simconn *c = wi_simconn_open(t->net, t->port, to);
    if (c == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "sim: no memory for a link");
    }
    struct wi_simend *e = &c->end[0];
    struct wi_simop *op = wi_simop_open(t->net, WI_SIMOP_CONNECT, e, 0);
    if (op == NULL) {
        wi_simconn_drop(c);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "sim: no memory for a link");
    }
    wi_simops_append(&e->out, op);
    wi_simend_start(e);
    *ep_out = &e->ep;
    return WEIR_OK;
}

static void leave(struct wi_ep *ep)
{
    wi_simend_leave(of_ep(ep));
}

/* ---- send side ----------------------------------------------------------- */

/* Refuse now and then, as a busy device would (faults.again_ppm). */
WI_COLD static weir_err refuse_for_a_while(struct wi_simend *e)
{
    struct wi_simnet *net = e->conn->net;
    struct wi_simop *op = wi_simop_open(net, WI_SIMOP_WAKE, e, 0);
    if (op != NULL) {
        e->again = true;
        wi_simconn_hold(e->conn);
        wi_simwire_alarm(&net->wire, net->wire.now_ns + AGAIN_NS, op);
    }
    return WEIR_AGAIN;
}

/* A new operation in the list of what waits for a kick. */
static weir_err post(struct wi_simend *e, enum wi_simop_kind kind, uint32_t n,
                     struct wi_simop **op_out)
{
    struct wi_simnet *net = e->conn->net;
    assert(e->state == WI_SIMEND_OPEN || e->state == WI_SIMEND_BROKEN);
    if (e->state != WI_SIMEND_OPEN) {
        return WEIR_ERR_PEER_LOST;
    }
    if (e->n_outstanding >= WI_SIM_QUEUE_OPS) {
        e->again = true;
        return WEIR_AGAIN;
    }
    if (wi_unlikely(
            wi_simwire_chance(&net->wire, net->params.faults.again_ppm))) {
        return refuse_for_a_while(e);
    }
    struct wi_simop *op = wi_simop_open(net, kind, e, n);
    if (op == NULL) {
        wi_simconn_break(e->conn, "out of memory");
        return WEIR_ERR_PEER_LOST;
    }
    wi_simops_append(&e->posted, op);
    e->n_outstanding++;
    *op_out = op;
    return WEIR_OK;
}

static weir_err send_message(struct wi_ep *ep, const void *bytes, uint32_t len)
{
    struct wi_simop *op = NULL;
    assert(len > 0 && len <= WI_SIM_MAX_MESSAGE);
    weir_err rc = post(of_ep(ep), WI_SIMOP_MESSAGE, len, &op);
    if (rc == WEIR_OK) {
        memcpy(wi_simop_data(op), bytes, len);
    }
    return rc;
}

static weir_err post_rma(struct wi_ep *ep, enum wi_simop_kind kind,
                         const struct wi_rma *rma)
{
    struct wi_simend *e = of_ep(ep);
    struct wi_simop *op = NULL;
    assert(rma->bytes > 0 && rma->bytes <= WI_RMA_BYTES);
    weir_err rc = post(e, kind, 0, &op);
    if (rc == WEIR_OK) {
        op->local = rma->local;
        op->len = rma->bytes;
        op->key = rma->key;
        op->remote_off = rma->remote_off;
        op->seq = e->n_rma++;
    }
    return rc;
}

static weir_err post_write(struct wi_ep *ep, const struct wi_rma *op)
{
    return post_rma(ep, WI_SIMOP_WRITE, op);
}

static weir_err post_read(struct wi_ep *ep, const struct wi_rma *op)
{
    return post_rma(ep, WI_SIMOP_READ, op);
}

static weir_err kick(struct wi_ep *ep)
{
    struct wi_simend *e = of_ep(ep);
    if (e->state != WI_SIMEND_OPEN) {
        return WEIR_ERR_PEER_LOST;
    }
    if (e->posted.head == NULL) {
        return WEIR_OK;
    }
    if (e->out.head == NULL) {
        e->out.head = e->posted.head;
    } else {
        e->out.tail->next = e->posted.head;
    }
    e->out.tail = e->posted.tail;
    e->posted.head = NULL;
    wi_simend_start(e);
    return WEIR_OK;
}

/* ---- receive side -------------------------------------------------------- */

struct batch {
    struct wi_event *events;
    uint32_t n;
    uint32_t max;
};

static void add(struct batch *b, struct wi_simend *e, enum wi_event_kind kind)
{
    b->events[b->n++] = (struct wi_event){.kind = kind, .ep = &e->ep};
}

static void add_flag(struct batch *b, struct wi_simend *e, unsigned flag,
                     enum wi_event_kind kind)
{
    if ((e->flags & flag) != 0 && b->n < b->max) {
        e->flags = (uint8_t)(e->flags & ~flag);
        add(b, e, kind);
    }
}

static void add_messages(struct simtransport *t, struct batch *b,
                         struct wi_simend *e)
{
    while (b->n < b->max && e->inbox.head != NULL) {
        struct wi_simop *op = wi_simops_take(&e->inbox);
        wi_simops_append(&t->lent, op);
        wi_simend_done(op->end);
        add(b, e, WI_EV_MESSAGE);
        b->events[b->n - 1].bytes = wi_simop_data(op);
        b->events[b->n - 1].len = op->len;
    }
}

static void add_end(struct simtransport *t, struct batch *b,
                    struct wi_simend *e)
{
    add_flag(b, e, WI_SIMFLAG_ACCEPTED, WI_EV_ACCEPTED);
    add_flag(b, e, WI_SIMFLAG_CONNECTED, WI_EV_CONNECTED);
    add_messages(t, b, e);
    while (b->n < b->max && e->reads_done > 0) {
        e->reads_done--;
        add(b, e, WI_EV_READ_DONE);
    }
    add_flag(b, e, WI_SIMFLAG_SENDABLE, WI_EV_SENDABLE);
    if (b->n < b->max && (e->flags & WI_SIMFLAG_CLOSED) != 0) {
        add_flag(b, e, WI_SIMFLAG_CLOSED, WI_EV_CLOSED);
        b->events[b->n - 1].reason =
            e->conn->reason != NULL ? e->conn->reason : "the link is lost";
    }
}

static bool has_more(const struct wi_simend *e)
{
    return e->flags != 0 || e->inbox.head != NULL || e->reads_done != 0;
}

/* With a clock of its own (no harness) polling drives the network, too. */
static uint32_t poll_node(struct wi_transport *base, uint64_t now_ns,
                          struct wi_event *events, uint32_t max)
{
    struct simtransport *t = of_transport(base);
    struct wi_simport *p = &t->net->ports[t->port];
    struct batch b = {.events = events, .max = max};
    now_ns -= wi_min_u64(now_ns, p->skew_ns);
    if (now_ns > t->net->wire.now_ns) {
        wi_simwire_advance(&t->net->wire, now_ns);
    }
    wi_simops_clear(t->net, &t->lent);
    while (b.n < b.max && p->ready_head != NULL) {
        struct wi_simend *e = p->ready_head;
        if (e->state != WI_SIMEND_GONE) {
            add_end(t, &b, e);
            if (has_more(e)) {
                break;
            }
        }
        (void)take_ready(p);
        wi_simconn_drop(e->conn);
    }
    return b.n;
}

static weir_err arm(struct wi_transport *base)
{
    struct simtransport *t = of_transport(base);
    return t->net->ports[t->port].ready_head == NULL ? WEIR_OK : WEIR_AGAIN;
}

const struct wi_transport_ops wi_sim_ops = {
    .name = "sim",
    .caps = WI_CAP_WRITE | WI_CAP_READ | WI_CAP_VIRTUAL | WI_CAP_LOCAL_ANY,
    .max_message_bytes = WI_SIM_MAX_MESSAGE,
    .usual_frame_bytes = 16384,
    .write_bytes = 16320, /* so that frames of 16 KiB are fitted to it */
    .open = open_node,
    .close = close_node,
    .address = get_address,
    .mem_open = open_memory,
    .mem_reserve = open_memory,
    .mem_take = wi_all_taken,
    .mem_borrow = borrow_memory,
    .mem_close = close_memory,
    .grant = grant,
    .ungrant = ungrant,
    .map = wi_no_map,
    .unmap = wi_no_unmap,
    .check = check_address,
    .connect = start_connect,
    .connect_next = wi_no_next,
    .why = wi_plain_why,
    .disconnect = leave,
    .send = send_message,
    .write = post_write,
    .read = post_read,
    .kick = kick,
    .poll = poll_node,
    .arm = arm,
    .fd = wi_no_fd,
};
