/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The two-stage plan on some members of a cluster, one worker each, that a
 * test can hold at any point.
 *
 *   rows --> writer 0 ~> reader 0 --> writer 1 ~> reader 1 --> count and sum
 *
 * A plan is a state machine that never blocks, so that one thread can run
 * several. It makes no more than `limit` rows until the test raises that, and
 * the test may look at every counter between two steps.
 */
#ifndef WT_PLAN_H
#define WT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

enum { WT_PLAN_ROWS = 512, WT_PLAN_ENDLESS = 0 };

/** What came out, to be added up over all members. */
struct wt_sums {
    uint64_t made_rows;
    uint64_t made_sum;
    uint64_t got_rows;
    uint64_t got_sum;
};

struct wt_plan {
    weir_node *node;
    weir_query *query;
    weir_writer *writer[2];
    weir_reader *reader[2];
    uint64_t rows;  /* to make; WT_PLAN_ENDLESS: until it fails */
    uint64_t limit; /* makes no more than this for now */
    uint64_t forwarded_rows;
    struct wt_sums sums;
    bool drained[2];
    bool finished[2];
    bool holds_moving;
    bool holds_made;
    struct ArrowArray moving;
    struct ArrowArray made;
    struct ArrowArray column;
    struct ArrowArray *children[1];
    const void *made_buffers[1];
    const void *column_buffers[2];
    int64_t keys[WT_PLAN_ROWS];
};

/** Open query `id` on these members (NULL: all) with its two shuffles. On an
 *  error the plan is to be closed all the same. */
weir_err wt_plan_open(struct wt_plan *p, weir_node *node, uint64_t id,
                      const uint32_t *members, uint32_t n_members,
                      uint64_t rows, struct weir_error *err);

/** WEIR_OK (moved), WEIR_AGAIN (wait for worker 0, or raise the limit),
 *  WEIR_DONE, or what failed it. */
weir_err wt_plan_step(struct wt_plan *p);

/** Step and wait until the plan ends; WEIR_DONE or what failed it, with its
 *  message. */
weir_err wt_plan_run(struct wt_plan *p, struct weir_error *err);

void wt_plan_close(struct wt_plan *p);

#endif /* WT_PLAN_H */
