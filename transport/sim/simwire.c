/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the wire. Each port has at most one event for what it sends and
 * one for what it receives, so the heap holds little more than the transfers
 * that are between two ports.
 *
 * Sources: the generator is splitmix64 (Steele, Lea, Flood, "Fast splittable
 * pseudorandom number generators", OOPSLA 2014).
 */
#include "transport/sim/simwire.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/cc.h"

enum {
    EV_SENT,     /* what: port */
    EV_ARRIVED,  /* what: transfer, at the receiver's port */
    EV_RECEIVED, /* what: port */
    EV_ALARM,    /* what: the layer above knows */
};

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t wi_simwire_random(struct wi_simwire *w)
{
    w->random += 0x9e3779b97f4a7c15u;
    return mix(w->random);
}

bool wi_simwire_chance(struct wi_simwire *w, uint32_t ppm)
{
    return ppm != 0 && wi_simwire_random(w) % 1000000u < ppm;
}

bool wi_simwire_init(struct wi_simwire *w,
                     const struct wi_simwire_params *params,
                     const struct wi_simwire_ops *ops, void *arg)
{
    assert(params->ports > 0 && params->bandwidth > 0);
    *w = (struct wi_simwire){
        .params = *params, .ops = ops, .arg = arg, .random = params->seed};
    w->ports = calloc(params->ports, sizeof(*w->ports));
    return w->ports != NULL;
}

static void lose_all_of(struct wi_simwire *w, struct wi_simwire_port *p)
{
    if (p->out != NULL) {
        w->ops->lose(p->out);
        p->out = NULL;
    }
    while (p->in_head != NULL) {
        struct wi_simxfer *x = p->in_head;
        p->in_head = x->next;
        w->ops->lose(x);
    }
}

void wi_simwire_fini(struct wi_simwire *w)
{
    while (w->heap.n > 0) {
        struct wi_evheap_entry e = wi_evheap_pop(&w->heap);
        if (wi_evheap_kind(&e) == EV_ARRIVED) {
            w->ops->lose(e.what);
        }
    }
    for (uint32_t i = 0; w->ports != NULL && i < w->params.ports; i++) {
        lose_all_of(w, &w->ports[i]);
    }
    wi_evheap_fini(&w->heap);
    free(w->ports);
    free(w->drops);
    w->ports = NULL;
    w->drops = NULL;
    w->n_drops = 0;
}

static void push(struct wi_simwire *w, uint64_t at_ns, unsigned kind,
                 void *what)
{
    if (wi_unlikely(!wi_evheap_push(&w->heap, at_ns, kind, what))) {
        w->no_memory = true;
    }
}

static uint64_t lane_end(const struct wi_simlane *lane)
{
    return lane->free_ns + (lane->frac != 0);
}

/* Book `bytes` on one direction of a port; returns when they are through. A
 * lane that ends in this nanosecond was busy until its fraction of it. */
static uint64_t book(const struct wi_simwire *w,
                     const struct wi_simwire_port *p, struct wi_simlane *lane,
                     uint64_t bytes)
{
    bytes *= wi_max_u32(p->slowdown, 1);
    if (lane_end(lane) < w->now_ns) {
        lane->free_ns = w->now_ns;
        lane->frac = 0;
    }
    uint64_t work = bytes * 1000000000u + lane->frac;
    lane->free_ns += work / w->params.bandwidth;
    lane->frac = work % w->params.bandwidth;
    return lane_end(lane);
}

static void append_turn(struct wi_simwire_port *p, struct wi_simflow *flow)
{
    flow->next = NULL;
    if (p->turn_head == NULL) {
        p->turn_head = flow;
    } else {
        p->turn_tail->next = flow;
    }
    p->turn_tail = flow;
}

/* Give the port its next transfer, if it is free and any flow has one. */
static void send_next(struct wi_simwire *w, struct wi_simwire_port *p)
{
    while (p->out == NULL && !p->dead && p->turn_head != NULL) {
        struct wi_simflow *flow = p->turn_head;
        p->turn_head = flow->next;
        flow->active = false;
        struct wi_simxfer *x = w->ops->take(flow);
        if (x == NULL) {
            continue;
        }
        flow->active = true;
        append_turn(p, flow);
        uint64_t bytes = (uint64_t)x->bytes + w->params.overhead_bytes;
        p->out = x;
        p->sent_bytes += bytes;
        push(w, book(w, p, &p->egress, bytes), EV_SENT, p);
    }
}

void wi_simwire_start(struct wi_simwire *w, struct wi_simflow *flow)
{
    struct wi_simwire_port *p = &w->ports[flow->from];
    if (!flow->active) {
        flow->active = true;
        append_turn(p, flow);
    }
    send_next(w, p);
}

static void sent(struct wi_simwire *w, struct wi_simwire_port *p)
{
    struct wi_simxfer *x = p->out;
    if (x == NULL) {
        return; /* the port crashed meanwhile */
    }
    p->out = NULL;
    uint64_t at = w->now_ns + w->params.latency_ns;
    if (w->params.jitter_ns != 0) {
        at += wi_simwire_random(w) % (w->params.jitter_ns + 1);
    }
    if (wi_simwire_chance(w, w->params.delay_ppm)) {
        at += wi_simwire_random(w) % (w->params.delay_ns + 1);
    }
    /* The same time as the one before is late enough: ties keep order. */
    at = wi_max_u64(at, x->flow->last_arrival_ns);
    x->flow->last_arrival_ns = at;
    push(w, at, EV_ARRIVED, x);
    send_next(w, p);
}

static void receive_next(struct wi_simwire *w, struct wi_simwire_port *p)
{
    uint64_t bytes = (uint64_t)p->in_head->bytes + w->params.overhead_bytes;
    push(w, book(w, p, &p->ingress, bytes), EV_RECEIVED, p);
}

static bool is_dropped(const struct wi_simwire *w, const struct wi_simflow *f)
{
    for (uint32_t i = 0; i < w->n_drops; i++) {
        const struct wi_simdrop *d = &w->drops[i];
        if ((d->a == f->from && d->b == f->to) ||
            (d->a == f->to && d->b == f->from)) {
            return true;
        }
    }
    return false;
}

static void arrived(struct wi_simwire *w, struct wi_simxfer *x)
{
    struct wi_simwire_port *p = &w->ports[x->flow->to];
    if (p->dead || (w->n_drops != 0 && is_dropped(w, x->flow))) {
        w->ops->lose(x);
        return;
    }
    x->next = NULL;
    if (p->in_head != NULL) {
        p->in_tail->next = x;
        p->in_tail = x;
        return;
    }
    p->in_head = x;
    p->in_tail = x;
    receive_next(w, p);
}

static void received(struct wi_simwire *w, struct wi_simwire_port *p)
{
    struct wi_simxfer *x = p->in_head;
    if (x == NULL) {
        return; /* the port crashed meanwhile */
    }
    p->in_head = x->next;
    if (p->in_head != NULL) {
        receive_next(w, p);
    }
    w->ops->land(x);
}

uint64_t wi_simwire_next(const struct wi_simwire *w)
{
    return wi_evheap_next(&w->heap);
}

/* The trace sees ports and sizes, never addresses: it is equal on every
 * machine. */
static void note(struct wi_simwire *w, const struct wi_evheap_entry *e)
{
    uint64_t what = 0;
    if (wi_evheap_kind(e) == EV_ARRIVED) {
        const struct wi_simxfer *x = e->what;
        what = ((uint64_t)x->flow->from << 32 | x->flow->to) ^
               (uint64_t)x->bytes * 0x9e3779b97f4a7c15u;
    } else if (wi_evheap_kind(e) != EV_ALARM) {
        const struct wi_simwire_port *p = e->what;
        what = (uint64_t)(p - w->ports);
    }
    w->trace = mix(w->trace ^ mix(e->at_ns ^ what << 3 ^ wi_evheap_kind(e)));
    w->events++;
}

void wi_simwire_advance(struct wi_simwire *w, uint64_t to_ns)
{
    while (wi_evheap_next(&w->heap) <= to_ns && w->heap.n > 0) {
        struct wi_evheap_entry e = wi_evheap_pop(&w->heap);
        __builtin_prefetch(w->heap.entries->what); /* of the next event */
        w->now_ns = wi_max_u64(w->now_ns, e.at_ns);
        note(w, &e);
        switch (wi_evheap_kind(&e)) {
        case EV_SENT:
            sent(w, e.what);
            break;
        case EV_ARRIVED:
            arrived(w, e.what);
            break;
        case EV_RECEIVED:
            received(w, e.what);
            break;
        default:
            w->ops->alarm(w->arg, e.what);
            break;
        }
    }
    w->now_ns = wi_max_u64(w->now_ns, to_ns);
}

void wi_simwire_alarm(struct wi_simwire *w, uint64_t at_ns, void *what)
{
    push(w, wi_max_u64(at_ns, w->now_ns), EV_ALARM, what);
}

void wi_simwire_crash(struct wi_simwire *w, uint32_t port)
{
    w->ports[port].dead = true;
    lose_all_of(w, &w->ports[port]);
}

void wi_simwire_slow(struct wi_simwire *w, uint32_t port, uint32_t slowdown)
{
    assert(slowdown >= 1 && slowdown <= WI_SIMWIRE_SLOWEST);
    w->ports[port].slowdown = slowdown;
}

void wi_simwire_drop(struct wi_simwire *w, uint32_t a, uint32_t b, bool on)
{
    if (on) {
        struct wi_simdrop *d = realloc(w->drops, (w->n_drops + 1) * sizeof(*d));
        if (d == NULL) {
            w->no_memory = true;
            return;
        }
        w->drops = d;
        w->drops[w->n_drops++] = (struct wi_simdrop){a, b};
        return;
    }
    for (uint32_t i = 0; i < w->n_drops; i++) {
        if (w->drops[i].a == a && w->drops[i].b == b) {
            w->drops[i] = w->drops[--w->n_drops];
            return;
        }
    }
}

struct wi_simxfer *wi_simwire_incoming(struct wi_simwire *w, uint32_t port)
{
    return w->ports[port].in_head;
}
