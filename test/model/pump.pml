/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posting by whoever finds the post lock free (edge E6): work that is left is
 * always found by a holder, never two holders, and a link that was sealed is
 * never posted to again. wi_in_dispatch() in core/link/scan.c is the same
 * without the seal.
 *
 * Mirrors core/link/post.c:
 *
 *   pump()      wi_link_pump(), serve()
 *   take_lock() the same
 *   once()      pump_once(), take_items(), post_limit()
 *   poster      wi_link_post(), after a store to the ring's tail
 *   sealer      wi_link_seal(), tried again when the engine is kicked
 *   looker      wi_link_quiet(), likewise, until all of ring 0 is posted
 *
 * Two posters, each with a ring of its own, publish FRAMES times.
 *
 * -DSEAL            a sealer takes the link away at some time
 * -DQUIET           a looker takes the lock for a look
 * Mutations, each of which must be found:
 * -DNO_RECHECK      the holder does not look for wishes after it has let go
 * -DWEAK            `again` and `lock` are stored with release: they stay in
 *                   the store buffer while the next look is made (TSO)
 * -DLATE_CLEAR      `queued` is cleared after the positions were read
 * -DUNTOLD          the holder does not look whether the engine waits
 * -DNO_SECOND_TRY   the engine says that it waits, and sleeps
 *                                               (both with SEAL or QUIET)
 * -DSEAL_ONCE       the sealer takes a failed try for done       (with SEAL)
 * -DQUIET_GOES      the looker lets go and does not serve        (with QUIET)
 * -DLATE_WATCH      the looker says that it waits after it let go (with QUIET)
 */
#ifndef FRAMES
#define FRAMES 2
#endif

bit lock, again, sending = 1, sealed, quiet;
bit watched, kicked; /* the engine waits for a round; the round told it */
byte tail[2], posted[2];
bit queued[2]; /* the item is on the link's queue */
byte holders;

/* WEAK: one buffered store per process, as in handover.pml. */
#define NOTHING 0
#define LET_GO 1
#define WISH 2
byte buffer[2];

inline drain()
{
    atomic {
        if
        :: buffer[me] == LET_GO -> lock = 0
        :: buffer[me] == WISH -> again = 1
        :: else
        fi;
        buffer[me] = NOTHING
    }
}

proctype memory(byte me)
{
end_empty:
    do
    :: atomic { buffer[me] != NOTHING -> drain() }
    od
}

inline once()
{
    holders++;
    assert(holders == 1);
    assert(!sealed);
    for (i : 0 .. 1) {
#ifdef LATE_CLEAR
        if
        :: queued[i] -> posted[i] = tail[i]; queued[i] = 0
        :: else
        fi
#else
        atomic { saw = queued[i]; queued[i] = 0 };
        if
        :: saw -> posted[i] = tail[i]
        :: else
        fi
#endif
    }
    holders--;
    atomic { i = 0; saw = 0 }
}

#ifdef WEAK
#define store_again drain(); buffer[me] = WISH
#define store_free drain(); buffer[me] = LET_GO
#else
#define store_again again = 1
#define store_free lock = 0
#endif

inline tell_engine()
{
#ifdef UNTOLD
    skip
#else
    atomic { saw = watched; watched = 0 };
    if
    :: saw -> kicked = 1
    :: else
    fi
#endif
}

inline serve()
{
    do
    :: sending == 0 -> break
    /* its own wish, seen in its own store buffer or in memory */
    :: sending != 0 && again == 0 && buffer[me] != WISH -> break
    :: else ->
        drain();
        atomic { saw = lock; lock = 1 };
        if
        :: saw ->
            break
        :: else
        fi;
        do
        :: sending == 0 -> break
        :: else ->
            atomic { saw = again; again = 0 };
            if
            :: !saw -> break
            :: else -> once()
            fi
        od;
        store_free;
#ifdef NO_RECHECK
        break;
#endif
#if defined(SEAL) || defined(QUIET)
        tell_engine()
#endif
    od;
    saw = 0
}

inline pump()
{
    store_again;
    serve()
}

/* Engine only; saw: not taken. */
inline take_lock()
{
    atomic { saw = lock; lock = 1 };
    if
    :: saw ->
        watched = 1;
#ifndef NO_SECOND_TRY
        atomic { saw = lock; lock = 1 }
#endif
    :: else
    fi
}

inline sleep()
{
    atomic { kicked -> kicked = 0 }
}

proctype poster(byte me)
{
    byte n, i;
    bit saw;
    for (n : 1 .. FRAMES) {
        tail[me] = tail[me] + 1;
        drain();
        atomic { saw = queued[me]; queued[me] = 1 };
        saw = 0;
        pump()
    }
}

proctype sealer()
{
    bit saw = 1;
    sending = 0;
    do
    :: saw ->
        take_lock();
#ifdef SEAL_ONCE
        break
#else
        if
        :: saw -> sleep()
        :: else
        fi
#endif
    :: else -> break
    od;
    sealed = 1
}

proctype looker()
{
    byte i, me = 0; /* no store buffer in runs with a looker */
    bit saw, done;
    do
    :: done -> break
    :: else ->
        take_lock();
        if
        :: saw
        :: else ->
            holders++;
            assert(holders == 1);
            done = posted[0] == FRAMES;
#ifndef LATE_WATCH
            if
            :: !done -> watched = 1
            :: else
            fi;
#endif
            holders--;
            lock = 0;
#ifdef LATE_WATCH
            watched = 1;
#endif
#ifndef QUIET_GOES
            serve()
#endif
        fi;
        if
        :: !done -> sleep()
        :: else
        fi
    od;
    quiet = 1
}

proctype judge()
{
end_waits:
    timeout ->
    assert(sealed || (posted[0] == FRAMES && posted[1] == FRAMES));
    assert(sealed || lock == 0);
#ifdef SEAL
    assert(sealed);
#endif
#ifdef QUIET
    assert(quiet);
#endif
}

init {
    atomic {
        run poster(0);
        run poster(1);
#ifdef SEAL
        run sealer();
#endif
#ifdef QUIET
        run looker();
#endif
#ifdef WEAK
        run memory(0);
        run memory(1);
#endif
        run judge();
    }
}
