/* SPDX-License-Identifier: Apache-2.0 */
/* A node that is closed before what it lent, and what it lent that is closed
 * before others have given it back. */
#include <poll.h>
#include <string.h>

#include "core/link/engine.h"
#include "core/link/lock.h"
#include "test/support/lone.h"

static struct wt_lone lone;

enum left { FETCH = 1, REGION = 2, ASKS = 4, ALL = 7 };

/* What the node says of it when it closes. */
static void close_with(uint32_t what)
{
    const struct weir_region_params params = {.bytes = 4096};
    struct weir_error err = {0};
    weir_fetch *fetch = NULL;
    weir_region *region = NULL;
    weir_asks *asks = NULL;
    weir_err rc = WEIR_OK;
    wt_lone_open(&lone, NULL);
    if ((what & FETCH) != 0) {
        rc = weir_fetch_open(lone.node, NULL, &fetch, &err);
    }
    if (rc == WEIR_OK && (what & REGION) != 0) {
        rc = weir_region_open(lone.node, &params, &region, &err);
    }
    if (rc == WEIR_OK && (what & ASKS) != 0) {
        rc = weir_asks_open(lone.node, 7, 0, &asks, &err);
    }
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    wt_lone_close(&lone);
}

Test(left_open, all_that_a_node_ends_with_itself_is_counted)
{
    close_with(0);
    cr_assert_eq(lone.lines, 0, "%s", lone.log);
    for (uint32_t one = FETCH; one <= ASKS; one *= 2) {
        close_with(one);
        cr_expect_not_null(strstr(lone.log, "closed with 1 regions, fetches"),
                           "%u: %s", one, lone.log);
    }
    close_with(ALL);
    cr_expect_not_null(strstr(lone.log, "closed with 3 regions, fetches"), "%s",
                       lone.log);
}

/* Who has it has detect_ns to give it back: the node looks then. */
Test(left_open, a_region_that_is_closed_is_looked_after_in_time)
{
    static const struct weir_node_params node = {.detect_ns = 50000000};
    const struct weir_region_params params = {.bytes = 4096};
    struct weir_error err = {0};
    weir_region *region = NULL;
    wt_lone_open(&lone, &node);
    wt_lone_settle(&lone);
    struct wi_engine *e = &lone.node->engine;
    cr_assert_eq(weir_region_open(lone.node, &params, &region, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_gt(e->tick_ns, e->now_ns + node.detect_ns, "nothing else is due");
    weir_region_close(region);
    cr_assert_leq(e->tick_ns, e->now_ns + node.detect_ns);
    wt_lone_close(&lone);
}

/* ---- regions that were found --------------------------------------------- */

static weir_region *own;
static weir_fetch *own_fetch;
static weir_peer *self;

/* A node that has got bytes of its own region. */
static void get_own(struct weir_got *got_out)
{
    static const struct weir_name name = {7, 1};
    const struct weir_region_params params = {.bytes = 4096};
    const struct weir_get get = {.name = name, .bytes = 64};
    struct weir_error err = {0};
    uint32_t taken = 0;
    wt_lone_open(&lone, NULL);
    cr_assert_eq(weir_region_open(lone.node, &params, &own, &err), WEIR_OK);
    cr_assert_eq(weir_region_publish(own, &name, &err), WEIR_OK);
    cr_assert_eq(weir_peer_open(lone.node, "sim:0", &self, &err), WEIR_OK);
    cr_assert_eq(weir_fetch_open(lone.node, NULL, &own_fetch, &err), WEIR_OK);
    cr_assert_eq(weir_fetch_get(own_fetch, self, &get, 1, &taken), WEIR_OK);
    wt_lone_settle(&lone);
    cr_assert_eq(weir_fetch_next(own_fetch, got_out), WEIR_OK);
    cr_assert_eq(got_out->code, WEIR_OK);
    cr_assert_neq(got_out->lent, 0);
}

static void close_own(void)
{
    weir_fetch_close(own_fetch);
    weir_peer_close(self);
    wt_lone_close(&lone);
}

/* Readable once worker 0 is woken. */
static struct pollfd arm_worker(void)
{
    struct pollfd fd = {weir_worker_fd(lone.node, 0), POLLIN, 0};
    wt_lone_settle(&lone);
    while (weir_worker_arm(lone.node, 0) == WEIR_AGAIN) {
    }
    cr_assert_eq(poll(&fd, 1, 0), 0);
    return fd;
}

/* A worker that sleeps has what it found in its cache: closing the region wakes
 * it, so that it lets go. Nothing waits here: poll() only looks. */
Test(left_open, a_region_that_is_closed_wakes_who_has_found_it)
{
    struct weir_got got = {0};
    get_own(&got);
    weir_fetch_release(own_fetch, &got);
    struct pollfd fd = arm_worker();
    weir_region_close(own);
    cr_assert_eq(poll(&fd, 1, 0), 1);
    close_own();
}

/* Its owner waits for it, and the worker for room in what may be lent. */
Test(left_open, bytes_that_are_given_back_wake_their_owner_and_the_worker)
{
    struct weir_got got = {0};
    struct weir_got none;
    get_own(&got);
    weir_region_close(own);
    cr_assert_eq(weir_fetch_next(own_fetch, &none), WEIR_DONE);
    struct pollfd fd = arm_worker();
    cr_assert_eq(wi_load_sc(&lone.node->engine.kick), 0);
    weir_fetch_release(own_fetch, &got);
    cr_assert_eq(poll(&fd, 1, 0), 1);
    cr_assert_neq(wi_load_sc(&lone.node->engine.kick), 0);
    close_own();
}
