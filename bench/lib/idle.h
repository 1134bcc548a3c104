/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What idle nodes cost, and what memory they hold.
 *
 *   N processes, a node each --> one small two-stage shuffle: all links open
 *   --> all meet --> sleep --> all meet
 *
 * CPU is user plus system time of all threads of all processes over the sleep,
 * from getrusage(2), against the wall clock. Memory is read after the shuffle:
 * what the node says that it held at most, against the plan that it printed at
 * open, and how much the resident pages of its process grew.
 */
#ifndef WB_IDLE_H
#define WB_IDLE_H

#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

struct wb_idle_params {
    const char *transport; /* ["shm"] */
    uint32_t nodes;        /* [8], 2..64 */
    uint64_t rows;         /* that each node makes [10000] */
    uint64_t sleep_ns;     /* 0: do not sleep, look at the memory only */
    uint32_t frame_bytes;  /* [the node's] */
    uint64_t memory_bytes; /* cap of each node [the node's] */
};

struct wb_idle {
    struct wb_idle_params params; /* defaults filled in */
    double cpu_pct;               /* all nodes together, of one core */
    uint64_t cpu_ns;
    uint64_t switches;   /* context switches, all nodes */
    uint64_t plan_bytes; /* sum of the plan, one node */
    uint64_t cap_bytes;
    uint64_t peak_bytes; /* most that a node held */
    uint64_t rss_bytes;  /* most that a process grew, from before its
                                     node was opened */
    char plan[256];      /* as node 0 printed it */
};

/**
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_INTEGRITY (the shuffle), and as
 *             wl_group_run
 * Blocks:     for sleep_ns and the shuffle
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_idle_run(const struct wb_idle_params *params, struct wb_idle *out,
                     struct weir_error *err);

/** Print for people, and as one JSON object on one line.
 *  Errors: as wb_report_write. Blocks: on output. Threads: one. */
void wb_idle_print(const struct wb_idle *result, FILE *out);
weir_err wb_idle_print_json(const struct wb_idle *result, FILE *out,
                            struct weir_error *err);

#endif /* WB_IDLE_H */
