/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak: a cluster of processes that lives long, and real faults, one per round.
 *
 *   soak [--rounds N] [--time SECONDS] [--seed S] [--first ROUND]
 *        [--transport shm|tcp|auto|verbs] [--listen ADDRESS:0] [--members N]
 *        [--detect-ms N] [--only FAULT] [--every N]
 *
 * Ends with 1 at the first thing that must not be, and says how to repeat it.
 * What a round does is a function of the seed and of its number; when the
 * kernel runs whom is not.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/clock.h"
#include "test/soak/look.h"
#include "test/soak/play.h"
#include "test/support/net.h"

struct options {
    uint64_t rounds;
    uint64_t time_s;
    uint64_t seed;
    uint64_t first;
    uint64_t members;
    uint64_t detect_ms;
    uint64_t every;
    const char *transport;
    const char *listen;
};

static struct options options = {.rounds = 100,
                                 .seed = 1,
                                 .first = 1,
                                 .members = 8,
                                 .detect_ms = 1000,
                                 .every = 50,
                                 .transport = "shm"};
static struct wt_soak soak;
static struct wt_looks looks[WT_CREW];
static struct wt_looks of_run;

void wt_soak_violation(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)fflush(stdout);
    (void)fprintf(stderr, "soak: VIOLATION in %s\nsoak: ", wt_play_now());
    (void)vfprintf(stderr, fmt, args);
    (void)fprintf(
        stderr,
        "\nsoak: repeat: soak --transport %s --members %" PRIu64
        " --detect-ms %" PRIu64 " --seed %" PRIu64 " --first %" PRIu64
        " --rounds 1%s%s; it began with round "
        "%" PRIu64 "\n",
        options.transport, options.members, options.detect_ms, options.seed,
        soak.round, soak.only != WT_FAULT_N ? " --only " : "",
        soak.only != WT_FAULT_N ? wt_fault_name(soak.only) : "", options.first);
    va_end(args);
    _exit(EXIT_FAILURE); /* members die with their parent */
}

/* ---- options ------------------------------------------------------------- */

static void usage(void)
{
    (void)fprintf(stderr,
                  "usage: soak [--rounds N] [--time SECONDS] [--seed S]\n"
                  "            [--first ROUND] [--transport shm|tcp|auto|verbs]"
                  "\n            [--listen ADDRESS:0] [--members 3..%d] "
                  "[--detect-ms N]\n            [--only FAULT] [--every N]\n",
                  WT_CREW);
    exit(64);
}

static uint64_t number(const char *text)
{
    char *end = NULL;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end != '\0') {
        usage();
    }
    return value;
}

static void parse(int argc, char **argv)
{
    static const struct option longs[] = {
        {"rounds", 1, NULL, 'r'},  {"time", 1, NULL, 't'},
        {"seed", 1, NULL, 's'},    {"first", 1, NULL, 'f'},
        {"members", 1, NULL, 'm'}, {"detect-ms", 1, NULL, 'd'},
        {"every", 1, NULL, 'e'},   {"transport", 1, NULL, 'T'},
        {"listen", 1, NULL, 'l'},  {"only", 1, NULL, 'o'},
        {NULL, 0, NULL, 0}};
    uint64_t *const to[] = {
        ['r'] = &options.rounds,  ['t'] = &options.time_s,
        ['s'] = &options.seed,    ['f'] = &options.first,
        ['m'] = &options.members, ['d'] = &options.detect_ms,
        ['e'] = &options.every};
    int c;
    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == 'T') {
            options.transport = optarg;
        } else if (c == 'l') {
            options.listen = optarg;
        } else if (c == 'o') {
            soak.only = wt_fault_find(optarg);
            if (soak.only == WT_FAULT_N) {
                usage();
            }
        } else if (c == '?') {
            usage();
        } else {
            *to[c] = number(optarg);
        }
    }
    if (optind != argc || options.members < 3 || options.members > WT_CREW ||
        options.every == 0 || options.detect_ms == 0) {
        usage();
    }
}

/* ---- the run ------------------------------------------------------------- */

static void open_all(void)
{
    struct wt_crew_params params = {.n = (uint32_t)options.members,
                                    .transport = options.transport,
                                    .listen = options.listen,
                                    .detect_ns = options.detect_ms * 1000000};
    soak.seed = options.seed;
    soak.round = options.first;
    if (strcmp(options.transport, "tcp") == 0) {
        const char *why = wt_net_open(params.n);
        params.net = why == NULL;
        if (why != NULL) {
            (void)printf("no wires are cut: %s\n", why);
        }
    } else {
        (void)printf("no wires are cut: %s has none of its own here\n",
                     options.transport);
    }
    wt_crew_open(&soak.crew, &params);
    wt_play_begin(&soak);
}

static void look(void)
{
    char run[32];
    uint64_t stayers = wt_fault_stayers(&soak);
    (void)snprintf(run, sizeof(run), "soak-%ld-", (long)getpid());
    wt_look_run(&of_run, run);
    for (uint32_t k = 0; k < soak.crew.params.n; k++) {
        if ((stayers >> k & 1) != 0) {
            wt_look(&looks[k], soak.crew.pid[k],
                    soak.crew.slot[k].answer.heap_bytes);
        }
    }
}

static void progress(uint64_t done, uint64_t begin_ns)
{
    const uint32_t k = 1; /* the first of the stayers */
    const uint64_t *v = looks[k].value[looks[k].n - 1];
    (void)printf("%6" PRIu64 " rounds, %6.1f s; member %u: heap %" PRIu64
                 " kB, rss %" PRIu64 " kB, %" PRIu64 " descriptors, %" PRIu64
                 " mappings\n",
                 done, (double)(wl_now_ns() - begin_ns) * 1e-9, k,
                 v[WT_LOOK_heap], v[WT_LOOK_rss], v[WT_LOOK_descriptors],
                 v[WT_LOOK_mappings]);
    (void)fflush(stdout);
}

static void summary(void)
{
    (void)printf("%-8s %7s %7s %7s %8s  members' ends\n", "fault", "rounds",
                 "exact", "failed", "longest");
    for (int i = 0; i < WT_FAULT_N; i++) {
        const struct wt_tally *t = &soak.tally[i];
        if (t->rounds == 0) {
            continue;
        }
        (void)printf("%-8s %7u %7u %7u %6.2f s ", wt_fault_name(i), t->rounds,
                     t->exact, t->failed, (double)t->last_ns * 1e-9);
        for (uint32_t c = 0; c < WT_CODES && t->times[c] != 0; c++) {
            const char *name = t->code[c] == WEIR_AGAIN
                                   ? "left"
                                   : weir_err_name(t->code[c]) + 5;
            (void)printf(" %s %u", name, t->times[c]);
        }
        if (t->limit != 0) {
            (void)printf(" (in %u: ulimit -n)", t->limit);
        }
        if (t->again != 0) {
            (void)printf(" (after %u: once more)", t->again);
        }
        (void)printf("\n");
    }
}

static bool all_flat(void)
{
    bool flat = wt_look_flat(&of_run, "run");
    wt_look_close(&of_run);
    for (uint32_t k = 0; k < WT_CREW; k++) {
        char who[16];
        (void)snprintf(who, sizeof(who), "member %u", k);
        if (looks[k].n != 0) {
            flat = wt_look_flat(&looks[k], who) && flat;
        }
        wt_look_close(&looks[k]);
    }
    return flat;
}

int main(int argc, char **argv)
{
    uint64_t begin = wl_now_ns();
    uint64_t done = 0;
    soak.only = WT_FAULT_N;
    parse(argc, argv);
    (void)printf("soak: %s, %" PRIu64 " members, detect_ns %" PRIu64
                 " ms, seed %" PRIu64 "\n",
                 options.transport, options.members, options.detect_ms,
                 options.seed);
    open_all();
    while (done < options.rounds &&
           (options.time_s == 0 ||
            wl_now_ns() - begin < options.time_s * 1000000000u)) {
        wt_play_round(&soak);
        look();
        soak.round++;
        done++;
        if (done % options.every == 0) {
            progress(done, begin);
        }
    }
    (void)printf("%" PRIu64 " rounds in %.1f s\n", done,
                 (double)(wl_now_ns() - begin) * 1e-9);
    summary();
    bool flat = all_flat();
    if (!flat) {
        wt_soak_violation("something grows, see above");
    }
    wt_crew_close(&soak.crew);
    return EXIT_SUCCESS;
}
