/* SPDX-License-Identifier: Apache-2.0 */
/* What a writer that waits for room says of its frames: a lane, its ring and
 * its link that are made by hand. */
#include <criterion/criterion.h>

#include "core/link/edge.h"
#include "core/link/link.h"
#include "core/query/lane.h"

/* A frame that was to go with the next one goes now, and the next one begins
 * anew: it is the first of two again. */
Test(lane, nothing_is_held_back_by_one_that_asks_for_credit)
{
    static struct wi_link peer; /* it sends nothing: only asks are seen */
    static struct wi_out out = {.link = &peer, .run = 9, .held = true};
    struct wi_lane lane = {.out = &out};
    wi_lq_init(&peer.items);
    wi_store_rlx(&out.follows, WI_FOLLOWS_SOON); /* rlx: one thread */
    wi_lane_ask_credit(&lane);
    cr_expect_eq(out.run, 0);
    cr_expect_not(out.held);
    cr_expect_eq(wi_load_rlx(&out.follows), WI_FOLLOWS_NONE);   /* rlx: same */
    cr_expect_neq(wi_load_rlx(&peer.again), 0, "it is posted"); /* rlx: same */
    wi_store_rlx(&peer.again, 0); /* rlx: one thread */
    wi_lane_ask_credit(&lane);
    cr_expect_eq(wi_load_rlx(&peer.again), 0, "once"); /* rlx: same */
}
