/* SPDX-License-Identifier: Apache-2.0 */
/* A group ends, whatever its members do, and says why. */
#include "launch/group.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "core/base/err.h"

static struct wl_group *open_group(uint32_t members, uint64_t timeout_ns)
{
    struct wl_group_params p = {.members = members,
                                .shared_bytes = members * sizeof(uint32_t),
                                .timeout_ns = timeout_ns};
    struct wl_group *g = NULL;
    struct weir_error err = {.code = WEIR_OK};
    cr_assert_eq(wl_group_open(&p, &g, &err), WEIR_OK, "%s", err.message);
    return g;
}

/* Each writes, all meet, each reads what its neighbour wrote. */
static weir_err exchange(struct wl_group *g, uint32_t self, void *arg,
                         struct weir_error *err)
{
    uint32_t n = *(const uint32_t *)arg;
    uint32_t *shared = wl_group_shared(g);
    shared[self] = self + 100;
    wl_group_meet(g);
    uint32_t got = shared[(self + 1) % n];
    wl_group_meet(g);
    if (got != (self + 1) % n + 100) {
        return wi_fail(err, WEIR_ERR_DATA, "got %u", got);
    }
    shared[self] = got;
    return WEIR_OK;
}

Test(group, members_meet_and_share, .timeout = 60)
{
    uint32_t n = 5;
    struct wl_group *g = open_group(n, 0);
    struct weir_error err = {.code = WEIR_OK};
    cr_assert_eq(wl_group_run(g, exchange, &n, &err), WEIR_OK, "%s",
                 err.message);
    uint32_t *shared = wl_group_shared(g);
    for (uint32_t i = 0; i < n; i++) {
        cr_assert_eq(shared[i], (i + 1) % n + 100);
    }
    wl_group_close(g);
}

static weir_err one_fails(struct wl_group *g, uint32_t self, void *arg,
                          struct weir_error *err)
{
    (void)arg;
    if (self == 2) {
        return wi_fail(err, WEIR_ERR_BUDGET, "too small by 7");
    }
    wl_group_meet(g); /* forever: one is missing */
    return WEIR_OK;
}

Test(group, an_error_ends_those_who_wait, .timeout = 60)
{
    struct wl_group *g = open_group(4, 0);
    struct weir_error err = {.code = WEIR_OK};
    cr_assert_eq(wl_group_run(g, one_fails, NULL, &err), WEIR_ERR_BUDGET);
    cr_assert_str_eq(err.message, "process 2 of 4: too small by 7");
    wl_group_close(g);
}

static weir_err one_ends(struct wl_group *g, uint32_t self, void *arg,
                         struct weir_error *err)
{
    (void)arg;
    if (self == 2) {
        (void)wi_fail(err, WEIR_ERR_DEADLINE, "too late by 7");
        wl_group_end(g, err);
    }
    wl_group_meet(g);
    return WEIR_OK;
}

Test(group, an_error_of_all_names_no_member, .timeout = 60)
{
    struct wl_group *g = open_group(4, 0);
    struct weir_error err = {.code = WEIR_OK};
    cr_assert_eq(wl_group_run(g, one_ends, NULL, &err), WEIR_ERR_DEADLINE);
    cr_assert_str_eq(err.message, "too late by 7");
    wl_group_close(g);
}

static weir_err one_dies(struct wl_group *g, uint32_t self, void *arg,
                         struct weir_error *err)
{
    (void)arg;
    (void)err;
    if (self == 1) {
        (void)raise(SIGKILL);
    }
    wl_group_meet(g);
    return WEIR_OK;
}

Test(group, a_signal_ends_those_who_wait, .timeout = 60)
{
    struct wl_group *g = open_group(3, 0);
    struct weir_error err = {.code = WEIR_OK};
    cr_assert_eq(wl_group_run(g, one_dies, NULL, &err), WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, "process 1 of 3 died of signal 9"),
                       "%s", err.message);
    wl_group_close(g);
}

static weir_err one_stays(struct wl_group *g, uint32_t self, void *arg,
                          struct weir_error *err)
{
    (void)g;
    (void)arg;
    (void)err;
    while (self == 0) {
        (void)pause();
    }
    return WEIR_OK;
}

Test(group, the_time_limit_ends_it, .timeout = 60)
{
    struct wl_group *g = open_group(2, 200000000);
    struct weir_error err = {.code = WEIR_OK};
    cr_assert_eq(wl_group_run(g, one_stays, NULL, &err), WEIR_ERR_TIMEOUT);
    cr_assert_not_null(strstr(err.message, "had not ended"), "%s", err.message);
    wl_group_close(g);
}

static weir_err all_fail(struct wl_group *g, uint32_t self, void *arg,
                         struct weir_error *err)
{
    (void)arg;
    wl_group_meet(g);
    return wi_fail(err, WEIR_ERR_DATA, "reason of %u", self);
}

Test(group, of_many_errors_one_is_whole, .timeout = 60)
{
    struct wl_group *g = open_group(8, 0);
    struct weir_error err = {.code = WEIR_OK};
    unsigned who = 99;
    unsigned whose = 98;
    cr_assert_eq(wl_group_run(g, all_fail, NULL, &err), WEIR_ERR_DATA);
    cr_assert_eq(
        sscanf(err.message, "process %u of 8: reason of %u", &who, &whose), 2,
        "%s", err.message);
    cr_assert_eq(who, whose);
    wl_group_close(g);
}

Test(group, refuses_no_members)
{
    struct wl_group_params p = {.members = 0};
    struct wl_group *g = NULL;
    struct weir_error err = {.code = WEIR_OK};
    cr_assert_eq(wl_group_open(&p, &g, &err), WEIR_ERR_ARG);
    cr_assert_null(g);
}
