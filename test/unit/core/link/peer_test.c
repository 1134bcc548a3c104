/* SPDX-License-Identifier: Apache-2.0 */
/* Links of nodes that are not members of one cluster. */
#include <criterion/criterion.h>

#include <string.h>

#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/members.h"
#include "core/link/peer.h"
#include "core/link/send.h"
#include "test/support/lone.h"

static const uint64_t ms = 1000000u;

static uint64_t connect_ns = 100000000; /* of the nodes below */

enum { PEERS = 2 };

/* Nodes on a simulated network, none of which has joined, stepped in turns. */
struct trio {
    struct wi_simnet *net;
    weir_node *node[3];
};

static void open_node(struct trio *t, uint32_t i)
{
    static const char *const names[] = {"a", "b", "c"};
    struct wi_simport_ref port = {t->net, i};
    const struct weir_node_params p = {.name = names[i],
                                       .transport = "sim",
                                       .manual = 1,
                                       .max_members = 2,
                                       .max_peers = PEERS,
                                       .connect_ns = connect_ns,
                                       .detect_ns = 100 * ms,
                                       .idle_close_ns = 1000 * ms,
                                       .transport_arg = &port};
    struct weir_error err = {0};
    cr_assert_eq(weir_node_open(&p, &t->node[i], &err), WEIR_OK, "%s",
                 err.message);
}

static void trio_open(struct trio *t)
{
    const struct wi_simnet_params net = {.ports = 9,
                                         .seed = 1,
                                         .bandwidth = 12500000000u,
                                         .latency_ns = 2000,
                                         .overhead_bytes = 64};
    struct weir_error err = {0};
    *t = (struct trio){0};
    cr_assert_eq(wi_simnet_open(&net, &t->net, &err), WEIR_OK);
    for (uint32_t i = 0; i < 3; i++) {
        open_node(t, i);
    }
}

static void trio_close(struct trio *t)
{
    for (uint32_t i = 0; i < 3; i++) {
        weir_node_close(t->node[i]);
    }
    wi_simnet_close(t->net);
}

/* Let things happen for so long. */
static void pass(struct trio *t, uint64_t ns)
{
    uint64_t until = wi_simnet_now(t->net) + ns;
    uint64_t now;
    while ((now = wi_simnet_now(t->net)) <= until) {
        uint64_t next = until + 1;
        for (uint32_t i = 0; i < 3; i++) {
            uint64_t at = UINT64_MAX;
            if (t->node[i] != NULL) {
                (void)weir_node_step(t->node[i], now, &at);
            }
            next = at < next ? at : next;
        }
        uint64_t sooner = wi_simnet_next(t->net);
        next = sooner < next ? sooner : next;
        wi_simnet_advance(t->net, next > now ? next : now + 1);
    }
}

static struct wi_engine *engine(struct trio *t, uint32_t i)
{
    return &t->node[i]->engine;
}

static weir_peer *open_peer(struct trio *t, uint32_t i, const char *address)
{
    weir_peer *p = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_peer_open(t->node[i], address, &p, &err), WEIR_OK, "%s",
                 err.message);
    return p;
}

static uint32_t n_links(struct trio *t, uint32_t i)
{
    uint32_t n = 0;
    wi_each_link(engine(t, i), l)
    {
        n++;
    }
    return n;
}

Test(peer, nodes_that_never_joined_have_a_link_without_rings)
{
    struct trio t;
    trio_open(&t);
    uint64_t before = engine(&t, 0)->mem_bytes;
    weir_peer *p = open_peer(&t, 0, "sim:1");
    weir_peer *q = open_peer(&t, 0, "sim:1");
    struct wi_link *l = wi_peer_link(p);
    cr_assert_eq(l, wi_peer_link(q));
    pass(&t, ms);
    cr_assert_eq(l->state, WI_LINK_OPEN);
    cr_assert(l->outside && !l->self);
    cr_assert_eq(l->peer_incarnation, engine(&t, 1)->incarnation);
    cr_assert_str_eq(wi_member_name(engine(&t, 0), p->member), "b");
    cr_assert_eq(engine(&t, 0)->mem_bytes, before);
    cr_assert_eq(n_links(&t, 1), 1);
    wi_each_link(engine(&t, 1), there)
    {
        cr_assert_str_eq(wi_member_name(engine(&t, 1), there->member), "a");
    }
    weir_peer_close(p);
    pass(&t, ms);
    cr_assert_eq(n_links(&t, 1), 1, "it went with the first handle");
    weir_peer_close(q);
    pass(&t, ms);
    cr_assert_eq(n_links(&t, 0), 0);
    cr_assert_eq(n_links(&t, 1), 0);
    trio_close(&t);
}

/* Two that need each other at once: a link each, nothing crosses. */
Test(peer, both_sides_may_connect)
{
    struct trio t;
    trio_open(&t);
    weir_peer *p = open_peer(&t, 0, "sim:1");
    weir_peer *q = open_peer(&t, 1, "sim:0");
    struct wi_link *a = wi_peer_link(p);
    struct wi_link *b = wi_peer_link(q);
    pass(&t, ms);
    cr_assert_eq(a->state, WI_LINK_OPEN);
    cr_assert_eq(b->state, WI_LINK_OPEN);
    cr_assert_eq(n_links(&t, 0), 2);
    weir_peer_close(p);
    weir_peer_close(q);
    trio_close(&t);
}

Test(peer, an_idle_link_closes_and_opens_again)
{
    struct trio t;
    trio_open(&t);
    weir_peer *p = open_peer(&t, 0, "sim:1");
    (void)wi_peer_link(p);
    pass(&t, ms);
    pass(&t, 2000 * ms);
    cr_assert_eq(n_links(&t, 0), 0);
    cr_assert_eq(n_links(&t, 1), 0);
    struct wi_link *l = wi_peer_link(p);
    pass(&t, ms);
    cr_assert_eq(l->state, WI_LINK_OPEN);
    weir_peer_close(p);
    trio_close(&t);
}

/* Who was started again at an address is another incarnation. */
Test(peer, a_node_that_was_started_again_is_reached_again)
{
    struct trio t;
    trio_open(&t);
    weir_peer *p = open_peer(&t, 0, "sim:1");
    (void)wi_peer_link(p);
    pass(&t, ms);
    weir_node_close(t.node[1]);
    t.node[1] = NULL;
    pass(&t, ms);
    cr_assert_eq(n_links(&t, 0), 0);
    open_node(&t, 1);
    struct wi_link *l = wi_peer_link(p);
    pass(&t, ms);
    cr_assert_eq(l->state, WI_LINK_OPEN);
    cr_assert_eq(l->peer_incarnation, engine(&t, 1)->incarnation);
    weir_peer_close(p);
    trio_close(&t);
}

Test(peer, there_are_max_peers_of_them)
{
    struct trio t;
    struct weir_error err = {0};
    weir_peer *more = NULL;
    trio_open(&t);
    weir_peer *p = open_peer(&t, 0, "sim:1");
    weir_peer *q = open_peer(&t, 0, "sim:7");
    cr_assert_eq(weir_peer_open(t.node[0], "sim:8", &more, &err),
                 WEIR_ERR_BUDGET);
    cr_assert_not_null(strstr(err.message, "max_peers"), "%s", err.message);
    weir_peer_close(q);
    more = open_peer(&t, 0, "sim:8");
    cr_assert_eq(weir_peer_open(t.node[0], "tcp:1.2.3.4:5", &q, &err),
                 WEIR_ERR_ARG);
    weir_peer_close(more);
    weir_peer_close(p);
    trio_close(&t);
}

/* Nobody answers, or not yet: with its last handle it goes all the same, and
 * makes room for another. */
Test(peer, a_link_that_is_not_up_goes_with_its_handle)
{
    struct trio t;
    trio_open(&t);
    weir_peer *p = open_peer(&t, 0, "sim:1");
    weir_peer *q = open_peer(&t, 0, "sim:7");
    cr_assert_eq(wi_peer_link(q)->state, WI_LINK_CONNECTING);
    weir_peer_close(q);
    pass(&t, 0);
    q = open_peer(&t, 0, "sim:2");
    struct wi_link *l = wi_peer_link(q);
    while (l->state != WI_LINK_HELLO) {
        pass(&t, 100);
    }
    weir_peer_close(q);
    pass(&t, 50 * ms);
    cr_assert_eq(n_links(&t, 0), 0);
    cr_assert_eq(n_links(&t, 2), 0);
    weir_peer_close(p);
    trio_close(&t);
}

static void released(void *arg)
{
    ++*(int *)arg;
}

static weir_fetch *get_one(struct trio *t, weir_peer *peer,
                           const struct weir_name *name, void *dst)
{
    const struct weir_get get = {.name = *name, .bytes = 1, .dst = dst};
    struct weir_error err = {0};
    weir_fetch *f = NULL;
    uint32_t taken = 0;
    cr_assert_eq(weir_fetch_open(t->node[0], NULL, &f, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_fetch_get(f, peer, &get, 1, &taken), WEIR_OK);
    return f;
}

/* What a node found of its own is on its way when the last handle goes, or the
 * node itself: it is given back, so the region ends. */
static void find_too_late(bool close_node)
{
    static const struct weir_name name = {7, 1};
    struct trio t;
    struct weir_error err = {0};
    struct weir_ask ask;
    weir_asks *asks = NULL;
    weir_region *region = NULL;
    uint8_t bytes[64] = {0};
    uint8_t dst = 0;
    int ended = 0;
    const struct weir_region_params params = {.kind = WEIR_REGION_BORROWED,
                                              .base = bytes,
                                              .bytes = sizeof(bytes),
                                              .release = released,
                                              .release_arg = &ended};
    trio_open(&t);
    weir_peer *own = open_peer(&t, 0, "sim:0");
    cr_assert_eq(weir_asks_open(t.node[0], name.space, 0, &asks, &err),
                 WEIR_OK);
    weir_fetch *f = get_one(&t, own, &name, &dst);
    pass(&t, ms);
    cr_assert_eq(weir_asks_next(asks, &ask), WEIR_OK);
    cr_assert_eq(weir_region_open(t.node[0], &params, &region, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_eq(weir_region_publish(region, &name, &err), WEIR_OK);
    cr_assert_eq(weir_ask_answer(&ask, WEIR_OK, NULL, 0), WEIR_OK);
    weir_asks_close(asks);
    weir_fetch_close(f);
    weir_peer_close(own);
    if (!close_node) {
        pass(&t, ms);
        cr_assert_eq(n_links(&t, 0), 0);
    }
    weir_region_close(region);
    if (close_node) {
        weir_node_close(t.node[0]);
        t.node[0] = NULL;
    } else {
        pass(&t, ms);
    }
    cr_assert_eq(ended, 1);
    trio_close(&t);
}

Test(peer, the_node_itself_gives_back_what_it_found_too_late)
{
    find_too_late(false);
}

Test(peer, a_node_that_closes_gives_back_what_it_found)
{
    find_too_late(true);
}

/* A member by its address shares the member's link; so does the node itself,
 * which has one to itself also before it joins. */
Test(peer, members_and_the_node_itself_are_peers)
{
    const struct weir_member members[] = {{"a", "sim:0", 1}, {"b", "sim:1", 1}};
    struct weir_error err = {0};
    struct trio t;
    trio_open(&t);
    weir_peer *own = open_peer(&t, 0, "sim:0");
    struct wi_link *l = wi_peer_link(own);
    cr_assert(l->self && l->outside && l->state == WI_LINK_OPEN);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(weir_node_join(t.node[i], members, 2, &err), WEIR_OK);
    }
    weir_peer *p = open_peer(&t, 0, "sim:1");
    weir_peer *self = open_peer(&t, 0, "sim:0");
    cr_assert_eq(p->member, 1);
    cr_assert_eq(self->member, 0);
    cr_assert_eq(wi_peer_link(own), l);
    l = wi_peer_link(p);
    pass(&t, ms);
    cr_assert(!l->outside && l->state == WI_LINK_OPEN);
    weir_peer_close(p);
    pass(&t, ms);
    cr_assert_eq(l->state, WI_LINK_OPEN);
    weir_peer_close(own);
    weir_peer_close(self);
    trio_close(&t);
}

/* No query, and an operation that has no time limit: the link itself asks. */
Test(peer, one_that_falls_silent_is_lost_in_time)
{
    const struct weir_fetch_params params = {.timeout_ns = WEIR_FOREVER};
    const struct weir_get get = {.name = {7, 1}, .bytes = 1};
    struct weir_error err = {0};
    struct weir_got got;
    struct trio t;
    weir_fetch *f = NULL;
    uint32_t taken = 0;
    connect_ns = 10000 * ms; /* what is due for it comes too late */
    trio_open(&t);
    weir_peer *p = open_peer(&t, 0, "sim:1");
    struct wi_link *l = wi_peer_link(p);
    weir_node *other = t.node[1];
    t.node[1] = NULL; /* takes no step: the handshake is slow */
    pass(&t, 60 * ms);
    t.node[1] = other;
    pass(&t, ms);
    cr_assert_eq(l->state, WI_LINK_OPEN);
    cr_assert_eq(weir_fetch_open(t.node[0], &params, &f, &err), WEIR_OK);
    t.node[1] = NULL; /* silent from now on */
    cr_assert_eq(weir_fetch_get(f, p, &get, 1, &taken), WEIR_OK);
    pass(&t, 99 * ms);
    cr_assert_eq(n_links(&t, 0), 1, "before detect_ns");
    cr_assert_eq(weir_fetch_next(f, &got), WEIR_AGAIN);
    pass(&t, 30 * ms); /* a quarter of detect_ns later, at most */
    cr_assert_eq(weir_fetch_next(f, &got), WEIR_OK);
    cr_assert_eq(got.code, WEIR_ERR_PEER_LOST);
    t.node[1] = other;
    weir_fetch_close(f);
    weir_peer_close(p);
    trio_close(&t);
}

/* ---- what comes from a peer is not to be trusted ------------------------- */

static void fill_hello(union wi_msg *m, enum wi_msg_type type)
{
    wi_msg_init(m, type);
    m->hello.magic = WI_WIRE_MAGIC;
    m->hello.version_min = WI_WIRE_VERSION_MIN;
    m->hello.version_max = WI_WIRE_VERSION_MAX;
    m->hello.from = WI_OUTSIDE;
    m->hello.to = WI_OUTSIDE;
    m->hello.incarnation = 77;
    wi_text_put(m->hello.name, WI_NAME_BYTES, "visitor");
}

static struct wt_raw *visit_with(struct wt_lone *lone, uint32_t caps)
{
    union wi_msg m;
    struct wt_raw *raw = wt_lone_dial(lone);
    fill_hello(&m, WI_MSG_HELLO);
    m.hello.caps = caps;
    wt_raw_say(raw, &m);
    WT_TURNS(lone, raw->of_type[WI_MSG_ACCEPT] + raw->of_type[WI_MSG_REFUSE]);
    return raw;
}

static struct wt_raw *visit(struct wt_lone *lone)
{
    return visit_with(lone, 0);
}

static const struct weir_node_params two_visitors = {.max_members = 2,
                                                     .max_peers = 2};

Test(peer, one_visitor_too_many_is_refused)
{
    static struct wt_lone lone; /* too large for a stack */
    wt_lone_open(&lone, &two_visitors);
    struct wt_raw *first = visit(&lone);
    (void)visit(&lone);
    struct wt_raw *third = visit(&lone);
    cr_assert_eq(third->of_type[WI_MSG_REFUSE], 1);
    cr_assert_not_null(
        strstr(third->last[WI_MSG_REFUSE].refuse.text, "max_peers"));
    wt_raw_drop(first);
    wt_lone_settle(&lone);
    struct wt_raw *fourth = visit(&lone);
    cr_assert_eq(fourth->of_type[WI_MSG_ACCEPT], 1);
    wt_lone_close(&lone);
}

/* Nothing of rows goes over such a link: there are no tables for it. */
Test(peer, messages_of_rows_end_a_link_without_rings)
{
    for (uint16_t type = 1; type < WI_MSG_TYPES; type++) {
        static struct wt_lone lone; /* too large for a stack */
        union wi_msg m;
        wt_lone_open(&lone, &two_visitors);
        struct wt_raw *raw = visit(&lone);
        fill_hello(&m, WI_MSG_READY);
        wt_raw_say(raw, &m);
        wi_msg_init(&m, (enum wi_msg_type)type);
        wt_raw_say(raw, &m);
        wt_lone_settle(&lone);
        bool goes_on = type == WI_MSG_PING || type == WI_MSG_BYE;
        cr_expect_eq(raw->closed && type != WI_MSG_BYE, !goes_on, "message %u",
                     type);
        wt_lone_close(&lone);
    }
}

/* Also what ends many links in turn is said once, and then counted. */
Test(peer, visitors_that_come_and_go_do_not_fill_the_log)
{
    static struct wt_lone lone; /* too large for a stack */
    union wi_msg m;
    wt_lone_open(&lone, &two_visitors);
    for (uint32_t i = 0; i < 10; i++) {
        struct wt_raw *raw = visit(&lone);
        fill_hello(&m, WI_MSG_READY);
        wt_raw_say(raw, &m);
        wt_lone_settle(&lone);
        wt_raw_drop(raw);
        wt_lone_settle(&lone);
    }
    cr_assert_eq(lone.lines, 1, "%s", lone.log);
    wt_lone_close(&lone);
}

/* What an ask points to is valid until its answer, whether the peer is still
 * there or not. */
Test(peer, the_name_in_an_ask_outlives_the_peer)
{
    static struct wt_lone lone; /* too large for a stack */
    union wi_msg m;
    struct weir_error err = {0};
    struct weir_ask ask;
    weir_asks *asks = NULL;
    wt_lone_open(&lone, &two_visitors);
    cr_assert_eq(weir_asks_open(lone.node, 7, 0, &asks, &err), WEIR_OK);
    struct wt_raw *raw = visit_with(&lone, WI_WIRE_CAP_REGION);
    fill_hello(&m, WI_MSG_READY);
    wt_raw_say(raw, &m);
    wi_msg_init(&m, WI_MSG_ASK);
    m.ask.space = 7;
    wt_raw_say(raw, &m);
    wt_lone_settle(&lone);
    cr_assert_eq(weir_asks_next(asks, &ask), WEIR_OK);
    cr_assert_str_eq(ask.peer, "visitor");
    wt_raw_drop(raw);
    wt_lone_settle(&lone);
    cr_assert_str_eq(ask.peer, "visitor");
    cr_assert_eq(weir_ask_answer(&ask, WEIR_OK, NULL, 0), WEIR_OK);
    weir_asks_close(asks);
    wt_lone_close(&lone);
}

/* Its HELLO came before this node joined, with a list that it is not on: it
 * hears so in half of connect_ns, as one that comes later does. */
Test(peer, a_newcomer_before_the_join_is_told_in_time)
{
    static const struct weir_node_params params = {.max_members = 4,
                                                   .connect_ns = 100000000};
    static struct wt_lone lone; /* too large for a stack */
    union wi_msg m;
    wt_lone_open(&lone, &params);
    struct wt_raw *raw = wt_lone_dial(&lone);
    fill_hello(&m, WI_MSG_HELLO);
    m.hello.from = 3;
    m.hello.to = 0;
    wt_raw_say(raw, &m);
    wt_lone_settle(&lone);
    wt_lone_join(&lone);
    WT_TURNS(&lone, raw->of_type[WI_MSG_REFUSE] == 1);
    cr_assert_not_null(
        strstr(raw->last[WI_MSG_REFUSE].refuse.text, "weir_node_add_member"));
    cr_assert_lt(wi_simnet_now(lone.net), 60 * ms);
    wt_lone_close(&lone);
}

/* Its HELLO came before this node joined, with a list that it is on. */
Test(peer, a_member_before_the_join_is_let_in_at_once)
{
    static struct wt_lone lone; /* too large for a stack */
    union wi_msg m;
    wt_lone_open(&lone, NULL);
    struct wt_raw *raw = wt_lone_dial(&lone);
    fill_hello(&m, WI_MSG_HELLO);
    m.hello.from = 1;
    m.hello.to = 0;
    m.hello.n_members = 2;
    m.hello.workers = 1;
    m.hello.frame_bytes = 16384;
    wi_text_put(m.hello.name, WI_NAME_BYTES, "raw");
    wt_raw_say(raw, &m);
    wt_lone_settle(&lone);
    cr_assert_eq(raw->messages, 0, "it waits for the join");
    cr_assert_eq(wi_load_sc(&lone.node->engine.kick), 0);
    wt_lone_join(&lone);
    cr_assert_neq(wi_load_sc(&lone.node->engine.kick), 0, "a new deadline");
    wt_lone_settle(&lone);
    cr_assert_eq(raw->of_type[WI_MSG_ACCEPT], 1);
    wt_lone_close(&lone);
}

/* ---- links that end ------------------------------------------------------ */

static struct wi_link *link_to_raw(struct wt_lone *lone)
{
    return lone->node->engine.members[1].link;
}

/* It has said BYE, and waits for the peer's: no longer than detect_ns. */
Test(peer, a_closing_link_does_not_wait_for_ever)
{
    static const struct weir_node_params params = {.detect_ns = 100000000,
                                                   .idle_close_ns = 50000000};
    static struct wt_lone lone; /* too large for a stack */
    wt_lone_open(&lone, &params);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_greet(raw);
    WT_TURNS(&lone, raw->of_type[WI_MSG_BYE] == 1);
    uint64_t from = wi_simnet_now(lone.net);
    cr_assert_eq(link_to_raw(&lone)->state, WI_LINK_CLOSING);
    WT_TURNS(&lone, raw->closed);
    cr_assert_leq(wi_simnet_now(lone.net), from + 101 * ms);
    cr_assert_null(link_to_raw(&lone));
    wt_lone_close(&lone);
}

/* A worker may be in the midst of a post when its link ends. */
Test(peer, a_dead_link_stays_until_nobody_posts_over_it)
{
    static const struct weir_node_params params = {.detect_ns = 100000000,
                                                   .idle_close_ns = 50000000};
    static struct wt_lone lone; /* too large for a stack */
    union wi_msg m;
    wt_lone_open(&lone, &params);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_greet(raw);
    WT_TURNS(&lone, raw->of_type[WI_MSG_BYE] == 1);
    struct wi_link *l = link_to_raw(&lone);
    wi_store_sc(&l->lock, 1); /* E6: a post begins */
    WT_TURNS(&lone, link_to_raw(&lone) == NULL);
    wt_lone_settle(&lone);
    cr_assert_not(raw->closed);
    cr_assert_eq(l->state, WI_LINK_DEAD);
    wi_msg_init(&m, WI_MSG_CLOSE);
    uint32_t queued = wi_link_queued(l);
    wi_link_send(l, &m);
    cr_assert_eq(wi_link_queued(l), queued, "nothing is sent over it");
    wi_store_sc(&l->lock, 0); /* E6: it is over */
    wi_engine_kick(&lone.node->engine);
    wt_lone_settle(&lone);
    cr_assert(raw->closed);
    wt_lone_close(&lone);
}

/* Its messages would fill the memory: it ends in the step that finds it. */
Test(peer, a_link_with_too_many_messages_ends_at_once)
{
    static struct wt_lone lone; /* too large for a stack */
    union wi_msg m;
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_greet(raw);
    struct wi_link *l = link_to_raw(&lone);
    cr_assert_eq(l->state, WI_LINK_OPEN);
    l->ctl_put += 1u << 30; /* as if so many waited */
    wi_msg_init(&m, WI_MSG_CLOSE);
    wi_link_send(l, &m);
    uint64_t now = wi_simnet_now(lone.net);
    while (weir_node_step(lone.node, now, &lone.next_ns) == WEIR_OK) {
    }
    cr_assert_not_null(strstr(lone.log, "it does not read"), "%s", lone.log);
    wt_lone_close(&lone);
}

Test(peer, a_member_with_other_workers_than_the_list_says_is_refused)
{
    static struct wt_lone lone; /* too large for a stack */
    union wi_msg m;
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_hello(raw);
    m = raw->last[WI_MSG_ACCEPT]; /* as the node's own, which fits */
    m.head.type = WI_MSG_READY;
    m.hello.from = 1;
    m.hello.to = 0;
    m.hello.incarnation = 1;
    m.hello.workers = 2;
    wi_text_put(m.hello.name, WI_NAME_BYTES, "raw");
    wt_raw_say(raw, &m);
    wt_lone_settle(&lone);
    cr_assert_not_null(strstr(lone.log, "it runs with 2 workers"), "%s",
                       lone.log);
    wt_lone_close(&lone);
}
