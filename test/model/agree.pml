/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a query agree on why it failed: whatever faults several of them
 * find at once, whichever link breaks or closes, and in whatever order messages
 * come, all that live end with one cause, and none waits for ever.
 *
 * Mirrors core/query/query_fail.c and core/query/tomb.c (docs/wire.md,
 * "Failure"):
 *
 *   fail       wi_query_fail(), tell_members()
 *   report     wi_query_report(), ask(), judge()
 *   lose       wi_query_peer_lost(), lose()
 *   on_fail    wi_query_on_fail(), note_early(), wi_note_first()
 *   unlinked   wi_query_unlinked(), wi_query_tell_failed() over the new link
 *   late       wi_query_deadlines(): `answer_ns`
 *
 * Three members, 0 the first. Each may find a fault, 0 only in a query that it
 * has opened, which it does at any time or never (before, it answers with the
 * first cause that it has heard). A link of 0 may close once, which loses what
 * is under way, and opens again; that between 1 and 2 may break for good, upon
 * which each of them finds another fault: the other one. A step of an engine is
 * atomic, as it holds the node's lock.
 *
 * -DAPART  there is no link between 1 and 2
 * -DDIES   0 dies at any step; the others lose it, each at its own time and
 *          when all that it has sent to it has come
 * -DOPEN   0 has opened the query in the beginning
 * -DTORN   what 0 has sent to one of them is gone when it dies
 * That the survivors agree is not promised if 0 dies with its word under way to
 * one of them only (-DDIES -DTORN), or while it has not opened the query
 * (-DDIES without -DOPEN: it has answered one of them).
 *
 * Not here: `answer_ns` (a member that lives answers), causes by the deadline,
 * members that have closed the query.
 *
 * Mutations, each of which must be found:
 * -DNO_JUDGE     who finds a fault fails its query at once and tells all
 * -DLAST_CAUSE   the last cause that comes stands
 * -DNO_AGAIN     a link that closes before the answer is not asked over again
 * -DNO_NOTE      who has not opened the query does not answer
 * -DOWN_NOTE     it answers each with that one's own cause
 * -DNO_NEXT      the loss of the judge does not turn to the next one
 * -DNO_PASS      a cause that is heard is not passed on
 */
#define N 3

chan to[9] = [4] of { byte };  /* to[from * N + who]: FAIL with this cause */
byte cause[N];                 /* of the query here; 0: it goes on */
byte asked_for[N];             /* q->report, 0: none */
bit lost0[N], lost1[N];        /* q->lost[0], q->lost[1] */
bit open0;                     /* 0 has opened the query */
byte note[N];                  /* at 0: first cause that came from each */
byte first_note;
bit answered[N];
bit found[N];                  /* has found its fault */
bit broken, told1, told2;      /* the link between 1 and 2; who has seen it */
bit dead, torn;                /* 0 */
byte closes;                   /* links that have closed */

#define fault(m) ((m) + 1)
#define judge(m) (!lost0[m] -> 0 : ((m) == 1 || !lost1[m] -> 1 : (m)))
#define up(a, b)                                                             \
    (!(broken && (a) != 0 && (b) != 0) && !(dead && ((a) == 0 || (b) == 0)))

inline send(a, b, c)
{
    if
    :: up(a, b) ->
        assert(len(to[(a) * N + (b)]) < 4); /* the model's own bound */
        to[(a) * N + (b)]!c
    :: else /* wi_query_link(): none; a new link tells it */
    fi
}

/* wi_query_fail() */
inline fail(m, c)
{
    if
#ifdef LAST_CAUSE
    :: cause[m] != c ->
#else
    :: cause[m] == 0 ->
#endif
        cause[m] = c;
#ifndef NO_PASS
        send(m, (m + 1) % N, c);
        send(m, (m + 2) % N, c)
#endif
    :: else
    fi
}

/* ask() */
inline ask(m)
{
    if
#ifndef NO_JUDGE
    :: judge(m) != m -> send(m, judge(m), asked_for[m])
    :: judge(m) == m -> fail(m, asked_for[m])
#else
    :: fail(m, asked_for[m])
#endif
    fi
}

/* wi_query_report() */
inline report(m, c)
{
    if
    :: cause[m] == 0 && asked_for[m] == 0 -> asked_for[m] = c; ask(m)
    :: else
    fi
}

/* lose() with member x, whose flag is set by who calls */
inline lose(m, x, flag, c)
{
    if
    :: asked_for[m] != 0 && judge(m) == x && cause[m] == 0 ->
        flag = 1;
#ifndef NO_NEXT
        ask(m)
#endif
    :: else ->
        flag = 1;
        report(m, c)
    fi
}

/* wi_query_on_fail() at m, from f */
inline on_fail(m, f, c)
{
    if
    :: m == 0 && !open0 ->
        /* note_early() */
        if
        :: note[f] == 0 -> note[f] = c
        :: else
        fi;
        if
        :: first_note == 0 -> first_note = c
        :: else
        fi;
#ifndef NO_NOTE
        if
        :: !answered[f] ->
            answered[f] = 1;
#ifdef OWN_NOTE
            send(0, f, note[f])
#else
            send(0, f, first_note)
#endif
        :: else
        fi
#endif
    :: else -> fail(m, c)
    fi
}

/* A new link between a and b: wi_query_tell_failed() of a. */
inline tell_again(a, b)
{
    if
    :: cause[a] != 0 -> send(a, b, cause[a])
#ifndef NO_AGAIN
    :: cause[a] == 0 && asked_for[a] != 0 && judge(a) == b ->
        send(a, b, asked_for[a])
#endif
    :: else
    fi
}

inline empty_link(a, b)
{
    do
    :: to[(a) * N + (b)]?_
    :: to[(b) * N + (a)]?_
    :: len(to[(a) * N + (b)]) + len(to[(b) * N + (a)]) == 0 -> break
    od
}

proctype member(byte m)
{
    byte c;
end_idle:
    do
    :: atomic {
           !(dead && m == 0) && to[((m + 1) % N) * N + m]?[_] ->
           to[((m + 1) % N) * N + m]?c;
           on_fail(m, (m + 1) % N, c);
           c = 0
       }
    :: atomic {
           !(dead && m == 0) && to[((m + 2) % N) * N + m]?[_] ->
           to[((m + 2) % N) * N + m]?c;
           on_fail(m, (m + 2) % N, c);
           c = 0
       }
    /* a fault of its own: weir_query_fail() */
    :: atomic {
           !found[m] && !(dead && m == 0) && (m != 0 || open0) ->
           found[m] = 1;
           report(m, fault(m))
       }
    od
}

proctype opens()
{
    if
    :: atomic {
           !dead -> open0 = 1;
           /* weir_query_open(): what was heard before */
           if
           :: first_note != 0 -> fail(0, first_note)
           :: else
           fi
       }
    :: true
    fi
}

inline close(a, b)
{
    empty_link(a, b);
    answered[b] = 0; /* wi_notes_unanswered() */
    tell_again(a, b);
    tell_again(b, a)
}

proctype links()
{
end_waits:
    do
#if defined(DIES)
    :: atomic {
           !dead -> dead = 1;
           do
           :: to[1 * N]?_
           :: to[2 * N]?_
           :: empty(to[1 * N]) && empty(to[2 * N]) -> break
           od
       }
#ifdef TORN
    :: atomic {
           dead && !torn -> torn = 1;
           do
           :: to[1]?_
           :: empty(to[1]) -> break
           od
       }
#endif
    :: atomic {
           dead && !lost0[1] && empty(to[1]) -> lose(1, 0, lost0[1], 5)
       }
    :: atomic {
           dead && !lost0[2] && empty(to[2]) -> lose(2, 0, lost0[2], 6)
       }
#else
    /* what is under way is gone; who waits for an answer asks again */
    :: atomic {
           closes == 0 -> closes = 1;
           if
           :: close(0, 1)
           :: close(0, 2)
           fi
       }
#ifndef APART
    :: atomic { !broken -> empty_link(1, 2); broken = 1 }
    :: atomic { broken && !told1 -> told1 = 1; report(1, 5) }
    :: atomic { broken && !told2 -> told2 = 1; lose(2, 1, lost1[2], 6) }
#endif
#endif
    od
}

/* All is quiet: nobody waits for an answer, and all name one cause. */
proctype referee()
{
end_waits:
    timeout ->
    assert(asked_for[1] == 0 || cause[1] != 0);
    assert(asked_for[2] == 0 || cause[2] != 0);
    assert(cause[1] == cause[2]);
    assert(dead || !open0 || cause[0] == cause[1])
}

init {
    atomic {
        run member(0);
        run member(1);
        run member(2);
        run opens();
        run links();
        run referee();
#ifdef OPEN
        open0 = 1;
#endif
#ifdef APART
        broken = 1
#endif
    }
}
