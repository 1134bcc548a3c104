/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A plan at work as a stream of its rows, in this process.
 *
 *   get_next --> weir_run_step(run, worker 0) ... a batch of the answer
 *                workers 1.. have threads of their own
 *
 * The run has a node of its own, with one member, so any number of them may be
 * at work at a time. Whoever does not ask for rows stops it: worker 0 stands
 * still, and then the rings that lead to it.
 */
#ifndef WEIR_TOOL_PLAN_STREAM_H
#define WEIR_TOOL_PLAN_STREAM_H

#include <weir/plan.h>
#include <weir/scan_engine.h>

struct plan_stream_params {
    uint32_t workers;      /* [1] */
    uint64_t memory_bytes; /* of operators [the library's] */
};

/**
 * Begin a run.
 *
 * @param plan        with a result; taken over, whatever comes of it
 * @param job         whose cancel ends the run; NULL: none
 * @param stream_out  [out] set on WEIR_OK only
 *
 * Errors:     as weir_node_open, weir_run_open; what failed the run by then
 * Blocks:     on files
 * Threads:    any; the stream is one thread's at a time
 * Ownership:  stream_out->release
 */
weir_err plan_stream_open(weir_plan *plan, const struct plan_stream_params *p,
                          weir_scan_job *job,
                          struct ArrowArrayStream *stream_out,
                          struct weir_error *err);

#endif /* WEIR_TOOL_PLAN_STREAM_H */
