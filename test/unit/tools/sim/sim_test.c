/* SPDX-License-Identifier: Apache-2.0 */
/* weir sim by itself: schedules, shrinking, one seed and one run. */
#include <criterion/criterion.h>
#include <string.h>

#include "tools/sim/runs.h"
#include "tools/sim/shrink.h"
#include "tools/sim/world.h"

static struct ws_options any(uint64_t seed)
{
    return (struct ws_options){
        .seed = seed, .plan = WS_PLANS, .kinds = UINT32_MAX};
}

/* ---- schedules ----------------------------------------------------------- */

Test(sim_schedule, is_printed_and_read_back)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        const struct ws_options o = any(seed);
        struct ws_shape shape;
        struct ws_schedule back;
        struct weir_error err = {0};
        char text[WS_SCHEDULE_BYTES];
        char again[WS_SCHEDULE_BYTES];
        ws_shape_draw(&shape, &o);
        ws_schedule_print(&shape.schedule, text, sizeof(text));
        cr_assert_eq(ws_schedule_parse(&back, text, &err), WEIR_OK, "%s: %s",
                     text, err.message);
        ws_schedule_print(&back, again, sizeof(again));
        cr_assert_str_eq(text, again);
    }
}

Test(sim_schedule, has_every_kind)
{
    uint32_t seen = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        const struct ws_options o = any(seed);
        struct ws_shape shape;
        ws_shape_draw(&shape, &o);
        for (uint32_t i = 0; i < shape.schedule.n; i++) {
            seen |= 1u << shape.schedule.fault[i].kind;
        }
    }
    cr_assert_eq(seen, (1u << WS_FAULT_N) - 1);
}

Test(sim_schedule, what_is_no_fault_is_refused)
{
    static const char *const bad[] = {
        "cot@1:0-1",   "cut@1:0",    "cut@1:0-1*4",
        "cut:0-1",     "stall@1:2",  "stall@1:2+x",
        "crash@1:2+4", "crash@-1:2", "cut@1:0-1,cut@2:0-1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ws_schedule s;
        struct weir_error err = {0};
        cr_assert_eq(ws_schedule_parse(&s, bad[i], &err), WEIR_ERR_ARG, "%s",
                     bad[i]);
        cr_assert(strstr(err.message, "no fault") != NULL, "%s", err.message);
    }
}

/* ---- shrinking ----------------------------------------------------------- */

/* Fails with a cut and a later stall, on 3 nodes and with 10 rows at least. */
static bool fails(void *arg, const struct ws_options *o)
{
    bool cut = false;
    bool both = false;
    (void)arg;
    for (uint32_t i = 0; i < o->schedule.n; i++) {
        const struct ws_fault *f = &o->schedule.fault[i];
        cut = cut || f->kind == WS_FAULT_cut;
        both = both || (cut && f->kind == WS_FAULT_stall);
    }
    return both && (o->nodes == 0 || o->nodes >= 3) &&
           (o->rows == 0 || o->rows >= 10);
}

Test(sim_shrink, finds_the_least_that_fails)
{
    static const char text[] =
        "delay@1:0*5+6 cut@2:0-1 crash@3:1 stall@4:0+9 stall@5:1+9 cut@6:1-0 "
        "hold@7:1+3 stall@8:0+2 crash@9:0";
    struct ws_options o = any(1);
    struct ws_shrinking s = {.fails = fails, .most = 1000};
    struct weir_error err = {0};
    o.scheduled = true;
    o.nodes = 5;
    cr_assert_eq(ws_schedule_parse(&o.schedule, text, &err), WEIR_OK, "%s",
                 err.message);
    ws_shrink(&s, &o);
    cr_assert_eq(o.schedule.n, 2);
    cr_assert_eq(o.schedule.fault[0].kind, WS_FAULT_cut);
    cr_assert_eq(o.schedule.fault[1].kind, WS_FAULT_stall);
    cr_assert_eq(o.nodes, 3);
    cr_assert(o.rows >= 10 && o.rows < 20, "%u", o.rows);
    cr_assert_lt(s.trials, 100);
}

/* ---- runs ---------------------------------------------------------------- */

Test(sim_run, one_seed_is_one_run, .timeout = 60)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const struct ws_options o = any(seed);
        struct ws_shape shape;
        struct ws_result a;
        struct ws_result b;
        ws_shape_draw(&shape, &o);
        ws_world_run(&shape, &a);
        ws_world_run(&shape, &b);
        cr_assert_str_empty(a.finding.rule, "seed %d: %s %s", (int)seed,
                            a.finding.rule, a.finding.text);
        cr_assert(a.events == b.events && a.trace == b.trace &&
                      a.virtual_ns == b.virtual_ns,
                  "seed %d", (int)seed);
    }
}

/* The schedule of a run, written out, is the run. */
Test(sim_run, its_schedule_repeats_it, .timeout = 60)
{
    for (uint64_t seed = 21; seed <= 40; seed++) {
        struct ws_options o = any(seed);
        struct ws_shape shape;
        struct ws_result a;
        struct ws_result b;
        char text[WS_SCHEDULE_BYTES];
        ws_shape_draw(&shape, &o);
        ws_world_run(&shape, &a);
        ws_schedule_print(&shape.schedule, text, sizeof(text));
        o.scheduled = true;
        o.kinds = 0;
        cr_assert_eq(ws_schedule_parse(&o.schedule, text, NULL), WEIR_OK);
        ws_shape_draw(&shape, &o);
        ws_world_run(&shape, &b);
        cr_assert_eq(a.trace, b.trace, "seed %d", (int)seed);
    }
}

Test(sim_run, processes_do_not_change_what_comes_out, .timeout = 60)
{
    struct ws_runs_params p = {
        .options = any(0), .first = 1, .last = 60, .jobs = 1, .most_bad = 1};
    struct ws_tally a;
    struct ws_tally b;
    cr_assert_eq(ws_runs(&p, &a, NULL), WEIR_OK);
    p.jobs = 3;
    cr_assert_eq(ws_runs(&p, &b, NULL), WEIR_OK);
    cr_assert_eq(a.n_bad + b.n_bad, 0);
    cr_assert(a.runs == 60 && b.runs == 60);
    cr_assert_eq(a.hash, b.hash);
}
