/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credits of a posted ring (edges E1, E5 and E6), with all that holds one back:
 * rows come in bursts, and the next burst only when the consumer has taken the
 * last row of the one before. So whoever keeps back a frame, a part of one, a
 * notification or a credit that nobody else will ask for leaves everybody
 * asleep. Also: nothing is posted beyond the credit, credits and positions
 * ascend, and a reader that waits is known to wait in the end.
 *
 * Mirrors:
 *
 *   producer      lane_fill(), wi_lane_put(), look_for_room(), ring_consumer(),
 *                 wi_lane_ask_credit() in core/query/lane.c; flush_lane(),
 *                 flush_if_due() in core/query/writer_flush.c
 *   sender        pump_once(), reap(), post_out(), post_limit(), notify() in
 *                 core/link/post.c
 *   p_engine      wi_out_on_credit() in core/link/edge_out.c
 *   c_engine      wi_in_on_notify() in core/link/edge_in.c
 *   consumer      wi_in_scan(), more_to_come(), wi_in_reader_waits() in
 *                 core/link/scan.c; owe(), wi_reader_pay() in
 *                 core/query/reader.c
 *   advance       advance_once(), move_head(), send_credit() in
 *                 core/link/in_ring.c
 *   c_sender      post_in(), wi_link_leave(), wi_link_post()
 *
 * At the consumer, whose threads cross here, one step is one load or store of
 * what others look at; a round of the producer's sender and a message there are
 * one step each. All accesses are sequentially consistent (ring.pml has store
 * buffers, pump.pml the post lock, handover.pml `advancing`, which is a plain
 * lock here). Bells are perfect. A frame is two words or, where it was flushed,
 * one; the ring has SIZE words, so that writes may end within a frame. "More
 * than eight full frames in a row" is "any" here: whether more follows is a
 * free choice. The consumer releases what it has taken at any time, perhaps by
 * another thread.
 *
 * -DTRAFFIC  one round of its sender comes by itself (other rows go that way)
 *
 * Mutations, each of which must be found:
 * -DNO_ASK_ROOM   a producer without room does not take "more follows" back
 * -DNO_ASK_SLEEP  nor does one that sleeps on part of a frame
 * -DNO_LAST_LOOK  no look at the credit after the wish to be told
 * -DNO_SECOND     notify() says nothing new if the position is the same
 * -DNO_ANSWER     the question does not look for a credit that was held back
 * -DLATE_CLEAR    it looks before it has cleared `more_follows`
 * -DNO_PAY        a reader that sleeps does not say that it waits
 * -DLATE_WAITS    it looks for a credit first, and says so then
 * -DLEAVE_ALWAYS  a credit is only ever left to the next round
 * -DNO_REPOST     a credit does not start a round for what it was in the way of
 * -DNO_WAKE       a credit does not wake the producer
 * -DNO_REAP_WAKE  room in local memory does not
 * -DNO_LIMIT      writes are not limited by the credit
 * -DNO_TOLD       `credit_told` is not cleared when a credit is sent
 */
#ifndef WORDS
#define WORDS 3 /* of rows, in all */
#endif
#ifndef LEAST
#define LEAST 1 /* in a burst, but for the last */
#endif
#define FRAME 2
#ifndef SIZE
#define SIZE 4
#endif
/* A credit for so much is not held back: "half of the ring", so that it is more
 * than one frame here. */
#ifndef HALF
#define HALF 3
#endif

#define NONE 0
#define LIKELY 1
#define SOON 2

/* ---- producer ------------------------------------------------------------ */

byte tail, room;      /* ctl->tail; ctl->head: reaped */
byte credit, posted;
byte reader_waited;
byte follows;
bit producer_waits;
bit attention;        /* of the producer's bell */
bit p_queued, p_wish; /* its item; E6 */
byte generated, taken;

byte frame_end[8];    /* of each frame: what its header says */

chan to_consumer = [2] of { byte, bit };
chan to_producer = [2] of { byte, bit };

#define min(a, b) ((a) < (b) -> (a) : (b))

inline ask_credit()
{
    atomic {
        held = 0;
        if
        :: follows != NONE -> follows = NONE; p_queued = 1; p_wish = 1
        :: else
        fi
    }
}

/* wi_lane_put(), ring_consumer() */
inline put(words, what)
{
    atomic {
        follows = what;
        tail = tail + words;
        frame_end[n] = tail;
        n++;
        have = 0;
        held = (!held && what == SOON);
        if
        :: !held -> p_queued = 1; p_wish = 1
        :: else
        fi
    }
}

/* before a frame is opened */
#define has_room (tail + FRAME - room <= SIZE)

proctype producer()
{
    byte left, have, n;
    bit held;
    do
    :: atomic {
           generated == taken && generated < WORDS ->
           select (left : LEAST .. WORDS);
           left = min(left, WORDS - generated);
           generated = generated + left
       };
       /* a push */
       do
       :: left == 0 -> break
       :: atomic { left != 0 && !has_room -> producer_waits = 1 };
           if
           :: has_room
           :: else ->
#ifndef NO_ASK_ROOM
               ask_credit();
#endif
               atomic { attention -> attention = 0 }
           fi
       :: atomic {
              left != 0 && has_room ->
              have = min(left, FRAME);
              left = left - have;
              if
              :: have == FRAME && left != 0 -> put(FRAME, SOON)
              :: have == FRAME -> put(FRAME, LIKELY)
              :: have == FRAME -> put(FRAME, NONE)
              :: have < FRAME
              fi
          }
       od;
       if
       :: held -> ask_credit()
       :: else
       fi;
       /* perhaps it has gone on for so long that it looks for who waits */
       if
       :: atomic { have != 0 && reader_waited >= tail -> put(have, NONE) }
       :: have != 0 && reader_waited < tail -> ask_credit()
       :: true
       fi;
       /* sleep until there is more, or to be told of room */
       do
       :: atomic { generated == taken -> attention = 0; break }
       :: atomic { generated != taken && have != 0 -> producer_waits = 1 };
#ifndef NO_LAST_LOOK
           if
           :: atomic { credit >= tail -> put(have, NONE) }
           :: else ->
#ifndef NO_ASK_SLEEP
               ask_credit()
#endif
           fi;
#endif
           atomic { attention || generated == taken -> attention = 0 }
#ifdef NO_LAST_LOOK
           ;
           if
           :: atomic { have != 0 && credit >= tail -> put(have, NONE) }
           :: else
           fi
#endif
       :: generated != taken && have == 0 ->
           atomic { attention || generated == taken -> attention = 0 }
       od;
       if
       :: generated == WORDS -> break
       :: else
       fi
    od
}

#ifdef NO_SECOND
#define takes_back (false)
#else
#define takes_back (told && !more)
#endif
#define covers (tail < credit + SIZE)
#ifdef NO_LIMIT
#define limit tail
#else
#define limit (tail < credit + SIZE -> tail : credit + SIZE)
#endif

proctype sender()
{
    byte notified;
    bit told, more;
end_idle:
    do
    :: atomic {
           p_wish && nfull(to_consumer) ->
           p_wish = 0;
           if
           :: p_queued ->
               p_queued = 0;
               if
               :: limit > posted -> posted = limit
               :: else
               fi;
               more = (follows != NONE && covers);
               if
               :: notified < posted || takes_back ->
                   to_consumer!posted, more;
                   notified = posted;
                   told = more
               :: else
               fi;
               more = 0
           :: else
           fi
       }
    /* the transport is done with local memory: reap() */
    :: atomic {
           room != posted -> room = posted;
           if
           :: producer_waits ->
               producer_waits = 0;
#ifndef NO_REAP_WAKE
               attention = 1
#endif
           :: else
           fi
       }
    od
}

proctype p_engine()
{
    byte pos, had;
    bit hint;
end_idle:
    do
    :: atomic {
           to_producer?pos, hint ->
           assert(pos <= tail && pos >= credit);
           had = credit;
           if
           :: hint -> reader_waited = pos
           :: else
           fi;
           credit = pos;
#ifndef NO_REPOST
           if
           :: tail > had + SIZE -> p_queued = 1; p_wish = 1
           :: else
           fi;
#endif
#ifndef NO_WAKE
           if
           :: producer_waits -> attention = 1
           :: else
           fi;
#endif
           pos = 0; had = 0; hint = 0
       }
    od
}

/* ---- consumer ------------------------------------------------------------ */

byte c_tail, head, credited;
bit more_follows, reader_waits, credit_told;
bit mark;
bit c_queued, c_wish;
bit advancing;
byte n_taken, n_head; /* frames */

/* With `advancing` taken: what send_credit() loads first, */
inline look_first()
{
    advancing = 1;
    d = head - credited;
    w = reader_waits
}

/* and the rest of it. */
inline send_credit()
{
    atomic {
        if
        :: d >= HALF ||
           (w && !more_follows && (d != 0 || !credit_told)) ->
            c_queued = 1;
#ifndef LEAVE_ALWAYS
            c_wish = 1
#endif
        :: else ->
            c_queued = (c_queued || d != 0)
        fi;
        d = 0; w = 0;
        advancing = 0
    }
}

inline advance()
{
    atomic { !advancing -> look_first() };
    send_credit()
}

proctype c_engine()
{
    byte pos, d;
    bit hint, asks, w;
end_idle:
    do
    :: atomic {
           to_consumer?pos, hint ->
           assert(pos >= c_tail && pos - head <= SIZE);
           asks = !hint && more_follows;
#ifndef LATE_CLEAR
           more_follows = hint;
#endif
           c_tail = pos;
           pos = 0
       };
#ifndef NO_ANSWER
       if
       :: asks -> advance()
       :: else
       fi;
#endif
       atomic {
#ifdef LATE_CLEAR
           more_follows = hint;
#endif
           mark = 1; hint = 0; asks = 0
       }
    od
}

inline waits()
{
#ifndef LATE_WAITS
    reader_waits = 1;
#endif
    advance()
#ifdef LATE_WAITS
    ;
    reader_waits = 1
#endif
}

proctype consumer()
{
    byte scan, seen, d;
    bit w;
end_idle:
    do
    :: scan == seen && scan == c_tail ->
        /* nothing: it sleeps */
#ifndef NO_PAY
        if
        :: !reader_waits -> waits()
        :: else
        fi;
#endif
end_empty:
        atomic { mark -> mark = 0 }
    :: atomic { scan == seen && scan != c_tail -> seen = c_tail }
    :: scan != seen && frame_end[n_taken] > seen ->
        /* part of a frame */
        if
        :: atomic { c_tail != seen -> seen = c_tail }
        :: else ->
            if
            :: !reader_waits -> waits()
            :: else
            fi;
end_part:
            atomic { mark -> mark = 0 }
        fi
    :: atomic {
           scan != seen && frame_end[n_taken] <= seen ->
           reader_waits = 0;
           taken = taken + frame_end[n_taken] - scan;
           scan = frame_end[n_taken];
           n_taken++
       }
    od
}

/* The user, by whatever thread. */
proctype releaser()
{
    byte d;
    bit w;
end_idle:
    do
    :: atomic {
           !advancing && n_head < n_taken ->
           n_head = n_taken;
           head = frame_end[n_head - 1];
           look_first()
       };
       send_credit()
    od
}

proctype c_sender()
{
    byte h;
    bit w;
end_idle:
    do
    :: atomic {
           c_wish && nfull(to_producer) ->
           c_wish = 0;
           if
           :: c_queued ->
               c_queued = 0;
#ifndef NO_TOLD
               credit_told = 0;
#endif
               w = reader_waits;
               h = head
           :: else
           fi
       };
       atomic {
           if
           :: h != 0 || w ->
               to_producer!h, w;
               credited = h;
               if
               :: w -> credit_told = 1
               :: else
               fi
           :: else
           fi;
           h = 0; w = 0
       }
    od
}

proctype traffic()
{
    if
    :: c_wish = 1
    :: true
    fi
}

/* All is quiet: everything was taken, and the producer knows who waits. */
proctype judge()
{
end_waits:
    timeout ->
    assert(taken == WORDS && head == WORDS);
    assert(more_follows || reader_waited == WORDS)
}

init {
    atomic {
        run producer();
        run sender();
        run p_engine();
        run c_engine();
        run consumer();
        run releaser();
        run c_sender();
#ifdef TRAFFIC
        run traffic();
#endif
        run judge()
    }
}
