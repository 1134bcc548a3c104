/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes, over shm and tcp: one gets from the other without a pause.
 * The owner is killed, or stopped for longer than detect_ns, or the reader is
 * killed. Every get ends, good bytes are right, and the memory is back.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "core/base/atomic.h"
#include "test/support/team.h"

enum { OWNER = 0, READER = 1, BYTES = 1 << 20, PIECE = 40001, GETS = 8 };

static const uint64_t detect_ns = 1000000000u;
static const uint64_t patience_ns = 20000000000u;
static const struct weir_name name = {5, 6};

enum fault { OWNER_KILLED, OWNER_STOPPED, READER_KILLED };

struct scene {
    const char *transport;
    enum fault fault;
};

static weir_node *open_node(struct wt_proc *p)
{
    const struct scene *s = p->arg;
    const struct weir_node_params params = {.transport = s->transport,
                                            .detect_ns = detect_ns,
                                            .connect_ns = detect_ns};
    weir_node *node = wt_team_open(p, params);
    wt_proc_await(p);
    return node;
}

static uint64_t memory_of(weir_node *node)
{
    struct weir_node_stats stats;
    (void)weir_node_stats_get(node, &stats);
    return stats.memory_bytes;
}

static uint8_t byte_at(uint64_t off)
{
    return (uint8_t)(off * 7 + off / 251);
}

/* ---- the owner ----------------------------------------------------------- */

static void let_go(void *arg)
{
    wi_store_rlx((_Atomic uint32_t *)arg, 1); /* rlx: nothing goes with it */
}

static void own(struct wt_proc *p)
{
    static uint8_t bytes[BYTES];
    _Atomic uint32_t released = 0;
    weir_node *node = open_node(p);
    uint64_t before = memory_of(node);
    struct weir_error err = {0};
    const struct weir_region_params params = {.kind = WEIR_REGION_BORROWED,
                                              .base = bytes,
                                              .bytes = BYTES,
                                              .release = let_go,
                                              .release_arg = &released};
    weir_region *region = NULL;
    for (uint64_t i = 0; i < BYTES; i++) {
        bytes[i] = byte_at(i);
    }
    wt_proc_check(p,
                  weir_region_open(node, &params, &region, &err) == WEIR_OK &&
                      weir_region_publish(region, &name, &err) == WEIR_OK,
                  "region: %s", err.message);
    wt_proc_say(p, 'r');
    wt_proc_await(p); /* until the reader is dead, or done */
    weir_region_close(region);
    uint64_t until = wt_now_ns() + patience_ns;
    /* rlx both: as in let_go */
    while (!wi_load_rlx(&released) || memory_of(node) > before) {
        wt_proc_check(p, wt_now_ns() < until,
                      "released %d, %" PRIu64 " bytes held, %" PRIu64 " before",
                      (int)wi_load_rlx(&released), memory_of(node), before);
        (void)weir_worker_wait(node, 0, detect_ns / 100);
    }
    weir_node_close(node);
}

/* ---- the reader ---------------------------------------------------------- */

struct reads {
    struct wt_proc *p;
    weir_node *node;
    weir_peer *peer;
    weir_fetch *fetch;
    uint64_t begun;
    uint64_t ended;
    uint64_t good;
    weir_err bad; /* the last error */
};

static void post(struct reads *r)
{
    while (r->begun - r->ended < GETS) {
        uint64_t off = r->begun * 4099 % (BYTES - PIECE);
        const struct weir_get get = {
            .name = name, .off = off, .bytes = PIECE, .tag = off};
        uint32_t taken = 0;
        weir_err rc = weir_fetch_get(r->fetch, r->peer, &get, 1, &taken);
        if (rc == WEIR_AGAIN) {
            return;
        }
        wt_proc_check(r->p, rc == WEIR_OK, "get: %s", weir_err_name(rc));
        r->begun++;
    }
}

static void take(struct reads *r)
{
    struct weir_got got;
    weir_err rc;
    while ((rc = weir_fetch_next(r->fetch, &got)) == WEIR_OK) {
        const uint8_t *bytes = got.ptr;
        r->ended++;
        if (got.code != WEIR_OK) {
            wt_proc_check(r->p, weir_err_scope(got.code) == WEIR_SCOPE_PEER,
                          "%s: %s", weir_err_name(got.code),
                          weir_fetch_error(r->fetch));
            r->bad = got.code;
            continue;
        }
        r->good++;
        for (uint64_t i = 0; i < PIECE; i += 97) {
            wt_proc_check(r->p, bytes[i] == byte_at(got.tag + i),
                          "wrong byte at %" PRIu64, got.tag + i);
        }
        weir_fetch_release(r->fetch, &got);
    }
    if (rc == WEIR_AGAIN) {
        (void)weir_worker_wait(r->node, 0, detect_ns);
    }
}

static void reads_open(struct reads *r, struct wt_proc *p)
{
    struct wt_team *t = p->shared;
    struct weir_error err = {0};
    const struct weir_fetch_params params = {.max_bytes = (GETS + 1) * PIECE};
    *r = (struct reads){.p = p, .node = open_node(p)};
    wt_proc_check(
        p,
        weir_peer_open(r->node, t->address[OWNER], &r->peer, &err) == WEIR_OK &&
            weir_fetch_open(r->node, &params, &r->fetch, &err) == WEIR_OK,
        "open: %s", err.message);
    wt_proc_say(p, 'r');
    wt_proc_await(p); /* the region is there */
}

/* The owner is stopped. Memory that it shares can be read all the same, so the
 * reader also wants to know where something is. */
static void find_unknown(struct reads *r)
{
    const struct weir_get get = {.name = {5, 7}, .bytes = 1};
    uint32_t taken = 0;
    wt_proc_await(r->p);
    weir_err rc = weir_fetch_get(r->fetch, r->peer, &get, 1, &taken);
    wt_proc_check(r->p, rc == WEIR_OK, "find: %s", weir_err_name(rc));
    r->begun++;
}

/* Until the first error, then to the end of what was begun. */
static void read_until_lost(struct reads *r)
{
    uint64_t until = 0;
    for (bool said = false; r->bad == WEIR_OK; take(r)) {
        post(r);
        if (!said && r->good >= 2 * GETS) {
            said = true;
            wt_proc_say(r->p, 'h');
            if (((const struct scene *)r->p->arg)->fault == OWNER_STOPPED) {
                find_unknown(r);
            }
            until = wt_now_ns() + patience_ns;
        }
        wt_proc_check(r->p, !said || wt_now_ns() < until, "it is not lost");
    }
    while (r->ended < r->begun) {
        take(r);
    }
}

/* The owner goes on: so do gets, over a new link. */
static void read_again(struct reads *r)
{
    uint64_t good = r->good;
    uint64_t until = wt_now_ns() + patience_ns;
    while (r->good < good + GETS) {
        post(r);
        take(r);
        wt_proc_check(r->p, wt_now_ns() < until, "%s",
                      weir_fetch_error(r->fetch));
    }
    while (r->ended < r->begun) {
        take(r);
    }
}

static void read_all(struct wt_proc *p)
{
    const struct scene *s = p->arg;
    struct reads r;
    reads_open(&r, p);
    read_until_lost(&r); /* a reader that is killed stays here */
    wt_proc_check(p, r.bad == WEIR_ERR_PEER_LOST, "%s", weir_err_name(r.bad));
    wt_proc_say(p, 'd');
    wt_proc_await(p);
    if (s->fault == OWNER_STOPPED) {
        read_again(&r);
    }
    weir_fetch_close(r.fetch);
    weir_peer_close(r.peer);
    weir_node_close(r.node);
}

/* ---- the parent ---------------------------------------------------------- */

static void child(struct wt_proc *p)
{
    if (p->self == OWNER) {
        own(p);
    } else {
        read_all(p);
    }
}

static void strike_owner(struct wt_procs *ps, enum fault fault)
{
    bool killed = fault == OWNER_KILLED;
    wt_procs_signal(ps, OWNER, killed ? SIGKILL : SIGSTOP);
    if (!killed) {
        wt_procs_stopped(ps, OWNER);
        wt_procs_go(ps, READER);
    }
    wt_procs_expect(ps, READER, 'd');
    if (!killed) {
        wt_procs_signal(ps, OWNER, SIGCONT);
    }
    wt_procs_go(ps, READER);
    wt_procs_end_well(ps, READER);
    if (killed) {
        cr_assert(WIFSIGNALED(wt_procs_end(ps, OWNER)));
    } else {
        wt_procs_go(ps, OWNER);
        wt_procs_end_well(ps, OWNER);
    }
}

static void play(const char *transport, enum fault fault)
{
    struct scene s = {transport, fault};
    struct wt_procs *ps = wt_team_start(2, child, &s);
    wt_team_meet(ps, 2);
    wt_procs_expect_all(ps, 'r');
    wt_procs_go(ps, READER);
    wt_procs_expect(ps, READER, 'h');
    if (fault == READER_KILLED) {
        wt_procs_signal(ps, READER, SIGKILL);
        cr_assert(WIFSIGNALED(wt_procs_end(ps, READER)));
        wt_procs_go(ps, OWNER);
        wt_procs_end_well(ps, OWNER);
    } else {
        strike_owner(ps, fault);
    }
    wt_team_left_nothing(ps);
    wt_procs_close(ps);
}

#define REGION_TEST(transport, what, fault)                                    \
    Test(fault_region, transport##_##what, .timeout = 180)                     \
    {                                                                          \
        play(#transport, fault);                                               \
    }
#define REGION_TESTS(transport)                                                \
    REGION_TEST(transport, owner_killed_under_gets, OWNER_KILLED)              \
    REGION_TEST(transport, owner_stopped_under_gets, OWNER_STOPPED)            \
    REGION_TEST(transport, reader_killed_under_gets, READER_KILLED)

REGION_TESTS(shm)
REGION_TESTS(tcp)
