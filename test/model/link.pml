/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link between two members: opened by both at once, closed, opened again.
 * When all is quiet both have the same one, or none; nothing is left of other
 * connections; and every edge was carried, also one that waited for a link that
 * was closed. No link is ever lost: nobody died.
 *
 * Mirrors, with docs/wire.md "Crossing", "Again" and the end of "Failure":
 *
 *   need        wi_link_need(), wi_link_dial()
 *   connected   wi_link_connected()
 *   hello       wi_link_must_wait(), wi_link_hello(), link_for(),
 *               accept_link(); wi_guests_greet() for one that had to wait
 *   message     wi_link_on_accept(), wi_link_on_ready(), wi_link_on_refuse(),
 *               wi_link_on_bye(); EDGE_OPEN: wi_link_revive()
 *   closed      wi_link_goes_on(), try_again(), wi_link_down()
 *   down        wi_link_down(), reopen()
 *   bye         wi_link_bye()
 *
 * Member 0 is the lower one. Each has EDGES edges to send, needs a link for
 * each when it likes, and may say BYE whenever the link has nothing to do. An
 * edge is over when the other end has answered it. Messages of one connection
 * keep their order and come before the news that it was closed. A step of an
 * engine is atomic, as it holds the node's lock. Not here: deadlines, losses,
 * restarts (another incarnation), several ways to one peer, refused versions.
 *
 * Mutations, each of which must be found:
 * -DNONE_GIVES_WAY the higher one does not give up its own
 * -DREFUSE_LOSES   REFUSE of a crossing ends the link
 * -DNO_WAIT        HELLO while a link is up is taken at once
 * -DNO_GREET       and one that had to wait is never looked at again
 * -DNO_REOPEN      edges that wait for a link that closes are left there
 * -DBYE_BUSY       BYE is answered though an edge is open
 * -DREADY_LOSES    an attempt that was given up, and comes when the link that
 *                  it was given up for is closed, is lost
 */
#ifndef EDGES
#define EDGES 1
#endif
#define CONNS 3

mtype = { HELLO_IS, ACCEPT, READY_IS, REFUSE, BYE, EDGE, DONE };

/* q[2 * c + n]: what n is to receive over connection c */
chan q[6] = [4] of { mtype };

#define FREE 0
#define DIALLED 1
#define UP 2
byte conn[CONNS];
bit owner[CONNS];       /* who dialled */
bit left[6];            /* 2 * c + n: n has disconnected */
bit guest[CONNS];       /* the other one has not taken it for its link */
bit greeted[CONNS];     /* HELLO has come, and had to wait */

#define NONE 0
#define CONNECTING 1
#define HELLO 2
#define READY 3
#define OPEN 4
#define CLOSING 5
byte st[2];
byte ep[2];             /* connection + 1, 0: none */
byte waiting[2], placed[2], done[2]; /* edges */
byte begun[2], carried[2];

#define other(n) (1 - (n))
#define say(n, m) q[2 * (ep[n] - 1) + other(n)]!m

inline leave(c, n)
{
    left[2 * (c) + n] = 1;
    guest[c] = (owner[c] == n -> guest[c] : 0);
    do
    :: q[2 * (c) + n]?_
    :: len(q[2 * (c) + n]) == 0 -> break
    od;
    if
    :: left[2 * (c) + other(n)] ->
        conn[c] = FREE; left[2 * (c)] = 0; left[2 * (c) + 1] = 0;
        guest[c] = 0; greeted[c] = 0;
        do
        :: q[2 * (c) + other(n)]?_
        :: len(q[2 * (c) + other(n)]) == 0 -> break
        od
    :: else
    fi
}

/* wi_link_drop_attempt() */
inline drop(n)
{
    if
    :: ep[n] != 0 -> k = ep[n] - 1; ep[n] = 0; leave(k, n)
    :: else
    fi
}

inline place(n)
{
    do
    :: st[n] == OPEN && waiting[n] != 0 ->
        waiting[n]--; placed[n]++;
        say(n, EDGE)
    :: else -> break
    od
}

/* wi_link_down(): the link is clean; its waiting edges need another one. */
inline down(n)
{
    assert(placed[n] == 0 && carried[n] == 0);
    drop(n);
#ifdef NO_REOPEN
    waiting[n] = 0;
#endif
    st[n] = (waiting[n] != 0 -> CONNECTING : NONE)
}

inline accept(n, c)
{
    ep[n] = c + 1;
    guest[c] = 0;
    greeted[c] = 0;
    st[n] = READY;
    say(n, ACCEPT)
}

#ifdef NONE_GIVES_WAY
#define gives_way(n) (st[n] == CONNECTING)
#else
#define gives_way(n) ((n) == 1 || st[n] == CONNECTING)
#endif

/* HELLO over connection c, which is n's guest */
inline hello(n, c)
{
    if
#ifndef NO_WAIT
    :: st[n] >= READY -> greeted[c] = 1
#else
    :: st[n] >= READY -> assert(false) /* "it was started again" */
#endif
    :: st[n] < READY && (st[n] == NONE || gives_way(n)) ->
        drop(n);
        accept(n, c)
    :: st[n] < READY && !(st[n] == NONE || gives_way(n)) ->
        q[2 * (c) + other(n)]!REFUSE;
        leave(c, n)
    fi
}

inline message(n, m)
{
    if
    :: m == ACCEPT ->
        assert(st[n] == HELLO);
        say(n, READY_IS); st[n] = OPEN; place(n)
    :: m == READY_IS ->
        assert(st[n] == READY);
        st[n] = OPEN; place(n)
    :: m == REFUSE ->
        assert(st[n] == HELLO);
#ifdef REFUSE_LOSES
        assert(false);
#endif
        drop(n)
    :: m == BYE && st[n] == CLOSING -> down(n)
#ifdef BYE_BUSY
    :: m == BYE && st[n] == OPEN -> say(n, BYE); st[n] = CLOSING
#else
    :: m == BYE && st[n] == OPEN && placed[n] + waiting[n] + carried[n] == 0 ->
        say(n, BYE); st[n] = CLOSING
    :: m == BYE && st[n] == OPEN && placed[n] + waiting[n] + carried[n] != 0
#endif
    :: m == EDGE ->
        assert(st[n] >= OPEN);
        carried[n]++; /* answered later */
        st[n] = OPEN; /* wi_link_revive() */
        place(n)
    :: m == DONE ->
        assert(st[n] >= OPEN && placed[n] != 0);
        placed[n]--; done[n]++
    fi
}

/* The transport says that the peer has closed the link's connection. */
inline closed(n)
{
    if
    :: st[n] == CONNECTING || st[n] == HELLO -> drop(n); st[n] = CONNECTING
    :: st[n] == CLOSING -> down(n)
#ifndef READY_LOSES
    :: st[n] == READY -> down(n) /* may_close(): an attempt given up */
#endif
    :: else -> assert(false) /* lost */
    fi
}

#define over(n, c) q[2 * (c) + n]
#define has_left(n, c) (left[2 * (c) + other(n)] && len(over(n, c)) == 0)

/* What may happen to n with connection c. */
#define EVENTS(n, c)                                                         \
    :: atomic {                                                              \
           st[n] == CONNECTING && ep[n] == 0 && conn[c] == FREE &&           \
               (c == 0 || conn[(c + CONNS - 1) % CONNS] != FREE) ->          \
           conn[c] = DIALLED; owner[c] = n; guest[c] = 1; ep[n] = c + 1      \
       }                                                                     \
    :: atomic {                                                              \
           ep[n] == c + 1 && conn[c] == DIALLED ->                           \
           conn[c] = UP; st[n] = HELLO; say(n, HELLO_IS)                     \
       }                                                                     \
    :: atomic {                                                              \
           ep[n] == c + 1 && len(over(n, c)) != 0 ->                         \
           over(n, c)?m; message(n, m); m = 0; k = 0                         \
       }                                                                     \
    :: atomic {                                                              \
           ep[n] == c + 1 && has_left(n, c) -> closed(n); k = 0              \
       }                                                                     \
    :: atomic {                                                              \
           guest[c] && owner[c] != n && len(over(n, c)) != 0 ->              \
           over(n, c)?m; assert(m == HELLO_IS); hello(n, c); m = 0; k = 0    \
       }                                                                     \
    :: atomic {                                                              \
           guest[c] && owner[c] != n && greeted[c] && st[n] < READY &&       \
               !has_left(n, c) && greets -> hello(n, c); k = 0               \
       }                                                                     \
    :: atomic {                                                              \
           guest[c] && owner[c] != n && has_left(n, c) ->                    \
           leave(c, n)                                                       \
       }

#ifdef NO_GREET
#define greets false
#else
#define greets true
#endif

proctype member(bit n)
{
    mtype m;
    byte k;
end_idle:
    do
    EVENTS(n, 0)
    EVENTS(n, 1)
    EVENTS(n, 2)
    /* wi_out_start() */
    :: atomic {
           begun[n] < EDGES ->
           begun[n]++; waiting[n]++;
           st[n] = (st[n] == NONE -> CONNECTING : st[n]);
           place(n)
       }
    :: atomic { carried[n] != 0 -> carried[n]--; say(n, DONE) }
    :: atomic {
           st[n] == OPEN && placed[n] + waiting[n] + carried[n] == 0 ->
           st[n] = CLOSING; say(n, BYE)
       }
    od
}

proctype referee()
{
end_waits:
    timeout ->
    assert(done[0] == EDGES && done[1] == EDGES);
    assert(st[0] == NONE && st[1] == NONE);
    assert(conn[0] == FREE && conn[1] == FREE && conn[2] == FREE)
}

init {
    atomic {
        run member(0);
        run member(1);
        run referee()
    }
}
