/* SPDX-License-Identifier: Apache-2.0 */
#include "test/soak/fault.h"

#include <inttypes.h>
#include <string.h>

#include "tools/sim/random.h"

const uint64_t wt_rows_of[WT_SIZES] = {1000, 15000, 60000};

/* What may come of a kind beside exact rows; 0 ends a list. */
struct outcome {
    enum wt_own own;
    weir_err others[6]; /* with the victim's name, or the other one's */
    weir_err self[6];   /* what the victim itself may end with */
    bool never_exact;   /* it has to fail */
    const char *text;   /* in the message of those that failed */
};

static const struct outcome outcomes[WT_FAULT_N] = {
    [WT_FAULT_nothing] = {.own = WT_OWN_NOTHING},
    [WT_FAULT_kill] = {.own = WT_OWN_TELL, .others = {WEIR_ERR_PEER_LOST}},
    [WT_FAULT_stop] = {.own = WT_OWN_TELL,
                       .others = {WEIR_ERR_PEER_LOST},
                       .self = {WEIR_ERR_PEER_LOST}},
    [WT_FAULT_blink] = {.own = WT_OWN_TELL},
    [WT_FAULT_cut] = {.own = WT_OWN_HOLD,
                      .others = {WEIR_ERR_PEER_LOST},
                      .self = {WEIR_ERR_PEER_LOST}},
    [WT_FAULT_part] = {.own = WT_OWN_HOLD,
                       .others = {WEIR_ERR_PEER_LOST},
                       .self = {WEIR_ERR_PEER_LOST}},
    [WT_FAULT_cancel] = {.own = WT_OWN_CANCEL,
                         .others = {WEIR_ERR_CANCELLED},
                         .self = {WEIR_ERR_CANCELLED},
                         .text = "soak: cancelled by"},
    [WT_FAULT_fail] = {.own = WT_OWN_FAIL,
                       .others = {WEIR_ERR_QUERY_MEMORY},
                       .self = {WEIR_ERR_QUERY_MEMORY},
                       .text = "soak: no room"},
    [WT_FAULT_close] = {.own = WT_OWN_CLOSE,
                        .others = {WEIR_ERR_ABORTED},
                        .self = {WEIR_AGAIN}},
    [WT_FAULT_leave] = {.own = WT_OWN_LEAVE, .others = {WEIR_ERR_ABORTED}},
    [WT_FAULT_budget] = {.own = WT_OWN_BUDGET,
                         .others = {WEIR_ERR_ABORTED},
                         .self = {WEIR_ERR_BUDGET},
                         .never_exact = true},
    [WT_FAULT_files] = {.own = WT_OWN_FILES,
                        .others = {WEIR_ERR_PEER_LOST, WEIR_ERR_PEER_REFUSED,
                                   WEIR_ERR_ABORTED},
                        .self = {WEIR_ERR_PEER_LOST, WEIR_ERR_PEER_REFUSED,
                                 WEIR_ERR_SYSTEM}},
    [WT_FAULT_memory] = {.own = WT_OWN_MEMORY,
                         .others = {WEIR_ERR_PEER_LOST, WEIR_ERR_PEER_REFUSED,
                                    WEIR_ERR_ABORTED},
                         .self = {WEIR_ERR_PEER_LOST, WEIR_ERR_PEER_REFUSED,
                                  WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM}},
};

static const char *const names[WT_FAULT_N] = {
#define WT_FAULT_NAME(name, text) #name,
    WT_FAULTS(WT_FAULT_NAME)
#undef WT_FAULT_NAME
};

static const char *const texts[WT_FAULT_N] = {
#define WT_FAULT_TEXT(name, text) text,
    WT_FAULTS(WT_FAULT_TEXT)
#undef WT_FAULT_TEXT
};

const char *wt_fault_name(enum wt_fault_kind kind)
{
    return names[kind];
}

enum wt_fault_kind wt_fault_find(const char *name)
{
    int kind = 0;
    while (kind < WT_FAULT_N && strcmp(names[kind], name) != 0) {
        kind++;
    }
    return (enum wt_fault_kind)kind;
}

const char *wt_fault_text(enum wt_fault_kind kind)
{
    return texts[kind];
}

enum wt_own wt_fault_own(enum wt_fault_kind kind)
{
    return outcomes[kind].own;
}

uint64_t wt_fault_stayers(const struct wt_soak *s)
{
    uint32_t n = s->crew.params.n * 3 / 8;
    return (wt_bit(n > 0 ? n : 1) - 1) << 1; /* member 0, which judges, dies */
}

/* ---- judging ------------------------------------------------------------- */

void wt_fault_same_rows(const struct wt_soak *s, uint32_t k, uint32_t size)
{
    const struct wt_sums *got = &wt_crew_answer(&s->crew, k)->sums;
    const struct wt_sums *due = &s->exact[size][k];
    if (memcmp(got, due, sizeof(*got)) != 0) {
        wt_soak_violation("member %u: %" PRIu64 " rows, sum %" PRIx64
                          ", must be %" PRIu64 ", %" PRIx64,
                          k, got->got_rows, got->got_sum, due->got_rows,
                          due->got_sum);
    }
}

static bool is_in(weir_err code, const weir_err *list, uint32_t n)
{
    for (uint32_t i = 0; i < n && list[i] != 0; i++) {
        if (list[i] == code) {
            return true;
        }
    }
    return false;
}

bool wt_fault_names(const struct wt_soak *s, uint64_t members,
                    const char *message)
{
    for (uint32_t k = 0; k < s->crew.params.n; k++) {
        if ((members & wt_bit(k)) != 0 &&
            strstr(message, s->crew.slot[k].name) != NULL) {
            return true;
        }
    }
    return false;
}

/* Whom a message of member k may name. */
static uint64_t culprits(const struct wt_soak *s, const struct wt_fault *f,
                         uint32_t k)
{
    switch (f->kind) {
    case WT_FAULT_part:
    case WT_FAULT_files:
    case WT_FAULT_memory:
        return wt_bit(f->victim) | wt_bit(f->other);
    case WT_FAULT_stop:
    case WT_FAULT_cut: /* it finds that it has lost all others */
        return k == f->victim ? wt_fault_all(s) & ~wt_bit(k)
                              : wt_bit(f->victim);
    default:
        return wt_bit(f->victim);
    }
}

static void count(struct wt_tally *t, weir_err code)
{
    uint32_t i = 0;
    while (i + 1 < WT_CODES && t->times[i] != 0 && t->code[i] != code) {
        i++;
    }
    t->code[i] = code;
    t->times[i]++;
}

void wt_fault_judge(struct wt_soak *s, const struct wt_fault *f, uint32_t k)
{
    const struct outcome *o = &outcomes[f->kind];
    const struct wt_answer *a = wt_crew_answer(&s->crew, k);
    const weir_err *may = k == f->victim ? o->self : o->others;
    count(&s->tally[f->kind], a->code);
    if (a->code == WEIR_DONE && !o->never_exact) {
        wt_fault_same_rows(s, k, f->size);
        return;
    }
    if (!is_in(a->code, may, 6)) {
        wt_soak_violation("member %u may not end with %s (%s)", k,
                          weir_err_name(a->code), a->message);
    }
    bool local = a->code == WEIR_AGAIN || /* nobody told it */
                 weir_err_scope(a->code) == WEIR_SCOPE_CALL;
    if (!local && (!wt_fault_names(s, culprits(s, f, k), a->message) ||
                   (o->text != NULL && strstr(a->message, o->text) == NULL))) {
        wt_soak_violation("member %u: %s, but the message does not name who "
                          "or what was at fault: %s",
                          k, weir_err_name(a->code), a->message);
    }
}

bool wt_fault_says_limit(const struct wt_soak *s)
{
    for (uint32_t k = 0; k < s->crew.params.n; k++) {
        const struct wt_answer *a = wt_crew_answer(&s->crew, k);
        if (a->no_files || strstr(a->message, "ulimit -n") != NULL) {
            return true;
        }
    }
    return false;
}

/* ---- drawing ------------------------------------------------------------- */

static bool is_possible(const struct wt_soak *s, enum wt_fault_kind kind)
{
    return s->crew.params.net ||
           (kind != WT_FAULT_cut && kind != WT_FAULT_part);
}

static uint32_t pick_in(struct ws_random *r, const struct wt_soak *s,
                        uint64_t members)
{
    uint32_t k;
    do {
        k = ws_pick(r, s->crew.params.n);
    } while ((members & wt_bit(k)) == 0);
    return k;
}

struct wt_fault wt_fault_draw(const struct wt_soak *s)
{
    struct ws_random r = ws_random_of(s->seed, s->round);
    struct wt_fault f = {0};
    uint64_t mortal = wt_fault_all(s) & ~wt_fault_stayers(s);
    do {
        f.kind = (enum wt_fault_kind)ws_pick(&r, WT_FAULT_N);
    } while (!is_possible(s, f.kind));
    f.kind = s->only != WT_FAULT_N ? s->only : f.kind;
    bool dies = f.kind == WT_FAULT_kill || f.kind == WT_FAULT_leave;
    f.victim = pick_in(&r, s, dies ? mortal : wt_fault_all(s));
    f.other = pick_in(&r, s,
                      (f.kind == WT_FAULT_part ? wt_fault_all(s) : mortal) &
                          ~wt_bit(f.victim));
    f.size = ws_pick(&r, WT_SIZES);
    f.at = ws_below(&r, wt_rows_of[f.size] * 3);
    f.delay_ns = ws_below(&r, 3000000);
    f.away = ws_pick(&r, 2) == 1;
    return f;
}
