/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Who waits for whom: what a node waits for at this moment, in lines for
 * people. "It hangs: what now" in docs/embed.md reads one.
 *
 *   node: 1 query, 2 links, 12.5 of 512.0 MiB
 *   link to n1: open over shm for 40.2 s, heard 0.3 s ago, 0 messages queued
 *   worker 0: asleep for 3.2 s
 *   query 7: open for 40.1 s, nothing moved for 3.2 s
 *   query 7 shuffle 1 worker 0 reader: waits for rows of n1 worker 0, none for
 *                                      3.2 s
 *   query 7 shuffle 2 worker 0 writer: waits for room at n1 worker 0, ring full
 *                                      for 3.2 s, 184320 of 245760 bytes not
 *                                      released there
 *
 * A line is one line (they are wrapped here) and stands alone, so that grep
 * finds all of a query or of a worker. Members go by their names. Everything is
 * seen from this node: the line of a peer that is waited for is in that peer's
 * report.
 *
 * Times are measured once a second, so that no row pays for them: what is said
 * to be so for 3.2 s has been so for 3.2 to 4.2 s.
 */
#ifndef WEIR_REPORT_H
#define WEIR_REPORT_H

#include <weir/error.h>
#include <weir/node.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Takes one line, without newline. It may call back into the library. */
typedef void (*weir_report_fn)(void *arg, const char *line);

/**
 * Say what every query of this node waits for, and how its links and workers
 * are.
 *
 * A query that stands still for weir_node_params.stall_ns logs its own lines of
 * this by itself, at WEIR_LOG_ERROR.
 *
 * @param fn  called for each line before this returns
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY
 * Blocks:     shortly; never on a worker, a link or a peer
 * Threads:    any, also while workers use the node; not a signal handler
 * Ownership:  the line is valid during the call
 */
WEIR_API weir_err weir_node_report(weir_node *node, weir_report_fn fn,
                                   void *arg);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_REPORT_H */
