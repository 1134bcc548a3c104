/* SPDX-License-Identifier: Apache-2.0 */
/**
 * SIGUSR1 asks a command who waits for whom: each of its processes prints the
 * report of its nodes (weir/report.h) to stderr.
 *
 *   kill -USR1 PID --> parent: a handler sends it on to the members
 *                      member: SIGUSR1 is blocked; a thread waits for it
 *
 * So nothing but kill(2) runs in a handler.
 */
#ifndef WL_ASK_H
#define WL_ASK_H

#include <stdint.h>
#include <sys/types.h>

#include <weir/error.h>
#include <weir/node.h>

/** Call it in main(): SIGUSR1 no longer ends this process, and is sent on to
 *  members. Errors: none. Blocks: never. Threads: one. Ownership: nothing. */
void wl_ask_begin(void);

/** Send SIGUSR1 on to this process, member `slot`; pid 0: no longer. Call it
 *  with 0 before waiting for the process: its pid may be another's afterwards.
 *  Errors: none. Blocks: never. Threads: one. Ownership: nothing. */
void wl_ask_member(uint32_t slot, pid_t pid);

/** Keep SIGUSR1 from this thread, and from what it forks or starts from now on
 *  (1), or let it in again (0).
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
void wl_ask_block(int block);

/**
 * Report this node, too. SIGUSR1 is blocked.
 *
 * Errors:     WEIR_ERR_SYSTEM, WEIR_ERR_BUDGET (too many nodes)
 * Blocks:     shortly
 * Threads:    any
 * Ownership:  wl_ask_forget, before weir_node_close
 */
weir_err wl_ask_node(weir_node *node, struct weir_error *err);
void wl_ask_forget(weir_node *node);

#endif /* WL_ASK_H */
