/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the simulated network promises beyond core/transport.h: its model of
 * time, its faults, and that a run is a function of its seed. The contract of
 * all transports is tested in test/conformance/sim_test.c.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/base/atomic.h"
#include "core/transport.h"
#include "transport/registry.h"
#include "transport/sim/simnet.h"

enum { MAX_PORTS = 64, FRAME = 16384, EVENTS = 16 };

static const struct wi_simnet_params plain = {
    .ports = 4,
    .seed = 1,
    .bandwidth = 1000000000, /* a byte per nanosecond */
    .latency_ns = 2000,
    .overhead_bytes = 64,
};

/* One endpoint and what was seen of it. */
struct seen {
    struct wi_ep *ep;
    uint32_t messages;
    uint32_t sendable;
    uint32_t reads;
    bool up;
    bool closed;
    uint64_t last_ns;  /* of the last event */
    uint64_t last_tag; /* first 8 bytes of the last message */
    char reason[WI_REASON_BYTES];
};

struct net {
    struct wi_simnet *net;
    struct wi_transport *t[MAX_PORTS];
    uint32_t n;
    struct seen ends[MAX_PORTS * MAX_PORTS * 2];
    uint32_t n_ends;
    void (*on_event)(struct net *n, uint32_t port, struct wi_event *ev);
    uint64_t silent; /* bit i: port i does not poll */
};

static struct net *net_open(const struct wi_simnet_params *params)
{
    struct weir_error err = {0};
    struct net *n = calloc(1, sizeof(*n));
    cr_assert_not_null(n);
    n->n = params->ports;
    cr_assert_eq(wi_simnet_open(params, &n->net, &err), WEIR_OK, "%s",
                 err.message);
    for (uint32_t i = 0; i < n->n; i++) {
        struct wi_simport_ref ref = {n->net, i};
        struct wi_transport_params p = {.name = "n", .arg = &ref};
        cr_assert_eq(wi_sim_ops.open(&p, &n->t[i], &err), WEIR_OK, "%s",
                     err.message);
    }
    return n;
}

static struct seen *seen_add(struct net *n, struct wi_ep *ep)
{
    cr_assert_lt(n->n_ends, MAX_PORTS * MAX_PORTS * 2);
    struct seen *s = &n->ends[n->n_ends++];
    *s = (struct seen){.ep = ep};
    ep->user = s;
    return s;
}

static void drop(struct seen *s)
{
    wi_sim_ops.disconnect(s->ep);
    s->ep = NULL;
}

static void net_close(struct net *n)
{
    for (uint32_t i = 0; i < n->n_ends; i++) {
        if (n->ends[i].ep != NULL) {
            drop(&n->ends[i]);
        }
    }
    for (uint32_t i = 0; i < n->n; i++) {
        if (n->t[i] != NULL) {
            wi_sim_ops.close(n->t[i]);
        }
    }
    wi_simnet_close(n->net);
    free(n);
}

static void record(struct net *n, const struct wi_event *ev)
{
    struct seen *s = ev->ep->user;
    if (ev->kind == WI_EV_ACCEPTED) {
        s = seen_add(n, ev->ep);
        s->up = true;
    }
    cr_assert_not_null(s);
    cr_assert_not(s->closed, "an event after CLOSED");
    s->last_ns = wi_simnet_now(n->net);
    s->up = s->up || ev->kind == WI_EV_CONNECTED;
    s->sendable += ev->kind == WI_EV_SENDABLE;
    s->reads += ev->kind == WI_EV_READ_DONE;
    if (ev->kind == WI_EV_MESSAGE) {
        s->messages++;
        cr_assert_geq(ev->len, 8);
        memcpy(&s->last_tag, ev->bytes, 8);
    } else if (ev->kind == WI_EV_CLOSED) {
        s->closed = true;
        snprintf(s->reason, sizeof(s->reason), "%s", ev->reason);
    }
}

static void poll_port(struct net *n, uint32_t port)
{
    struct wi_event events[EVENTS];
    uint32_t got;
    while ((got = wi_sim_ops.poll(n->t[port], wi_simnet_now(n->net), events,
                                  EVENTS)) > 0) {
        for (uint32_t i = 0; i < got; i++) {
            record(n, &events[i]);
            if (n->on_event != NULL) {
                n->on_event(n, port, &events[i]);
            }
        }
    }
}

/* Let everything happen up to a time. */
static void run_until(struct net *n, uint64_t until_ns)
{
    while (wi_simnet_next(n->net) <= until_ns &&
           wi_simnet_next(n->net) != WI_NEVER) {
        wi_simnet_advance(n->net, wi_simnet_next(n->net));
        uint32_t port;
        while ((port = wi_simnet_take_ready(n->net)) != UINT32_MAX) {
            if ((n->silent >> port & 1) == 0) {
                poll_port(n, port);
            }
        }
    }
    if (until_ns != WI_NEVER) {
        wi_simnet_advance(n->net, until_ns);
    }
}

static void run(struct net *n)
{
    run_until(n, WI_NEVER);
}

static struct seen *dial(struct net *n, uint32_t from, uint32_t to)
{
    struct weir_error err = {0};
    struct wi_ep *ep = NULL;
    char address[32];
    snprintf(address, sizeof(address), "sim:%u", to);
    cr_assert_eq(wi_sim_ops.connect(n->t[from], address, &ep, &err), WEIR_OK,
                 "%s", err.message);
    return seen_add(n, ep);
}

static void join_pair(struct net *n, uint32_t from, uint32_t to,
                      struct seen **a, struct seen **b)
{
    *a = dial(n, from, to);
    run(n);
    cr_assert((*a)->up);
    *b = &n->ends[n->n_ends - 1];
    cr_assert((*b)->up && *a != *b);
}

static weir_err say(struct seen *s, uint64_t tag)
{
    weir_err rc = wi_sim_ops.send(s->ep, &tag, sizeof(tag));
    return rc == WEIR_OK ? wi_sim_ops.kick(s->ep) : rc;
}

static struct wi_mem memory(struct net *n, uint32_t port, size_t bytes)
{
    struct weir_error err = {0};
    struct wi_mem mem;
    cr_assert_eq(wi_sim_ops.mem_open(n->t[port], bytes, &mem, &err), WEIR_OK,
                 "%s", err.message);
    return mem;
}

static uint64_t grant(struct seen *s, const struct wi_mem *mem)
{
    struct weir_error err = {0};
    uint64_t key = 0;
    cr_assert_eq(wi_sim_ops.grant(s->ep, mem, WI_ACCESS_BOTH, &key, &err),
                 WEIR_OK, "%s", err.message);
    return key;
}

static uint64_t completed(const struct seen *s)
{
    return wi_load_sc(&s->ep->completed);
}

/* ---- time ---------------------------------------------------------------- */

Test(sim, message_takes_both_ports_and_the_latency)
{
    struct net *n = net_open(&plain);
    struct seen *a;
    struct seen *b;
    join_pair(n, 0, 1, &a, &b);
    uint64_t start = wi_simnet_now(n->net);
    cr_assert_eq(say(a, 42), WEIR_OK);
    run(n);
    cr_assert_eq(b->last_tag, 42);
    cr_assert_eq(b->last_ns - start, 2 * (64 + 8) + 2000);
    net_close(n);
}

Test(sim, port_rate_is_exact_over_many_small_transfers)
{
    struct wi_simnet_params p = plain;
    p.bandwidth = 12500000000u; /* 72 bytes take 5.76 ns */
    struct net *n = net_open(&p);
    struct seen *a;
    struct seen *b;
    join_pair(n, 0, 1, &a, &b);
    uint64_t start = wi_simnet_now(n->net);
    uint64_t before = wi_simnet_sent_bytes(n->net, 0);
    for (uint32_t round = 0; round < 50; round++) {
        cr_assert_eq(say(a, round), WEIR_OK);
    }
    run(n);
    uint64_t bytes = wi_simnet_sent_bytes(n->net, 0) - before;
    double sent_ns = (double)bytes / 12.5;
    double took_ns = (double)(b->last_ns - start) - 2000;
    cr_assert_eq(b->messages, 50);
    cr_assert_geq(took_ns, sent_ns);
    /* and the last transfer once more, at the receiver */
    cr_assert_leq(took_ns, sent_ns + (64 + 16 * 8) / 12.5 + 2);
    net_close(n);
}

Test(sim, frame_and_its_notification_share_a_transfer)
{
    struct net *n = net_open(&plain);
    struct seen *a;
    struct seen *b;
    join_pair(n, 0, 1, &a, &b);
    struct wi_mem from = memory(n, 0, FRAME);
    struct wi_mem to = memory(n, 1, FRAME);
    struct wi_rma op = {from.base, FRAME, grant(b, &to), 0};
    uint64_t tag = 1;
    uint64_t before = wi_simnet_sent_bytes(n->net, 0);
    memset(from.base, 7, FRAME);
    cr_assert_eq(wi_sim_ops.write(a->ep, &op), WEIR_OK);
    cr_assert_eq(wi_sim_ops.send(a->ep, &tag, 8), WEIR_OK);
    cr_assert_eq(wi_simnet_sent_bytes(n->net, 0), before, "sent before kick");
    cr_assert_eq(wi_sim_ops.kick(a->ep), WEIR_OK);
    run(n);
    cr_assert_eq(wi_simnet_sent_bytes(n->net, 0) - before, FRAME + 8 + 64);
    cr_assert_eq(b->messages, 1);
    cr_assert_eq(completed(a), 1);
    cr_assert_eq(((uint8_t *)to.base)[FRAME - 1], 7);
    drop(a);
    drop(b);
    wi_sim_ops.mem_close(n->t[0], &from);
    wi_sim_ops.mem_close(n->t[1], &to);
    net_close(n);
}

Test(sim, jitter_never_reorders_a_link)
{
    struct wi_simnet_params p = plain;
    p.jitter_ns = 1000000;
    struct net *n = net_open(&p);
    struct seen *a;
    struct seen *b;
    join_pair(n, 0, 1, &a, &b);
    for (uint64_t i = 0; i < 60; i++) {
        uint32_t had = b->messages;
        cr_assert_eq(say(a, i), WEIR_OK);
        run_until(n, wi_simnet_now(n->net) + 1000);
        cr_assert(b->messages == had || b->last_tag + 1 == b->messages);
    }
    run(n);
    cr_assert_eq(b->messages, 60);
    cr_assert_eq(b->last_tag, 59);
    net_close(n);
}

/* The write lands while the answer to the read is on its way back. */
Test(sim, write_is_not_complete_before_the_read_posted_before_it)
{
    struct net *n = net_open(&plain);
    struct seen *a;
    struct seen *b;
    uint32_t steps = 0;
    join_pair(n, 0, 1, &a, &b);
    struct wi_mem own = memory(n, 0, FRAME);
    struct wi_mem peer = memory(n, 1, FRAME);
    uint64_t key = grant(b, &peer);
    uint64_t *words = own.base;
    struct wi_rma read = {words, 4096, key, 0};
    struct wi_rma write = {words + 1024, 64, key, 8192};
    memset(peer.base, 5, 4096);
    words[1024] = 99;
    cr_assert_eq(wi_sim_ops.read(a->ep, &read), WEIR_OK);
    cr_assert_eq(wi_sim_ops.write(a->ep, &write), WEIR_OK);
    cr_assert_eq(wi_sim_ops.kick(a->ep), WEIR_OK);
    while (a->reads == 0) {
        cr_assert_eq(completed(a), 0);
        cr_assert_neq(wi_simnet_next(n->net), WI_NEVER);
        steps += ((uint64_t *)peer.base)[1024] == 99;
        run_until(n, wi_simnet_next(n->net));
    }
    cr_assert_gt(steps, 0, "the write never was alone");
    cr_assert_eq(completed(a), 2);
    cr_assert_eq(((uint8_t *)own.base)[4095], 5);
    drop(a);
    drop(b);
    wi_sim_ops.mem_close(n->t[0], &own);
    wi_sim_ops.mem_close(n->t[1], &peer);
    net_close(n);
}

/* ---- all to all ---------------------------------------------------------- */

enum { DEPTH = 8, WRITES = 40 };

/* Every port keeps DEPTH frames on their way to every other port. */
struct flood {
    struct wi_mem out[MAX_PORTS];
    struct wi_mem in[MAX_PORTS];
    uint32_t posted[MAX_PORTS * MAX_PORTS * 2];
    uint64_t keys[MAX_PORTS * MAX_PORTS * 2];
};

static struct flood *flood;

static void feed(struct net *n, struct seen *s, uint32_t port)
{
    size_t i = (size_t)(s - n->ends);
    while (flood->posted[i] < WRITES &&
           flood->posted[i] - completed(s) < DEPTH) {
        struct wi_rma op = {flood->out[port].base, FRAME, flood->keys[i], 0};
        cr_assert_eq(wi_sim_ops.write(s->ep, &op), WEIR_OK);
        flood->posted[i]++;
    }
    cr_assert_eq(wi_sim_ops.kick(s->ep), WEIR_OK);
}

static void on_flood_event(struct net *n, uint32_t port, struct wi_event *ev)
{
    if (ev->kind == WI_EV_SENDABLE) {
        feed(n, ev->ep->user, port);
    }
}

static struct net *flood_open(const struct wi_simnet_params *p)
{
    struct net *n = net_open(p);
    flood = calloc(1, sizeof(*flood));
    cr_assert_not_null(flood);
    for (uint32_t i = 0; i < n->n; i++) {
        flood->out[i] = memory(n, i, FRAME);
        flood->in[i] = memory(n, i, FRAME);
    }
    for (uint32_t i = 0; i < n->n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            struct seen *a;
            struct seen *b;
            join_pair(n, i, k, &a, &b);
            flood->keys[a - n->ends] = grant(b, &flood->in[k]);
            flood->keys[b - n->ends] = grant(a, &flood->in[i]);
        }
    }
    n->on_event = on_flood_event;
    return n;
}

static uint32_t port_of(const struct net *n, const struct seen *s)
{
    uint32_t i = 0;
    while (n->t[i] != s->ep->transport) {
        i++;
    }
    return i;
}

static void flood_run(struct net *n)
{
    for (uint32_t i = 0; i < n->n_ends; i++) {
        feed(n, &n->ends[i], port_of(n, &n->ends[i]));
    }
    run(n);
    for (uint32_t i = 0; i < n->n_ends; i++) {
        cr_assert_eq(completed(&n->ends[i]), WRITES);
    }
}

static void flood_close(struct net *n)
{
    for (uint32_t i = 0; i < n->n_ends; i++) {
        drop(&n->ends[i]);
    }
    for (uint32_t i = 0; i < n->n; i++) {
        wi_sim_ops.mem_close(n->t[i], &flood->out[i]);
        wi_sim_ops.mem_close(n->t[i], &flood->in[i]);
    }
    net_close(n);
    free(flood);
}

Test(sim, all_to_all_fills_the_ports, .timeout = 60)
{
    struct wi_simnet_params p = plain;
    p.ports = MAX_PORTS;
    p.bandwidth = 12500000000u;
    struct net *n = flood_open(&p);
    uint64_t start = wi_simnet_now(n->net);
    flood_run(n);
    double ns = (double)(wi_simnet_now(n->net) - start);
    double bytes = (double)(MAX_PORTS - 1) * WRITES * (FRAME + 64);
    cr_assert_geq(bytes / ns, 0.97 * 12.5, "%.3f bytes/ns", bytes / ns);
    cr_assert_leq(bytes / ns, 12.5, "more than the port can carry");
    flood_close(n);
}

static uint64_t trace_of(uint64_t seed, uint64_t jitter_ns)
{
    struct wi_simnet_params p = plain;
    p.ports = 12;
    p.seed = seed;
    p.jitter_ns = jitter_ns;
    p.faults.delay_ppm = 5000;
    p.faults.delay_ns = jitter_ns * 10;
    struct net *n = flood_open(&p);
    flood_run(n);
    uint64_t trace = wi_simnet_trace(n->net) ^ wi_simnet_now(n->net);
    cr_assert_gt(wi_simnet_events(n->net), 12 * 11 * WRITES);
    flood_close(n);
    return trace;
}

Test(sim, same_seed_gives_the_same_events_another_seed_does_not)
{
    uint64_t first = trace_of(17, 700);
    cr_assert_eq(trace_of(17, 700), first);
    cr_assert_neq(trace_of(18, 700), first);
    cr_assert_neq(trace_of(17, 701), first);
}

/* ---- faults -------------------------------------------------------------- */

Test(sim, crash_is_silent)
{
    struct net *n = net_open(&plain);
    struct seen *a;
    struct seen *b;
    join_pair(n, 0, 1, &a, &b);
    struct wi_mem from = memory(n, 0, FRAME);
    struct wi_mem to = memory(n, 1, FRAME);
    struct wi_rma op = {from.base, FRAME, grant(b, &to), 0};
    cr_assert_eq(wi_sim_ops.write(a->ep, &op), WEIR_OK);
    cr_assert_eq(say(a, 1), WEIR_OK);
    cr_assert_eq(say(b, 2), WEIR_OK);
    wi_simnet_crash(n->net, 1);
    struct seen *c = dial(n, 2, 1);
    run(n);
    cr_assert_eq(a->messages, 0, "it was still on the way out");
    cr_assert_not(a->closed, "a host without power says nothing");
    cr_assert_eq(completed(a), 0);
    cr_assert(!c->up && !c->closed, "connect to a dead host is silence");
    drop(a);
    drop(b);
    drop(c);
    run(n);
    wi_sim_ops.mem_close(n->t[0], &from);
    wi_sim_ops.mem_close(n->t[1], &to);
    net_close(n);
}

Test(sim, what_left_before_the_crash_arrives)
{
    struct net *n = net_open(&plain);
    struct seen *a;
    struct seen *b;
    join_pair(n, 0, 1, &a, &b);
    cr_assert_eq(say(b, 2), WEIR_OK);
    run_until(n, wi_simnet_now(n->net) + 64 + 8 + 1);
    wi_simnet_crash(n->net, 1);
    run(n);
    cr_assert_eq(a->messages, 1);
    net_close(n);
}

Test(sim, cut_is_learnt_by_both_ends_and_the_link_opens_again)
{
    struct net *n = net_open(&plain);
    struct seen *a;
    struct seen *b;
    struct seen *other_a;
    struct seen *other_b;
    join_pair(n, 0, 1, &a, &b);
    join_pair(n, 2, 1, &other_a, &other_b);
    cr_assert_eq(say(a, 1), WEIR_OK);
    wi_simnet_cut(n->net, 1, 0, wi_simnet_now(n->net) + 1000);
    run(n);
    cr_assert(a->closed && b->closed);
    cr_assert_not(other_a->closed || other_b->closed, "another link was cut");
    cr_assert_not_null(strstr(a->reason, "cut"));
    cr_assert_eq(b->messages, 0);
    cr_assert_eq(say(a, 2), WEIR_ERR_PEER_LOST);
    drop(a);
    drop(b);
    join_pair(n, 0, 1, &a, &b);
    cr_assert_eq(say(a, 3), WEIR_OK);
    run(n);
    cr_assert_eq(b->last_tag, 3);
    net_close(n);
}

/* What a cut leaves of a write is the front of it. */
Test(sim, cut_tears_a_write_anywhere)
{
    bool torn_inside = false;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct wi_simnet_params p = plain;
        struct seen *a;
        struct seen *b;
        p.seed = seed;
        struct net *n = net_open(&p);
        join_pair(n, 0, 1, &a, &b);
        struct wi_mem from = memory(n, 0, FRAME);
        struct wi_mem to = memory(n, 1, FRAME);
        struct wi_rma op = {from.base, FRAME, grant(b, &to), 0};
        memset(from.base, 0xff, FRAME);
        cr_assert_eq(wi_sim_ops.write(a->ep, &op), WEIR_OK);
        cr_assert_eq(say(a, 1), WEIR_OK);
        /* sent for FRAME ns, then 2000 ns, then received for FRAME ns */
        wi_simnet_cut(n->net, 0, 1,
                      wi_simnet_now(n->net) + FRAME + 2000 + FRAME / 2);
        run(n);
        const uint8_t *bytes = to.base;
        size_t placed = 0;
        while (placed < FRAME && bytes[placed] == 0xff) {
            placed++;
        }
        for (size_t i = placed; i < FRAME; i++) {
            cr_assert_eq(bytes[i], 0, "a hole before byte %zu", i);
        }
        torn_inside = torn_inside || (placed > 0 && placed < FRAME);
        cr_assert_eq(completed(a), 0);
        cr_assert_eq(b->messages, 0);
        drop(a);
        drop(b);
        wi_sim_ops.mem_close(n->t[0], &from);
        wi_sim_ops.mem_close(n->t[1], &to);
        net_close(n);
    }
    cr_assert(torn_inside);
}

Test(sim, drop_loses_in_silence_then_the_link_is_found_broken)
{
    struct net *n = net_open(&plain);
    struct seen *a;
    struct seen *b;
    struct seen *c;
    struct seen *d;
    join_pair(n, 0, 1, &a, &b);
    join_pair(n, 0, 1, &c, &d);
    uint64_t now = wi_simnet_now(n->net);
    wi_simnet_drop(n->net, 0, 1, now + 10000, now + 50000);
    cr_assert_eq(say(a, 1), WEIR_OK);
    run_until(n, now + 20000);
    cr_assert_eq(b->messages, 1, "before the drop all is well");
    cr_assert_eq(say(a, 2), WEIR_OK);
    cr_assert_eq(say(b, 3), WEIR_OK);
    drop(c); /* d cannot hear of this, either */
    struct seen *e = dial(n, 0, 1);
    run_until(n, now + 49999);
    cr_assert_eq(b->messages, 1);
    cr_assert_eq(a->messages, 0);
    cr_assert_not(a->closed || b->closed || d->closed || e->closed || e->up);
    run(n);
    cr_assert(a->closed && b->closed && d->closed && e->closed);
    cr_assert_eq(wi_simnet_now(n->net), now + 50000);
    cr_assert_eq(b->messages, 1);
    net_close(n);
}

/* The one that has ended is well again beside the one that goes on. */
Test(sim, drops_of_several_links_end_one_by_one)
{
    struct net *n = net_open(&plain);
    struct seen *a;
    struct seen *b;
    struct seen *c;
    struct seen *d;
    join_pair(n, 0, 1, &a, &b);
    join_pair(n, 0, 2, &c, &d);
    uint64_t now = wi_simnet_now(n->net);
    wi_simnet_drop(n->net, 0, 1, now + 10000, now + 900000);
    wi_simnet_drop(n->net, 0, 2, now + 20000, now + 50000);
    run_until(n, now + 30000);
    cr_assert_eq(say(a, 1), WEIR_OK);
    cr_assert_eq(say(c, 2), WEIR_OK);
    run_until(n, now + 60000);
    cr_assert(c->closed && d->closed);
    cr_assert_not(a->closed || b->closed);
    struct seen *e = dial(n, 2, 0);
    run_until(n, now + 800000);
    cr_assert(e->up && !e->closed, "a drop that was over went on");
    cr_assert_not(a->closed || b->closed);
    run(n);
    cr_assert(a->closed && b->closed && !e->closed);
    cr_assert_eq(wi_simnet_now(n->net), now + 900000);
    cr_assert_eq(b->messages + d->messages, 0);
    net_close(n);
}

Test(sim, peer_that_does_not_poll_stops_its_sender)
{
    struct net *n = net_open(&plain);
    struct seen *a;
    struct seen *b;
    uint32_t sent = 0;
    join_pair(n, 0, 1, &a, &b);
    n->silent = 2;
    while (sent < 1000 && say(a, sent) == WEIR_OK) {
        sent++;
        run(n);
    }
    cr_assert_lt(sent, 1000);
    cr_assert_eq(a->sendable, 0);
    n->silent = 0;
    poll_port(n, 1);
    poll_port(n, 0);
    cr_assert_eq(b->messages, sent);
    cr_assert_geq(a->sendable, 1);
    cr_assert_eq(say(a, sent), WEIR_OK);
    net_close(n);
}

Test(sim, refusal_ends_in_sendable_unless_the_link_is_lost)
{
    struct wi_simnet_params p = plain;
    struct seen *a;
    struct seen *b;
    p.faults.again_ppm = 1000000;
    struct net *n = net_open(&p);
    join_pair(n, 0, 1, &a, &b);
    cr_assert_eq(say(a, 1), WEIR_AGAIN);
    run(n);
    cr_assert_eq(a->sendable, 1);
    cr_assert_eq(say(a, 1), WEIR_AGAIN);
    wi_simnet_cut(n->net, 0, 1, 0);
    run(n); /* record() fails on an event after CLOSED */
    cr_assert(a->closed);
    cr_assert_eq(a->sendable, 1);
    net_close(n);
}

Test(sim, closing_a_node_closes_what_it_never_polled)
{
    struct net *n = net_open(&plain);
    n->silent = 2;
    struct seen *a = dial(n, 0, 1);
    run(n);
    cr_assert(a->up);
    wi_sim_ops.close(n->t[1]);
    n->t[1] = NULL;
    run(n);
    cr_assert(a->closed);
    net_close(n);
}

/* ---- stress -------------------------------------------------------------- */

/* Ports connect, write into slot i % SLOTS of the peer and announce it, close
 * and connect again, while links are cut at random. Whenever an announcement
 * arrives, its slot holds just what was written, and nothing is skipped. */
enum { SLOTS = 128, SLOT_WORDS = 32, STRESS_PORTS = 5 };

struct stress {
    struct net *net;
    struct wi_mem out;
    struct wi_mem in[STRESS_PORTS * STRESS_PORTS * 40];
    uint64_t key[STRESS_PORTS * STRESS_PORTS * 40]; /* at the peer, 0: none */
    uint64_t sent[STRESS_PORTS * STRESS_PORTS * 40];
    uint64_t delivered;
    uint64_t lost_links;
    uint64_t refused;
};

static struct stress *stress;

static void stress_feed(struct net *n, struct seen *s)
{
    size_t i = (size_t)(s - n->ends);
    uint64_t *slot = stress->out.base;
    while (stress->key[i] != 0 && !s->closed && stress->sent[i] < 300 &&
           stress->sent[i] - completed(s) < SLOTS / 2) {
        uint64_t at = stress->sent[i] % SLOTS * SLOT_WORDS;
        uint64_t *words = slot + i * SLOTS * SLOT_WORDS + at;
        uint64_t message[2] = {1, stress->sent[i]};
        for (uint32_t w = 0; w < SLOT_WORDS; w++) {
            words[w] = (uint64_t)i << 32 | (stress->sent[i] + 1);
        }
        struct wi_rma op = {words, SLOT_WORDS * 8, stress->key[i], at * 8};
        if (wi_sim_ops.write(s->ep, &op) != WEIR_OK) {
            stress->refused++;
            break;
        }
        stress->sent[i]++;
        /* An announcement that is refused is skipped: the next one covers
         * it, as cumulative positions do. */
        (void)wi_sim_ops.send(s->ep, message, sizeof(message));
    }
    (void)wi_sim_ops.kick(s->ep);
}

static void stress_greet(struct net *n, struct seen *s)
{
    size_t i = (size_t)(s - n->ends);
    cr_assert_lt(i, STRESS_PORTS * STRESS_PORTS * 40);
    uint32_t port = port_of(n, s);
    stress->in[i] = memory(n, port, SLOTS * SLOT_WORDS * 8);
    uint64_t message[2] = {0, grant(s, &stress->in[i])};
    while (wi_sim_ops.send(s->ep, message, sizeof(message)) == WEIR_AGAIN) {
    }
    (void)wi_sim_ops.kick(s->ep);
}

static void on_stress_event(struct net *n, uint32_t port, struct wi_event *ev)
{
    struct seen *s = ev->ep->user;
    size_t i = (size_t)(s - n->ends);
    uint64_t message[2];
    (void)port;
    if (ev->kind == WI_EV_ACCEPTED || ev->kind == WI_EV_CONNECTED) {
        stress_greet(n, s);
    } else if (ev->kind == WI_EV_MESSAGE) {
        memcpy(message, ev->bytes, sizeof(message));
        if (message[0] == 0) {
            stress->key[i] = message[1];
        } else {
            const uint64_t *words = stress->in[i].base;
            words += message[1] % SLOTS * SLOT_WORDS;
            cr_assert_eq(words[0], words[SLOT_WORDS - 1]);
            cr_assert_geq(words[0] & UINT32_MAX, message[1] + 1);
            cr_assert_eq(((words[0] & UINT32_MAX) - 1) % SLOTS,
                         message[1] % SLOTS);
            stress->delivered++;
        }
    } else if (ev->kind == WI_EV_CLOSED) {
        stress->lost_links++;
        drop(s);
        return;
    }
    stress_feed(n, s);
}

static uint64_t stress_run(uint64_t seed)
{
    struct wi_simnet_params p = plain;
    p.ports = STRESS_PORTS;
    p.seed = seed;
    p.jitter_ns = 3000;
    p.faults = (struct wi_simnet_faults){
        .cut_ppm = 2000,
        .again_ppm = 20000,
        .delay_ppm = 20000,
        .delay_ns = 40000,
    };
    struct net *n = net_open(&p);
    stress = calloc(1, sizeof(*stress));
    cr_assert_not_null(stress);
    stress->out = memory(n, 0,
                         (size_t)STRESS_PORTS * STRESS_PORTS * 40 * SLOTS *
                             SLOT_WORDS * 8);
    n->on_event = on_stress_event;
    for (uint32_t round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < STRESS_PORTS; i++) {
            (void)dial(n, i, (i + 1 + round % (STRESS_PORTS - 1)) % p.ports);
        }
        run_until(n, wi_simnet_now(n->net) + 60000);
    }
    run(n);
    uint64_t trace = wi_simnet_trace(n->net) + stress->delivered;
    cr_assert_gt(stress->delivered, 1000);
    cr_assert_gt(stress->lost_links, 0);
    cr_assert_gt(stress->refused, 0);
    for (uint32_t i = 0; i < n->n_ends; i++) {
        if (n->ends[i].ep != NULL) {
            drop(&n->ends[i]);
        }
    }
    for (uint32_t i = 0; i < n->n_ends; i++) {
        if (stress->in[i].base != NULL) {
            wi_sim_ops.mem_close(n->t[0], &stress->in[i]);
        }
    }
    wi_sim_ops.mem_close(n->t[0], &stress->out);
    net_close(n);
    free(stress);
    return trace;
}

Test(sim, seeded_faults_lose_links_but_never_bytes, .timeout = 60)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t trace = stress_run(seed);
        cr_assert_eq(stress_run(seed), trace, "seed %llu does not repeat",
                     (unsigned long long)seed);
    }
}
