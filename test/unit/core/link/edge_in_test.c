/* SPDX-License-Identifier: Apache-2.0 */
/* When a posted ring's notification is answered by a credit at once: a ring on
 * a link that are made by hand. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "core/link/edge.h"
#include "core/link/edge_in.h"
#include "core/link/engine.h"
#include "core/link/link.h"

enum { SIZE = 4096, READ = 64, EPOCH = 5 };

static struct wi_engine engine;
static struct wi_worker worker;
static struct wi_held held[WI_HELD_MAX];
static _Atomic(struct wi_in *) table[1];
static struct wi_in in;
static struct wi_link peer;

/* Its reader has read all, and waits; less than half of the ring is owed. */
static void make(uint32_t more_follows)
{
    worker.engine = &engine;
    worker.bell = calloc(1, wi_bell_bytes(1));
    cr_assert_not_null(worker.bell);
    engine.workers = &worker;
    engine.budget.n_units = 1;
    engine.n_ids = 1;
    peer.engine = &engine;
    peer.in = table;
    wi_lq_init(&peer.items);
    in.link = &peer;
    in.epoch = EPOCH;
    in.size = SIZE;
    in.ctl = &in.own_ctl;
    in.held = held;
    wi_store_rlx(&in.own_ctl.tail, READ);         /* rlx: one thread */
    wi_store_rlx(&in.own_ctl.head, READ);         /* rlx: the same */
    wi_store_rlx(&in.reader_waits, 1);            /* rlx: the same */
    wi_store_rlx(&in.more_follows, more_follows); /* rlx: the same */
    wi_store_rlx(&table[0], &in);                 /* rlx: the same */
}

/* Does it ask the link for a round? Its thread alone makes none: the link sends
 * nothing. */
static bool told(uint32_t hint)
{
    union wi_msg m;
    struct weir_error err = {0};
    wi_msg_init(&m, WI_MSG_NOTIFY);
    m.pos.epoch = EPOCH;
    m.pos.pos = READ;
    m.pos.hint = hint;
    wi_store_rlx(&peer.again, 0); /* rlx: one thread */
    cr_assert_eq(wi_in_on_notify(&peer, &m, &err), WEIR_OK, "%s", err.message);
    return wi_load_rlx(&peer.again) != 0; /* rlx: one thread */
}

Test(edge_in, a_producer_that_stops_hears_of_the_room_at_once)
{
    make(1);
    cr_expect_not(told(1), "more follows");
    cr_expect(told(0), "nothing follows any more");
    free(worker.bell);
}

Test(edge_in, a_producer_that_never_said_more_asks_nothing)
{
    make(0);
    cr_expect_not(told(0));
    free(worker.bell);
}
