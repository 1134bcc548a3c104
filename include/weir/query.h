/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A query: a set of members that run one plan, and live or fail together.
 *
 * Every member opens the query under the same id, opens its shuffles, moves
 * rows, and closes it. What fails one member's query fails it on all of them,
 * with the same code and the same message, which names the cause:
 *
 *   cancel by anyone        WEIR_ERR_CANCELLED
 *   deadline passed         WEIR_ERR_DEADLINE, and what was missing from whom
 *   a member lost           WEIR_ERR_PEER_LOST, with its name and address
 *   closed before its end   WEIR_ERR_ABORTED, with the member's name and what
 *                           it had not done, or could not open
 *   schemas differ          WEIR_ERR_MISMATCH
 *   rows lost or damaged    WEIR_ERR_INTEGRITY
 *   failed by the program   what it says, with the member's name
 *
 * How a member was lost looks different from each of the others: the message
 * says who saw what, the logs have the rest. Of causes that several members
 * find at about the same time, the query's first member that is not lost
 * decides which; a member that has closed the query meanwhile still asks it.
 * Two things come without being asked for: a cancel, and a member that closes
 * the query, or a writer of it, before its end. If one of these happens while
 * another cause is on its way, members may end with either. So may members that
 * lost each other if the query's first member is one of them, or is lost, too.
 *
 * Other queries on the same links go on.
 */
#ifndef WEIR_QUERY_H
#define WEIR_QUERY_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/node.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_query weir_query;

/** Options of a query. Zero means the default in brackets. */
struct weir_query_params {
    uint64_t id; /* unique in the cluster, never used again, not 0 */
    const uint32_t *members; /* member numbers, own one included [all] */
    uint32_t n_members;
    uint64_t deadline_ns; /* from now [none]; takes effect within a quarter of
                             detect_ns after it */
    uint64_t reserved[4]; /* must be zero */
};

/**
 * Open a query on this node.
 *
 * @param query_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_DUPLICATE (the id is or was in use),
 *             WEIR_ERR_NOT_FOUND (no such member), WEIR_ERR_STATE (not joined)
 * Blocks:     never
 * Threads:    any
 * Ownership:  weir_query_close
 */
WEIR_API weir_err weir_query_open(weir_node *node,
                                  const struct weir_query_params *params,
                                  weir_query **query_out,
                                  struct weir_error *err);

/**
 * Cancel a query on all its members. Their next calls return
 * WEIR_ERR_CANCELLED with this reason.
 *
 * @param reason  a few words, NULL for none
 *
 * Errors:     none; a query that already failed keeps its first error
 * Blocks:     never
 * Threads:    any, also while workers use the query
 * Ownership:  nothing
 */
WEIR_API void weir_query_cancel(weir_query *query, const char *reason);

/**
 * Fail a query on all its members: something that the program does with its
 * rows went wrong here. Their next calls return this code, with the message
 * "MEMBER: MESSAGE", cut to 239 bytes.
 *
 * If several members do this at the same time, all report the same one: the
 * query's first member that lives decides which. Until its answer has come,
 * calls on this member may go on as before.
 *
 * @param cause  code of scope QUERY, such as WEIR_ERR_QUERY_DATA or
 *               WEIR_ERR_QUERY_MEMORY, and a message
 *
 * Errors:     WEIR_ERR_ARG (code of another scope; nothing was done). A query
 *             that already failed keeps its first error
 * Blocks:     never
 * Threads:    any, also while workers use the query
 * Ownership:  nothing
 */
WEIR_API weir_err weir_query_fail(weir_query *query,
                                  const struct weir_error *cause);

/**
 * How the query stands: WEIR_OK while it runs, else what failed it.
 *
 * @param err  message, may be NULL
 *
 * Errors:     any of the table above
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API weir_err weir_query_status(weir_query *query, struct weir_error *err);

/**
 * Close a query. Its writers and readers are closed with it. Rows that were
 * sent are still delivered after this returns. The query is aborted on all
 * members if something is missing here (so after an error simply close):
 *
 *  - a writer of a producing worker was not opened, or not finished;
 *  - a reader of a consuming worker was not opened, or neither drained nor
 *    stopped nor closed;
 *  - weir_shuffle_open failed, and was not called again with success;
 *  - a shuffle was not opened here, and other members that open it, now or
 *    later, want rows of this member.
 *
 * Errors:     none
 * Blocks:     shortly
 * Threads:    any; no worker may use the query any more. Batches received
 *             from it may be released later, from any thread
 * Ownership:  frees query; NULL is allowed
 */
WEIR_API void weir_query_close(weir_query *query);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_QUERY_H */
