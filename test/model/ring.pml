/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapped ring of two frames (edges E1 and E5): everything arrives once and in
 * order, no byte is written again before its frame was released, and a producer
 * that waits for room is woken, under the rules "a release wakes when at most
 * an eighth of the ring is in use" and "a look that finds nothing wakes".
 *
 * Mirrors, line by line:
 *
 *   reserve           wi_ring_reserve() in core/ring/ring.h
 *   out_room          wi_lane_room() in core/query/lane.c
 *   producer          wi_lane_open(), wi_lane_put()
 *   wake_producer     wi_in_wake_producer() in core/link/in_ring.c
 *   move_head         move_head(), tell_producer() in core/link/in_ring.c
 *   advance           advance_once() in core/link/in_ring.c
 *   consumer: look    wi_in_scan(), nothing_there() in core/link/scan.c
 *
 * Bells are perfect here (bell.pml shows that they are): a mark or attention is
 * a bit, and a sleep ends when it is set. `advancing` is a plain lock
 * (handover.pml). Plain stores go through a store buffer per process and become
 * visible at any later time, in order (TSO); an sc store or an exchange empties
 * the buffer of its process first. `tail` (release) and `producer_waits` = 0
 * (relaxed) are such plain stores in the C source too, and hence in every run.
 *
 * SIZE words of ring, frames of FRAME or, where a flush cut them short, SHORT
 * words; a cell of `mem` says whose word it holds. What is left before the
 * ring's end and too short for a FRAME becomes a PAD, as for columns of
 * variable width. An eighth of the ring is one word.
 *
 * How the user holds batches:
 * -DUSER=0  releases what it has taken, in any order, at any time, at the
 *           latest some time after it has gone to sleep (another thread does)
 * -DUSER=1  keeps the last batch until the next one comes; releases the others
 *           before it looks again
 * -DUSER=2  as 1, but releases the others at any time: also after the look that
 *           found nothing, by itself or by another thread
 *
 * Mutations:
 * -DNO_HUNGRY       a look that finds nothing does not say so, and a release
 *                   wakes only if little of the ring is in use
 * -DWEAK_PRODUCER   `producer_waits` = 1 with release: it stays in the store
 *                   buffer
 * -DWEAK_CONSUMER   `head` with release: it stays in the store buffer
 * -DNO_LAST_LOOK    out_room does not look again after the wish
 * -DNO_NOTHING      a look that finds nothing does not wake
 * -DNO_EIGHTH       a release does not wake
 * -DEARLY_HEAD      the head moves when a frame is taken
 */
#ifndef USER
#define USER 0
#endif
#ifndef FRAMES
#define FRAMES 4
#endif
#define SIZE 8
#define FRAME 4
#ifndef SHORT
#define SHORT 2
#endif
#define HELD 8 /* slots of the FIFO of held frames */
#define PAD 255

byte head, tail; /* positions */
bit producer_waits;
byte mem[SIZE];  /* number of the frame that the word belongs to */

bit attention;   /* of the producer's bell */
bit mark;        /* of the consumer's bell */

/* Frames in the user's hands: [held_begin, held_end). */
byte held_begin, held_end;
byte held_pos[HELD], held_len[HELD], held_no[HELD];
bit released[HELD];
bit advancing;
bit all_taken;
bit reader_waits;      /* the last look found nothing */

/* ---- store buffers ------------------------------------------------------ */

#define HEAD 0
#define TAIL 1
#define WANT 2

#define P 0 /* producer */
#define C 1 /* consumer */
#define R 2 /* another thread that releases */

chan buffer[3] = [2] of { byte, byte };

inline apply()
{
    if
    :: what == HEAD -> head = value
    :: what == TAIL -> tail = value
    :: what == WANT -> producer_waits = value
    fi
}

proctype memory(byte who)
{
    byte what, value;
end_empty:
    do
    :: atomic { buffer[who]?what, value -> apply();
                what = 0; value = 0 }
    od
}

#define store(who, what, value) buffer[who]!what, value
#define fence(who) empty(buffer[who])

/* ---- producer ----------------------------------------------------------- */

/* A whole frame, with what is left before the ring's end skipped. */
inline reserve()
{
    pad = ((SIZE - my_tail % SIZE) < FRAME -> SIZE - my_tail % SIZE : 0);
    fits = SIZE - (my_tail - head_seen) >= FRAME + pad
}

inline out_room()
{
    atomic { head_seen = head; reserve() };
    if
    :: fits
    :: else ->
#ifdef WEAK_PRODUCER
        store(P, WANT, 1);
#else
        fence(P);
        producer_waits = 1;
#endif
#ifndef NO_LAST_LOOK
        atomic { head_seen = head; reserve() }
#endif
    fi
}

inline fill(first, count, frame)
{
    atomic {
        k = 0;
        do
        :: k < count -> mem[(first + k) % SIZE] = frame; k++
        :: else -> break
        od;
        k = 0
    }
}

proctype producer()
{
    byte no, n, pad, k, my_tail, head_seen;
    bool fits;
    for (no : 1 .. FRAMES) {
        do
        :: out_room();
           if
           :: fits -> break
           :: else ->
               fence(P); /* the bell's exchange, the kernel */
               atomic { attention == 1; attention = 0 }
           fi
        od;
        if
        :: n = FRAME
        :: n = SHORT
        fi;
        fill(my_tail, pad, PAD);
        fill(my_tail + pad, n, no);
        my_tail = my_tail + pad + n;
        store(P, TAIL, my_tail);
        fence(P); /* wi_bell_mark() is an exchange */
        mark = 1
    }
}

/* ---- consumer ------------------------------------------------------------ */

inline wake_producer(who)
{
    store(who, WANT, 0);
    fence(who); /* wi_bell_attention() is an exchange */
    attention = 1
}

inline move_head(who, pos)
{
#ifdef WEAK_CONSUMER
    store(who, HEAD, pos);
#else
    fence(who);
    head = pos;
#endif
#ifndef NO_EIGHTH
    if
    :: producer_waits != 0 ->
        if
        :: tail - pos <= SIZE / 8 || reader_waits -> wake_producer(who)
        :: else
        fi
    :: else
    fi
#endif
}

#define oldest (held_begin % HELD)

/* Moves the head over the released front. */
inline advance(me)
{
    atomic { fence(me) && advancing == 0; advancing = 1 };
    to = 0;
    atomic {
        do
        :: held_begin != held_end && released[oldest] ->
            to = held_pos[oldest] + held_len[oldest];
            released[oldest] = 0;
            held_pos[oldest] = 0; held_len[oldest] = 0; held_no[oldest] = 0;
            held_begin++
        :: else -> break
        od
    };
    if
    :: to != 0 -> move_head(me, to)
    :: else
    fi;
    fence(me);
    advancing = 0;
    to = 0
}

/* May the user release this slot now? The last one only if it may have come to
 * an end, or if the user does not wait for the next. */
#define can(s)                                                               \
    ((s) < held_end && (s) >= held_begin && !released[(s) % HELD] &&         \
     (USER == 0 || (s) + 1 < held_end || all_taken))

/* What a frame's bytes say must not have changed since it was taken. */
inline release(by, i)
{
    atomic {
        can(i) -> s = (i) % HELD;
        assert(mem[held_pos[s] % SIZE] == held_no[s]);
        assert(mem[(held_pos[s] + held_len[s] - 1) % SIZE] ==
               held_no[s]);
        released[s] = 1;
        s = 0
    };
    advance(by)
}

#define any_held (can(held_begin) || can(held_begin + 1))

proctype consumer()
{
    byte scan, tail_seen, no = 1, to, s, n, got;
    do
    :: /* the user releases something, or not */
       do
       :: release(C, held_begin)
       :: release(C, held_begin + 1)
#if USER == 1
       :: !any_held -> break
#else
       :: break
#endif
       od;
       if
       :: no == FRAMES + 1 -> break
       :: else
       fi;
       /* look */
       if
       :: scan == tail_seen -> tail_seen = tail
       :: else
       fi;
       if
       :: scan == tail_seen ->
#ifndef NO_HUNGRY
           fence(C);
           reader_waits = 1;
#endif
#ifndef NO_NOTHING
           if
           :: producer_waits != 0 -> wake_producer(C)
           :: else
           fi;
#endif
#if USER == 2
           /* it may release after the look, too */
           do
           :: release(C, held_begin)
           :: release(C, held_begin + 1)
           :: break
           od;
#endif
           fence(C);
           atomic { mark == 1; mark = 0 }
       :: else ->
           atomic {
               got = mem[scan % SIZE];
               assert(got == no || got == PAD);
               n = 0;
               do
               :: n < tail_seen - scan && n < SIZE - scan % SIZE &&
                  mem[(scan + n) % SIZE] == got -> n++
               :: else -> break
               od;
               held_pos[held_end % HELD] = scan;
               held_len[held_end % HELD] = n;
               held_no[held_end % HELD] = got;
               released[held_end % HELD] = (got == PAD);
               scan = scan + n;
               held_end++;
               no = (got == PAD -> no : no + 1);
               all_taken = (no == FRAMES + 1);
               reader_waits = 0;
               n = 0
           };
           /* wi_take_frame(): what gives no batch is released at once */
           if
           :: got == PAD -> advance(C)
           :: else
           fi;
#ifdef EARLY_HEAD
           head = scan;
#endif
           got = 0
       fi
    od;
    do
    :: release(C, held_begin)
    :: release(C, held_begin + 1)
    :: held_begin == held_end -> break
    od;
    assert(tail == scan)
}

/* Another thread of the user. */
proctype releaser()
{
    byte to, s;
end_idle:
    do
    :: release(R, held_begin)
    :: release(R, held_begin + 1)
    od
}

init {
    atomic {
        run producer();
        run consumer();
#if USER != 1
        run releaser();
        run memory(R);
#endif
        run memory(P);
        run memory(C);
    }
}

#ifdef LIVE
/* With weak fairness: everything is taken. */
ltl all_arrives { <> (all_taken == 1) }
#endif
