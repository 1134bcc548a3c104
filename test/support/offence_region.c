/* SPDX-License-Identifier: Apache-2.0 */
/* Readers and owners of regions, and those who ask, that keep to no rule: what
 * each wrong message comes to. */
#include "core/base/cc.h"
#include "test/support/offence.h"
#include "test/support/offence_parts.h"
#include "test/support/wares.h"

enum { FLOOD = 3000, WAIT = 65, PATIENCE_S = 20 };

static struct wt_rogue_link *link_of(struct wt_lab *lab)
{
    return lab->link[0];
}

static void apply(struct wt_msg *m, const struct wt_offence *o)
{
    for (uint32_t i = 0; i < 2 && o->patch[i].bytes != 0; i++) {
        const struct wt_patch *p = &o->patch[i];
        wt_set(m, p->off, p->bytes, p->value);
    }
}

/* ---- a reader ------------------------------------------------------------ */

static void message(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(o->type);
    if (o->type == WT_FIND) {
        m = wt_find_msg(7, 1);
    } else if (o->type == WT_ASK) {
        m = wt_ask_msg(8);
    }
    apply(&m, o);
    wt_send(lab, &m, o->stale ? FLOOD : 1);
}

/* The piece is granted. */
static void hold(struct wt_lab *lab)
{
    uint32_t seen = link_of(lab)->seen[WT_FOUND];
    struct wt_msg m = wt_find_msg(7, 1);
    wt_rogue_send(link_of(lab), &m);
    wt_await(lab, WT_FOUND, seen);
}

static void drop_held(struct wt_lab *lab, const struct wt_offence *o)
{
    hold(lab);
    struct wt_msg m = wt_drop_msg(lab);
    apply(&m, o);
    wt_send(lab, &m, o->stale ? 2 : 1);
}

/* Found twice, given back one by one, and found again. */
static void drop_in_turn(struct wt_lab *lab, const struct wt_offence *o)
{
    hold(lab);
    hold(lab);
    struct wt_msg m = wt_drop_msg(lab);
    wt_send(lab, &m, 2);
    hold(lab);
    WT_MUST(wt_get(link_of(lab)->last[WT_FOUND].at + 4, 4) == 0, "%s: refused",
            o->name);
}

/* It waits for somebody who never answers. */
static void wait_for_ever(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = o->type == WT_FIND ? wt_find_msg(9, 1) : wt_ask_msg(9);
    if (o->type == WT_ASK) {
        wt_set(&m, 24, 4, 1024); /* small ones count less */
    }
    for (uint32_t i = 0; i < WAIT; i++) {
        wt_set(&m, 4, 4, o->stale ? 1 : i);
        wt_send(lab, &m, 1);
    }
}

/* As many as are allowed, taken back and asked for again. */
static void wait_and_leave(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg leave = wt_msg(WT_LEAVE);
    struct wt_msg m = o->type == WT_FIND ? wt_find_msg(9, 1) : wt_ask_msg(9);
    for (uint32_t i = 0; i < 10 * WAIT; i++) {
        wt_set(&m, 4, 4, i);
        wt_set(&leave, 4, 4, i);
        wt_send(lab, &m, 1);
        wt_send(lab, &leave, 1);
    }
}

/* ---- an owner ------------------------------------------------------------ */

/* The node has asked for a piece. */
static void sought(struct wt_lab *lab)
{
    uint32_t seen = link_of(lab)->seen[WT_FIND];
    wt_wares_get(lab);
    wt_await(lab, WT_FIND, seen);
}

static void answer_find(struct wt_lab *lab, const struct wt_offence *o)
{
    sought(lab);
    struct wt_msg m = wt_found_msg(lab);
    apply(&m, o);
    wt_send(lab, &m, o->stale ? 2 : 1);
}

static bool is_over(struct wt_lab *lab)
{
    return lab->wares->ended == lab->wares->begun || link_of(lab)->closed;
}

/* A get has ended well; the next one is of a place behind what was found. */
static void answer_again(struct wt_lab *lab, const struct wt_offence *o)
{
    sought(lab);
    struct wt_msg m = wt_found_msg(lab);
    wt_set(&m, 56, 8, 2048);
    wt_send(lab, &m, 1);
    WT_MUST(wt_lab_until(lab, is_over, PATIENCE_S), "%s: no get", o->name);
    wt_wares_far_get(lab);
    wt_await(lab, WT_FIND, 1);
    wt_set(&m, 8, 4, wt_get(link_of(lab)->last[WT_FIND].at + 4, 4));
    apply(&m, o);
    wt_send(lab, &m, 1);
}

/* The answer to its ask, or the next of a put. */
static void answer_ask(struct wt_lab *lab, const struct wt_offence *o)
{
    uint32_t seen = link_of(lab)->seen[WT_ASK];
    wt_wares_ask(lab);
    wt_await(lab, WT_ASK, seen);
    struct wt_msg m = wt_answer_msg(lab);
    apply(&m, o);
    wt_send(lab, &m, o->stale ? 2 : 1);
}

/* FOUND with the number of an ask. */
static void found_for_ask(struct wt_lab *lab, const struct wt_offence *o)
{
    uint32_t seen = link_of(lab)->seen[WT_ASK];
    wt_wares_ask(lab);
    wt_await(lab, WT_ASK, seen);
    struct wt_msg m = wt_found_msg(lab);
    wt_set(&m, 8, 4, wt_get(link_of(lab)->last[WT_ASK].at + 4, 4));
    apply(&m, o);
    wt_send(lab, &m, 1);
}

static void answer_put(struct wt_lab *lab, const struct wt_offence *o)
{
    uint32_t seen = link_of(lab)->seen[WT_FIND];
    wt_wares_put(lab);
    wt_await(lab, WT_FIND, seen);
    struct wt_msg early = wt_msg(WT_SYNCED);
    wt_send(lab, &early, 1);
    struct wt_msg m = wt_found_msg(lab);
    wt_send(lab, &m, 1);
    wt_await(lab, WT_SYNC, 0);
    m = wt_msg(WT_SYNCED);
    wt_set(&m, 4, 4, wt_get(link_of(lab)->last[WT_SYNC].at + 4, 4));
    apply(&m, o);
    wt_send(lab, &m, o->stale ? 2 : 1);
}

/* Taken away while it is sought, found, and read. */
static void revoke(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(WT_REVOKE);
    wt_set(&m, 8, 8, 1);
    apply(&m, o);
    sought(lab);
    wt_send(lab, &m, 1);
    struct wt_msg f = wt_found_msg(lab);
    wt_append(&f, &m);
    wt_append(&f, &m);
    wt_send(lab, &f, 1);
    wt_send(lab, &m, 3);
}

/* A part of the answer to a READ too much, or none at all. */
static void answer_read(struct wt_lab *lab, const struct wt_offence *o)
{
    sought(lab);
    struct wt_msg m = wt_found_msg(lab);
    link_of(lab)->more = (uint32_t)o->patch[0].value;
    link_of(lab)->mute = o->stale;
    wt_send(lab, &m, 1);
}

/* ---- the tables ---------------------------------------------------------- */

#define PLAY(name_, outcome_, play_, type_, ...)                               \
    {                                                                          \
        .name = (name_), .outcome = (outcome_), .type = (type_),               \
        .play = (play_), .patch = {                                            \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
#define OFTEN(name_, outcome_, play_, type_, ...)                              \
    {                                                                          \
        .name = (name_), .outcome = (outcome_), .type = (type_),               \
        .play = (play_), .stale = true, .patch = {                             \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
#define TOLD(name_, outcome_, op_, play_, ...)                                 \
    {                                                                          \
        .name = (name_), .outcome = (outcome_), .op = (op_), .play = (play_),  \
        .patch = {                                                             \
            __VA_ARGS__                                                        \
        }                                                                      \
    }
#define UNAGREED(name_, type_)                                                 \
    {                                                                          \
        .name = (name_), .outcome = WT_LINK_ENDS, .type = (type_),             \
        .play = message, .before = true                                        \
    }

const struct wt_offence wt_reader_offences[] = {
    PLAY("a search for no access", WT_LINK_ENDS, message, WT_FIND, {32, 4, 0}),
    PLAY("a search for both accesses", WT_LINK_ENDS, message, WT_FIND,
         {32, 4, 3}),
    PLAY("a search for access 2^31", WT_LINK_ENDS, message, WT_FIND,
         {32, 4, 1u << 31}),
    PLAY("a search for writing what is read only", WT_IS_BORNE, message,
         WT_FIND, {32, 4, 2}),
    PLAY("a search beyond the end", WT_IS_BORNE, message, WT_FIND,
         {24, 8, WT_WARES_BYTES}),
    PLAY("a search at 2^64-1", WT_IS_BORNE, message, WT_FIND,
         {24, 8, UINT64_MAX}),
    PLAY("a search in another space", WT_IS_BORNE, message, WT_FIND,
         {8, 8, 77}),
    PLAY("a search for another name", WT_IS_BORNE, message, WT_FIND,
         {16, 8, UINT64_MAX}),
    PLAY("a search whose zeros are none", WT_IS_BORNE, message, WT_FIND,
         {36, 4, 0xffffffff}),
    OFTEN("thousands of searches", WT_IS_BORNE, message, WT_FIND, {0, 0, 0}),
    OFTEN("thousands of searches for nothing", WT_IS_BORNE, message, WT_FIND,
          {16, 8, 99}),
    PLAY("more searches than may wait", WT_LINK_ENDS, wait_for_ever, WT_FIND,
         {0, 0, 0}),
    OFTEN("more searches of one number than may wait", WT_LINK_ENDS,
          wait_for_ever, WT_FIND, {0, 0, 0}),
    PLAY("searches that are taken back", WT_IS_BORNE, wait_and_leave, WT_FIND,
         {0, 0, 0}),
    PLAY("a drop of nothing", WT_LINK_ENDS, message, WT_DROP, {4, 4, 1}),
    PLAY("a drop of another handle", WT_LINK_ENDS, drop_held, WT_DROP,
         {8, 8, 0x99999}),
    PLAY("a drop of another key", WT_LINK_ENDS, drop_held, WT_DROP,
         {16, 8, 0x99999}),
    PLAY("a drop of key 0", WT_LINK_ENDS, drop_held, WT_DROP, {16, 8, 0}),
    PLAY("a drop of more than was found", WT_LINK_ENDS, drop_held, WT_DROP,
         {4, 4, 2}),
    PLAY("a drop of 2^32-1", WT_LINK_ENDS, drop_held, WT_DROP,
         {4, 4, 0xffffffff}),
    PLAY("a drop of none", WT_IS_BORNE, drop_held, WT_DROP, {4, 4, 0}),
    OFTEN("a drop twice", WT_LINK_ENDS, drop_held, WT_DROP, {0, 0, 0}),
    PLAY("drops one by one", WT_IS_BORNE, drop_in_turn, WT_DROP, {0, 0, 0}),
    PLAY("an ask of 1025 bytes", WT_LINK_ENDS, message, WT_ASK, {24, 4, 1025}),
    PLAY("an ask of 2^32-1 bytes", WT_LINK_ENDS, message, WT_ASK,
         {24, 4, 0xffffffff}),
    PLAY("an ask in a space of nobody", WT_IS_BORNE, message, WT_ASK,
         {8, 8, 77}),
    PLAY("an ask whose zeros are none", WT_IS_BORNE, message, WT_ASK,
         {28, 4, 0xffffffff}),
    OFTEN("thousands of asks", WT_IS_BORNE, message, WT_ASK, {0, 0, 0}),
    OFTEN("thousands of asks that wait", WT_IS_BORNE, message, WT_ASK,
          {8, 8, 9}),
    PLAY("more asks than may wait", WT_IS_BORNE, wait_for_ever, WT_ASK,
         {0, 0, 0}),
    PLAY("asks that are taken back", WT_IS_BORNE, wait_and_leave, WT_ASK,
         {0, 0, 0}),
    OFTEN("thousands that nobody waits for taken back", WT_IS_BORNE, message,
          WT_LEAVE, {4, 4, 5}),
    OFTEN("thousands of questions whether it is there", WT_IS_BORNE, message,
          WT_SYNC, {4, 4, 7}),
    UNAGREED("a search that was not agreed", WT_FIND),
    UNAGREED("a piece that was not agreed", WT_FOUND),
    UNAGREED("a drop that was not agreed", WT_DROP),
    UNAGREED("a revocation that was not agreed", WT_REVOKE),
    UNAGREED("an ask that was not agreed", WT_ASK),
    UNAGREED("an answer that was not agreed", WT_ANSWER),
    UNAGREED("a leave that was not agreed", WT_LEAVE),
    UNAGREED("a question that was not agreed", WT_SYNC),
    UNAGREED("a reply that was not agreed", WT_SYNCED),
};
const uint32_t wt_n_reader_offences = WI_ARRAY_LEN(wt_reader_offences);

const struct wt_offence wt_owner_offences[] = {
    TOLD("a piece as it should be", WT_IS_BORNE, WEIR_DONE, answer_find,
         {0, 0, 0}),
    TOLD("a piece of another number", WT_IS_BORNE, WEIR_ERR_PEER_LOST,
         answer_find, {8, 4, 0x7777}),
    TOLD("a refusal with code 2", WT_IS_BORNE, WEIR_ERR_PEER_PROTOCOL,
         answer_find, {4, 4, 2}),
    TOLD("a refusal with code 1", WT_IS_BORNE, WEIR_ERR_PEER_PROTOCOL,
         answer_find, {4, 4, 1}),
    TOLD("a refusal whose text has control characters", WT_IS_BORNE,
         WEIR_ERR_NOT_FOUND, answer_find, {4, 4, (uint32_t)WEIR_ERR_NOT_FOUND},
         {72, 8, 0x0a1b5b0d0a0a410a}),
    TOLD("a piece whose zeros are none", WT_IS_BORNE, WEIR_DONE, answer_find,
         {12, 4, 0xffffffff}),
    TOLD("a piece of another handle", WT_IS_BORNE, WEIR_DONE, answer_find,
         {16, 8, UINT64_MAX}),
    TOLD("a piece of a key that was not granted", WT_DEPENDS, 0, answer_find,
         {24, 8, 0x7777777}),
    TOLD("a piece of key 0", WT_DEPENDS, 0, answer_find, {24, 8, 0}),
    TOLD("a piece outside of what was granted", WT_DEPENDS, 0, answer_find,
         {32, 8, WT_ROGUE_AREA}),
    TOLD("a piece at 2^40", WT_DEPENDS, 0, answer_find, {32, 8, 1ull << 40}),
    TOLD("a piece whose end overflows", WT_LINK_ENDS, 0, answer_find,
         {32, 8, UINT64_MAX}),
    TOLD("a piece that is longer than its region", WT_LINK_ENDS, 0, answer_find,
         {40, 8, WT_AREA - 1}),
    TOLD("a piece of a region of no bytes", WT_LINK_ENDS, 0, answer_find,
         {40, 8, 0}),
    TOLD("a piece that begins behind its place", WT_LINK_ENDS, 0, answer_find,
         {48, 8, 1001}, {56, 8, 64}),
    TOLD("a piece that begins at 2^64-1", WT_LINK_ENDS, 0, answer_find,
         {48, 8, UINT64_MAX}),
    TOLD("a piece that ends before its place", WT_LINK_ENDS, 0, answer_find,
         {56, 8, 1000}),
    TOLD("a piece of no bytes, before the end", WT_LINK_ENDS, 0, answer_find,
         {56, 8, 0}),
    TOLD("a piece of 2^64-1 bytes", WT_LINK_ENDS, 0, answer_find,
         {56, 8, UINT64_MAX}),
    TOLD("a piece of no bytes, beyond the end", WT_IS_BORNE, WEIR_ERR_ARG,
         answer_find, {56, 8, 0}, {40, 8, 900}),
    TOLD("a region that is too short", WT_IS_BORNE, WEIR_ERR_ARG, answer_find,
         {40, 8, 1001}, {56, 8, 1001}),
    TOLD("a piece mapped with 0 bytes", WT_IS_BORNE, WEIR_DONE, answer_find,
         {64, 8, 0}),
    {.name = "a piece twice",
     .outcome = WT_IS_BORNE,
     .op = WEIR_DONE,
     .play = answer_find,
     .stale = true},
    {.name = "a wrong piece that nobody waits for",
     .outcome = WT_LINK_ENDS,
     .type = WT_FOUND,
     .play = message,
     .patch = {{56, 8, 1}}},
    OFTEN("thousands of pieces that nobody waits for", WT_IS_BORNE, message,
          WT_FOUND, {56, 8, 1}, {40, 8, 1}),
    OFTEN("thousands of refusals that nobody waits for", WT_IS_BORNE, message,
          WT_FOUND, {4, 4, (uint32_t)WEIR_ERR_NOT_FOUND}),
    TOLD("a key used again for more", WT_LINK_ENDS, 0, answer_again,
         {56, 8, WT_AREA}),
    TOLD("a key used again elsewhere", WT_LINK_ENDS, 0, answer_again,
         {56, 8, WT_AREA}, {32, 8, 64}),
    TOLD("a handle used again for a longer region", WT_LINK_ENDS, 0,
         answer_again, {40, 8, WT_AREA - 1}),
    TOLD("an answer of 1025 bytes", WT_LINK_ENDS, 0, answer_ask, {12, 4, 1025}),
    TOLD("an answer of 2^32-1 bytes", WT_LINK_ENDS, 0, answer_ask,
         {12, 4, 0xffffffff}),
    TOLD("an answer of no bytes", WT_IS_BORNE, WEIR_DONE, answer_ask,
         {12, 4, 0}),
    TOLD("an answer of another number", WT_IS_BORNE, WEIR_ERR_PEER_LOST,
         answer_ask, {8, 4, 0x7777}),
    TOLD("an answer with code 2", WT_IS_BORNE, WEIR_ERR_PEER_PROTOCOL,
         answer_ask, {4, 4, 2}),
    TOLD("an answer with code 2^31", WT_IS_BORNE, 0, answer_ask,
         {4, 4, 1u << 31}),
    TOLD("an answer that is a refusal", WT_IS_BORNE, WEIR_ERR_DATA, answer_ask,
         {4, 4, (uint32_t)WEIR_ERR_DATA}),
    {.name = "an answer twice",
     .outcome = WT_IS_BORNE,
     .op = WEIR_DONE,
     .play = answer_ask,
     .stale = true},
    TOLD("a piece for an ask", WT_IS_BORNE, WEIR_ERR_PEER_LOST, found_for_ask,
         {0, 0, 0}),
    OFTEN("thousands of answers that nobody waits for", WT_IS_BORNE, message,
          WT_ANSWER, {8, 4, 3}),
    TOLD("bytes that are there", WT_IS_BORNE, WEIR_DONE, answer_put, {0, 0, 0}),
    TOLD("bytes that are there, of another number", WT_IS_BORNE,
         WEIR_ERR_PEER_LOST, answer_put, {4, 4, 0x7777}),
    {.name = "bytes that are there, twice",
     .outcome = WT_IS_BORNE,
     .op = WEIR_DONE,
     .play = answer_put,
     .stale = true},
    OFTEN("thousands of times bytes that nobody wrote", WT_IS_BORNE, message,
          WT_SYNCED, {4, 4, 3}),
    TOLD("a revocation of all", WT_IS_BORNE, 0, revoke, {0, 0, 0}),
    TOLD("a revocation of a key that is not held", WT_IS_BORNE, WEIR_DONE,
         revoke, {16, 8, 0x7777777}),
    TOLD("a revocation of a handle that is not held", WT_IS_BORNE, WEIR_DONE,
         revoke, {8, 8, 0x7777777}),
    OFTEN("thousands of revocations of nothing", WT_IS_BORNE, message,
          WT_REVOKE, {8, 8, 3}),
    {.name = "more bytes than were read",
     .outcome = WT_LINK_ENDS,
     .play = answer_read,
     .tcp = true,
     .patch = {{0, 0, 8}}},
    {.name = "no bytes for what is read",
     .outcome = WT_LINK_ENDS, /* it is mute */
     .play = answer_read,
     .tcp = true,
     .stale = true},
};
const uint32_t wt_n_owner_offences = WI_ARRAY_LEN(wt_owner_offences);

/* ---- playing ------------------------------------------------------------- */

void wt_offend_wares(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_wares wares;
    if (o->tcp && !lab->tcp) {
        return;
    }
    lab->rogue.without_regions = o->before;
    wt_wares_open(lab, &wares);
    wt_offend(lab, o);
    wt_wares_close(lab, o->name);
    lab->rogue.without_regions = false;
    weir_err want = o->op == WEIR_DONE ? WEIR_OK : o->op;
    WT_MUST(o->op == 0 || wares.end == want,
            "%s: the operation ends with %s %s", o->name,
            weir_err_name(wares.end), wares.error);
}
