/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reports: the lines of weir/report.h.
 *
 *   missing.c       what one query waits for, by writer, by reader
 *   report.c        and since when
 *   report_node.c   the whole of a node: links, workers, queries
 *
 * Times are those of the last look (watch.h); all runs under the node's lock.
 */
#ifndef WI_REPORT_H
#define WI_REPORT_H

#include "core/base/cc.h"
#include "core/link/engine.h"

struct weir_query;

/** Where lines go. */
struct wi_report {
    const struct wi_engine *engine;
    void (*fn)(void *arg, const char *line);
    void *arg;
    uint32_t n;    /* lines so far */
    char who[168]; /* stands in front: "query 7 shuffle 1 worker 0 reader" */
};

/** Say "WHO: ..." */
void wi_report_say(struct wi_report *r, const char *fmt, ...)
    WI_PRINTF(2, 3) WI_COLD;

/** Seconds since then. */
double wi_report_secs(const struct wi_report *r, uint64_t since_ns);

#define WI_REPORT_LINK_BYTES 48

/** State of the link to a member: "connecting for 3.1 s". */
void wi_report_link(const struct wi_report *r, uint32_t member, char *text);

/** What a query waits for, if for anything. */
void wi_report_query(struct wi_report *r, const struct weir_query *q);

/** Shuffles that members send rows for, of queries that are not open here. */
void wi_report_unopened(struct wi_report *r);

/** Log what a query that stands still waits for; false: for nothing. */
bool wi_report_stall(const struct weir_query *q);

#endif /* WI_REPORT_H */
