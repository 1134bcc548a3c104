/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/lone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/registry.h"

static const uint64_t forever_ns = 600000000000u;

/* ---- opening and closing ------------------------------------------------- */

static void hear(void *arg, weir_log_level level, const char *line)
{
    struct wt_lone *lone = arg;
    (void)level;
    int n = snprintf(lone->log + lone->log_len, WT_LOG_BYTES - lone->log_len,
                     "%s\n", line);
    cr_assert(n > 0 && (size_t)n < WT_LOG_BYTES - lone->log_len,
              "the log is full");
    lone->log_len += (size_t)n;
    lone->lines++;
}

void wt_lone_open(struct wt_lone *lone, const struct weir_node_params *params)
{
    const struct wi_simnet_params net = {.ports = 2,
                                         .seed = 1,
                                         .bandwidth = 12500000000u,
                                         .latency_ns = 2000,
                                         .overhead_bytes = 64};
    struct weir_node_params p = {0};
    struct weir_error err = {0};
    memset(lone, 0, sizeof(*lone));
    cr_assert_eq(wi_simnet_open(&net, &lone->net, &err), WEIR_OK);
    struct wi_simport_ref ours = {lone->net, 0};
    struct wi_simport_ref theirs = {lone->net, 1};
    if (params != NULL) {
        p = *params;
    }
    p.name = "lone";
    p.transport = "sim";
    p.transport_arg = &ours;
    p.manual = 1;
    p.log = hear;
    p.log_arg = lone;
    p.log_level = WEIR_LOG_WARN;
    cr_assert_eq(weir_node_open(&p, &lone->node, &err), WEIR_OK, "%s",
                 err.message);
    const struct wi_transport_params raw = {.name = "raw", .arg = &theirs};
    cr_assert_eq(wi_sim_ops.open(&raw, &lone->t, &err), WEIR_OK, "%s",
                 err.message);
}

void wt_lone_close(struct wt_lone *lone)
{
    weir_node_close(lone->node);
    for (uint32_t i = 0; i < WT_RAWS; i++) {
        wt_raw_drop(&lone->raws[i]);
    }
    if (lone->mem.base != NULL) {
        wi_sim_ops.mem_close(lone->t, &lone->mem);
    }
    wi_sim_ops.close(lone->t);
    wi_simnet_close(lone->net);
}

void wt_lone_join(struct wt_lone *lone)
{
    const struct weir_member members[] = {{"lone", "sim:0", 1},
                                          {"raw", "sim:1", 1}};
    struct weir_error err = {0};
    cr_assert_eq(weir_node_join(lone->node, members, 2, &err), WEIR_OK, "%s",
                 err.message);
}

weir_query *wt_lone_query(struct wt_lone *lone)
{
    const uint32_t both[] = {1, 0}; /* a link to the first one is opened */
    const struct weir_query_params params = {
        .id = 1, .members = both, .n_members = 2};
    struct weir_error err = {0};
    weir_query *q = NULL;
    cr_assert_eq(weir_query_open(lone->node, &params, &q, &err), WEIR_OK, "%s",
                 err.message);
    return q;
}

/* ---- turning ------------------------------------------------------------- */

static struct wt_raw *raw_of(struct wt_lone *lone, const struct wi_ep *ep)
{
    uint32_t i = 0;
    while (i < WT_RAWS && lone->raws[i].ep != ep) {
        i++;
    }
    cr_assert_lt(i, WT_RAWS);
    return &lone->raws[i];
}

static void take(struct wt_raw *raw, const uint8_t *bytes, uint32_t len)
{
    union wi_msg m;
    struct weir_error err = {0};
    uint32_t at = 0;
    weir_err rc;
    while ((rc = wi_msg_next(bytes, len, &at, &m, &err)) == WEIR_OK) {
        raw->messages++;
        raw->of_type[m.head.type]++;
        raw->last[m.head.type] = m;
    }
    cr_assert_eq(rc, WEIR_DONE, "%s", err.message);
}

static void on_accepted(struct wt_lone *lone, struct wi_ep *ep)
{
    if (lone->refused > 0) {
        lone->refused--;
        wi_sim_ops.disconnect(ep);
        return;
    }
    struct wt_raw *raw = raw_of(lone, NULL);
    *raw =
        (struct wt_raw){.lone = lone, .ep = ep, .up = true, .accepted = true};
}

static uint32_t poll_raws(struct wt_lone *lone, uint64_t now_ns)
{
    struct wi_event ev;
    uint32_t n = 0;
    while (!lone->deaf && wi_sim_ops.poll(lone->t, now_ns, &ev, 1) == 1) {
        n++;
        if (ev.kind == WI_EV_ACCEPTED) {
            on_accepted(lone, ev.ep);
            continue;
        }
        struct wt_raw *raw = raw_of(lone, ev.ep);
        raw->up = raw->up || ev.kind == WI_EV_CONNECTED;
        raw->closed = raw->closed || ev.kind == WI_EV_CLOSED;
        if (ev.kind == WI_EV_MESSAGE) {
            take(raw, ev.bytes, ev.len);
        }
    }
    return n;
}

/* False: nothing to do at this time. */
static bool act(struct wt_lone *lone)
{
    uint64_t now = wi_simnet_now(lone->net);
    bool moved = !lone->asleep &&
                 weir_node_step(lone->node, now, &lone->next_ns) == WEIR_OK;
    return poll_raws(lone, now) != 0 || moved;
}

bool wt_lone_turn(struct wt_lone *lone)
{
    uint64_t now = wi_simnet_now(lone->net);
    if (act(lone)) {
        return true;
    }
    uint64_t next = wi_simnet_next(lone->net);
    next = next < lone->next_ns ? next : lone->next_ns;
    if (next > now + forever_ns) {
        return false;
    }
    wi_simnet_advance(lone->net, next > now ? next : now);
    return true;
}

void wt_lone_settle(struct wt_lone *lone)
{
    uint64_t until = wi_simnet_now(lone->net) + 1000000;
    for (;;) {
        while (act(lone)) {
        }
        uint64_t next = wi_simnet_next(lone->net);
        if (next > until) {
            return;
        }
        wi_simnet_advance(lone->net, next);
    }
}

/* ---- peers --------------------------------------------------------------- */

struct wt_raw *wt_lone_dial(struct wt_lone *lone)
{
    struct wt_raw *raw = raw_of(lone, NULL);
    struct weir_error err = {0};
    *raw = (struct wt_raw){.lone = lone};
    cr_assert_eq(wi_sim_ops.connect(lone->t, "sim:0", &raw->ep, &err), WEIR_OK,
                 "%s", err.message);
    WT_TURNS(lone, raw->up || raw->closed);
    return raw;
}

bool wt_raw_send(struct wt_raw *raw, const void *bytes, uint32_t len)
{
    bool ok = !raw->closed && wi_sim_ops.send(raw->ep, bytes, len) == WEIR_OK;
    if (!raw->closed) {
        (void)wi_sim_ops.kick(raw->ep);
    }
    return ok;
}

void wt_raw_say(struct wt_raw *raw, const union wi_msg *m)
{
    while (!wt_raw_send(raw, m, m->head.len)) {
        cr_assert_not(raw->closed);
        cr_assert(wt_lone_turn(raw->lone));
    }
}

/* A HELLO like the node's own, from member 1. */
static void fill(struct wt_raw *raw, union wi_msg *m, enum wi_msg_type type,
                 const struct wi_msg_hello *like)
{
    wi_msg_init(m, type);
    struct wi_msg_head head = m->head;
    if (like != NULL) {
        m->hello = *like;
    }
    m->head = head;
    m->hello.magic = WI_WIRE_MAGIC;
    m->hello.version_min = WI_WIRE_VERSION_MIN;
    m->hello.version_max = WI_WIRE_VERSION_MAX;
    m->hello.from = 1;
    m->hello.to = 0;
    m->hello.n_members = 2;
    m->hello.incarnation = 1;
    m->hello.workers = 1;
    m->hello.caps = like != NULL ? like->caps : raw->caps;
    m->hello.frame_bytes = 16384;
    wi_text_put(m->hello.name, WI_NAME_BYTES, "raw");
    struct wt_lone *lone = raw->lone;
    struct weir_error err = {0};
    if (like != NULL && lone->mem.base == NULL) {
        cr_assert_eq(
            wi_sim_ops.mem_open(lone->t, like->ring_bytes, &lone->mem, &err),
            WEIR_OK, "%s", err.message);
    }
    if (like != NULL) {
        cr_assert_eq(wi_sim_ops.grant(raw->ep, &lone->mem, WI_ACCESS_BOTH,
                                      &m->hello.ring_key, &err),
                     WEIR_OK, "%s", err.message);
    }
}

void wt_raw_hello(struct wt_raw *raw)
{
    union wi_msg m;
    fill(raw, &m, WI_MSG_HELLO, NULL);
    wt_raw_say(raw, &m);
    WT_TURNS(raw->lone, raw->of_type[WI_MSG_ACCEPT] == 1 || raw->closed);
    cr_assert_not(raw->closed, "%s", raw->last[WI_MSG_REFUSE].refuse.text);
}

void wt_raw_greet(struct wt_raw *raw)
{
    union wi_msg m;
    wt_raw_hello(raw);
    fill(raw, &m, WI_MSG_READY, &raw->last[WI_MSG_ACCEPT].hello);
    wt_raw_say(raw, &m);
    wt_lone_settle(raw->lone);
}

void wt_raw_drop(struct wt_raw *raw)
{
    if (raw->ep != NULL) {
        wi_sim_ops.disconnect(raw->ep);
        raw->ep = NULL;
    }
}
