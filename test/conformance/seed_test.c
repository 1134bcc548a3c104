/* SPDX-License-Identifier: Apache-2.0 */
/* A seed whose cluster runs, and newcomers that are wrong, or die; a member,
 * and news of a seed that are wrong. On the simulator. */
#include <criterion/criterion.h>

#include <string.h>

#include "core/link/join.h"
#include "core/link/lock.h"
#include "core/link/news_in.h"
#include "test/support/lone.h"

static struct wt_lone lone;

static struct wi_engine *engine(void)
{
    return &lone.node->engine;
}

/* A cluster of one, with room for n. */
static void seed_open(uint32_t n)
{
    const struct weir_node_params params = {.max_members = n};
    struct weir_error err = {0};
    wt_lone_open(&lone, &params);
    cr_assert_eq(wi_join_start(engine(), NULL, 1, &err), WEIR_OK, "%s",
                 err.message);
    wi_join_end(engine(), true);
}

static union wi_msg member_msg(enum wi_msg_type type, const char *name)
{
    union wi_msg m;
    wi_msg_init(&m, type);
    m.member.magic = WI_WIRE_MAGIC;
    m.member.version_min = WI_WIRE_VERSION_MIN;
    m.member.version_max = WI_WIRE_VERSION_MAX;
    m.member.workers = 1;
    wi_text_put(m.member.name, WI_NAME_BYTES, name);
    wi_text_put(m.member.address, WI_ADDR_BYTES, "sim:1");
    return m;
}

static struct wt_raw *ask_in(const char *name)
{
    const union wi_msg m = member_msg(WI_MSG_JOIN, name);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_say(raw, &m);
    return raw;
}

/* What it is told its number is, once its list of n has come. */
static uint32_t number_of(struct wt_raw *raw, uint32_t n)
{
    WT_TURNS(&lone, raw->of_type[WI_MSG_MEMBER] == n);
    const struct wi_msg_member *m = &raw->last[WI_MSG_MEMBER].member;
    cr_assert_eq(m->n_members, n);
    return m->self;
}

static bool has_member(uint32_t idx)
{
    struct weir_member m;
    return weir_node_member(lone.node, idx, &m) == WEIR_OK;
}

static void expect_refusal(const union wi_msg *m, weir_err code,
                           const char *text)
{
    struct wt_raw *raw = wt_lone_dial(&lone);
    uint32_t before = weir_node_members(lone.node);
    wt_raw_say(raw, m);
    WT_TURNS(&lone, raw->of_type[WI_MSG_REFUSE] == 1);
    const struct wi_msg_refuse *r = &raw->last[WI_MSG_REFUSE].refuse;
    cr_assert_eq(r->code, code, "%d: %s", r->code, r->text);
    cr_assert_not_null(strstr(r->text, text), "no \"%s\" in: %s", text,
                       r->text);
    cr_assert_eq(weir_node_members(lone.node), before);
}

/* The member beyond the gap makes the list longer than what is sent before the
 * other end reads. */
Test(seed, newcomer_that_dies_before_it_has_the_list_was_never_here)
{
    const struct weir_member far = {"far", "sim:1", 1};
    struct weir_error err = {0};
    seed_open(201);
    cr_assert_eq(weir_node_add_member(lone.node, 200, &far, &err), WEIR_OK,
                 "%s", err.message);
    wt_lone_settle(&lone);
    struct wt_raw *raw = ask_in("a");
    lone.deaf = true;
    wt_lone_settle(&lone);
    cr_assert(!wi_list_empty(&engine()->newcomers));
    cr_assert(!has_member(1));
    lone.deaf = false;
    wt_raw_drop(raw);
    WT_TURNS(&lone, wi_list_empty(&engine()->newcomers));
    cr_assert(!has_member(1));
    cr_assert_eq(number_of(ask_in("b"), 201), 1);
    cr_assert(has_member(1));
    wt_lone_close(&lone);
}

/* Nobody takes its list: it has its time, and holds no number afterwards. */
Test(seed, newcomer_that_does_not_read_is_let_go)
{
    const struct weir_member far = {"far", "sim:1", 1};
    struct weir_error err = {0};
    seed_open(201);
    cr_assert_eq(weir_node_add_member(lone.node, 200, &far, &err), WEIR_OK,
                 "%s", err.message);
    wt_lone_settle(&lone);
    (void)ask_in("a");
    lone.deaf = true;
    wt_lone_settle(&lone);
    cr_assert(!wi_list_empty(&engine()->newcomers));
    WT_TURNS(&lone, wi_list_empty(&engine()->newcomers));
    cr_assert(!has_member(1));
    wt_lone_close(&lone);
}

/* Killed when all was sent: it is a member, and under its name the same one. */
Test(seed, newcomer_that_dies_later_keeps_its_number)
{
    seed_open(4);
    struct wt_raw *raw = ask_in("a");
    cr_assert_eq(number_of(raw, 2), 1);
    wt_raw_drop(raw);
    WT_TURNS(&lone, wi_list_empty(&engine()->newcomers));
    cr_assert_eq(number_of(ask_in("b"), 3), 2);
    cr_assert_eq(number_of(ask_in("a"), 3), 1);
    cr_assert_eq(weir_node_members(lone.node), 3);
    wt_lone_close(&lone);
}

Test(seed, joins_that_cannot_be_are_refused)
{
    struct weir_error err = {0};
    seed_open(3);
    struct wt_raw *raw = ask_in("a");
    (void)number_of(raw, 2);
    union wi_msg m = member_msg(WI_MSG_JOIN, "a");
    expect_refusal(&m, WEIR_ERR_STATE, "is joining already");
    wt_raw_drop(raw);
    WT_TURNS(&lone, wi_list_empty(&engine()->newcomers));
    m.member.workers = 2;
    expect_refusal(&m, WEIR_ERR_PEER_REFUSED, "number of workers");
    m = member_msg(WI_MSG_JOIN, "lone");
    expect_refusal(&m, WEIR_ERR_PEER_REFUSED, "taken");
    m = member_msg(WI_MSG_JOIN, "");
    expect_refusal(&m, WEIR_ERR_PEER_REFUSED, "needs a name");
    m = member_msg(WI_MSG_JOIN, "b");
    m.member.n_members = 4;
    expect_refusal(&m, WEIR_ERR_PEER_REFUSED, "not waiting");
    wi_text_put(m.member.address, WI_ADDR_BYTES, "tcp:1.2.3.4:5");
    m.member.n_members = 0;
    expect_refusal(&m, WEIR_ERR_PEER_REFUSED, "not an address");
    cr_assert_eq(weir_node_remove_member(lone.node, 1, &err), WEIR_OK, "%s",
                 err.message);
    m = member_msg(WI_MSG_JOIN, "a");
    expect_refusal(&m, WEIR_ERR_PEER_REFUSED, "was removed");
    cr_assert_eq(number_of(ask_in("b"), 3), 2);
    m = member_msg(WI_MSG_JOIN, "c");
    expect_refusal(&m, WEIR_ERR_PEER_REFUSED, "max_members");
    wt_lone_close(&lone);
}

Test(seed, member_of_a_fixed_list_takes_nobody)
{
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    union wi_msg m = member_msg(WI_MSG_JOIN, "a");
    expect_refusal(&m, WEIR_ERR_PEER_REFUSED, "no seed");
    wt_lone_close(&lone);
}

Test(seed, manual_node_asks_no_seed)
{
    struct weir_error err = {0};
    wt_lone_open(&lone, NULL);
    cr_assert_eq(weir_node_join_seed(lone.node, "sim:1", 2, 1000000, &err),
                 WEIR_ERR_STATE, "%s", err.message);
    cr_assert_not_null(strstr(err.message, "weir_node_join"));
    wt_lone_close(&lone);
}

/* ---- news ---------------------------------------------------------------- */

/* The node is member 1 of two; 0 is the seed. */
static void member_open(struct wi_link *seed)
{
    const struct weir_member members[] = {{"raw", "sim:1", 1},
                                          {"lone", "sim:0", 1}};
    struct weir_error err = {0};
    wt_lone_open(&lone, NULL);
    cr_assert_eq(weir_node_join(lone.node, members, 2, &err), WEIR_OK, "%s",
                 err.message);
    *seed = (struct wi_link){
        .engine = engine(), .member = 0, .caps = WI_WIRE_CAP_GROW};
}

static union wi_msg news(uint32_t idx, const char *name)
{
    union wi_msg m = member_msg(WI_MSG_MEMBER, name);
    m.member.idx = idx;
    m.member.self = 1;
    m.member.n_members = 3;
    return m;
}

static void expect_offence(struct wi_link *l, const union wi_msg *m)
{
    struct weir_error err = {0};
    cr_assert_eq(wi_news_on_member(l, m, &err), WEIR_ERR_PEER_PROTOCOL);
    cr_assert_eq(weir_node_members(lone.node), 2);
}

Test(seed, news_that_cannot_be_are_offences)
{
    static struct wi_link l;
    member_open(&l);
    union wi_msg m = news(2, "c");
    l.caps = 0; /* was not agreed upon */
    expect_offence(&l, &m);
    l.caps = WI_WIRE_CAP_GROW;
    l.member = 2; /* is no seed */
    expect_offence(&l, &m);
    l.member = 0;
    m.member.magic++;
    expect_offence(&l, &m);
    m = news(2, "c");
    m.member.self = 2;
    expect_offence(&l, &m);
    m = news(1, "c"); /* about this node */
    expect_offence(&l, &m);
    m = news(3, "c"); /* beyond the list */
    expect_offence(&l, &m);
    m = news(2, "c"); /* beyond what this node plans for */
    m.member.n_members = UINT32_MAX;
    expect_offence(&l, &m);
    m = news(2, "");
    expect_offence(&l, &m);
    m = news(2, "c");
    m.member.workers = 65;
    expect_offence(&l, &m);
    wt_lone_close(&lone);
}

/* What the program said itself stays. */
Test(seed, news_that_contradict_are_logged)
{
    static struct wi_link l;
    struct weir_error err = {0};
    member_open(&l);
    union wi_msg m = news(2, "c");
    cr_assert_eq(wi_news_on_member(&l, &m, &err), WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_node_members(lone.node), 3);
    m = news(2, "another");
    uint32_t before = lone.lines;
    cr_assert_eq(wi_news_on_member(&l, &m, &err), WEIR_OK, "%s", err.message);
    cr_assert_eq(lone.lines, before + 1, "%s", lone.log);
    struct weir_member it;
    cr_assert_eq(weir_node_member(lone.node, 2, &it), WEIR_OK);
    cr_assert_str_eq(it.name, "c");
    wt_lone_close(&lone);
}
