/* SPDX-License-Identifier: Apache-2.0 */
#include "test/soak/play.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "launch/clock.h"
#include "test/support/net.h"

/* A victim whose moment does not come is struck all the same. */
static const uint64_t moment_ns = 60 * 1000000000ull;

/* A node remembers the last WI_TOMBS queries (core/query/tomb.h): from so many
 * on it does not grow any more. */
enum { WARM = 520 };

static char now_text[256] = "the start";

const char *wt_play_now(void)
{
    return now_text;
}

/* ---- orders -------------------------------------------------------------- */

static void tell(struct wt_soak *s, uint32_t k, struct wt_order order)
{
    s->crew.slot[k].order = order;
    wt_crew_order(&s->crew, k);
}

/* Member k, which has just opened, joins; all others are told of it. */
static void introduce(struct wt_soak *s, uint32_t k)
{
    for (uint32_t i = 0; i < s->crew.params.n; i++) {
        tell(s, i,
             i == k ? (struct wt_order){.op = WT_JOIN}
                    : (struct wt_order){.op = WT_ADD, .peer = k});
    }
    wt_crew_await(&s->crew, wt_fault_all(s));
}

static void start(struct wt_soak *s, uint32_t k, bool away)
{
    struct wt_slot *slot = &s->crew.slot[k];
    const char *colon = strchr(slot->address, ':');
    if (s->crew.params.net && (away || colon == NULL)) {
        wt_net_listen(k, slot->listen, sizeof(slot->listen));
    } else if (s->crew.params.net && colon != NULL) {
        (void)snprintf(slot->listen, sizeof(slot->listen), "%.200s", colon + 1);
    }
    wt_crew_start(&s->crew, k);
    wt_crew_await(&s->crew, wt_bit(k));
}

static void come_back(struct wt_soak *s, uint32_t k, bool away)
{
    start(s, k, away);
    introduce(s, k);
}

/* Begin a query of these members; own is the victim's. */
static void begin(struct wt_soak *s, uint64_t members, uint32_t size,
                  const struct wt_fault *f)
{
    struct wt_order o = {
        .op = WT_RUN, .query = ++s->query, .rows = wt_rows_of[size]};
    for (uint32_t k = 0; k < s->crew.params.n; k++) {
        if ((members & wt_bit(k)) != 0) {
            o.members[o.n_members++] = k;
        }
    }
    for (uint32_t i = 0; i < o.n_members; i++) {
        struct wt_order mine = o;
        if (f != NULL && o.members[i] == f->victim) {
            mine.own = wt_fault_own(f->kind);
            mine.at = f->at;
        }
        tell(s, o.members[i], mine);
    }
}

/* ---- playing ------------------------------------------------------------- */

/* The query of these members has ended well, and no row was lost or doubled. */
static void exact(struct wt_soak *s, uint64_t members, uint32_t size,
                  const char *which)
{
    struct wt_sums sum = {0};
    wt_crew_await(&s->crew, members);
    for (uint32_t k = 0; k < s->crew.params.n; k++) {
        const struct wt_answer *a = wt_crew_answer(&s->crew, k);
        if ((members & wt_bit(k)) == 0) {
            continue;
        }
        if (a->code != WEIR_DONE) {
            wt_soak_violation("%s: member %u: %s (%s)", which, k,
                              weir_err_name(a->code), a->message);
        }
        sum.made_rows += a->sums.made_rows;
        sum.made_sum += a->sums.made_sum;
        sum.got_rows += a->sums.got_rows;
        sum.got_sum += a->sums.got_sum;
        if (members == wt_fault_all(s) && s->exact[size][k].made_rows != 0) {
            wt_fault_same_rows(s, k, size);
        }
    }
    if (sum.made_rows == 0 || sum.got_rows != sum.made_rows ||
        sum.got_sum != sum.made_sum) {
        wt_soak_violation(
            "%s: %" PRIu64 " rows of %" PRIu64 ", sums %" PRIx64 ", %" PRIx64,
            which, sum.got_rows, sum.made_rows, sum.got_sum, sum.made_sum);
    }
}

static void wires(bool done)
{
    if (!done) {
        wt_soak_violation("ip(8) has failed");
    }
}

/* Parent's faults: when the victim's moment has come, and a little later. */
static void strike(struct wt_soak *s, const struct wt_fault *f)
{
    uint32_t v = f->victim;
    (void)wt_crew_look(&s->crew, wt_bit(v), true, moment_ns);
    (void)wt_crew_look(&s->crew, 0, false, f->delay_ns);
    switch (f->kind) {
    case WT_FAULT_kill:
        wt_crew_end(&s->crew, v, SIGKILL);
        break;
    case WT_FAULT_stop:
        wt_crew_stop(&s->crew, v);
        break;
    case WT_FAULT_blink:
        wt_crew_stop(&s->crew, v);
        wt_crew_signal(&s->crew, v, SIGCONT);
        break;
    case WT_FAULT_cut:
        wires(wt_net_cut(v, true));
        break;
    case WT_FAULT_part:
        wires(wt_net_part(v, f->other, true));
        break;
    default:
        break;
    }
    if (wt_fault_own(f->kind) == WT_OWN_HOLD &&
        (s->crew.hit & wt_bit(v)) != 0) {
        wt_crew_go(&s->crew, v);
    }
}

static bool is_outage(enum wt_fault_kind kind)
{
    return kind == WT_FAULT_stop || kind == WT_FAULT_cut ||
           kind == WT_FAULT_part;
}

/* All that still live have answered; the victim is out of reach, or dead, and
 * the others go on without it. Then it is as before. */
static void go_on_without(struct wt_soak *s, const struct wt_fault *f,
                          uint64_t struck_ns)
{
    bool wire = f->kind != WT_FAULT_stop;
    uint64_t until = struck_ns + (wire ? 3 : 2) * s->crew.params.detect_ns;
    begin(s, wt_fault_all(s) & ~wt_bit(f->victim), 0, NULL);
    exact(s, wt_fault_all(s) & ~wt_bit(f->victim), 0,
          "query without the victim");
    uint64_t now = wl_now_ns();
    if (is_outage(f->kind) && now < until) { /* every link finds it */
        (void)wt_crew_look(&s->crew, 0, false, until - now);
    }
    if (f->kind == WT_FAULT_stop) {
        wt_crew_signal(&s->crew, f->victim, SIGCONT);
    } else if (f->kind == WT_FAULT_cut) {
        wires(wt_net_cut(f->victim, false));
    } else if (f->kind == WT_FAULT_part) {
        wires(wt_net_part(f->victim, f->other, false));
    }
}

/* Take from the victim what its fault says, or give it back. */
static void without(struct wt_soak *s, const struct wt_fault *f, enum wt_op op)
{
    tell(s, f->victim,
         (struct wt_order){.op = op, .own = wt_fault_own(f->kind)});
    wt_crew_await(&s->crew, wt_bit(f->victim));
}

/* It closes everything and exits: in the query, or if that was over, now. */
static void leave(struct wt_soak *s, const struct wt_fault *f)
{
    if (!wt_crew_look(&s->crew, wt_bit(f->victim), false, moment_ns)) {
        wt_crew_await(&s->crew, wt_bit(f->victim)); /* complains */
    }
    if ((s->crew.gone & wt_bit(f->victim)) == 0) {
        tell(s, f->victim, (struct wt_order){.op = WT_QUIT});
    }
    wt_crew_end(&s->crew, f->victim, 0);
}

/* What these members say of it; returns how many of them ended well. */
static uint32_t judge(struct wt_soak *s, const struct wt_fault *f,
                      uint64_t members)
{
    uint32_t well = 0;
    wt_crew_await(&s->crew, members);
    for (uint32_t k = 0; k < s->crew.params.n; k++) {
        if ((members & wt_bit(k)) != 0) {
            wt_fault_judge(s, f, k);
            well += wt_crew_answer(&s->crew, k)->code == WEIR_DONE;
        }
    }
    return well;
}

/* All that the fault leaves alone have answered in time. */
static void note_time(struct wt_soak *s, const struct wt_fault *f,
                      uint64_t struck_ns)
{
    struct wt_tally *t = &s->tally[f->kind];
    uint64_t took = wl_now_ns() - struck_ns;
    t->last_ns = took > t->last_ns ? took : t->last_ns;
    if (took > 9 * s->crew.params.detect_ns + UINT64_C(5000000000)) {
        wt_soak_violation("the last survivor answered after %.1f s",
                          (double)took * 1e-9);
    }
}

static void play(struct wt_soak *s, const struct wt_fault *f)
{
    struct wt_tally *t = &s->tally[f->kind];
    bool dies = f->kind == WT_FAULT_leave || f->kind == WT_FAULT_kill;
    bool away = f->kind == WT_FAULT_stop || f->kind == WT_FAULT_cut;
    uint64_t first = wt_fault_all(s) & ~(dies || away ? wt_bit(f->victim) : 0);
    begin(s, wt_fault_all(s), f->size, f);
    if (wt_fault_own(f->kind) == WT_OWN_TELL ||
        wt_fault_own(f->kind) == WT_OWN_HOLD) {
        strike(s, f);
    }
    uint64_t struck = wl_now_ns();
    if (f->kind == WT_FAULT_leave) {
        leave(s, f);
    }
    uint32_t due = s->crew.params.n - (dies ? 1 : 0);
    uint32_t well = judge(s, f, first);
    note_time(s, f, struck);
    if (is_outage(f->kind) || f->kind == WT_FAULT_kill) {
        go_on_without(s, f, struck);
    }
    well += away ? judge(s, f, wt_bit(f->victim)) : 0;
    t->rounds++;
    t->exact += well == due;
    t->failed += well < due;
    t->limit += f->kind == WT_FAULT_files && wt_fault_says_limit(s);
    if (dies) {
        come_back(s, f->victim, f->away);
    }
}

/* ---- rounds -------------------------------------------------------------- */

/* A member that was stopped goes on as soon as it knows that one of its links
 * was given up. Others were, too, and the ends of those connections may reach
 * it when it has opened the next query: that one may fail, naming it, and no
 * more. */
static void meet_again(struct wt_soak *s, const struct wt_fault *f)
{
    bool again = false;
    begin(s, wt_fault_all(s), f->size, NULL);
    wt_crew_await(&s->crew, wt_fault_all(s));
    for (uint32_t k = 0; k < s->crew.params.n; k++) {
        const struct wt_answer *a = wt_crew_answer(&s->crew, k);
        if (a->code == WEIR_DONE) {
            wt_fault_same_rows(s, k, f->size);
            continue;
        }
        again = true;
        if (a->code != WEIR_ERR_PEER_LOST ||
            !wt_fault_names(s, wt_bit(f->victim), a->message)) {
            wt_soak_violation("first query after it: member %u: %s (%s)", k,
                              weir_err_name(a->code), a->message);
        }
    }
    s->tally[f->kind].again += again;
}

void wt_play_begin(struct wt_soak *s)
{
    uint32_t n = s->crew.params.n;
    for (uint32_t k = 0; k < n; k++) {
        start(s, k, true);
    }
    for (uint32_t k = 0; k < n; k++) {
        tell(s, k, (struct wt_order){.op = WT_JOIN});
    }
    wt_crew_await(&s->crew, wt_fault_all(s));
    for (uint32_t size = 0; size < WT_SIZES; size++) {
        begin(s, wt_fault_all(s), size, NULL);
        exact(s, wt_fault_all(s), size, "first query");
        for (uint32_t k = 0; k < n; k++) {
            s->exact[size][k] = wt_crew_answer(&s->crew, k)->sums;
        }
    }
    for (uint32_t i = 0; i < WARM; i++) {
        begin(s, wt_fault_all(s), 0, NULL);
        exact(s, wt_fault_all(s), 0, "first queries");
    }
}

void wt_play_round(struct wt_soak *s)
{
    struct wt_fault f = wt_fault_draw(s);
    (void)snprintf(now_text, sizeof(now_text),
                   "round %" PRIu64 ": %s, member %u (other %u), %" PRIu64
                   " rows, at %" PRIu64 " + %" PRIu64 " us%s",
                   s->round, wt_fault_text(f.kind), f.victim, f.other,
                   wt_rows_of[f.size], f.at, f.delay_ns / 1000,
                   f.away ? ", comes back elsewhere" : "");
    if (f.kind == WT_FAULT_files || f.kind == WT_FAULT_memory) {
        wt_crew_end(&s->crew, f.other, SIGKILL); /* links have to be made */
        come_back(s, f.other, f.away);
        without(s, &f, WT_TAKE);
    }
    play(s, &f);
    if (f.kind == WT_FAULT_files || f.kind == WT_FAULT_memory) {
        without(s, &f, WT_GIVE);
    }
    if (f.kind == WT_FAULT_stop) {
        meet_again(s, &f);
    }
    begin(s, wt_fault_all(s), f.size, NULL);
    exact(s, wt_fault_all(s), f.size, "query after the fault");
    for (uint32_t k = 0; k < s->crew.params.n; k++) {
        tell(s, k, (struct wt_order){.op = WT_LOOK});
    }
    wt_crew_await(&s->crew, wt_fault_all(s));
}
