/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bell loses no wake-up (edge E3): a marked ring is always taken, and the
 * worker never sleeps forever with a mark set.
 *
 * Mirrors core/ring/ready.c, function by function:
 *
 *   mark(), wake()       wi_bell_mark(), wi_bell_wake()
 *   marker               wi_lane_put() and ring_consumer() in core/query/lane.c
 *   rouser               wi_bell_rouse(), called when a peer is lost
 *   pending              wi_bell_pending()
 *   worker: take         wi_bell_take_attn(), wi_bell_take(), take_word()
 *   worker: park         announce(), wi_bell_park(), wi_bell_arm()
 *
 * Two markers, each the producer of one ring, publish and mark FRAMES times.
 * Each read or write of a shared word is one step; steps of the three processes
 * meet in every order. A futex is a word that the kernel compares before it
 * sleeps; its wait is a full barrier. The worker sleeps on the futex or on its
 * descriptor, as it likes. There are no timeouts: only a wake-up ends a sleep.
 *
 * -DWORD1=0|1          the second ring's word: the same word, or another one
 * -DDIES               marker 0 may die after any step; the engine then rouses
 * -DLIVE               check that the worker gets all, not only that it is not
 *                      left asleep
 * Mutations, each of which must be found:
 * -DWEAK_WORKER        `parked` is stored with release only: it stays in the
 *                      store buffer while the worker looks for marks (TSO)
 * -DWEAK_MARKER        mark with acq_rel, look with acquire: the look at
 *                      `parked` may come first (as C11 and ARMv8.3 allow)
 * -DSUMMARY_FIRST      the marker sets the summary's bit before the word's
 * -DWORD_FIRST         the worker clears the word before the summary's bit
 * -DNO_ROUSE           nobody makes up for a marker that died
 * -DROUSE_IS_ATTENTION rouse wakes only if `parked` says so
 */
#ifndef FRAMES
#define FRAMES 2
#endif
#ifndef WORD1
#define WORD1 0
#endif

#define AWAKE 0
#define PARKED 1
#define ARMED 2

byte parked = AWAKE;
bit attn;
byte words[2]; /* bit m: the ring of marker m */
byte summary;  /* bit w: words[w] */
byte tail[2];  /* frames published in each ring */

bit asleep;    /* in the futex's queue */
bit fd;        /* the descriptor is readable */
bit buffered;  /* WEAK_WORKER: `parked` = PARKED or ARMED, not yet visible */
byte in_buffer;

bit killed;    /* marker 0 takes no further step */
bit dead;      /* the engine has noticed */
bit complete;  /* the worker has all that it can expect */

#define word_of(m) ((m) * WORD1)

inline drain()
{
    atomic {
        if
        :: buffered -> parked = in_buffer; buffered = 0
        :: else
        fi
    }
}

inline wake()
{
#ifndef WEAK_MARKER
    saw = parked;
#endif
    if
    :: saw == AWAKE
    :: else ->
        atomic { old = parked; parked = AWAKE };
        if
        :: old == PARKED -> asleep = 0  /* futex wake */
        :: old == ARMED -> fd = 1       /* eventfd, or a BELL message */
        :: else
        fi
    fi
}

inline set_word() { words[word_of(me)] = words[word_of(me)] | (1 << me) }

inline set_summary()
{
    if
    :: (summary & (1 << word_of(me))) == 0 ->
        summary = summary | (1 << word_of(me))
    :: else
    fi
}

proctype marker(byte me)
{
    byte i, saw, old;
    {
    for (i : 1 .. FRAMES) {
        tail[me] = tail[me] + 1; /* released by the exchange that follows */
#ifdef WEAK_MARKER
        if
        :: saw = parked; set_word(); set_summary()
        :: set_word(); saw = parked; set_summary()
        :: set_word(); set_summary(); saw = parked
        fi;
#elif defined(SUMMARY_FIRST)
        set_summary();
        set_word();
#else
        set_word();
        set_summary();
#endif
        wake();
        d_step { saw = 0; old = 0 } /* fewer states */
    }
    } unless { killed && me == 0 };
}

/* Ends marker 0 between any two of its steps, and lets the engine know. */
proctype killer()
{
    killed = 1;
    dead = 1
}

/* The engine of the worker's node, when the link to a dead marker is lost. */
proctype rouser()
{
    byte saw;
end_nobody_died:
    dead == 1;
#ifndef NO_ROUSE
    attn = 1;
#ifdef ROUSE_IS_ATTENTION
    saw = parked;
    if
    :: saw == AWAKE
    :: else ->
        atomic { saw = parked; parked = AWAKE };
        if
        :: saw == PARKED -> asleep = 0
        :: saw == ARMED -> fd = 1
        :: else
        fi
    fi
#else
    parked = AWAKE;
    asleep = 0;
    fd = 1
#endif
#endif
}

inline store_parked(v)
{
#ifdef WEAK_WORKER
    atomic { in_buffer = v; buffered = 1 }
#else
    parked = v
#endif
}

proctype worker()
{
    byte sum, ids, w, how;
    byte seen[2]; /* frames found in each ring */
    bit told;     /* that marker 0 is dead */
again:
    atomic { sum = 0; ids = 0; w = 0; how = 0 }; /* fewer states */
    /* take what there is */
    if
    :: attn != 0 -> attn = 0; told = 1
    :: else
    fi;
    if
    :: summary == 0
    :: else ->
#ifdef WORD_FIRST
        sum = summary;
#else
        drain();
        atomic { sum = summary; summary = 0 };
#endif
        for (w : 0 .. 1) {
            if
            :: (sum & (1 << w)) != 0 ->
                atomic { ids = words[w]; words[w] = 0 };
                if
                :: (ids & 1) -> seen[0] = tail[0]
                :: else
                fi;
                if
                :: (ids & 2) -> seen[1] = tail[1]
                :: else
                fi
            :: else
            fi
        }
#ifdef WORD_FIRST
        summary = 0
#endif
    fi;
    /* of a ring whose producer died nothing more is expected */
    if
    :: (seen[0] == FRAMES || told) && seen[1] == FRAMES -> goto out
    :: else
    fi;
    /* sleep: announce(), then a last look */
    if
    :: how = PARKED
    :: atomic { how = ARMED; fd = 0 } /* weir_worker_arm() */
    fi;
    if
    :: how == ARMED && (attn != 0 || summary != 0) ->
        goto again /* happened() */
    :: else
    fi;
    store_parked(how);
    if
    :: attn != 0 -> store_parked(AWAKE); goto again
    :: else
    fi;
    if
    :: summary != 0 -> store_parked(AWAKE); goto again
    :: else
    fi;
    if
    :: how == PARKED ->
        drain(); /* futex_wait: the kernel's barrier */
        atomic {
            if
            :: parked == PARKED -> asleep = 1
            :: else
            fi
        };
        asleep == 0;
        store_parked(AWAKE)
    :: else ->
        drain(); /* poll */
        fd == 1
    fi;
    goto again;
out:
    complete = 1
}

/* The store buffer empties itself at any time. */
proctype buffer()
{
end_empty:
    do
    :: buffered -> drain()
    od
}

init {
    atomic {
        run marker(0);
        run marker(1);
        run worker();
#ifdef DIES
        run killer();
        run rouser();
#endif
#ifdef WEAK_WORKER
        run buffer();
#endif
    }
}

#ifdef LIVE
/* With weak fairness: the worker does not circle forever either. */
ltl all_is_taken { <> (complete == 1) }
#endif
