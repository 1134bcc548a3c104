/* SPDX-License-Identifier: Apache-2.0 */
/* What is missing, of a query of one shuffle between two members that is made
 * by hand: so each state of its rings can be had. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "core/link/edge.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/query/missing.h"
#include "core/query/query.h"
#include "core/query/reader.h"
#include "core/query/shuffle.h"
#include "core/query/writer.h"

enum { SIZE = 4096, MOST = 16 };

/* Node 0 looks; member 1 is the peer. */
static struct wi_engine engine;
static struct wi_member members[2];
static struct wi_link peer;
static struct weir_query query;
static struct weir_shuffle shuffle;
static struct weir_reader *readers[1];
static struct weir_writer *writers[1];
static uint32_t one = 1;

static struct weir_reader reader;
static struct wi_stream stream;
static struct wi_stream *streams[1] = {&stream};
static uint64_t came[1];
static struct wi_in in;
static struct wi_held held[WI_HELD_MAX];

static struct weir_writer writer;
static struct wi_lane lane;
static struct wi_out out;

static struct wi_missing seen[MOST];
static uint32_t n_seen;

static void note(void *arg, const struct wi_missing *m)
{
    (void)arg;
    cr_assert_lt(n_seen, (uint32_t)MOST);
    seen[n_seen++] = *m;
}

static void look(void)
{
    n_seen = 0;
    wi_missing_each(&query, note, NULL);
}

/* The only one of its kind, or NULL. */
static const struct wi_missing *of(enum wi_missing_kind kind)
{
    const struct wi_missing *found = NULL;
    for (uint32_t i = 0; i < n_seen; i++) {
        if (seen[i].kind == kind) {
            cr_assert_null(found);
            found = &seen[i];
        }
    }
    return found;
}

static void make(void)
{
    engine.members = members;
    engine.n_members = 2;
    engine.cfg.workers = 1;
    members[0].workers = members[1].workers = 1;
    wi_list_init(&engine.queries);
    for (uint32_t i = 0; i < WI_QUERY_LISTS; i++) {
        wi_list_init(&engine.ins_of[i]);
    }
    peer.engine = &engine;
    peer.member = 1;
    peer.state = WI_LINK_OPEN;
    query.engine = &engine;
    query.id = 7;
    wi_list_init(&query.shuffles);
    shuffle.query = &query;
    shuffle.id = 3;
    shuffle.readers = readers;
    shuffle.writers = writers;
    wi_list_init(&shuffle.on_query);
    wi_list_push_back(&query.shuffles, &shuffle.on_query);
}

/* A stream of member 1 to this node's worker. */
static void make_reader(void)
{
    make();
    shuffle.self_consumes = true;
    shuffle.producers = &one;
    shuffle.n_producers = 1;
    shuffle.n_sources = 1;
    readers[0] = &reader;
    reader.shuffle = &shuffle;
    reader.streams = streams;
    reader.came = came;
    wi_store_rlx(&reader.n_streams, 1); /* rlx: one thread */
    came[0] = 1;
    stream.in = &in;
    in.link = &peer;
    in.size = SIZE;
    in.ctl = &in.own_ctl;
    in.held = held;
}

static void set_positions(uint64_t tail, uint64_t scan, uint64_t head)
{
    wi_store_rlx(&in.own_ctl.tail, tail); /* rlx: one thread */
    wi_store_rlx(&in.scan, scan);         /* rlx: the same */
    wi_store_rlx(&in.own_ctl.head, head); /* rlx: the same */
}

/* ---- readers ------------------------------------------------------------- */

Test(missing, rows_that_are_here_have_not_been_taken, .init = make_reader)
{
    set_positions(1000, 600, 200);
    look();
    cr_assert_eq(n_seen, 1);
    const struct wi_missing *m = of(WI_MISSING_TAKING);
    cr_assert_not_null(m);
    cr_assert_eq(m->bytes, 400);
    cr_assert_eq(m->member, 1);
    cr_assert_eq(m->peers, 1);
    cr_assert_eq(m->query, 7);
    cr_assert_eq(m->shuffle, 3);
    cr_assert_not(m->writes);
}

Test(missing, rows_do_not_come, .init = make_reader)
{
    set_positions(1000, 1000, 1000);
    look();
    cr_assert_eq(n_seen, 1);
    cr_assert_not_null(of(WI_MISSING_ROWS));
}

/* Its control block may be that of another ring by now. */
Test(missing, positions_of_a_closed_ring_are_not_looked_at, .init = make_reader)
{
    set_positions(1000, 600, 200);
    in.closed = true;
    look();
    cr_assert_eq(n_seen, 1);
    cr_assert_not_null(of(WI_MISSING_ROWS));
}

Test(missing, positions_of_a_lost_ring_are_not_looked_at, .init = make_reader)
{
    set_positions(1000, 600, 200);
    wi_store_rlx(&in.dead, 1); /* rlx: one thread */
    look();
    cr_assert_eq(n_seen, 1);
    cr_assert_not_null(of(WI_MISSING_ROWS));
}

/* Those of a mapped ring are the peer's. */
Test(missing, positions_may_be_anything, .init = make_reader)
{
    set_positions(SIZE + 100, 99, 0);
    look();
    const struct wi_missing *m = of(WI_MISSING_TAKING);
    cr_assert_not_null(m);
    cr_assert_eq(m->bytes, SIZE, "more than a ring holds");
    set_positions(500, 600, 0);
    look();
    cr_assert_not_null(of(WI_MISSING_ROWS));
    cr_assert_null(of(WI_MISSING_TAKING), "the tail is behind");
    set_positions(SIZE, 0, 0);
    look();
    m = of(WI_MISSING_TAKING);
    cr_assert_not_null(m);
    cr_assert_eq(m->bytes, SIZE);
}

/* The FIFO of held frames runs on, and around. */
Test(missing, batches_that_are_held_are_counted, .init = make_reader)
{
    const uint32_t begin = UINT32_MAX - 1;
    set_positions(1000, 1000, 400);
    for (uint32_t i = 0; i < WI_HELD_MAX; i++) {
        wi_store_rlx(&held[i].released, 1); /* rlx: one thread */
    }
    wi_store_rlx(&in.held_begin, begin);   /* rlx: the same */
    wi_store_rlx(&in.held_end, begin + 4); /* rlx: the same */
    for (uint32_t i = begin; i != begin + 3; i++) {
        wi_store_rlx(&held[i % WI_HELD_MAX].released, 0); /* rlx: the same */
    }
    look();
    cr_assert_eq(n_seen, 2);
    const struct wi_missing *m = of(WI_BESIDES_HELD);
    cr_assert_not_null(m);
    cr_assert_eq(m->n, 3);
    cr_assert_eq(m->bytes, 600);
    cr_assert_not_null(of(WI_MISSING_ROWS));
}

Test(missing, producers_whose_rings_have_not_come, .init = make_reader)
{
    came[0] = 0;
    wi_store_rlx(&reader.n_streams, 0); /* rlx: one thread */
    look();
    cr_assert_eq(n_seen, 1);
    const struct wi_missing *m = of(WI_MISSING_RING);
    cr_assert_not_null(m);
    cr_assert_eq(m->member, 1);
    cr_assert_eq(m->peers, 1);
}

Test(missing, streams_that_have_ended_are_counted, .init = make_reader)
{
    wi_store_rlx(&stream.ended, true); /* rlx: one thread */
    look();
    cr_assert_eq(n_seen, 0, "all have");
    shuffle.n_sources = 2;
    look();
    cr_assert_eq(n_seen, 1);
    const struct wi_missing *m = of(WI_BESIDES_ENDED);
    cr_assert_not_null(m);
    cr_assert_eq(m->n, 1);
}

Test(missing, readers_that_are_not_open_or_no_more, .init = make_reader)
{
    readers[0] = NULL;
    look();
    cr_assert_eq(n_seen, 1);
    cr_assert_not_null(of(WI_MISSING_READER));
    shuffle.was_read = 1;
    look();
    cr_assert_eq(n_seen, 0);
    readers[0] = &reader;
    reader.stopped = true;
    look();
    cr_assert_eq(n_seen, 0);
}

/* ---- writers ------------------------------------------------------------- */

static void make_writer(void)
{
    make();
    shuffle.self_produces = true;
    writers[0] = &writer;
    writer.shuffle = &shuffle;
    writer.lanes = &lane;
    writer.n_lanes = 1;
    lane.owner = true;
    lane.out = &out;
    out.link = &peer;
    out.size = SIZE;
    out.ctl = &out.own_ctl;
    wi_store_rlx(&out.state, WI_OUT_OPEN); /* rlx: one thread */
    wi_store_rlx(&out.own_ctl.tail, 900);  /* rlx: the same */
    wi_store_rlx(&out.credit, 300);        /* rlx: the same */
}

Test(missing, writers_wait_for_room, .init = make_writer)
{
    wi_store_rlx(&out.own_ctl.producer_waits,
                 WI_WAITS_FOR_ROOM); /* rlx: one thread */
    look();
    cr_assert_eq(n_seen, 1);
    const struct wi_missing *m = of(WI_MISSING_ROOM);
    cr_assert_not_null(m);
    cr_assert_eq(m->bytes, 600);
    cr_assert(m->writes);
}

static void expect_unreleased(uint64_t bytes)
{
    const struct wi_missing *m = of(WI_BESIDES_UNRELEASED);
    cr_assert_not_null(m);
    cr_assert_eq(m->bytes, bytes);
}

Test(missing, writers_have_not_finished, .init = make_writer)
{
    look();
    cr_assert_eq(n_seen, 2);
    expect_unreleased(600);
    cr_assert_not_null(of(WI_MISSING_END));
}

/* Whoever has finished waits for nothing, even if it once waited. */
Test(missing, what_finished_writers_sent_is_not_released, .init = make_writer)
{
    wi_store_rlx(&out.own_ctl.producer_waits,
                 WI_WAITS_FOR_ROOM);      /* rlx: one thread */
    wi_store_rlx(&writer.finished, true); /* rlx: the same */
    look();
    cr_assert_eq(n_seen, 1);
    expect_unreleased(600);
}

/* The head of a mapped ring is in the ring. */
Test(missing, mapped_rings_have_heads_of_their_own, .init = make_writer)
{
    out.mapped = true;
    wi_store_rlx(&out.own_ctl.head, 800); /* rlx: one thread */
    look();
    expect_unreleased(100);
}

Test(missing, rings_that_are_over_owe_nothing, .init = make_writer)
{
    wi_store_rlx(&out.own_ctl.producer_waits,
                 WI_WAITS_FOR_ROOM); /* rlx: one thread */
    out.closed = true;
    look();
    cr_assert_eq(n_seen, 1);
    cr_assert_not_null(of(WI_MISSING_END));
    out.closed = false;
    wi_store_rlx(&out.stop_all, 1); /* rlx: one thread */
    look();
    cr_assert_eq(n_seen, 1);
    cr_assert_not_null(of(WI_MISSING_END));
}

Test(missing, writers_wait_for_links_and_places, .init = make_writer)
{
    wi_store_rlx(&out.state, WI_OUT_WAITING); /* rlx: one thread */
    look();
    cr_assert_eq(n_seen, 1);
    cr_assert_not_null(of(WI_MISSING_PLACE));
    peer.state = WI_LINK_HELLO;
    look();
    cr_assert_eq(n_seen, 1);
    cr_assert_not_null(of(WI_MISSING_LINK));
}

Test(missing, writers_that_are_not_open, .init = make_writer)
{
    writers[0] = NULL;
    look();
    cr_assert_eq(n_seen, 1);
    cr_assert_not_null(of(WI_MISSING_WRITER));
    shuffle.wrote = 1;
    look();
    cr_assert_eq(n_seen, 0);
}

/* A ring of a node belongs to none of its workers. */
Test(missing, shared_rings_name_no_worker, .init = make_writer)
{
    out.consumer_worker = WI_ANY_WORKER;
    look();
    cr_assert_eq(of(WI_BESIDES_UNRELEASED)->peers, 0);
    out.consumer_worker = 2;
    look();
    cr_assert_eq(of(WI_BESIDES_UNRELEASED)->peers, 4);
}
