/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring that any worker of a node takes from (edge E17): one taker at a time,
 * no frame is left while a worker is hungry, and everybody hears of the end.
 *
 * Mirrors core/link/common.c and core/query/reader.c:
 *
 *   mark()     wi_common_mark()          leave()  wi_common_leave()
 *   share()    wi_common_share()         pay()    wi_common_pay()
 *   worker     next_common(), take_common(), wi_common_hunger(), and
 *              pass_on() in core/node/wait.c before it sleeps
 *   network    wi_in_on_notify(), wi_in_came()
 *
 * The network puts FRAMES frames into one ring, the last of which is its end.
 * Bells are perfect (bell.pml); all of it is sequentially consistent, as the
 * exchanges are in the C source.
 *
 * -DBUSY   worker 0 asks as often as it likes, and computes for ever with the
 *          first frame that it takes
 * -DLAZY   worker 0 may sleep again without having asked, whenever it is woken
 *
 * Mutations, each of which must be found:
 * -DSTALE_TAIL   who leaves compares with the tail that the scan has seen
 * -DNO_AGAIN     a mark is lost while the ring is taken
 * -DNO_LOOK      who is hungry does not look again
 * -DNO_SHARE     who takes a frame does not pass on what is left (BUSY)
 * -DNO_PASS_ON   who was woken and does not ask keeps it to itself (LAZY)
 * -DNO_PAY_SHARE who pays does not look whether the ring was marked meanwhile
 * -DNO_FORGET    who takes a frame stays hungry (BUSY)
 */
#ifndef FRAMES
#define FRAMES 2
#endif

#define IDLE 0
#define READY 1
#define TAKEN 2
#define AGAIN 3
#define NOBODY 2

byte tail, scan, seen, turn, takers;
bit ready, ended;
bit hungry[2], fed[2], attn[2];

inline mark()
{
    atomic {
        was = turn;
        if
        :: turn == IDLE -> turn = READY
#ifndef NO_AGAIN
        :: turn == TAKEN -> turn = AGAIN
#endif
        :: else
        fi
    }
    if
    :: was == IDLE -> atomic { ready = 1; was = 0 }
    :: else -> was = 0
    fi
}

/* Take a worker's bit off, and wake it. */
inline wake(i)
{
    atomic { got = hungry[i]; hungry[i] = 0 };
    if
    :: got -> atomic { fed[i] = 1; attn[i] = 1; woken = 1; got = 0 }
    :: else
    fi
}

inline share()
{
    atomic { h0 = hungry[0]; h1 = hungry[1] };
    woken = 0;
    if
    :: (h0 || h1) && ready ->
        if
        :: h0 -> wake(0)
        :: else
        fi;
        if
        :: h1 && !woken -> wake(1)
        :: else
        fi
    :: else
    fi;
    atomic { h0 = 0; h1 = 0; woken = 0; got = 0 }
}

inline leave()
{
    left = 0;
    if
    :: !more ->
        atomic {
            if
            :: turn == TAKEN -> turn = IDLE; left = 1
            :: else
            fi
        }
    :: else
    fi;
    if
    :: !left -> turn = READY; ready = 1
    :: else
    fi
}

proctype network()
{
    byte was;
    bit got, woken, h0, h1;
    do
    :: tail < FRAMES ->
        tail++;
        mark();
        share()
    :: else -> break
    od
}

proctype worker(byte me)
{
    byte was;
    bit got, woken, h0, h1, more, left, frame;
asks:
    fed[me] = 0;
take:
    atomic { got = ready; ready = 0 };
    if
    :: got ->
        atomic { assert(turn == READY); turn = TAKEN };
        takers++;
        assert(takers == 1);
        if /* wi_in_scan(): it looks again when it has read what it saw */
        :: scan == seen -> seen = tail
        :: else
        fi;
        frame = scan != seen;
        more = 0;
        if
        :: frame ->
            scan++;
            if
            :: scan == FRAMES ->
                ended = 1;
                atomic { attn[0] = attn[0] || hungry[0]; hungry[0] = 0;
                         attn[1] = attn[1] || hungry[1]; hungry[1] = 0 }
            :: else
#ifdef STALE_TAIL
                more = scan != seen
#else
                more = scan != tail
#endif
            fi
        :: else
        fi;
        takers--;
        got = 0;
        leave();
        atomic { more = 0; left = 0 };
        if
        :: !frame -> goto take
        :: else -> frame = 0
        fi;
#ifndef NO_FORGET
        hungry[me] = 0;
#endif
#ifndef NO_SHARE
        share();
#endif
#ifdef BUSY
        if
        :: me == 0 -> goto gone
        :: else
        fi;
#endif
        goto asks
    :: else
    fi;
    if
    :: ended -> goto gone
    :: else
    fi;
    hungry[me] = 1;
#ifndef NO_LOOK
    if
    :: ready || ended -> hungry[me] = 0; goto asks
    :: else
    fi;
#endif
sleeps:
    /* pay: the ring was read up to the tail */
    atomic {
        left = 1;
        got = turn == IDLE;
        if
        :: got -> turn = TAKEN
        :: else
        fi
    };
    if
    :: got ->
        more = 0;
        leave()
    :: else
    fi;
#ifndef NO_PAY_SHARE
    if
    :: !left -> share()
    :: else
    fi;
#endif
    atomic { left = 0; got = 0 };
#ifndef NO_PASS_ON
    atomic { got = fed[me]; fed[me] = 0 };
    if
    :: got -> share()
    :: else
    fi;
    got = 0;
#endif
#ifdef LAZY
    if
    :: me == 0 ->
end_lazy:
        atomic { attn[me] -> attn[me] = 0 }
    :: else -> atomic { attn[me] -> attn[me] = 0 }
    fi;
    if
    :: me == 0 -> goto sleeps
    :: goto asks
    fi;
#else
    if
    :: attn[me] -> attn[me] = 0; goto asks
#ifdef BUSY
    :: me == 0 -> goto asks
#endif
    fi;
#endif
gone:
    skip
}

init
{
    atomic {
        run network();
        run worker(0);
        run worker(1)
    }
}
