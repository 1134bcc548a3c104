/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One source feeds two branches that meet again (docs/concurrency.md, "Why
 * nothing deadlocks", item 5): a join that takes all of its build side before
 * it takes anything of its probe side. Any row of the source may belong to
 * either branch. With a branch point that can take everything it ends; without
 * one the rings fill up.
 *
 * Mirrors the plan of diamond_ends in test/conformance/api_move.c: the branch
 * point is the program's, the rings are the library's.
 *
 * Mutation, which must be found:
 * -DNO_BUFFER  the branch point takes one row at a time
 */
#ifndef ROWS
#define ROWS 4
#endif
#ifndef RING
#define RING 1
#endif
#define BUILD 0
#define PROBE 1

#ifdef NO_BUFFER
#define may_take (waiting[BUILD] + waiting[PROBE] == 0)
#else
#define may_take true
#endif

chan ring[2] = [RING] of { bit };  /* 0: a row, 1: end of stream */
byte joined;

proctype branch_point()
{
    byte left = ROWS;
    byte waiting[2]; /* rows that the branch point keeps for each branch */
    bit ended[2];
    do
    :: atomic {
           left > 0 && may_take ->
           left--;
           if
           :: waiting[BUILD]++
           :: waiting[PROBE]++
           fi
       }
    :: waiting[BUILD] > 0 && nfull(ring[BUILD]) ->
        atomic { ring[BUILD]!0; waiting[BUILD]-- }
    :: waiting[PROBE] > 0 && nfull(ring[PROBE]) ->
        atomic { ring[PROBE]!0; waiting[PROBE]-- }
    :: left == 0 && waiting[BUILD] == 0 && !ended[BUILD] &&
       nfull(ring[BUILD]) ->
        atomic { ring[BUILD]!1; ended[BUILD] = 1 }
    :: left == 0 && waiting[PROBE] == 0 && !ended[PROBE] &&
       nfull(ring[PROBE]) ->
        atomic { ring[PROBE]!1; ended[PROBE] = 1 }
    :: ended[BUILD] && ended[PROBE] -> break
    od
}

proctype join()
{
    bit end;
    do
    :: ring[BUILD]?end;
       if
       :: end -> break
       :: else -> joined++
       fi
    od;
    do
    :: ring[PROBE]?end;
       if
       :: end -> break
       :: else -> joined++
       fi
    od;
    assert(joined == ROWS)
}

init {
    atomic {
        run branch_point();
        run join();
    }
}
