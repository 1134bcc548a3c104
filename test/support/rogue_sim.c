/* SPDX-License-Identifier: Apache-2.0 */
/* A rogue on the simulated network: it uses the transport as an engine does. */
#include <stdio.h>
#include <stdlib.h>
#include <weir/error.h>

#include "test/support/rogue.h"
#include "transport/registry.h"
#include "transport/sim/simnet.h"

/* Writes are read where they lie until they have landed. */
enum { STAGE_BYTES = 8 << 20 };

struct port {
    struct wi_transport *t;
    struct wi_mem stage;
    uint64_t staged;
};

static const struct wi_transport_ops *ops(void)
{
    return wi_transport_find("sim");
}

static void grant(struct wt_rogue_link *l, struct wi_ep *ep)
{
    struct port *p = l->rogue->transport;
    struct wi_mem mem = {0};
    l->ep = ep;
    ep->user = l;
    WT_MUST(ops()->mem_open(p->t, WT_ROGUE_AREA, &mem, NULL) == WEIR_OK,
            "no memory");
    l->area = mem.base;
    WT_MUST(ops()->grant(ep, &mem, WI_ACCESS_BOTH, &l->key, NULL) == WEIR_OK,
            "no grant");
}

static void sim_connect(struct wt_rogue_link *l, const char *address)
{
    struct port *p = l->rogue->transport;
    struct wi_ep *ep = NULL;
    WT_MUST(ops()->connect(p->t, address, &ep, NULL) == WEIR_OK, "%s", address);
    grant(l, ep);
}

static void sim_close(struct wt_rogue_link *l)
{
    struct port *p = l->rogue->transport;
    struct wi_mem mem = {.base = l->area, .bytes = WT_ROGUE_AREA};
    if (l->ep != NULL) {
        ops()->disconnect(l->ep);
        ops()->mem_close(p->t, &mem);
        l->ep = NULL;
    }
}

static void sim_send(struct wt_rogue_link *l, const void *bytes, uint32_t len)
{
    if (len <= ops()->max_message_bytes) {
        (void)ops()->send(l->ep, bytes, len);
        (void)ops()->kick(l->ep);
    }
}

static void sim_write(struct wt_rogue_link *l, uint64_t key, uint64_t off,
                      const void *bytes, uint32_t len)
{
    struct port *p = l->rogue->transport;
    uint32_t n = (len + 7) / 8 * 8;
    if (n == 0 || n > STAGE_BYTES / 8) {
        return;
    }
    p->staged = p->staged + n > STAGE_BYTES ? 0 : p->staged;
    uint8_t *at = (uint8_t *)p->stage.base + p->staged;
    p->staged += n;
    memset(at, 0, n);
    memcpy(at, bytes, len);
    struct wi_rma op = {.local = at, .bytes = n, .key = key, .remote_off = off};
    (void)ops()->write(l->ep, &op);
    (void)ops()->kick(l->ep);
}

static void on_accepted(struct wt_rogue *r, struct wi_ep *ep)
{
    struct wt_rogue_link *l = wt_rogue_accept(r);
    if (l == NULL) {
        ops()->disconnect(ep);
        return;
    }
    grant(l, ep);
    l->up = true;
}

static uint32_t sim_poll(struct wt_rogue *r)
{
    struct port *p = r->transport;
    struct wi_event ev; /* one at a time: taking it may end its connection */
    uint32_t n = 0;
    while (ops()->poll(p->t, 0, &ev, 1) == 1) {
        struct wt_rogue_link *l = ev.ep->user;
        n++;
        if (ev.kind == WI_EV_ACCEPTED) {
            on_accepted(r, ev.ep);
        } else if (ev.kind == WI_EV_CONNECTED) {
            l->up = true;
        } else if (ev.kind == WI_EV_MESSAGE) {
            wt_rogue_take(l, ev.bytes, ev.len);
        } else if (ev.kind == WI_EV_CLOSED) {
            l->closed = true;
            sim_close(l);
        }
    }
    return n;
}

static const struct wt_carrier sim_carrier = {.connect = sim_connect,
                                              .send = sim_send,
                                              .write = sim_write,
                                              .close = sim_close,
                                              .poll = sim_poll};

void wt_rogue_on_sim(struct wt_rogue *r, struct wi_simnet *net, uint32_t port)
{
    struct wi_simport_ref ref = {.net = net, .port = port};
    struct wi_transport_params params = {
        .name = r->name, .max_links = WT_ROGUE_LINKS, .arg = &ref};
    struct port *p = calloc(1, sizeof(*p));
    WT_MUST(p != NULL, "no memory");
    WT_MUST(ops()->open(&params, &p->t, NULL) == WEIR_OK, "no port %u", port);
    WT_MUST(ops()->mem_open(p->t, STAGE_BYTES, &p->stage, NULL) == WEIR_OK,
            "no memory");
    ops()->address(p->t, r->address);
    r->transport = p;
    r->carrier = &sim_carrier;
    r->listener = -1;
}

void wt_rogue_off_sim(struct wt_rogue *r)
{
    struct port *p = r->transport;
    for (uint32_t i = 0; i < WT_ROGUE_LINKS; i++) {
        wt_rogue_hang_up(&r->link[i]);
    }
    ops()->mem_close(p->t, &p->stage);
    ops()->close(p->t);
    free(p);
}
