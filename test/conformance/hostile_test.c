/* SPDX-License-Identifier: Apache-2.0 */
/* A node among peers that do not keep to the rules, or are strangers. */
#include <malloc.h>
#include <string.h>

#include "core/link/engine.h"
#include "core/link/guest.h"
#include "core/link/join.h"
#include "core/link/lock.h"
#include "test/support/lone.h"

static struct wt_lone lone;

static bool logged(const char *text)
{
    return strstr(lone.log, text) != NULL;
}

/* ---- peers that do not read ---------------------------------------------- */

static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

Test(hostile, questions_whose_answers_are_not_read_make_no_pile, .timeout = 60)
{
    enum { PACKETS = 400, PINGS = WI_PACKET_BYTES / 8 };
    struct wi_msg_word packet[PINGS];
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_greet(raw);
    for (uint32_t i = 0; i < PINGS; i++) {
        packet[i] = (struct wi_msg_word){
            .head = {WI_MSG_PING, sizeof(packet[i])}, .arg = 1};
    }
    lone.deaf = true;
    size_t before = heap_bytes();
    for (uint32_t i = 0; i < PACKETS; i++) {
        bool sent = wt_raw_send(raw, packet, sizeof(packet));
        cr_assert(sent);
        wt_lone_settle(&lone);
    }
    size_t after = heap_bytes();
    cr_assert_lt(after, before + 262144, "%zu bytes wait", after - before);
    lone.deaf = false;
    WT_TURNS(&lone, raw->of_type[WI_MSG_PING] > 0);
    cr_assert_not(raw->closed);
    wt_lone_close(&lone);
}

/* An edge that is opened and given up again and again: each is answered. */
Test(hostile, peer_that_reads_no_answers_is_dropped, .timeout = 60)
{
    union wi_msg m;
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_greet(raw);
    const struct wi_msg_hello hello = raw->last[WI_MSG_ACCEPT].hello;
    lone.deaf = true;
    for (uint32_t i = 1; i < 100000 && !logged("link lost"); i++) {
        wi_msg_init(&m, WI_MSG_EDGE_OPEN);
        m.edge_open.epoch = i;
        m.edge_open.query = 77;
        m.edge_open.ring_off = 128ull * hello.n_units;
        m.edge_open.ring_bytes = hello.unit_bytes;
        (void)wt_raw_send(raw, &m, m.head.len);
        wi_msg_init(&m, WI_MSG_EDGE_ABANDON);
        m.edge.epoch = i;
        (void)wt_raw_send(raw, &m, m.head.len);
        wt_lone_settle(&lone);
    }
    cr_assert(logged("link lost: peer raw (sim:1): it does not read"), "%s",
              lone.log);
    lone.deaf = false;
    WT_TURNS(&lone, raw->closed);
    wt_lone_close(&lone);
}

/* ---- strangers ----------------------------------------------------------- */

static uint32_t count_open(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < WT_RAWS; i++) {
        n += lone.raws[i].ep != NULL && !lone.raws[i].closed ? 1 : 0;
    }
    return n;
}

Test(hostile, strangers_make_room_for_newer_ones, .timeout = 60)
{
    enum { STRANGERS = 100 };
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    struct wt_raw *member = wt_lone_dial(&lone);
    wt_raw_greet(member);
    for (uint32_t i = 0; i < STRANGERS; i++) {
        (void)wt_lone_dial(&lone);
    }
    wt_lone_settle(&lone);
    cr_assert_eq(count_open(), 1 + WI_GUESTS);
    cr_assert_not(member->closed);
    cr_assert_not(lone.raws[STRANGERS].closed, "the youngest one");
    cr_assert(logged("32 connections have not said who they are"), "%s",
              lone.log);
    cr_assert_eq(lone.lines, 1, "%s", lone.log);
    wt_lone_close(&lone);
}

/* HELLOs that have to wait, here because the node has not joined yet. */
Test(hostile, greetings_that_wait_are_bounded, .timeout = 60)
{
    const struct weir_node_params params = {.max_members = 4};
    union wi_msg m;
    wt_lone_open(&lone, &params);
    wi_msg_init(&m, WI_MSG_HELLO);
    for (uint32_t i = 0; i < 20; i++) {
        wt_raw_say(wt_lone_dial(&lone), &m);
        wt_lone_settle(&lone);
    }
    cr_assert_eq(count_open(), 4);
    wt_lone_close(&lone);
}

/* ---- connecting to a peer that hangs up ---------------------------------- */

Test(hostile, peer_that_hangs_up_is_tried_again, .timeout = 60)
{
    const struct weir_node_params params = {.connect_ns = 1000000000};
    wt_lone_open(&lone, &params);
    wt_lone_join(&lone);
    lone.refused = 5;
    weir_query *q = wt_lone_query(&lone);
    WT_TURNS(&lone, lone.raws[0].of_type[WI_MSG_HELLO] == 1);
    cr_assert_eq(lone.refused, 0);
    cr_assert_eq(weir_query_status(q, NULL), WEIR_OK);
    cr_assert(logged("link to raw"), "%s", lone.log);
    cr_assert(logged("trying again"), "%s", lone.log);
    cr_assert_eq(lone.lines, 1, "%s", lone.log);
    weir_query_close(q);
    wt_lone_close(&lone);
}

/* Its node finds that it is connected and that the peer has gone at once, and
 * cannot even send HELLO. */
Test(hostile, peer_that_hangs_up_before_hello_is_sent_is_tried_again,
     .timeout = 60)
{
    const struct weir_node_params params = {.connect_ns = 1000000000};
    wt_lone_open(&lone, &params);
    wt_lone_join(&lone);
    weir_query *q = wt_lone_query(&lone);
    lone.refused = 1;
    uint64_t next_ns;
    (void)weir_node_step(lone.node, wi_simnet_now(lone.net), &next_ns);
    lone.asleep = true;
    wt_lone_settle(&lone);
    cr_assert_eq(lone.refused, 0);
    lone.asleep = false;
    struct weir_error err = {0};
    WT_TURNS(&lone, lone.raws[0].of_type[WI_MSG_HELLO] == 1 ||
                        weir_query_status(q, &err) != WEIR_OK);
    cr_assert_eq(weir_query_status(q, NULL), WEIR_OK, "%s", err.message);
    weir_query_close(q);
    wt_lone_close(&lone);
}

Test(hostile, peer_that_always_hangs_up_is_lost_in_time, .timeout = 60)
{
    const struct weir_node_params params = {.connect_ns = 1000000000};
    struct weir_error err = {0};
    wt_lone_open(&lone, &params);
    wt_lone_join(&lone);
    lone.refused = UINT32_MAX;
    weir_query *q = wt_lone_query(&lone);
    WT_TURNS(&lone, weir_query_status(q, &err) != WEIR_OK);
    uint64_t now = wi_simnet_now(lone.net);
    cr_assert_eq(err.code, WEIR_ERR_PEER_LOST);
    cr_assert(now >= 1000000000 && now < 1300000000, "after %llu ns",
              (unsigned long long)now);
    cr_assert_not_null(strstr(err.message, "connect_ns"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "refused before"), "%s",
                       err.message);
    /* Pauses double: 1 ms to 256 ms in a second. */
    uint32_t tries = UINT32_MAX - lone.refused;
    cr_assert(tries > 8 && tries < 16, "%u attempts", tries);
    weir_query_close(q);
    wt_lone_close(&lone);
}

/* The peer was there in time; the node looked after its deadline. */
Test(hostile, node_that_slept_does_not_blame_its_peer, .timeout = 60)
{
    const struct weir_node_params params = {.connect_ns = 1000000000};
    struct weir_error err = {0};
    uint64_t next_ns;
    wt_lone_open(&lone, &params);
    wt_lone_join(&lone);
    weir_query *q = wt_lone_query(&lone);
    (void)weir_node_step(lone.node, wi_simnet_now(lone.net), &next_ns);
    lone.asleep = true;
    wt_lone_settle(&lone);
    wi_simnet_advance(lone.net, 5 * params.connect_ns);
    lone.asleep = false;
    WT_TURNS(&lone, lone.raws[0].of_type[WI_MSG_HELLO] == 1);
    wt_lone_settle(&lone); /* it goes on waiting for ACCEPT */
    cr_assert_eq(weir_query_status(q, &err), WEIR_OK, "%s", err.message);
    WT_TURNS(&lone, weir_query_status(q, &err) != WEIR_OK);
    uint64_t now = wi_simnet_now(lone.net);
    cr_assert_eq(err.code, WEIR_ERR_PEER_LOST); /* but not for ever */
    cr_assert_leq(now, 6 * params.connect_ns + 100000000);
    weir_query_close(q);
    wt_lone_close(&lone);
}

/* An attempt that crossed with ours, and that the peer gave up for it, may come
 * when our link has been closed with BYE. Nobody was lost. */
Test(hostile, attempt_that_was_given_up_is_no_loss, .timeout = 60)
{
    const uint32_t both[] = {0, 1};
    const struct weir_query_params params = {
        .id = 1, .members = both, .n_members = 2};
    struct weir_error err = {0};
    weir_query *q = NULL;
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    cr_assert_eq(weir_query_open(lone.node, &params, &q, &err), WEIR_OK, "%s",
                 err.message);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_hello(raw);
    wt_raw_drop(raw);
    wt_lone_settle(&lone);
    cr_assert_eq(weir_query_status(q, &err), WEIR_OK, "%s", err.message);
    raw = wt_lone_dial(&lone);
    wt_raw_greet(raw);
    cr_assert_not(raw->closed, "the next attempt is as good as any");
    cr_assert_eq(weir_query_status(q, &err), WEIR_OK, "%s", err.message);
    weir_query_close(q);
    wt_lone_close(&lone);
}

/* The node looks when the first one's time is up, and again for the other. */
Test(hostile, each_silent_stranger_goes_in_time, .timeout = 60)
{
    const struct weir_node_params params = {.connect_ns = 300000000};
    wt_lone_open(&lone, &params);
    wt_lone_join(&lone);
    struct wt_raw *first = wt_lone_dial(&lone);
    wt_lone_settle(&lone);
    wi_simnet_advance(lone.net, wi_simnet_now(lone.net) + 100000000);
    uint64_t begin = wi_simnet_now(lone.net);
    struct wt_raw *second = wt_lone_dial(&lone);
    WT_TURNS(&lone, first->closed);
    cr_assert_not(second->closed);
    WT_TURNS(&lone, second->closed);
    uint64_t took = wi_simnet_now(lone.net) - begin;
    cr_assert(took >= 300000000 && took < 330000000, "%llu ns",
              (unsigned long long)took);
    wt_lone_close(&lone);
}

/* ---- the log ------------------------------------------------------------- */

static void warn_often(const struct weir_node_params *params, uint32_t times,
                       const char *summary)
{
    union wi_msg m;
    wt_lone_open(&lone, params);
    wt_lone_join(&lone);
    wi_msg_init(&m, WI_MSG_BYE); /* neither HELLO nor JOIN */
    for (uint32_t i = 0; i < times; i++) {
        struct wt_raw *raw = wt_lone_dial(&lone);
        wt_raw_say(raw, &m);
        WT_TURNS(&lone, raw->closed);
        wt_raw_drop(raw);
    }
    cr_assert_eq(lone.lines, 1, "%s", lone.log);
    WT_TURNS(&lone, lone.lines == 2);
    cr_assert(logged(summary), "%s", lone.log);
    uint64_t now = wi_simnet_now(lone.net);
    cr_assert(now >= 1000000000 && now < 1300000000, "at %llu ns",
              (unsigned long long)now);
    wt_lone_close(&lone);
}

Test(hostile, warnings_of_one_kind_come_once_a_second, .timeout = 60)
{
    warn_often(NULL, 1000, "strangers: link refused: 999 more like this");
}

/* Nothing else makes the node look at its log. */
Test(hostile, few_warnings_are_summed_up_in_time, .timeout = 60)
{
    warn_often(NULL, 2, "strangers: link refused: 1 more like this");
}

/* The node has looked before, as a stranger might have been silent too long. */
Test(hostile, warnings_are_summed_up_when_it_is_time, .timeout = 60)
{
    const struct weir_node_params params = {.connect_ns = 300000000};
    warn_often(&params, 2, "strangers: link refused: 1 more like this");
}

/* A member that takes itself for one of a query is told so each time. */
Test(hostile, member_outside_a_query_fills_no_log, .timeout = 60)
{
    static const uint32_t alone[] = {0};
    const struct weir_query_params query = {
        .id = 9, .members = alone, .n_members = 1};
    weir_query *q = NULL;
    union wi_msg m;
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    cr_assert_eq(weir_query_open(lone.node, &query, &q, NULL), WEIR_OK);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_greet(raw);
    wt_lone_settle(&lone);
    uint32_t before = lone.lines;
    wi_msg_init(&m, WI_MSG_SHUFFLE);
    m.shuffle.query = 9;
    for (uint32_t i = 0; i < 1000; i++) {
        wt_raw_say(raw, &m);
        wt_lone_settle(&lone);
    }
    cr_assert_eq(raw->of_type[WI_MSG_FAIL], 1000);
    cr_assert_eq(lone.lines, before + 1, "%u lines", lone.lines - before);
    cr_assert_eq(weir_query_status(q, NULL), WEIR_OK);
    weir_query_close(q);
    wt_lone_close(&lone);
}

/* ---- joining ------------------------------------------------------------- */

static struct wi_engine *engine(void)
{
    return &lone.node->engine;
}

/* What the seed at address, NULL: this node itself, is to gather: two. */
static void begin_join(const char *address)
{
    struct weir_error err = {0};
    const struct weir_seed seed = {.address = address};
    cr_assert_eq(
        wi_join_start(engine(), address != NULL ? &seed : NULL, 2, &err),
        WEIR_OK, "%s", err.message);
}

static union wi_msg member_msg(enum wi_msg_type type, uint32_t idx,
                               const char *name)
{
    union wi_msg m;
    wi_msg_init(&m, type);
    m.member.magic = WI_WIRE_MAGIC;
    m.member.version_min = WI_WIRE_VERSION_MIN;
    m.member.version_max = WI_WIRE_VERSION_MAX;
    m.member.idx = idx;
    m.member.self = 1;
    m.member.n_members = 2;
    m.member.workers = 1;
    wi_text_put(m.member.name, WI_NAME_BYTES, name);
    wi_text_put(m.member.address, WI_ADDR_BYTES, idx == 0 ? "sim:1" : "sim:0");
    return m;
}

static void expect_refusal(const union wi_msg *m, const char *text)
{
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_say(raw, m);
    WT_TURNS(&lone, raw->of_type[WI_MSG_REFUSE] == 1);
    const struct wi_msg_refuse *r = &raw->last[WI_MSG_REFUSE].refuse;
    cr_assert_eq(r->code, WEIR_ERR_PEER_REFUSED, "%s", r->text);
    cr_assert_not_null(strstr(r->text, text), "no \"%s\" in: %s", text,
                       r->text);
    cr_assert_eq(wi_join_result(engine(), NULL), WEIR_AGAIN);
}

/* Each is told what is wrong with it; the seed goes on waiting. */
Test(hostile, bad_joins_are_the_joiners_fault, .timeout = 60)
{
    struct weir_error err = {0};
    wt_lone_open(&lone, NULL);
    begin_join(NULL);
    union wi_msg m = member_msg(WI_MSG_JOIN, 0, "none");
    m.member.workers = 0;
    expect_refusal(&m, "0 workers");
    m.member.workers = 65;
    expect_refusal(&m, "65 workers");
    m = member_msg(WI_MSG_JOIN, 0, "");
    expect_refusal(&m, "needs a name");
    m = member_msg(WI_MSG_JOIN, 0, "lone");
    expect_refusal(&m, "taken");
    m = member_msg(WI_MSG_JOIN, 0, "lost");
    wi_text_put(m.member.address, WI_ADDR_BYTES, "tcp:1.2.3.4:5");
    expect_refusal(&m, "not an address");
    m = member_msg(WI_MSG_JOIN, 0, "raw");
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_say(raw, &m);
    WT_TURNS(&lone, raw->of_type[WI_MSG_MEMBER] == 2);
    cr_assert_eq(wi_join_result(engine(), &err), WEIR_OK, "%s", err.message);
    cr_assert_eq(lone.lines, 1, "%s", lone.log);
    wt_lone_close(&lone);
}

/* The seed answers with this; the join ends so. */
static void expect_end(const union wi_msg *m, uint32_t n, weir_err code,
                       const char *text)
{
    struct weir_error err = {0};
    wt_lone_open(&lone, NULL);
    begin_join("sim:1");
    struct wt_raw *raw = &lone.raws[0];
    WT_TURNS(&lone, raw->of_type[WI_MSG_JOIN] == 1);
    for (uint32_t i = 0; i < n; i++) {
        wt_raw_say(raw, &m[i]);
    }
    WT_TURNS(&lone, wi_join_result(engine(), NULL) != WEIR_AGAIN);
    weir_err rc = wi_join_result(engine(), &err);
    cr_assert_eq(rc, code, "%s: %s", weir_err_name(rc), err.message);
    cr_assert_not_null(strstr(err.message, text), "no \"%s\" in: %s", text,
                       err.message);
    cr_assert_eq(weir_node_members(lone.node), 0);
    wt_lone_close(&lone);
}

Test(hostile, lists_of_a_bad_seed_are_refused, .timeout = 60)
{
    union wi_msg m[2];
    m[0] = member_msg(WI_MSG_MEMBER, 0, "raw");
    m[1] = m[0];
    expect_end(m, 2, WEIR_ERR_PEER_PROTOCOL, "twice");
    m[1] = member_msg(WI_MSG_MEMBER, 1, "raw");
    expect_end(m, 2, WEIR_ERR_PEER_PROTOCOL, "twice");
    m[1] = member_msg(WI_MSG_MEMBER, 1, "somebody");
    expect_end(m, 2, WEIR_ERR_PEER_PROTOCOL, "this node is entry 1, lone");
    m[1] = member_msg(WI_MSG_MEMBER, 1, "lone");
    m[1].member.workers = 7;
    expect_end(m, 2, WEIR_ERR_PEER_PROTOCOL, "lone with 7 workers");
    m[0].member.self = 2;
    expect_end(m, 1, WEIR_ERR_PEER_PROTOCOL, "out of it");
    m[0] = member_msg(WI_MSG_MEMBER, 0, "raw");
    m[0].member.workers = 0;
    expect_end(m, 1, WEIR_ERR_PEER_PROTOCOL, "0 workers");
    m[0] = member_msg(WI_MSG_MEMBER, 0, "");
    expect_end(m, 1, WEIR_ERR_PEER_PROTOCOL, "needs a name");
    m[0] = member_msg(WI_MSG_MEMBER, 0, "raw");
    wi_text_put(m[0].member.address, WI_ADDR_BYTES, "nowhere");
    expect_end(m, 1, WEIR_ERR_PEER_PROTOCOL, "not an address");
}

Test(hostile, refusals_with_strange_codes_are_refusals, .timeout = 60)
{
    static const int32_t codes[] = {0,         2,        1, WEIR_ERR_ARG,
                                    INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        union wi_msg m;
        wi_msg_init(&m, WI_MSG_REFUSE);
        m.refuse.code = codes[i];
        wi_text_put(m.refuse.text, WI_TEXT_BYTES, "no");
        expect_end(&m, 1, WEIR_ERR_PEER_REFUSED, "no");
    }
}

/* ---- owners of regions --------------------------------------------------- */

static void say_found(struct wt_raw *raw, uint64_t bytes)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_FOUND);
    m.found.call = raw->last[WI_MSG_FIND].find.call;
    m.found.handle = 1;
    m.found.key = 7;
    m.found.region_bytes = 1 << 20;
    m.found.bytes = bytes;
    m.found.map_bytes = bytes;
    wt_raw_say(raw, &m);
    wt_lone_settle(&lone);
}

/* A piece that is known is never longer than it was when it was checked. */
Test(hostile, pieces_do_not_grow, .timeout = 60)
{
    struct weir_error err;
    weir_fetch *f = NULL;
    weir_peer *peer = NULL;
    uint32_t taken;
    struct weir_get get = {.name = {7, 1}};
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    raw->caps = WI_WIRE_CAP_REGION;
    wt_raw_greet(raw);
    cr_assert_eq(weir_fetch_open(lone.node, NULL, &f, &err), WEIR_OK);
    cr_assert_eq(weir_peer_open(lone.node, "sim:1", &peer, &err), WEIR_OK);
    cr_assert_eq(weir_fetch_get(f, peer, &get, 1, &taken), WEIR_OK);
    WT_TURNS(&lone, raw->of_type[WI_MSG_FIND] == 1);
    say_found(raw, 4096);
    get.off = 8192;
    get.bytes = 100;
    cr_assert_eq(weir_fetch_get(f, peer, &get, 1, &taken), WEIR_OK);
    WT_TURNS(&lone, raw->of_type[WI_MSG_FIND] == 2);
    say_found(raw, 65536);
    cr_assert(logged("link lost: peer raw (sim:1): FOUND of a key that is in "
                     "use for something else"),
              "%s", lone.log);
    weir_fetch_close(f);
    weir_peer_close(peer);
    wt_lone_close(&lone);
}
