/* SPDX-License-Identifier: Apache-2.0 */
/* weir sim: whole clusters under faults, in one thread and virtual time. */
#define _GNU_SOURCE 1
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/status.h"
#include "tools/sim/runs.h"
#include "tools/sim/shrink.h"

enum { TRIALS = 300, DEFAULT_RUNS = 1000 };

struct sim_args {
    uint64_t seed;
    bool one; /* --seed */
    uint64_t first;
    uint64_t last;
    uint32_t nodes;
    uint32_t rows;
    const char *plan;
    uint32_t kinds;
    bool scheduled;
    struct ws_schedule schedule;
    uint32_t jobs;
    uint64_t limit_ns;
    bool as_is;
    bool log;
};

/* ---- arguments ----------------------------------------------------------- */

static uint64_t take_number(struct argp_state *state, const char **at)
{
    char *end = NULL;
    if (**at < '0' || **at > '9') {
        argp_error(state, "--seeds is A..B, two numbers");
        return 0;
    }
    uint64_t n = strtoull(*at, &end, 10);
    *at = end;
    return n;
}

static void take_seeds(struct argp_state *state, void *args, const char *text)
{
    struct sim_args *a = args;
    const char *at = text;
    a->first = take_number(state, &at);
    if (strncmp(at, "..", 2) != 0) {
        argp_error(state, "--seeds is A..B, two numbers");
        return;
    }
    at += 2;
    a->last = take_number(state, &at);
    if (*at != '\0' || a->last < a->first || a->last == UINT64_MAX) {
        argp_error(state, "--seeds is A..B, two numbers, B not below A");
    }
}

static void take_seed(struct argp_state *state, void *args, const char *text)
{
    struct sim_args *a = args;
    const char *at = text;
    a->seed = take_number(state, &at);
    a->one = true;
    if (*at != '\0') {
        argp_error(state, "--seed is a number");
    }
}

static void take_faults(struct argp_state *state, void *args, const char *text)
{
    struct sim_args *a = args;
    a->kinds = 0;
    for (const char *at = text; strcmp(text, "none") != 0 && *at != '\0';) {
        const size_t len = strcspn(at, ",");
        const enum ws_fault_kind kind = ws_fault_find(at, len);
        if (kind == WS_FAULT_N) {
            argp_error(state, "--faults: no fault \"%.*s\"", (int)len, at);
            return;
        }
        a->kinds |= 1u << kind;
        at += len + (at[len] == ',');
    }
}

static void take_schedule(struct argp_state *state, void *args,
                          const char *text)
{
    struct sim_args *a = args;
    struct weir_error err = {0};
    a->scheduled = true;
    if (ws_schedule_parse(&a->schedule, text, &err) != WEIR_OK) {
        argp_error(state, "--schedule: %s", err.message);
    }
}

static const struct option_row rows[] = {
    {"seed", 's', "SEED", "One run, which says what it was",
     OPTION_OWN(take_seed)},
    {"seeds", 0, "A..B", "Many runs [1..1000]", OPTION_OWN(take_seeds)},
    {"nodes", 'n', "N", "Nodes [2 to 5, by seed]",
     OPTION_U32(struct sim_args, nodes, 2, WS_NODES)},
    {"rows", 'r', "N", "Most rows that a writer makes [500]",
     OPTION_U32(struct sim_args, rows, 1, WS_MOST_ROWS)},
    {"plan", 'p', "PLAN", "two-stage, join, random or executor [any, by seed]",
     OPTION_WORD(struct sim_args, plan, ws_plan_names)},
    {"faults", 'f', "LIST", "Which there may be, with commas; none [all]",
     OPTION_OWN(take_faults)},
    {"schedule", 0, "FAULTS", "These, instead of those of the seed",
     OPTION_OWN(take_schedule)},
    {"jobs", 'j', "N", "Processes [one per processor]",
     OPTION_U32(struct sim_args, jobs, 1, WS_JOBS)},
    {"time", 't', "SECONDS", "Begin no run after this time",
     OPTION_SECONDS(struct sim_args, limit_ns, 1, 1000000)},
    {"as-is", 0, NULL, "Do not look for a shorter run that fails, too",
     OPTION_FLAG(struct sim_args, as_is)},
    {"log", 0, NULL, "Print what the nodes log, with virtual times (--seed)",
     OPTION_FLAG(struct sim_args, log)},
    {.name = NULL},
};

static const char doc[] =
    "Run clusters of nodes and their queries under seeded faults, each in one "
    "thread under virtual time, and look at the invariants of the protocol "
    "after every step.\vA run is a function of its seed and of the options. "
    "One that fails is shrunk, and the command that repeats it is printed. "
    "docs/simulation.md says what the faults are, and what is looked at.\n"
    "\n"
    "Exit status: 0 all held; 1 some did not; 2 wrong use.";

static struct ws_options options_of(const struct sim_args *a)
{
    struct ws_options o = {.seed = a->seed,
                           .nodes = a->nodes,
                           .rows = a->rows,
                           .plan = WS_PLANS,
                           .kinds = a->kinds,
                           .scheduled = a->scheduled,
                           .schedule = a->schedule};
    for (uint32_t i = 0; a->plan != NULL && i < WS_PLANS; i++) {
        if (strcmp(a->plan, ws_plan_names[i]) == 0) {
            o.plan = i;
        }
    }
    return o;
}

/* ---- a failure ----------------------------------------------------------- */

struct shrinking {
    const char *rule;
};

static bool fails_alike(void *arg, const struct ws_options *o)
{
    const struct shrinking *s = arg;
    struct ws_result r;
    return ws_runs_one(o, &r, NULL) == WEIR_OK &&
           strcmp(r.finding.rule, s->rule) == 0;
}

static void print_command(const struct ws_options *o)
{
    char schedule[WS_SCHEDULE_BYTES];
    ws_schedule_print(&o->schedule, schedule, sizeof(schedule));
    (void)printf("  weir sim --seed %" PRIu64, o->seed);
    if (o->nodes != 0) {
        (void)printf(" --nodes %u", o->nodes);
    }
    if (o->rows != 0) {
        (void)printf(" --rows %u", o->rows);
    }
    if (o->plan != WS_PLANS) {
        (void)printf(" --plan %s", ws_plan_names[o->plan]);
    }
    (void)printf(" --schedule '%s'\n", schedule);
}

/* The same run with its schedule written out. */
static struct ws_options written_out(const struct ws_options *o)
{
    struct ws_options w = *o;
    struct ws_shape shape;
    ws_shape_draw(&shape, o);
    w.scheduled = true;
    w.schedule = shape.schedule;
    return w;
}

static void report(const struct sim_args *a, uint64_t seed,
                   const struct ws_finding *f)
{
    struct ws_options o = options_of(a);
    o.seed = seed;
    o = written_out(&o);
    const uint32_t faults = o.schedule.n;
    struct shrinking how = {f->rule};
    struct ws_shrinking s = {
        .fails = fails_alike, .arg = &how, .most = a->as_is ? 0 : TRIALS};
    (void)printf("seed %" PRIu64 ": %s %s\n", seed, f->rule, f->text);
    (void)fflush(stdout);
    ws_shrink(&s, &o);
    if (!a->as_is) {
        (void)printf("  of %u faults %u are enough (%u trials):\n", faults,
                     o.schedule.n, s.trials);
    }
    print_command(&o);
}

/* ---- runs ---------------------------------------------------------------- */

static int run_one(const struct sim_args *a)
{
    struct ws_options o = options_of(a);
    o.log = a->log;
    const struct ws_options w = written_out(&o);
    struct ws_result r;
    struct ws_shape shape;
    struct weir_error err = {0};
    if (ws_runs_one(&o, &r, &err) != WEIR_OK) {
        (void)fprintf(stderr, "weir sim: %s\n", err.message);
        return status_of(err.code);
    }
    ws_shape_draw(&shape, &o);
    if (r.finding.rule[0] != '\0') {
        report(a, a->seed, &r.finding);
        return STATUS_FAILED;
    }
    (void)printf("%u nodes of %u workers, %u queries, %" PRIu64
                 " events in %.3f ms; %u parts of queries done, %u failed as "
                 "they may; trace %016" PRIx64 "\n",
                 shape.nodes, shape.workers, shape.n_queries, r.events,
                 (double)r.virtual_ns / 1e6, r.done, r.failed, r.trace);
    print_command(&w);
    return STATUS_OK;
}

static int run_many(const struct sim_args *a)
{
    struct ws_runs_params p = {.options = options_of(a),
                               .first = a->first,
                               .last = a->last,
                               .jobs = a->jobs,
                               .limit_ns = a->limit_ns,
                               .most_bad = WS_FAILURES};
    struct ws_tally t;
    struct weir_error err = {0};
    if (ws_runs(&p, &t, &err) != WEIR_OK) {
        (void)fprintf(stderr, "weir sim: %s\n", err.message);
        return status_of(err.code);
    }
    const double s = (double)t.took_ns / 1e9;
    for (uint32_t i = 0; i < t.n_bad; i++) {
        report(a, t.bad[i].seed, &t.bad[i].finding);
    }
    (void)printf(
        "seeds %" PRIu64 "..%" PRIu64 ": %" PRIu64
        " runs in %.1f s, %.0f a second; parts of queries: %" PRIu64
        " done, %" PRIu64 " failed as they may; hash %016" PRIx64 "; %s\n",
        a->first, a->last, t.runs, s, (double)t.runs / s, t.done, t.failed,
        t.hash, t.n_bad == 0 ? "all invariants held" : "SOME FAILED");
    return t.n_bad == 0 ? STATUS_OK : STATUS_FAILED;
}

int cmd_sim(int argc, char **argv)
{
    static const struct options options = {.rows = rows, .doc = doc};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct sim_args a = {.first = 1,
                         .last = DEFAULT_RUNS,
                         .kinds = UINT32_MAX,
                         .jobs = processors > 0 && processors <= WS_JOBS
                                     ? (uint32_t)processors
                                     : 1};
    options_parse(&options, argc, argv, &a);
    return a.one ? run_one(&a) : run_many(&a);
}
