/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving ring space back by whoever finds `advancing` free (edge E10): no
 * released frame is left behind, never two holders, the engine is told once and
 * only when nothing is held, and a scanner that found the FIFO full goes on.
 *
 * Mirrors core/link/in_ring.c and core/link/scan.c:
 *
 *   advance()   wi_in_advance()
 *   once()      advance_once()
 *   scanner     held_slot(), wi_in_scan(); wi_in_finish_when_empty()
 *   releaser    release_held() in core/query/reader.c
 *
 * The scanner puts FRAMES frames into a FIFO of MAX slots, each of which is
 * released by the scanner itself or by one of two other threads, then says that
 * nobody reads any more. Bells are perfect (bell.pml).
 *
 * Mutations, each of which must be found:
 * -DNO_RECHECK      the holder does not look for wishes after it has let go
 * -DNO_SECOND_LOOK  who finds the lock taken leaves a wish and goes at once
 * -DWEAK            `again` and `advancing` are stored with release: they stay
 *                   in the store buffer while the next look is made (TSO)
 * -DWEAK_FIFO_FULL  so does `fifo_full`
 * -DSTALE_END       held_end is read before `finish`, not after
 * -DNO_FIFO_FULL    who advances does not mark the ring for a scanner that
 *                   found the FIFO full
 */
#ifndef FRAMES
#define FRAMES 3
#endif
#define MAX 2

bit advancing, again, fifo_full;
byte finish;               /* 0 in use, 1 tell when empty, 2 told */
byte held_begin, held_end;
bit released[MAX];
bit taken[MAX];            /* in a user's hands */
bit mark;                  /* on the scanner's bell */
byte holders, told;

/* A buffered store per process: 0 none, else its kind; TSO for one word at a
 * time, as the idiom stores one word and then looks at another. */
#define NOTHING 0
#define LET_GO 1
#define WISH 2
#define FIFO_FULL 3
byte buffer[3];

inline drain(who)
{
    atomic {
        if
        :: buffer[who] == LET_GO -> advancing = 0
        :: buffer[who] == WISH -> again = 1
        :: buffer[who] == FIFO_FULL -> fifo_full = 1
        :: else
        fi;
        buffer[who] = NOTHING
    }
}

proctype memory(byte who)
{
end_empty:
    do
    :: atomic { buffer[who] != NOTHING -> drain(who) }
    od
}

/* advance_once() */
inline once(who)
{
    holders++;
    assert(holders == 1);
    begin = held_begin;
    end = held_end;
    do
    :: begin != end && released[begin % MAX] ->
        released[begin % MAX] = 0; begin++
    :: else -> break
    od;
    if
    :: begin != held_begin ->
        held_begin = begin;
#ifndef NO_FIFO_FULL
        atomic { saw = fifo_full; fifo_full = 0 };
        if
        :: saw -> mark = 1
        :: else
        fi
#endif
    :: else
    fi;
    if
    :: finish == 1 ->
#ifndef STALE_END
        end = held_end;
#endif
        if
        :: begin == end ->
            atomic {
                if
                :: finish == 1 ->
                    finish = 2;
                    told++;
                    assert(held_begin == held_end)
                :: else
                fi
            }
        :: else
        fi
    :: else
    fi;
    holders--;
    atomic { begin = 0; end = 0; saw = 0 }
}

/* wi_in_advance() */
inline advance(who)
{
    do
    :: drain(who);
       atomic { saw = advancing; advancing = 1 };
       if
       :: saw ->
#ifdef WEAK
           buffer[who] = WISH;
#else
           again = 1;
#endif
#ifdef NO_SECOND_LOOK
           break
#else
           if
           :: advancing -> break
           :: else
           fi
#endif
       :: else ->
           once(who);
#ifdef WEAK
           buffer[who] = LET_GO;
#else
           advancing = 0;
#endif
#ifdef NO_RECHECK
           break
#else
           if
           :: again == 0 -> break
           :: else ->
               drain(who);
               atomic { saw = again; again = 0 };
               if
               :: saw == 0 -> break
               :: else
               fi
           fi
#endif
       fi
    od;
    saw = 0
}

inline release(who, slot)
{
    atomic { taken[slot] -> taken[slot] = 0; released[slot] = 1 };
    advance(who)
}

proctype scanner()
{
    byte i, begin, end;
    bit saw;
    for (i : 1 .. FRAMES) {
        do
        :: held_end - held_begin < MAX -> break
        :: else ->
            drain(0);
#ifdef WEAK_FIFO_FULL
            buffer[0] = FIFO_FULL;
#else
            fifo_full = 1;
#endif
            if
            :: held_end - held_begin < MAX -> break
            :: else ->
                drain(0);
                if
                :: atomic { mark -> mark = 0 }
                /* it may release what it holds while it waits */
                :: release(0, 0)
                :: release(0, 1)
                fi
            fi
        od;
        atomic { taken[held_end % MAX] = 1; held_end++ }
    }
    /* wi_in_finish_when_empty() */
    finish = 1;
    advance(0)
}

proctype releaser(byte who)
{
    byte begin, end;
    bit saw;
end_idle:
    do
    :: release(who, 0)
    :: release(who, 1)
    od
}

/* All is quiet, and nothing was left behind. */
proctype judge()
{
end_waits:
    timeout ->
    assert(finish == 2);
    assert(told == 1);
    assert(held_begin == FRAMES);
    assert(held_end == FRAMES)
}

init {
    atomic {
        run scanner();
        run releaser(1);
        run releaser(2);
#if defined(WEAK) || defined(WEAK_FIFO_FULL)
        run memory(0);
        run memory(1);
        run memory(2);
#endif
        run judge();
    }
}
