/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and writes that are wrong, from a member whose link is open. */
#include "core/base/cc.h"
#include "test/support/offence.h"

enum { UNIT = 2, STAGE = 1, FLOOD = 3000, OFFERS = 600 };

static void apply(struct wt_msg *m, const struct wt_offence *o)
{
    for (uint32_t i = 0; i < 2 && o->patch[i].bytes != 0; i++) {
        const struct wt_patch *p = &o->patch[i];
        wt_set(m, p->off, p->bytes, p->value);
    }
}

static struct wt_rogue_link *link_of(struct wt_lab *lab)
{
    return lab->link[0];
}

/* ---- any message --------------------------------------------------------- */

static void message(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(o->type);
    apply(&m, o);
    wt_rogue_send(link_of(lab), &m);
}

static void handshake(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_rogue_hello(link_of(lab), o->type);
    apply(&m, o);
    wt_rogue_send(link_of(lab), &m);
}

/* A PING and its first bytes again. */
static void one_and_a_half(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(WT_PING);
    struct wt_msg half = wt_msg(WT_NOTIFY);
    half.len = (uint32_t)o->patch[0].value;
    wt_append(&m, &half);
    wt_rogue_send(link_of(lab), &m);
}

static void three_bytes(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(WT_PING);
    (void)o;
    m.len = 3;
    wt_rogue_send(link_of(lab), &m);
}

static void flood(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(o->type);
    apply(&m, o);
    for (uint32_t i = 0; i < FLOOD; i++) {
        wt_rogue_send(link_of(lab), &m);
        if (i % 16 == 0) {
            (void)wt_lab_step(lab);
        }
    }
}

/* ---- about a ring that it opened ----------------------------------------- */

static void open_ring(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_ring r;
    struct wt_msg m = wt_ring_message(lab, 0, STAGE, UNIT, &r);
    apply(&m, o);
    wt_rogue_send(r.link, &m);
}

/* In the unit before, which is free. */
static void open_before(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_ring r;
    struct wt_msg m = wt_ring_message(lab, 0, STAGE, UNIT, &r);
    (void)o;
    wt_set(&m, 32, 8, wt_rogue_ring(r.link, UNIT) - 64);
    wt_rogue_send(r.link, &m);
}

static void open_two(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_ring r;
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    struct wt_msg m = wt_ring_message(lab, 0, STAGE, UNIT + 4, &r);
    apply(&m, o);
    wt_rogue_send(r.link, &m);
}

static void open_for_honest(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_ring r;
    struct wt_msg m = wt_ring_message(lab, 0, STAGE, UNIT, &r);
    apply(&m, o);
    wt_set(&m, 16, 8, lab->id[WT_LAB_HONEST]);
    wt_rogue_send(r.link, &m);
    wt_ring_rows(&r, 8);
    wt_ring_end(&r);
}

/* About a ring with rows in it; 16: where it is published. */
static void about_ring(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_ring r;
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    wt_ring_rows(&r, 16);
    struct wt_msg m = wt_rogue_pos(o->type, r.unit, r.epoch, r.pos);
    m.len = (uint32_t)wt_get(wt_msg(o->type).at + 2, 2);
    wt_put(m.at + 2, m.len, 2);
    apply(&m, o);
    wt_rogue_send(r.link, &m);
}

static void twice(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_ring r;
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    wt_ring_rows(&r, 16);
    struct wt_msg m = wt_rogue_edge_msg(o->type, r.unit, r.epoch, 0);
    wt_rogue_send(r.link, &m);
    wt_rogue_send(r.link, &m);
}

/* ---- about a ring that the node has opened ------------------------------- */

static void about_theirs(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_rogue_link *l = link_of(lab);
    const struct wt_rogue_edge *e = &l->edge[0];
    struct wt_msg m = wt_rogue_pos(o->type, e->edge, e->epoch, e->pos);
    m.len = (uint32_t)wt_get(wt_msg(o->type).at + 2, 2);
    apply(&m, o);
    wt_rogue_send(l, &m);
}

static void theirs_twice(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_rogue_link *l = link_of(lab);
    const struct wt_rogue_edge *e = &l->edge[0];
    struct wt_msg m = wt_rogue_edge_msg(o->type, e->edge, e->epoch, 0xffff);
    wt_rogue_send(l, &m);
    wt_rogue_send(l, &m);
}

static void credit_backwards(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_rogue_link *l = link_of(lab);
    const struct wt_rogue_edge *e = &l->edge[0];
    struct wt_msg m = wt_rogue_pos(WT_CREDIT, e->edge, e->epoch, e->pos);
    (void)o;
    wt_rogue_send(l, &m);
    wt_set(&m, 16, 8, e->pos - 64);
    wt_rogue_send(l, &m);
}

/* ---- failures ------------------------------------------------------------ */

static struct wt_msg failure(uint64_t id, int32_t code, const char *text)
{
    struct wt_msg m = wt_msg(WT_FAIL);
    wt_set(&m, 4, 4, (uint64_t)(int64_t)code);
    wt_set(&m, 8, 8, id);
    wt_set_text(&m, 16, 240, text);
    return m;
}

static void fail_honest(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m =
        failure(lab->id[WT_LAB_HONEST], WEIR_ERR_CANCELLED, "because");
    (void)o;
    wt_rogue_send(link_of(lab), &m);
}

static void fail_shared(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = failure(lab->id[WT_LAB_SHARED], o->code,
                              "mallory:\n\x1b[31mred\x7f\r\n");
    apply(&m, o);
    wt_rogue_send(link_of(lab), &m);
}

/* The next query is without it. */
static void fail_next(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = failure(lab->queries + 1, WEIR_ERR_CANCELLED, "because");
    (void)o;
    wt_rogue_send(link_of(lab), &m);
}

/* What a member says of its side of a query; 8: the honest one's id. */
static void of_honest(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(o->type);
    wt_set(&m, 4, 4, o->type == WT_CLOSE ? 0 : 1);
    wt_set(&m, 8, 8, lab->id[WT_LAB_HONEST]);
    apply(&m, o);
    wt_rogue_send(link_of(lab), &m);
}

static void of_shared(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(o->type);
    wt_set(&m, 4, 4, o->type == WT_CLOSE ? 0 : 1);
    wt_set(&m, 8, 8, lab->id[WT_LAB_SHARED]);
    if (o->type == WT_DIFFER) {
        wt_set_text(&m, 16, 320, "a;\n\x1b[31m; b");
    }
    apply(&m, o);
    wt_rogue_send(link_of(lab), &m);
}

static void filter_twice(struct wt_lab *lab, const struct wt_offence *o)
{
    of_shared(lab, o);
    of_shared(lab, o);
}

/* The second piece is of a smaller filter. */
static void filter_changes(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_offence second = *o;
    second.patch[0].value--;
    second.patch[1] = (struct wt_patch){20, 4, 120};
    of_shared(lab, o);
    of_shared(lab, &second);
}

/* As of one that began before the shuffle was open. It has come when the lab
 * looks at the query. */
static void filter_midst(struct wt_lab *lab, const struct wt_offence *o)
{
    of_shared(lab, o);
    for (uint32_t i = 0; i < OFFERS; i++) {
        (void)wt_lab_step(lab);
    }
}

/* The second piece is left out. */
static void filter_gap(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_offence third = *o;
    third.patch[1] = (struct wt_patch){20, 4, 240};
    of_shared(lab, o);
    of_shared(lab, &third);
}

/* Of hundreds of queries that nobody knows. */
static void of_ids(struct wt_lab *lab, const struct wt_offence *o)
{
    for (uint64_t i = 0; i < OFFERS; i++) {
        struct wt_msg m = wt_msg(o->type);
        wt_set(&m, 4, 4, o->type == WT_CLOSE ? 0 : i % 3);
        wt_set(&m, 8, 8, (1ull << 41) + i);
        wt_rogue_send(link_of(lab), &m);
        if (i % 16 == 0) {
            (void)wt_lab_step(lab);
        }
    }
}

static void fail_ids(struct wt_lab *lab, const struct wt_offence *o)
{
    for (uint64_t i = 0; i < OFFERS; i++) {
        struct wt_msg m =
            failure((1ull << 40) + i, WEIR_ERR_CANCELLED, "because");
        (void)o;
        wt_rogue_send(link_of(lab), &m);
        if (i % 16 == 0) {
            (void)wt_lab_step(lab);
        }
    }
}

/* ---- the tables ---------------------------------------------------------- */

#define MESSAGE(name_, outcome_, type_, ...)                                   \
    {                                                                          \
        .name = (name_), .outcome = (outcome_), .type = (type_),               \
        .play = message, .patch = {                                            \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
#define HANDSHAKE(name_, type_)                                                \
    {                                                                          \
        .name = (name_), .outcome = WT_LINK_ENDS, .type = (type_),             \
        .play = handshake                                                      \
    }
#define OPEN(name_, off_, bytes_, value_)                                      \
    {                                                                          \
        .name = (name_), .outcome = WT_LINK_ENDS, .play = open_ring,           \
        .patch = {                                                             \
            {(off_), (bytes_), (value_)}                                       \
        }                                                                      \
    }
#define FILTER(name_, ...)                                                     \
    {                                                                          \
        .name = (name_), .outcome = WT_QUERY_FAILS,                            \
        .code = WEIR_ERR_PEER_PROTOCOL, .type = WT_FILTER, .play = of_shared,  \
        .patch = {                                                             \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
#define ABOUT(name_, outcome_, play_, type_, ...)                              \
    {                                                                          \
        .name = (name_), .outcome = (outcome_), .type = (type_),               \
        .play = (play_), .patch = {                                            \
            __VA_ARGS__                                                        \
        }                                                                      \
    }

const struct wt_offence wt_member_offences[] = {
    HANDSHAKE("a second HELLO", WT_HELLO),
    HANDSHAKE("an ACCEPT that nobody waits for", WT_ACCEPT),
    HANDSHAKE("a READY of an open link", WT_READY),
    MESSAGE("a REFUSE of an open link", WT_LINK_ENDS, WT_REFUSE,
            {4, 4, 0xffffff35}),
    MESSAGE("a REFUSE with code 0", WT_LINK_ENDS, WT_REFUSE, {4, 4, 0}),
    MESSAGE("a REFUSE with code 2", WT_LINK_ENDS, WT_REFUSE, {4, 4, 2}),
    MESSAGE("a JOIN over an open link", WT_LINK_ENDS, WT_JOIN, {0, 0, 0}),
    MESSAGE("a MEMBER over an open link", WT_LINK_ENDS, WT_MEMBER, {0, 0, 0}),
    MESSAGE("a message of type 0", WT_LINK_ENDS, WT_PING, {0, 2, 0}),
    MESSAGE("a message of type 65535", WT_LINK_ENDS, WT_PING, {0, 2, 0xffff}),
    MESSAGE("a message that says 0 bytes", WT_LINK_ENDS, WT_PING, {2, 2, 0}),
    MESSAGE("a message that says 4 bytes", WT_LINK_ENDS, WT_PING, {2, 2, 4}),
    MESSAGE("a message that says 65535 bytes", WT_LINK_ENDS, WT_PING,
            {2, 2, 0xffff}),
    {.name = "a message and 12 bytes of the next",
     .outcome = WT_LINK_ENDS,
     .play = one_and_a_half,
     .patch = {{0, 0, 12}}},
    {.name = "a message and 2 bytes",
     .outcome = WT_LINK_ENDS,
     .play = one_and_a_half,
     .patch = {{0, 0, 2}}},
    {.name = "a packet of 3 bytes",
     .outcome = WT_LINK_ENDS,
     .play = three_bytes},
    MESSAGE("an answer to no PING", WT_IS_BORNE, WT_PING, {4, 4, 0}),
    MESSAGE("a BELL for worker 200", WT_IS_BORNE, WT_BELL, {4, 4, 200}),
    MESSAGE("a BYE in the middle", WT_IS_BORNE, WT_BYE, {4, 4, 0}),
    OPEN("a ring whose number is too high", 4, 4, 0x00ffffff),
    OPEN("a ring whose number is 2^32-1", 4, 4, 0xffffffff),
    OPEN("a ring before its unit", 32, 8, 0),
    {.name = "a ring just before its unit",
     .outcome = WT_LINK_ENDS,
     .play = open_before},
    OPEN("a ring at an odd place", 32, 8, 0x20001),
    OPEN("a ring of no bytes", 40, 4, 0),
    OPEN("a ring of 100 bytes", 40, 4, 100),
    OPEN("a ring that ends beyond the area", 40, 4, 0xffffffc0),
    OPEN("a ring that begins beyond the area", 32, 8, 1ull << 40),
    OPEN("a ring whose end overflows", 32, 8, 0xffffffffffffffc0),
    OPEN("a ring of a worker that the rogue has not", 44, 2, 5),
    OPEN("a ring to a worker that the node has not", 46, 2, 9),
    ABOUT("a ring over another", WT_LINK_ENDS, open_two, WT_EDGE_OPEN,
          {4, 4, UNIT}, {32, 8, 1 << 16}),
    ABOUT("a second ring of the same worker", WT_ENDS_ANYHOW, open_two,
          WT_EDGE_OPEN, {0, 0, 0}),
    {.name = "a ring of another fingerprint",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_MISMATCH,
     .play = open_ring,
     .patch = {{24, 8, 1}}},
    {.name = "a ring of a shuffle that is not there",
     .outcome = WT_IS_BORNE,
     .play = open_ring,
     .patch = {{12, 4, 99}}},
    {.name = "a ring of a query that nobody opens",
     .outcome = WT_IS_BORNE,
     .play = open_ring,
     .patch = {{16, 8, 1ull << 50}}},
    ABOUT("rows for a query of others", WT_IS_BORNE, open_for_honest,
          WT_EDGE_OPEN, {0, 0, 0}),
    ABOUT("rows for a shuffle of others that is not there", WT_IS_BORNE,
          open_for_honest, WT_EDGE_OPEN, {12, 4, 99}),
    ABOUT("a position of a ring that is not open", WT_LINK_ENDS, about_ring,
          WT_NOTIFY, {4, 4, UNIT + 3}),
    ABOUT("a position of a ring that cannot be", WT_LINK_ENDS, about_ring,
          WT_NOTIFY, {4, 4, 0xffffffff}),
    ABOUT("a position of another epoch", WT_LINK_ENDS, about_ring, WT_NOTIFY,
          {8, 4, 0x7fffffff}),
    ABOUT("a position more than a ring ahead", WT_LINK_ENDS, about_ring,
          WT_NOTIFY, {16, 8, 1 << 20}),
    ABOUT("a position that goes back", WT_LINK_ENDS, about_ring, WT_NOTIFY,
          {16, 8, 64}),
    ABOUT("a position that is no multiple of 64", WT_LINK_ENDS, about_ring,
          WT_NOTIFY, {16, 8, 257}),
    ABOUT("a position of 2^64-64", WT_LINK_ENDS, about_ring, WT_NOTIFY,
          {16, 8, 0xffffffffffffffc0}),
    ABOUT("a ring abandoned twice", WT_LINK_ENDS, twice, WT_EDGE_ABANDON,
          {0, 0, 0}),
    ABOUT("a ring abandoned that is not open", WT_IS_BORNE, about_ring,
          WT_EDGE_ABANDON, {4, 4, 0xfffffff0}),
    ABOUT("a credit for a ring that is not open", WT_IS_BORNE, about_theirs,
          WT_CREDIT, {4, 4, 0xfffffff0}),
    ABOUT("a credit of another epoch", WT_IS_BORNE, about_theirs, WT_CREDIT,
          {8, 4, 0x7fffffff}),
    ABOUT("a credit for what was never sent", WT_LINK_ENDS, about_theirs,
          WT_CREDIT, {16, 8, 1ull << 40}),
    ABOUT("a credit of 2^64-1", WT_LINK_ENDS, about_theirs, WT_CREDIT,
          {16, 8, UINT64_MAX}),
    {.name = "credits that go backwards",
     .outcome = WT_LINK_ENDS,
     .play = credit_backwards},
    ABOUT("a ring closed that is not open", WT_LINK_ENDS, about_theirs,
          WT_EDGE_CLOSED, {4, 4, 0x00ffffff}),
    ABOUT("a ring closed of another epoch", WT_LINK_ENDS, about_theirs,
          WT_EDGE_CLOSED, {8, 4, 0x7fffffff}),
    ABOUT("a ring closed twice", WT_LINK_ENDS, theirs_twice, WT_EDGE_CLOSED,
          {0, 0, 0}),
    ABOUT("a ring stopped that is not open", WT_IS_BORNE, about_theirs,
          WT_EDGE_STOP, {4, 4, 0x00ffffff}),
    ABOUT("a ring stopped twice", WT_IS_BORNE, theirs_twice, WT_EDGE_STOP,
          {0, 0, 0}),
    {.name = "a failure of a query of others",
     .outcome = WT_IS_BORNE,
     .play = fail_honest},
    {.name = "a failure of the next query of others",
     .outcome = WT_IS_BORNE,
     .play = fail_next},
    {.name = "failures of hundreds of queries that nobody knows",
     .outcome = WT_IS_BORNE,
     .play = fail_ids},
    {.name = "a failure whose text has control characters",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_CANCELLED,
     .play = fail_shared},
    {.name = "a failure with code 0",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_ABORTED,
     .play = fail_shared,
     .patch = {{4, 4, 0}}},
    {.name = "a failure with code 2",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_ABORTED,
     .play = fail_shared,
     .patch = {{4, 4, 2}}},
    {.name = "a failure of scope NODE",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_ABORTED,
     .play = fail_shared,
     .patch = {{4, 4, 0xfffffed4}}},
    ABOUT("a query of others closed", WT_IS_BORNE, of_honest, WT_CLOSE,
          {0, 0, 0}),
    ABOUT("a shuffle of a query of others", WT_IS_BORNE, of_honest, WT_SHUFFLE,
          {0, 0, 0}),
    ABOUT("a shuffle that differs, of a query of others", WT_IS_BORNE,
          of_honest, WT_DIFFER, {0, 0, 0}),
    ABOUT("a query closed of which nothing was opened", WT_IS_BORNE, of_shared,
          WT_CLOSE, {0, 0, 0}), /* it is asked, and gives no answer */
    {.name = "a shuffle of another fingerprint",
     .outcome = WT_DEPENDS,
     .play = of_shared,
     .type = WT_SHUFFLE},
    {.name = "a shuffle said to differ, with control characters",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_MISMATCH,
     .play = of_shared,
     .type = WT_DIFFER},
    ABOUT("a filter of a query of others", WT_IS_BORNE, of_honest, WT_FILTER,
          {0, 0, 0}),
    ABOUT("a filter of a shuffle that nobody has", WT_IS_BORNE, of_shared,
          WT_FILTER, {4, 4, 77}),
    FILTER("a filter of no size", {16, 4, 0}, {0, 0, 0}),
    FILTER("a filter of 32 GiB", {16, 4, 0xffffffff}, {0, 0, 0}),
    ABOUT("a filter that begins in its midst", WT_IS_BORNE, filter_midst,
          WT_FILTER, {16, 4, 240}, {20, 4, 120}),
    FILTER("a filter that begins behind its end", {16, 4, 1}, {20, 4, 120}),
    FILTER("a filter of a worker that there is not", {24, 4, 77}, {16, 4, 1}),
    {.name = "a filter twice",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_PEER_PROTOCOL,
     .play = filter_twice,
     .type = WT_FILTER,
     .patch = {{16, 4, 1}}},
    {.name = "pieces of filters of different sizes",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_PEER_PROTOCOL,
     .play = filter_changes,
     .type = WT_FILTER,
     .patch = {{16, 4, 240}}},
    {.name = "a filter with a gap",
     .outcome = WT_QUERY_FAILS,
     .code = WEIR_ERR_PEER_PROTOCOL,
     .play = filter_gap,
     .type = WT_FILTER,
     .patch = {{16, 4, 360}}},
    ABOUT("hundreds of filters of queries that nobody knows", WT_IS_BORNE,
          of_ids, WT_FILTER, {16, 4, 1}),
    ABOUT("hundreds of queries closed that nobody knows", WT_IS_BORNE, of_ids,
          WT_CLOSE, {0, 0, 0}),
    ABOUT("shuffles of hundreds of queries that nobody knows", WT_IS_BORNE,
          of_ids, WT_SHUFFLE, {0, 0, 0}),
    ABOUT("hundreds of queries said to differ", WT_IS_BORNE, of_ids, WT_DIFFER,
          {0, 0, 0}),
    ABOUT("thousands of PINGs", WT_IS_BORNE, flood, WT_PING, {4, 4, 1}),
    ABOUT("thousands of answers to no PING", WT_IS_BORNE, flood, WT_PING,
          {4, 4, 0}),
};
const uint32_t wt_n_member_offences = WI_ARRAY_LEN(wt_member_offences);
