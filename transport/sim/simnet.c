/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network as a whole: opening, the list of ports with news, and faults
 * that come at a given time.
 */
#include "transport/sim/simnet.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "transport/sim/simconn.h"

static void run_alarm(void *arg, void *what);

static const struct wi_simwire_ops wire_ops = {
    .take = wi_simconn_take,
    .land = wi_simland,
    .lose = wi_simconn_lose,
    .alarm = run_alarm,
};

weir_err wi_simnet_open(const struct wi_simnet_params *params,
                        struct wi_simnet **net_out, struct weir_error *err)
{
    if (params->ports == 0 || params->ports > WI_SIMNET_MAX_PORTS) {
        return wi_fail(err, WEIR_ERR_ARG, "sim: %u ports, not 1..%d",
                       params->ports, WI_SIMNET_MAX_PORTS);
    }
    if (params->bandwidth == 0 || params->bandwidth > 1000000000000000u) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "sim: a bandwidth of %llu bytes/s, not 1..10^15",
                       (unsigned long long)params->bandwidth);
    }
    const struct wi_simwire_params wire = {
        .ports = params->ports,
        .seed = params->seed,
        .bandwidth = params->bandwidth,
        .latency_ns = params->latency_ns,
        .jitter_ns = params->jitter_ns,
        .overhead_bytes = params->overhead_bytes,
        .delay_ppm = params->faults.delay_ppm,
        .delay_ns = params->faults.delay_ns,
    };
    struct wi_simnet *net = calloc(1, sizeof(*net));
    if (net != NULL) {
        net->params = *params;
        net->ports = calloc(params->ports, sizeof(*net->ports));
        if (wi_simwire_init(&net->wire, &wire, &wire_ops, net) &&
            net->ports != NULL) {
            *net_out = net;
            return WEIR_OK;
        }
        wi_simnet_close(net);
    }
    return wi_fail(err, WEIR_ERR_NO_MEMORY, "sim: no memory for %u ports",
                   params->ports);
}

void wi_simnet_close(struct wi_simnet *net)
{
    if (net == NULL) {
        return;
    }
    wi_simwire_fini(&net->wire);
    while (net->conns != NULL) { /* still in a list that is gone now */
        net->conns->refs = 1;
        wi_simconn_drop(net->conns);
    }
    wi_simpool_fini(&net->pool);
    free(net->ports);
    free(net);
}

uint64_t wi_simnet_now(const struct wi_simnet *net)
{
    return net->wire.now_ns;
}

uint64_t wi_simnet_next(const struct wi_simnet *net)
{
    return wi_simwire_next(&net->wire);
}

void wi_simnet_advance(struct wi_simnet *net, uint64_t to_ns)
{
    wi_simwire_advance(&net->wire, to_ns);
}

uint32_t wi_simnet_take_ready(struct wi_simnet *net)
{
    if (net->ready_head == 0) {
        return UINT32_MAX;
    }
    uint32_t i = net->ready_head - 1;
    net->ready_head = net->ports[i].next_ready;
    net->ports[i].ready = false;
    return i;
}

bool wi_simnet_failed(const struct wi_simnet *net)
{
    return net->wire.no_memory;
}

uint64_t wi_simnet_sent_bytes(const struct wi_simnet *net, uint32_t port)
{
    return net->wire.ports[port].sent_bytes;
}

uint64_t wi_simnet_events(const struct wi_simnet *net)
{
    return net->wire.events;
}

uint64_t wi_simnet_trace(const struct wi_simnet *net)
{
    return net->wire.trace;
}

/* ---- faults -------------------------------------------------------------- */

static bool joins(const struct wi_simconn *c, uint64_t a, uint64_t b)
{
    const struct wi_simflow *f = &c->end[0].flow;
    return (f->from == a && f->to == b) || (f->from == b && f->to == a);
}

static void tear_incoming(struct wi_simnet *net, uint32_t port,
                          const struct wi_simconn *c)
{
    struct wi_simxfer *x = wi_simwire_incoming(&net->wire, port);
    if (x != NULL &&
        (x->flow == &c->end[0].flow || x->flow == &c->end[1].flow)) {
        wi_simland_torn(x);
    }
}

static void break_between(struct wi_simnet *net, uint32_t a, uint32_t b,
                          const char *what)
{
    for (struct wi_simconn *c = net->conns; c != NULL; c = c->next) {
        if (!c->broken && joins(c, a, b)) {
            tear_incoming(net, a, c);
            tear_incoming(net, b, c);
            wi_simconn_break(c, "the link between sim:%u and sim:%u %s", a, b,
                             what);
        }
    }
}

static void run_alarm(void *arg, void *what)
{
    struct wi_simnet *net = arg;
    struct wi_simop *op = what;
    uint32_t a = op->a;
    uint32_t b = op->b;
    switch (op->kind) {
    case WI_SIMOP_CUT:
        break_between(net, a, b, "was cut");
        break;
    case WI_SIMOP_DROP:
        wi_simwire_drop(&net->wire, a, b, true);
        if (op->until_ns != WI_NEVER) {
            op->kind = WI_SIMOP_DROP_END;
            wi_simwire_alarm(&net->wire, op->until_ns, op);
            return;
        }
        break;
    case WI_SIMOP_DROP_END:
        wi_simwire_drop(&net->wire, a, b, false);
        break_between(net, a, b, "is lost: nothing came through");
        break;
    default: /* WI_SIMOP_WAKE */
        if (op->end->again) {
            op->end->again = false;
            wi_simend_report(op->end, WI_SIMFLAG_SENDABLE);
        }
        wi_simconn_drop(op->end->conn);
        break;
    }
    wi_simop_close(net, op);
}

void wi_simnet_set_faults(struct wi_simnet *net,
                          const struct wi_simnet_faults *faults)
{
    net->params.faults = *faults;
    net->wire.params.delay_ppm = faults->delay_ppm;
    net->wire.params.delay_ns = faults->delay_ns;
}

void wi_simnet_crash(struct wi_simnet *net, uint32_t port)
{
    wi_simwire_crash(&net->wire, port);
}

void wi_simnet_kill(struct wi_simnet *net, uint32_t port)
{
    for (uint32_t i = 0; i < net->params.ports; i++) {
        break_between(net, port, i, "ended: its process was killed");
    }
}

void wi_simnet_slow(struct wi_simnet *net, uint32_t port, uint32_t slowdown)
{
    wi_simwire_slow(&net->wire, port, slowdown);
}

void wi_simnet_refuse_memory(struct wi_simnet *net, uint32_t port, bool refuse)
{
    net->ports[port].refuses_memory = refuse;
}

uint64_t wi_simnet_memory(const struct wi_simnet *net, uint32_t port)
{
    return net->ports[port].memory_bytes;
}

void wi_simnet_set_skew(struct wi_simnet *net, uint32_t port, uint64_t ns)
{
    net->ports[port].skew_ns = wi_max_u64(net->ports[port].skew_ns, ns);
}

uint64_t wi_simnet_skew(const struct wi_simnet *net, uint32_t port)
{
    return net->ports[port].skew_ns;
}

void wi_simnet_set_watch(struct wi_simnet *net,
                         const struct wi_simnet_watch *watch)
{
    net->watch = *watch;
}

static struct wi_simend *open_end(struct wi_simnet *net, uint32_t from,
                                  uint32_t to)
{
    for (struct wi_simconn *c = net->conns; c != NULL; c = c->next) {
        for (int i = 0; i < 2; i++) {
            struct wi_simend *e = &c->end[i];
            if (!c->broken && e->state == WI_SIMEND_OPEN &&
                e->flow.from == from && e->flow.to == to) {
                return e;
            }
        }
    }
    return NULL;
}

bool wi_simnet_inject(struct wi_simnet *net, uint32_t from, uint32_t to,
                      const void *bytes, uint32_t len)
{
    struct wi_simend *e = open_end(net, from, to);
    struct wi_simop *op =
        e != NULL ? wi_simop_open(net, WI_SIMOP_MESSAGE, e, len) : NULL;
    if (op == NULL) {
        return false;
    }
    memcpy(wi_simop_data(op), bytes, len);
    e->n_outstanding++;
    wi_simops_append(&e->out, op);
    wi_simend_start(e);
    return true;
}

static void schedule(struct wi_simnet *net, enum wi_simop_kind kind,
                     const uint32_t pair[2], uint64_t at_ns, uint64_t until_ns)
{
    struct wi_simop *op = wi_simop_open(net, kind, NULL, 0);
    if (op != NULL) {
        op->a = pair[0];
        op->b = pair[1];
        op->until_ns = until_ns;
        wi_simwire_alarm(&net->wire, at_ns, op);
    }
}

void wi_simnet_cut(struct wi_simnet *net, uint32_t a, uint32_t b,
                   uint64_t at_ns)
{
    schedule(net, WI_SIMOP_CUT, (const uint32_t[]){a, b}, at_ns, 0);
}

void wi_simnet_drop(struct wi_simnet *net, uint32_t a, uint32_t b,
                    uint64_t at_ns, uint64_t until_ns)
{
    schedule(net, WI_SIMOP_DROP, (const uint32_t[]){a, b}, at_ns, until_ns);
}
