/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/budget.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/base/pages.h"

static struct wi_budget_params typical(void)
{
    return (struct wi_budget_params){
        .workers = 4,
        .max_members = 8,
        .max_shuffles = 8,
        .frame_bytes = 16384,
        .ring_frames = 4,
        .cap_bytes = 256ull << 20,
        .mapped = true,
    };
}

Test(budget, rings_are_thread_to_thread_while_they_fit)
{
    struct wi_budget_params p = typical();
    struct wi_budget b;
    cr_assert_eq(wi_budget_make(&p, &b, NULL), WEIR_OK);
    cr_assert_not(b.per_node);
    cr_assert_geq(b.n_units, 8 * 4 * 4 * b.ring_units);
    cr_assert_leq(b.total_bytes, p.cap_bytes);
}

Test(budget, falls_back_to_thread_to_node)
{
    struct wi_budget_params p = typical();
    struct wi_budget b;
    p.cap_bytes = 12ull << 20;
    cr_assert_eq(wi_budget_make(&p, &b, NULL), WEIR_OK);
    cr_assert(b.per_node);
    cr_assert_leq(b.total_bytes, p.cap_bytes);
}

/* Open frames of lanes that share a ring are part of the sum; they are as large
 * as pays where that fits, and smaller before the plan fails. */
Test(budget, open_frames_of_node_rings_are_counted)
{
    struct wi_budget_params p = typical();
    struct wi_budget b;
    cr_assert_eq(wi_budget_make(&p, &b, NULL), WEIR_OK);
    cr_assert_eq(b.stage_bytes, 0, "rings of threads need none");
    uint32_t before = UINT32_MAX;
    for (p.cap_bytes = 30ull << 20;; p.cap_bytes -= 1 << 16) {
        weir_err rc = wi_budget_make(&p, &b, NULL);
        if (rc != WEIR_OK) {
            break;
        }
        uint64_t lanes = (uint64_t)p.max_members * p.workers;
        uint64_t writers = (uint64_t)p.max_shuffles * p.workers;
        cr_assert(b.per_node);
        cr_assert_eq(b.stage_bytes / WI_CACHE_LINE % 2, 1, "%u", b.stage_bytes);
        cr_assert_leq(b.stage_bytes, before);
        cr_assert_eq(b.stages_bytes, lanes * b.stage_bytes);
        cr_assert_eq(b.rings_cap_bytes, p.cap_bytes - writers * b.stages_bytes);
        cr_assert_geq(b.total_bytes - writers * b.stages_bytes,
                      p.max_members * b.area_bytes);
        cr_assert_leq(b.total_bytes, p.cap_bytes);
        before = b.stage_bytes;
    }
    cr_assert_lt(before, 2048, "it failed while open frames had %u", before);
}

Test(budget, memory_grows_with_members_and_not_with_workers_squared)
{
    struct wi_budget_params p = typical();
    struct wi_budget few;
    struct wi_budget many;
    p.cap_bytes = 56ull << 20;
    p.max_members = 16;
    p.workers = 8;
    cr_assert_eq(wi_budget_make(&p, &few, NULL), WEIR_OK);
    cr_assert(few.per_node);
    p.workers = 16;
    p.max_members = 8;
    cr_assert_eq(wi_budget_make(&p, &many, NULL), WEIR_OK);
    cr_assert(many.per_node);
    cr_assert_leq(many.total_bytes, p.cap_bytes);
}

Test(budget, too_small_says_the_sum_and_what_to_change)
{
    struct wi_budget_params p = typical();
    struct wi_budget b = {.total_bytes = 77};
    struct weir_error err;
    p.cap_bytes = 1ull << 20;
    cr_assert_eq(wi_budget_make(&p, &b, &err), WEIR_ERR_BUDGET);
    cr_assert_eq(b.total_bytes, 77, "written although it failed");
    cr_assert_not_null(strstr(err.message, "1048576"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "max_shuffles"), "%s", err.message);
    unsigned long long need = 0;
    const char *at = strstr(err.message, "raise it to ");
    cr_assert_not_null(at, "%s", err.message);
    cr_assert_eq(sscanf(at, "raise it to %llu", &need), 1);
    p.cap_bytes = need;
    cr_assert_eq(wi_budget_make(&p, &b, &err), WEIR_OK,
                 "what the message asks for is not enough: %s", err.message);
}

Test(budget, areas_become_whole_huge_pages_where_that_adds_little)
{
    struct wi_budget_params p = typical();
    struct wi_budget b;
    p.workers = 1;
    p.frame_bytes = 61440; /* 1.94 MiB */
    cr_assert_eq(wi_budget_make(&p, &b, NULL), WEIR_OK);
    cr_assert_eq(b.area_bytes, WI_HUGE_PAGE);
    cr_assert_geq(b.total_bytes, p.max_members * WI_HUGE_PAGE);
    p.frame_bytes = 32768; /* 1.07 MiB */
    cr_assert_eq(wi_budget_make(&p, &b, NULL), WEIR_OK);
    cr_assert_lt(b.area_bytes, WI_HUGE_PAGE * 7 / 8);
}

Test(budget, posted_transports_pay_for_both_ends)
{
    struct wi_budget_params p = typical();
    struct wi_budget mapped;
    struct wi_budget posted;
    cr_assert_eq(wi_budget_make(&p, &mapped, NULL), WEIR_OK);
    p.mapped = false;
    cr_assert_eq(wi_budget_make(&p, &posted, NULL), WEIR_OK);
    cr_assert_gt(posted.total_bytes, mapped.total_bytes);
}

/* ---- where the caller left the cap to the library ------------------------ */

Test(budget, flexible_plan_is_the_same_where_it_fits)
{
    struct wi_budget_params p = typical();
    struct wi_budget a;
    struct wi_budget b;
    cr_assert_eq(wi_budget_make(&p, &a, NULL), WEIR_OK);
    p.flexible = true;
    cr_assert_eq(wi_budget_make(&p, &b, NULL), WEIR_OK);
    cr_assert_eq(a.unit_bytes, b.unit_bytes);
    cr_assert_eq(a.n_units, b.n_units);
    cr_assert_eq(a.total_bytes, b.total_bytes);
    cr_assert_eq(a.frame_bytes, p.frame_bytes);
}

Test(budget, flexible_plan_is_made_for_every_cluster)
{
    for (uint32_t members = 1; members <= 4096; members *= 2) {
        for (uint32_t workers = 1; workers <= 64; workers *= 2) {
            struct wi_budget_params p = {.workers = workers,
                                         .max_members = members,
                                         .max_shuffles = 8,
                                         .frame_bytes = 61440,
                                         .ring_frames = 4,
                                         .cap_bytes = 512ull << 20,
                                         .flexible = true};
            struct wi_budget b;
            struct weir_error err = {0};
            cr_assert_eq(wi_budget_make(&p, &b, &err), WEIR_OK, "%u x %u: %s",
                         members, workers, err.message);
            cr_assert_leq(b.total_bytes, p.cap_bytes, "%u x %u", members,
                          workers);
            cr_assert_leq(b.rings_cap_bytes, p.cap_bytes);
            cr_assert_geq(b.frame_bytes, WI_LEAST_FRAME_BYTES);
            cr_assert_leq(b.area_bytes * wi_min_u32(members, 8),
                          b.rings_cap_bytes, "%u x %u: not even eight links",
                          members, workers);
            cr_assert_geq(b.n_units, p.max_shuffles * workers);
            cr_assert_eq(wi_budget_frame(b.unit_bytes), b.frame_bytes);
        }
    }
}

/* More units of the same size, and nothing else; never beyond the sum. */
Test(budget, spare_units_come_on_top)
{
    for (uint32_t workers = 1; workers <= 64; workers *= 2) {
        struct wi_budget_params p = {.workers = workers,
                                     .max_members = 4,
                                     .max_shuffles = 8,
                                     .frame_bytes = 61440,
                                     .ring_frames = 4,
                                     .cap_bytes = 512ull << 20,
                                     .flexible = true,
                                     .mapped = true};
        struct wi_budget a;
        struct wi_budget b;
        cr_assert_eq(wi_budget_make(&p, &a, NULL), WEIR_OK);
        p.spare_bytes = p.cap_bytes;
        cr_assert_eq(wi_budget_make(&p, &b, NULL), WEIR_OK);
        cr_assert_eq(b.unit_bytes, a.unit_bytes);
        cr_assert_eq(b.per_node, a.per_node);
        cr_assert_eq(b.ring_units, a.ring_units);
        cr_assert_eq(b.usual_bytes, a.area_bytes);
        cr_assert_eq(b.n_units % a.n_units, 0);
        cr_assert_leq(b.total_bytes, p.cap_bytes);
        cr_assert(b.n_units > a.n_units || a.per_node || workers > 2,
                  "%u workers: %u units", workers, b.n_units);
    }
}

Test(budget, the_frame_is_known_from_the_unit)
{
    for (uint32_t f = 1024; f <= 1 << 20; f += 64) {
        uint32_t unit = 2 * f + wi_budget_slack(f);
        cr_assert_eq(wi_budget_frame(unit), f, "%u of %u", f, unit);
        cr_assert_lt(wi_budget_frame(unit - 1), f);
    }
    cr_assert_eq(wi_budget_frame(0), 0);
    cr_assert_lt(2ull * wi_budget_frame(UINT32_MAX), UINT32_MAX);
}
