/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that prove to each other that they know the secret, on a network that
 * belongs to somebody who does not: he reads, keeps, repeats, alters and mixes
 * what goes over all connections, and makes what he can make without the
 * secret. Whoever takes a HELLO or an ACCEPT from a connection has the very one
 * that a member has sent over its end of the same connection, and nothing is
 * taken before a proof.
 *
 * Mirrors the handshake of docs/wire.md, "Proof": KNOCK, CHALLENGE, PROOF,
 * PROOF, then a SEAL on each message.
 *
 * Two members, 1 and 2: each runs one session that connects and one that
 * accepts. A MAC is an opaque term: what it is of. He who has no secret can
 * repeat the MACs that he has seen, nothing else. A nonce is a number that is
 * never given twice; 9 is his own.
 *
 *   proof(side, n1, n2)       under the secret
 *   seal(side, n1, n2, what)  under the key that comes of the same
 *
 * `what` is the message: the name of who says it. All sessions run at once, and
 * each message that a session waits for is any that he can make.
 *
 * Mutations, each of which must be found:
 * -DNO_NONCE_1  the nonce of who connects is not under the MAC: replay
 * -DNO_NONCE_2  nor that of who accepts
 * -DNO_SIDE     the side is not under the MAC: reflection
 * -DNO_NAME     HELLO and ACCEPT have no seal: others' names
 * -DSEAL_SIDE   the seals of both sides have one key: reflection
 * -DUNPROVED    who accepts answers HELLO before it has seen a proof
 */
#define SESSIONS 4

/* Sessions 0, 1: connecting; 2, 3: accepting. */
byte mine[SESSIONS], theirs[SESSIONS]; /* nonces as this one saw them */
byte name[SESSIONS];                   /* of who runs it */
byte took[SESSIONS];                   /* name that was taken, 0: none */
bit proved[SESSIONS];                  /* has checked a proof */

#define CONNECTING 1
#define ACCEPTING 2
#define HIS 9

#ifdef NO_SIDE
#define side_of(s) 0
#else
#define side_of(s) (s)
#endif
#ifdef SEAL_SIDE
#define seal_of(s) 0
#else
#define seal_of(s) side_of(s)
#endif
#ifdef NO_NONCE_1
#define first(n) 0
#else
#define first(n) (n)
#endif
#ifdef NO_NONCE_2
#define second(n) 0
#else
#define second(n) (n)
#endif

/* What he has seen: MACs by what they are of. */
typedef proofs { bit at[100] };
proofs proof[3];
typedef seals { bit at[100] };
seals seal_x[3], seal_y[3]; /* of messages that say name 1, name 2 */

#define both(n1, n2) (first(n1) * 10 + second(n2))
#define he_has_seal(s, n1, n2, who)                                          \
    ((who) == 1 -> seal_x[s].at[both(n1, n2)] : seal_y[s].at[both(n1, n2)])

inline give_seal(s, n1, n2, who)
{
    if
    :: who == 1 -> seal_x[s].at[both(n1, n2)] = 1
    :: else -> seal_y[s].at[both(n1, n2)] = 1
    fi
}

/* Which nonce he hands on: one that was used, or his own. */
inline any_nonce(x)
{
    if
    :: x = 1
    :: x = 2
    :: x = 3
    :: x = 4
    :: x = HIS
    fi
}

/* What HELLO or ACCEPT says, if he can say it here. */
inline any_name(me, s, n1, n2)
{
    if
#ifdef NO_NAME
    :: took[me] = 1
    :: took[me] = 2
#else
    :: he_has_seal(seal_of(s), n1, n2, 1) -> took[me] = 1
    :: he_has_seal(seal_of(s), n1, n2, 2) -> took[me] = 2
#endif
    fi
}

proctype connects(byte me, who)
{
    /* KNOCK: everybody may read the nonce */
    atomic { name[me] = who; mine[me] = me + 1 };
    any_nonce(theirs[me]);
end_refused:
    theirs[me] != mine[me];
    proof[side_of(CONNECTING)].at[both(mine[me], theirs[me])] = 1;
end_unproved:
    /* his PROOF */
    atomic {
        proof[side_of(ACCEPTING)].at[both(mine[me], theirs[me])] ->
        proved[me] = 1;
        give_seal(seal_of(CONNECTING), mine[me], theirs[me], who)
    };
end_unanswered:
    /* ACCEPT */
    atomic { any_name(me, ACCEPTING, mine[me], theirs[me]) }
}

proctype accepts(byte me, who)
{
    atomic { name[me] = who; mine[me] = me + 1 };
    any_nonce(theirs[me]);
end_refused:
    theirs[me] != mine[me];
end_unproved:
#ifndef UNPROVED
    /* PROOF of who connects, before anything is answered */
    atomic {
        proof[side_of(CONNECTING)].at[both(theirs[me], mine[me])] ->
        proved[me] = 1;
        proof[side_of(ACCEPTING)].at[both(theirs[me], mine[me])] = 1
    };
#else
    proof[side_of(ACCEPTING)].at[both(theirs[me], mine[me])] = 1;
#endif
end_unanswered:
    /* HELLO; then ACCEPT */
#ifdef UNPROVED
    atomic {
        if
        :: took[me] = 1
        :: any_name(me, CONNECTING, theirs[me], mine[me])
        fi;
        give_seal(seal_of(ACCEPTING), theirs[me], mine[me], who)
    }
#else
    atomic {
        any_name(me, CONNECTING, theirs[me], mine[me]);
        give_seal(seal_of(ACCEPTING), theirs[me], mine[me], who)
    }
#endif
}

/* Is there a session of the other side with these nonces, of that name? */
#define meets(me, other)                                                     \
    (mine[me] == theirs[other] && theirs[me] == mine[other] &&               \
     took[me] == name[other])
#define honest(me, a, b)                                                     \
    (took[me] == 0 || (proved[me] && (meets(me, a) || meets(me, b))))

/* Holds at every step. */
proctype referee()
{
end_waits:
    do
    :: !honest(0, 2, 3) || !honest(1, 2, 3) || !honest(2, 0, 1) ||
       !honest(3, 0, 1) -> assert(false)
    od
}

init {
    atomic {
        run connects(0, 1);
        run connects(1, 2);
        run accepts(2, 2);
        run accepts(3, 1);
        run referee()
    }
}
