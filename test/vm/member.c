/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of three members of a cluster on two machines: 0 and 1 are on machine A,
 * 2 is on machine B, which is about to be lost. Run by cases of pair.sh.
 *
 *   member destroy|unplug SELF ADDRESS_0 ADDRESS_1 ADDRESS_2 FILE
 *
 * FILE is created when the member listens; it goes on once it can read a line.
 * All three run query 1, which has no end. Members 0 and 1 also run query 2 on
 * the same link, half of whose rows they hold back until query 1 is over. Once
 * query 1 moves, member 0 asks the host (vm.sh) to destroy machine B, or to
 * unplug the wire. Query 1 has to fail with the name of a lost member within
 * LATEST_NS, and query 2 has to end well. If the wire was only unplugged,
 * member 0 has it plugged in again; with the next line that they read, all
 * three run query 3, which has to end well. "sums" are of the last query, to
 * be added up over its members.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/support/plan.h"

enum { MEMBERS = 3, LOST = 2, ROWS = 20000, UNDER_WAY = 5000 };

#define DETECT_NS UINT64_C(5000000000)
/* Until the host has acted, a silent peer was found out, and a busy machine
 * has done both. */
#define LATEST_NS (4 * DETECT_NS)

struct member {
    uint32_t self;
    bool unplug;
    char **address; /* of all, then FILE */
    weir_node *node;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void check(weir_err rc, weir_err must, const char *what,
                  const struct weir_error *err)
{
    if (rc != must) {
        (void)printf("%s: %s, must be %s: %s\n", what, weir_err_name(rc),
                     weir_err_name(must), err->message);
        exit(EXIT_FAILURE);
    }
}

static void ask_host(const char *what)
{
    (void)printf("vm: %s\n", what);
    (void)fflush(stdout);
}

/* Wait for the word of the shell that feeds this member. */
static void await_word(const char *what)
{
    char line[16];
    if (fgets(line, sizeof(line), stdin) == NULL) {
        (void)printf("nobody said: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

static void meet(const struct member *m)
{
    FILE *file = fopen(m->address[MEMBERS], "w");
    if (file == NULL || fclose(file) != 0) {
        (void)printf("cannot make %s\n", m->address[MEMBERS]);
        exit(EXIT_FAILURE);
    }
    await_word("all listen");
}

static void open_node(struct member *m)
{
    static const char *const names[MEMBERS] = {"m0", "m1", "m2"};
    const char *listen = strchr(m->address[m->self], ':');
    struct weir_error err = {0};
    struct weir_member members[MEMBERS];
    struct weir_node_params params = {
        .name = names[m->self],
        .transport = "verbs",
        .listen = listen != NULL ? listen + 1 : "",
        .max_members = MEMBERS,
        .detect_ns = DETECT_NS,
    };
    check(weir_node_open(&params, &m->node, &err), WEIR_OK, "open", &err);
    meet(m);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct weir_member){
            .name = names[i], .address = m->address[i], .workers = 1};
    }
    check(weir_node_join(m->node, members, MEMBERS, &err), WEIR_OK, "join",
          &err);
}

static void tell_sums(const struct wt_plan *plan)
{
    (void)printf("sums %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                 plan->sums.made_rows, plan->sums.got_rows, plan->sums.made_sum,
                 plan->sums.got_sum);
}

/* ---- query 1 ------------------------------------------------------------- */

/* Is query 1 under way? It is for member 0 when each of the others has sent it
 * many rows: they get no further than a batch before all their links are up. */
static bool is_under_way(const struct member *m, const struct wt_plan *one,
                         uint64_t *from, uint64_t more)
{
    uint32_t member = 0;
    uint32_t worker = 0;
    if (more != 0) {
        weir_reader_source(one->reader[1], &member, &worker);
        from[member] += more;
    }
    return m->self == 0 ? from[1] >= 2 * UNDER_WAY && from[2] >= 2 * UNDER_WAY
                        : one->sums.got_rows >= UNDER_WAY;
}

/* Step query 1, and query 2 (NULL: has no part in it) as far as it may go,
 * until query 1 fails. */
static weir_err run_until_lost(const struct member *m, struct wt_plan *one,
                               struct wt_plan *two, uint64_t *began_ns,
                               struct weir_error *err)
{
    uint64_t from[MEMBERS] = {0};
    for (;;) {
        uint64_t had = one->sums.got_rows;
        weir_err r1 = wt_plan_step(one);
        if (r1 < 0 || r1 == WEIR_DONE) {
            (void)weir_query_status(one->query, err);
            return r1;
        }
        weir_err r2 = two != NULL ? wt_plan_step(two) : WEIR_AGAIN;
        check(r2 < 0 ? r2 : WEIR_OK, WEIR_OK, "query 2", err);
        if (*began_ns == 0 &&
            is_under_way(m, one, from, one->sums.got_rows - had)) {
            *began_ns = now_ns();
            if (m->self == 0) {
                ask_host(m->unplug ? "pull the plug" : "destroy B");
            }
        }
        if (r1 == WEIR_AGAIN && r2 == WEIR_AGAIN) {
            (void)weir_worker_wait(m->node, 0, WEIR_FOREVER);
        }
    }
}

static bool names_lost(const struct member *m, const char *text)
{
    return m->self == LOST
               ? strstr(text, "m0") != NULL || strstr(text, "m1") != NULL
               : strstr(text, "m2") != NULL;
}

/* Query 1 of all three, beside a query 2 that is open, or NULL */
static void lose_query_1(const struct member *m, struct wt_plan *two)
{
    static struct wt_plan one;
    struct weir_error err = {0};
    uint64_t began_ns = 0;
    check(wt_plan_open(&one, m->node, 1, NULL, 0, WT_PLAN_ENDLESS, &err),
          WEIR_OK, "open query 1", &err);
    weir_err rc = run_until_lost(m, &one, two, &began_ns, &err);
    uint64_t took_ns = now_ns() - began_ns;
    (void)printf("query 1: %s: %s\n", weir_err_name(rc), err.message);
    check(rc, WEIR_ERR_PEER_LOST, "query 1", &err);
    if (!names_lost(m, err.message) || began_ns == 0) {
        (void)printf("query 1 names nobody lost, or was never under way\n");
        exit(EXIT_FAILURE);
    }
    (void)printf("it failed %.1f s after it was under way\n",
                 (double)took_ns * 1e-9);
    if (took_ns > LATEST_NS) {
        (void)printf("that is too late\n");
        exit(EXIT_FAILURE);
    }
    wt_plan_close(&one);
}

/* ---- what has to go on --------------------------------------------------- */

static void survive(const struct member *m)
{
    static const uint32_t survivors[] = {0, 1};
    static struct wt_plan two;
    struct weir_error err = {0};
    check(wt_plan_open(&two, m->node, 2, survivors, 2, ROWS, &err), WEIR_OK,
          "open query 2", &err);
    two.limit = ROWS / 2;
    lose_query_1(m, &two);
    two.limit = ROWS;
    check(wt_plan_run(&two, &err), WEIR_DONE, "query 2", &err);
    (void)printf("query 2 is complete\n");
    if (!m->unplug) {
        tell_sums(&two);
    } else if (m->self == 0) {
        ask_host("plug in");
    }
    wt_plan_close(&two);
}

static void run_query_3(const struct member *m)
{
    static struct wt_plan three;
    struct weir_error err = {0};
    check(wt_plan_open(&three, m->node, 3, NULL, 0, ROWS, &err), WEIR_OK,
          "open query 3", &err);
    check(wt_plan_run(&three, &err), WEIR_DONE, "query 3", &err);
    tell_sums(&three);
    wt_plan_close(&three);
}

int main(int argc, char **argv)
{
    if (argc != 4 + MEMBERS || strlen(argv[2]) != 1 || argv[2][0] < '0' ||
        argv[2][0] > '2') {
        (void)fprintf(stderr, "usage: member destroy|unplug SELF ADDRESS_0 "
                              "ADDRESS_1 ADDRESS_2 FILE\n");
        return 64;
    }
    struct member m = {.self = (uint32_t)(argv[2][0] - '0'),
                       .unplug = strcmp(argv[1], "unplug") == 0,
                       .address = argv + 3};
    open_node(&m);
    if (m.self == LOST) {
        lose_query_1(&m, NULL);
    } else {
        survive(&m);
    }
    if (m.unplug) {
        await_word("the wire is plugged in");
        run_query_3(&m);
    }
    weir_node_close(m.node);
    return EXIT_SUCCESS;
}
