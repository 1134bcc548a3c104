/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Teams: one node per process, with the cluster's addresses, what became of
 * each member's queries, and the checks that go with faults.
 *
 *   child: wt_team_open -> 'o' -> (go) -> wt_team_join -> queries
 *   parent: wt_team_meet lets all go once every node listens
 */
#ifndef WT_TEAM_H
#define WT_TEAM_H

#include "test/support/plan.h"
#include "test/support/proc.h"

enum { WT_TEAM = 8, WT_TEAM_QUERIES = 8 };

/** What a member reports of one query. */
struct wt_outcome {
    weir_err code; /* WEIR_DONE, or what failed it; 0: no word yet */
    char message[WEIR_ERROR_MESSAGE_BYTES];
    uint64_t end_ns;
    struct wt_sums sums;
};

/** In memory that the parent and all members see. */
struct wt_team {
    char run[24];       /* in every name: keeps apart what runs at a time */
    uint64_t struck_ns; /* when the parent began the fault */
    char name[WT_TEAM][48];
    char address[WT_TEAM][256];
    struct wt_outcome outcome[WT_TEAM][WT_TEAM_QUERIES];
};

/* ---- the parent ---------------------------------------------------------- */

/** Fork n members. The function gets p->shared = struct wt_team. */
struct wt_procs *wt_team_start(uint32_t n, wt_proc_fn fn, void *arg);

/** Wait for the 'o' of all, then let them go. */
void wt_team_meet(struct wt_procs *ps, uint32_t n);

/** Note the time, then signal. */
void wt_team_strike(struct wt_procs *ps, uint32_t k, int signal_number);

/** Query `q` ended well on these members and no row was lost or doubled. */
void wt_team_exact(struct wt_procs *ps, uint32_t q, const uint32_t *members,
                   uint32_t n);

/** Query `q` failed on member k within ns of the strike with this code, and the
 *  message names `lost`. */
void wt_team_failed(struct wt_procs *ps, uint32_t q, uint32_t k, weir_err code,
                    uint32_t lost, uint64_t ns);

/** Those of the n members whose query `q` failed all report the same. */
void wt_team_same(struct wt_procs *ps, uint32_t q, const uint32_t *members,
                  uint32_t n);

/** Nothing of this run is left in the system. */
void wt_team_left_nothing(struct wt_procs *ps);

/* ---- members ------------------------------------------------------------- */

/** Open this process's node, publish its address, say 'o'. params: name and
 *  listen are filled in. */
weir_node *wt_team_open(struct wt_proc *p, struct weir_node_params params);

/** Join the static list of all. */
void wt_team_join(struct wt_proc *p, weir_node *node);

void wt_team_report(struct wt_proc *p, uint32_t q, const struct wt_plan *plan,
                    weir_err rc, const struct weir_error *err);

/** Open, run, close and report a plan on these members. */
void wt_team_query(struct wt_proc *p, weir_node *node, uint32_t q,
                   const uint32_t *members, uint32_t n, uint64_t rows);

#endif /* WT_TEAM_H */
