/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of an edge between two engines, on a posted link: whatever readers
 * and writers do, and whenever they do it, both ends reach their final state,
 * units are used again only after CLOSED and after the producer's memory for
 * the ring is back, so that no more rings have memory than there are units, and
 * nothing of an old epoch is taken for new. What ends a link (a message for an
 * edge that is not open, an overlap, ABANDON twice) never happens between two
 * engines that keep to the protocol.
 *
 * Mirrors core/link/edge_out.c, core/link/edge_in.c, core/link/stream.c,
 * core/query/lane.c and core/query/writer.c, and docs/wire.md "Life of an
 * edge":
 *
 *   producer   wi_out_place(), place_one(), wi_lane_put(), lane_end(),
 *              ring_stopped(), wi_out_abandon(), wi_out_release(),
 *              wi_out_on_stop(), wi_out_on_closed(), wi_out_on_credit(),
 *              give_memory(), wi_edges_limbo(), leave_limbo(), wi_out_free()
 *   pump       send_ctl() before post_out() in core/link/post.c, reap()
 *   consumer   wi_in_on_open(), wi_query_attach(), wi_in_refuse(),
 *              wi_in_on_notify(), wi_in_on_abandon(), wi_take_frame(),
 *              take_end(), wi_stream_stop(), stop_ring(), wi_stream_ended(),
 *              wi_stream_detach(), wi_in_over(), post_in()
 *
 * QUERIES queries in a row want the same unit, each with one thread-to-thread
 * ring and at most FRAMES frames before its END. Each side may cancel a query
 * or close it at any time; the consumer may open it before or after EDGE_OPEN
 * comes, or never, may stop at any time, and may refuse a frame, upon which its
 * query has failed and it only closes. Messages of one direction keep their
 * order. A step of an engine is atomic, as it holds the node's lock.
 *
 * -DMAPPED    units go back at CLOSED: a ring's memory is the peer's. (What
 *             else is different over mapped links is not modelled.)
 * -DPATIENT   no writer is closed before its END or a STOP
 * -DCREDIT    a ring has room for one frame or END: the next is posted when the
 *             credit has come. A credit is sent by the send side, which may do
 *             so after CLOSED and after the unit is another edge's. END may be
 *             refused, too
 *
 * Mutations, each of which must be found:
 * -DEARLY_REUSE   the unit is free as soon as ABANDON is sent
 * -DEARLY_CLOSED  CLOSED does not wait for ABANDON or END
 * -DQUIET_DEAF    STOP of an edge that is QUIET is not answered
 * -DNO_EPOCH      ABANDON is taken whatever its epoch
 * -DKEEP_REFUSED  a frame that is refused keeps its slot
 * -DUNIT_FIRST    units go back at CLOSED, before the ring's memory
 * -DFREE_FLYING   memory goes back while the transport still reads it
 * -DNO_PLACE      edges that wait are not placed when units go back
 * -DCREDIT_EPOCH  CREDIT is taken whatever its epoch
 * -DCREDIT_STRICT CREDIT for an edge that is not open ends the link
 * -DDROP_REFUSED  no STOP when the reader of a refused frame is closed
 */
#ifndef QUERIES
#define QUERIES 2
#endif
#ifndef FRAMES
#define FRAMES 1
#endif

#define ROOM 1  /* frames in a ring, if CREDIT */
#define UNITS 1 /* memory for so many rings is planned */

mtype = { OPEN, NOTIFY, END, ABANDON, STOP, CLOSED, CREDIT_IS };

chan ctl = [4] of { mtype, byte };       /* producer's, on their way to send */
chan to_consumer = [3] of { mtype, byte };
chan to_producer = [6] of { mtype, byte, byte };

/* ---- producer: out[q], its epoch is q + 1 -------------------------------- */

#define NONE 0
#define WAITING 1
#define PLACED 2
#define QUIET 3
#define LIMBO 4
#define FREED 5

byte out[QUERIES];
byte written[QUERIES], posted[QUERIES]; /* frames */
bit end_written[QUERIES], end_posted[QUERIES];
bit stop_all[QUERIES], abandoned[QUERIES], out_released[QUERIES];
bit out_closed[QUERIES];
bit looked[QUERIES]; /* a WAITING one found no unit, and waits to be placed */
bit flying[QUERIES]; /* the transport still reads the ring's memory */
byte credit[QUERIES];
byte unit_of;  /* epoch that the unit's messages are for (l->out), 0: none */
bit taken;     /* the unit */
byte memory;   /* rings that have memory */

/* ---- consumer: in[q] ----------------------------------------------------- */

bit in_open[QUERIES], in_closed[QUERIES], in_attached[QUERIES];
bit gone[QUERIES], ended[QUERIES], in_abandoned[QUERIES], drained[QUERIES];
bit has_reader[QUERIES], stop_sent[QUERIES];
byte came[QUERIES], held[QUERIES];
bit refused[QUERIES]; /* a frame: the query has failed, nothing more is read */
bit end_came[QUERIES];
bit kept;             /* KEEP_REFUSED: a slot that nobody releases */
byte reader[QUERIES]; /* 0 not open, 1 open, 2 closed */
byte used;            /* epoch in the unit, 0: none */
byte head[QUERIES];   /* frames released */
bit owed[QUERIES];    /* a credit, to the send side */

inline abandon(q)
{
    if
    :: !abandoned[q] && out[q] != WAITING ->
        out[q] = QUIET;
        abandoned[q] = 1;
        ctl!ABANDON, q + 1;
#ifdef EARLY_REUSE
        unit_of = 0;
        taken = 0
#endif
    :: else
    fi
}

inline over(q)
{
    if
    :: out_closed[q] && out_released[q] -> out[q] = LIMBO
    :: else
    fi
}

#define give_unit()                                                          \
    taken = 0;                                                               \
    looked[0] = 0;                                                           \
    looked[1] = 0

inline release(q, finished)
{
    out_released[q] = 1;
    if
    :: out[q] == WAITING -> out[q] = FREED
    :: else ->
        if
        :: finished && !stop_all[q] -> out[q] = QUIET
        :: else -> abandon(q)
        fi;
        over(q)
    fi
}

#ifdef PATIENT
#define may_close(q) (end_written[q] || stop_all[q])
#else
#define may_close(q) true
#endif

proctype producer(byte q)
{
    atomic { out[q] = WAITING };
    do
    /* wi_out_place() */
    :: atomic {
           out[q] == WAITING && !out_released[q] && !looked[q] && taken ->
           looked[q] = 1
       }
    :: atomic {
           out[q] == WAITING && !out_released[q] && !looked[q] && !taken &&
               nfull(ctl) ->
           taken = 1;
           unit_of = q + 1;
           memory++;
#if !defined(EARLY_REUSE) && !defined(MAPPED)
           assert(memory <= UNITS);
#endif
           out[q] = PLACED;
           ctl!OPEN, q + 1
       }
    /* the worker's next look: push, or lane_end() */
    :: atomic {
           out[q] == PLACED && !stop_all[q] && !end_written[q] &&
               !out_released[q] && written[q] < FRAMES -> written[q]++
       }
    :: atomic {
           out[q] == PLACED && !stop_all[q] && !end_written[q] &&
               !out_released[q] -> end_written[q] = 1
       }
    /* ring_stopped() */
    :: atomic {
           out[q] == PLACED && stop_all[q] && !out_released[q] &&
               nfull(ctl) -> abandon(q)
       }
    /* the writer is closed: at its end, or before (cancelled, failed) */
    :: atomic {
           !out_released[q] && nfull(ctl) && may_close(q) ->
           if
           :: end_written[q] -> release(q, true)
           :: release(q, false)
           fi
       }
    :: out[q] == FREED -> break
    od
}

proctype producer_engine()
{
    byte epoch, k, pos;
end_idle:
    do
    :: atomic {
           nfull(ctl) && to_producer?[STOP, _, _] ->
           to_producer?STOP, epoch, _;
           k = epoch - 1;
           if
           :: unit_of == epoch ->
               assert(gone[k]);
               stop_all[k] = 1;
               if
#ifndef QUIET_DEAF
               :: out[k] == QUIET -> abandon(k)
#endif
               :: else
               fi
           :: else /* crossed with our END */
           fi;
           k = 0; epoch = 0
       }
    :: atomic {
           to_producer?[CLOSED, _, _] ->
           to_producer?CLOSED, epoch, _;
           k = epoch - 1;
           assert(unit_of == epoch && !out_closed[k]);
           out[k] = QUIET;
           out_closed[k] = 1;
           unit_of = 0;
#if defined(UNIT_FIRST) || defined(MAPPED)
           give_unit();
#endif
           over(k);
           k = 0; epoch = 0
       }
#ifdef CREDIT
    :: atomic {
           to_producer?[CREDIT_IS, _, _] ->
           to_producer?CREDIT_IS, epoch, pos;
#ifdef CREDIT_EPOCH
           epoch = (unit_of != 0 -> unit_of : epoch);
#endif
#ifdef CREDIT_STRICT
           assert(unit_of == epoch);
#endif
           if
           :: unit_of == epoch ->
               k = epoch - 1;
               assert(pos <= posted[k] && pos >= credit[k]);
               credit[k] = pos
           :: else /* crossed with the end */
           fi;
           k = 0; epoch = 0; pos = 0
       }
#endif
    /* the send side: control messages first, then what is published */
    :: atomic {
           nempty(ctl) && nfull(to_consumer) ->
           if
           :: ctl?[OPEN, _] -> ctl?OPEN, epoch; to_consumer!OPEN, epoch
           :: else -> ctl?ABANDON, epoch; to_consumer!ABANDON, epoch
           fi;
           epoch = 0
       }
#ifdef CREDIT
#define granted(i) (posted[i] < credit[i] + ROOM)
#else
#define granted(i) true
#endif
#ifdef MAPPED
#define flies 0
#else
#define flies 1
#endif
#ifdef FREE_FLYING
#define quiet(i) true
#else
#define quiet(i) (!flying[i])
#endif
#if defined(UNIT_FIRST) || defined(EARLY_REUSE) || defined(MAPPED)
#define place_next() skip
#elif defined(NO_PLACE)
#define place_next() taken = 0
#else
#define place_next() give_unit()
#endif
#define POST(i)                                                              \
    :: atomic {                                                              \
           empty(ctl) && nfull(to_consumer) && out[i] != FREED &&            \
               !abandoned[i] && posted[i] < written[i] && granted(i) ->      \
           posted[i]++;                                                      \
           flying[i] = flies;                                                \
           to_consumer!NOTIFY, i + 1                                         \
       }                                                                     \
    :: atomic {                                                              \
           empty(ctl) && nfull(to_consumer) && out[i] != FREED &&            \
               !abandoned[i] && posted[i] == written[i] &&                   \
               end_written[i] && !end_posted[i] && granted(i) ->             \
           end_posted[i] = 1;                                                \
           flying[i] = flies;                                                \
           to_consumer!END, i + 1                                            \
       }                                                                     \
    :: atomic { flying[i] -> flying[i] = 0 /* reap() */ }                    \
    /* wi_edges_limbo() */                                                   \
    :: atomic {                                                              \
           out[i] == LIMBO && quiet(i) ->                                    \
           out[i] = FREED;                                                   \
           assert(!flying[i]);                                               \
           memory--;                                                         \
           place_next()                                                      \
       }
    POST(0)
    POST(1)
    od
}

/* ---- consumer ------------------------------------------------------------ */

inline in_over(q)
{
    if
    :: drained[q] && !in_closed[q] &&
#ifndef EARLY_CLOSED
       (in_abandoned[q] || ended[q]) &&
#endif
       true ->
        in_closed[q] = 1;
        used = 0;
        to_producer!CLOSED, q + 1, 0
    :: else
    fi
}

/* wi_in_finish_when_empty(): nobody reads, nothing is held. */
inline finish(q)
{
    if
    :: (gone[q] || ended[q]) && held[q] == 0 && !kept && in_open[q] ->
        drained[q] = 1;
        in_over(q)
    :: else
    fi
}

#ifdef DROP_REFUSED
#define tells(q) (!refused[q])
#else
#define tells(q) true
#endif

/* wi_stream_stop(), stop_ring() */
inline stop(q)
{
    if
    :: in_open[q] && !gone[q] ->
        gone[q] = 1;
        if
        :: !ended[q] && !stop_sent[q] && !in_closed[q] && tells(q) ->
            stop_sent[q] = 1;
            to_producer!STOP, q + 1, 0
        :: else
        fi;
        finish(q)
    :: else
    fi
}

#define room (len(to_producer) < 4)

/* wi_in_advance(): space goes back. */
inline freed(q)
{
#ifdef CREDIT
    head[q]++;
    owed[q] = 1;
#endif
    finish(q)
}

proctype consumer(byte q)
{
    do
    /* the reader opens: before or after the edge */
    :: atomic { reader[q] == 0 && room -> reader[q] = 1 }
    /* or the query is over before anybody has opened it: a tomb */
    :: atomic { reader[q] == 0 && room -> reader[q] = 2; stop(q) }
    /* takes a frame; releases one */
    :: atomic {
           reader[q] == 1 && !gone[q] && !refused[q] && came[q] > 0 ->
           came[q]--; held[q]++
       }
    /* or refuses it: its slot is released at once */
    :: atomic {
           reader[q] == 1 && !gone[q] && !refused[q] && came[q] > 0 && room ->
           came[q]--;
           refused[q] = 1;
#ifdef KEEP_REFUSED
           kept = 1;
#endif
           freed(q)
       }
    :: atomic { held[q] > 0 && room -> held[q]--; freed(q) }
#ifdef CREDIT
    :: atomic {
           reader[q] == 1 && !gone[q] && !refused[q] && !ended[q] &&
               came[q] == 0 && end_came[q] && room ->
           end_came[q] = 0;
           refused[q] = 1;
           finish(q)
       }
    /* the send side: post_in() */
    :: atomic {
           owed[q] && room -> owed[q] = 0;
           to_producer!CREDIT_IS, q + 1, head[q]
       }
#endif
    :: atomic {
           reader[q] == 1 && !gone[q] && !refused[q] && !ended[q] &&
               came[q] == 0 && end_came[q] && room ->
           ended[q] = 1;
           finish(q)
       }
    /* weir_reader_stop(); the reader is closed */
    :: atomic { reader[q] == 1 && in_open[q] && !gone[q] && room -> stop(q) }
    :: atomic { reader[q] == 1 && room -> reader[q] = 2; stop(q) }
    /* all over: closed, or it never came and never will */
    :: reader[q] == 2 && held[q] == 0 && !owed[q] &&
       (in_closed[q] || (out[q] == FREED && !in_open[q])) -> break
    od
}

proctype consumer_engine()
{
    byte epoch, k;
end_idle:
    do
    :: atomic {
           room && to_consumer?[OPEN, _] ->
           to_consumer?OPEN, epoch;
           k = epoch - 1;
           assert(used == 0); /* check_open(): overlap */
           used = epoch;
           in_open[k] = 1;
           if
           :: reader[k] == 2 -> stop(k)
           :: else
           fi;
           k = 0; epoch = 0
       }
    :: atomic {
           to_consumer?[NOTIFY, _] ->
           to_consumer?NOTIFY, epoch;
           assert(used == epoch);
           came[epoch - 1]++;
           epoch = 0
       }
    :: atomic {
           to_consumer?[END, _] ->
           to_consumer?END, epoch;
           assert(used == epoch);
           end_came[epoch - 1] = 1;
           epoch = 0
       }
    :: atomic {
           room && to_consumer?[ABANDON, _] ->
           to_consumer?ABANDON, epoch;
#ifdef NO_EPOCH
           epoch = used;
#endif
           k = epoch - 1;
           if
           :: used == epoch && used != 0 ->
               assert(!in_abandoned[k]);
               in_abandoned[k] = 1;
               if
               :: drained[k] -> in_over(k)
               :: !drained[k] && reader[k] == 0 -> stop(k) /* wi_in_refuse() */
               :: else
               fi
           :: else /* crossed with our CLOSED */
           fi;
           k = 0; epoch = 0
       }
    od
}

/* All is quiet: every edge is over on both ends and the unit is free. */
proctype judge()
{
end_waits:
    timeout ->
    assert(unit_of == 0 && used == 0 && !taken && memory == 0);
    assert(out[0] == FREED && out[1] == FREED);
    assert(in_open[0] == in_closed[0] && in_open[1] == in_closed[1])
}

init {
    atomic {
        run producer(0);
        run producer(1);
        run consumer(0);
        run consumer(1);
        run producer_engine();
        run consumer_engine();
        run judge();
    }
}
