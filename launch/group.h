/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A group of forked processes that share one mapping, meet at barriers, and
 * end together: all well, or the first failure ends the rest.
 *
 *   parent   open --> run: fork n members, watch them --> read shared --> close
 *   member k          fn(group, k, arg) ... wl_group_meet ... return
 *
 * A member that returns an error, calls wl_group_die, or dies of a signal ends
 * the others by SIGKILL; so does the time limit. wl_group_run therefore always
 * returns. Members die with the parent.
 *
 * A member that is stopped (SIGSTOP, a debugger) keeps all the others waiting;
 * the parent says which one it is.
 *
 * The parent must have one thread when it runs a group.
 */
#ifndef WL_GROUP_H
#define WL_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

struct wl_group;

#define WL_MAX_MEMBERS 4096u

struct wl_group_params {
    uint32_t members;    /* processes, 1..WL_MAX_MEMBERS */
    uint32_t threads;    /* that meet at wl_group_meet_threads, all members
                            together [members] */
    size_t shared_bytes; /* of wl_group_shared, zeroed */
    uint64_t timeout_ns; /* of a run [120 s] */
    uint64_t stopped_ns; /* a member that a signal has stopped for this long
                            is named on standard error, once [10 s] */
};

/** What a member runs; its error is the run's. */
typedef weir_err (*wl_member_fn)(struct wl_group *group, uint32_t self,
                                 void *arg, struct weir_error *err);

/**
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_SYSTEM
 * Blocks:     never
 * Threads:    one
 * Ownership:  wl_group_close, by the parent
 */
weir_err wl_group_open(const struct wl_group_params *params,
                       struct wl_group **out, struct weir_error *err);
void wl_group_close(struct wl_group *group);

/** Memory that all members and the parent see; 64-byte aligned.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the group's. */
void *wl_group_shared(struct wl_group *group);

/**
 * Fork the members and wait for their ends.
 *
 * Errors:     the first member's error, with its number in front (from 0 up)
 *             unless it came by wl_group_end; WEIR_ERR_SYSTEM (fork, a signal);
 *             WEIR_ERR_TIMEOUT
 * Blocks:     until all members have ended, at most the time limit
 * Threads:    one, the only one of the process
 * Ownership:  arg is seen by the members as a copy (fork)
 */
weir_err wl_group_run(struct wl_group *group, wl_member_fn fn, void *arg,
                      struct weir_error *err);

/** Park until one thread of each member is here. Everything written before by
 *  any of them is seen after by all.
 *  Errors: none. Blocks: until all are here; the group's end ends the wait.
 *  Threads: one of each member. Ownership: nothing. */
void wl_group_meet(struct wl_group *group);

/** As wl_group_meet, for all `threads` of all members. */
void wl_group_meet_threads(struct wl_group *group);

/** End the calling member, from any of its threads, with this error; the
 *  group ends. Errors: none. Blocks: never. Threads: of members. */
void wl_group_die(struct wl_group *group, uint32_t self,
                  const struct weir_error *err) __attribute__((noreturn));

/** As wl_group_die, with an error that is no member's own: all have the same,
 *  or it is the whole group's. It gets no number in front. */
void wl_group_end(struct wl_group *group, const struct weir_error *err)
    __attribute__((noreturn));

#endif /* WL_GROUP_H */
