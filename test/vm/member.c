/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of three members of a cluster on two machines, the last of which is about
 * to vanish. Run by cases of pair.sh.
 *
 *   member SELF ADDRESS_0 ADDRESS_1 ADDRESS_2 FILE
 *
 * FILE is created when the member listens; it goes on once it can read a line.
 * All three run query 1, which has no end. Members 0 and 1 also run query 2 on
 * the same link, half of whose rows they hold back until query 1 is over. Once
 * query 1 moves, member 0 says "destroy member 2". Query 1 has to fail with the
 * name of member 2 within the detection time; query 2 has to end well. The
 * last line has the sums of query 2, to be added up over both members.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/support/plan.h"

enum { MEMBERS = 3, VICTIM = 2, ROWS = 20000, UNDER_WAY = 5000 };

static const uint64_t detect_ns = 5000000000u;

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

/* Tell the others' shell that this member listens, and wait for its word. */
static void meet(const char *path)
{
    FILE *file = fopen(path, "w");
    char line[16];
    if (file == NULL || fclose(file) != 0 ||
        fgets(line, sizeof(line), stdin) == NULL) {
        (void)printf("the others do not listen\n");
        exit(EXIT_FAILURE);
    }
}

static weir_node *open_node(uint32_t self, char **address)
{
    static const char *const names[MEMBERS] = {"m0", "m1", "m2"};
    const char *listen = strchr(address[self], ':');
    struct weir_error err = {0};
    struct weir_member members[MEMBERS];
    struct weir_node_params params = {
        .name = names[self],
        .transport = "verbs",
        .listen = listen != NULL ? listen + 1 : "",
        .max_members = MEMBERS,
        .detect_ns = detect_ns,
    };
    weir_node *node = NULL;
    check(weir_node_open(&params, &node, &err), WEIR_OK, "open", &err);
    meet(address[MEMBERS]);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct weir_member){
            .name = names[i], .address = address[i], .workers = 1};
    }
    check(weir_node_join(node, members, MEMBERS, &err), WEIR_OK, "join", &err);
    return node;
}

/* Until query 1 fails; query 2 goes as far as it may meanwhile. */
static weir_err run_both(uint32_t self, struct wt_plan *one,
                         struct wt_plan *two, uint64_t *said_ns,
                         struct weir_error *err)
{
    for (;;) {
        weir_err r1 = wt_plan_step(one);
        if (r1 < 0 || r1 == WEIR_DONE) {
            (void)weir_query_status(one->query, err);
            return r1;
        }
        weir_err r2 = wt_plan_step(two);
        check(r2 < 0 ? r2 : WEIR_OK, WEIR_OK, "query 2", err);
        if (*said_ns == 0 && one->sums.got_rows >= UNDER_WAY) {
            *said_ns = now_ns();
            (void)printf(self == 0 ? "destroy member 2\n" : "under way\n");
            (void)fflush(stdout);
        }
        if (r1 == WEIR_AGAIN && r2 == WEIR_AGAIN) {
            (void)weir_worker_wait(one->node, 0, WEIR_FOREVER);
        }
    }
}

static void survive(uint32_t self, weir_node *node)
{
    static const uint32_t survivors[] = {0, 1};
    static struct wt_plan one;
    static struct wt_plan two;
    uint64_t said_ns = 0;
    struct weir_error err = {0};
    check(wt_plan_open(&one, node, 1, NULL, 0, WT_PLAN_ENDLESS, &err), WEIR_OK,
          "open query 1", &err);
    check(wt_plan_open(&two, node, 2, survivors, 2, ROWS, &err), WEIR_OK,
          "open query 2", &err);
    two.limit = ROWS / 2;
    weir_err rc = run_both(self, &one, &two, &said_ns, &err);
    uint64_t took_ns = now_ns() - said_ns;
    (void)printf("query 1: %s: %s\n", weir_err_name(rc), err.message);
    check(rc, WEIR_ERR_PEER_LOST, "query 1", &err);
    if (strstr(err.message, "m2") == NULL || said_ns == 0) {
        (void)printf("query 1 does not name m2, or was never under way\n");
        exit(EXIT_FAILURE);
    }
    (void)printf("it failed %.1f s after it was under way\n",
                 (double)took_ns * 1e-9);
    wt_plan_close(&one);
    two.limit = ROWS;
    check(wt_plan_run(&two, &err), WEIR_DONE, "query 2", &err);
    (void)printf("sums %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                 two.sums.made_rows, two.sums.got_rows, two.sums.made_sum,
                 two.sums.got_sum);
    wt_plan_close(&two);
}

int main(int argc, char **argv)
{
    if (argc != 3 + MEMBERS || strlen(argv[1]) != 1 || argv[1][0] < '0' ||
        argv[1][0] > '2') {
        (void)fprintf(stderr, "usage: member SELF ADDRESS_0 ADDRESS_1 "
                              "ADDRESS_2 FILE\n");
        return 64;
    }
    uint32_t self = (uint32_t)(argv[1][0] - '0');
    weir_node *node = open_node(self, argv + 2);
    if (self != VICTIM) {
        survive(self, node);
        weir_node_close(node);
        return EXIT_SUCCESS;
    }
    static struct wt_plan one;
    struct weir_error err = {0};
    check(wt_plan_open(&one, node, 1, NULL, 0, WT_PLAN_ENDLESS, &err), WEIR_OK,
          "open query 1", &err);
    weir_err rc = wt_plan_run(&one, &err);
    (void)printf("query 1: %s: %s\n", weir_err_name(rc), err.message);
    return EXIT_FAILURE; /* it should have been destroyed */
}
