/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Payload bandwidth from one node to another: one worker pushes the same batch
 * of int64 rows again and again, the other node's worker takes and counts them.
 *
 *   process 0 --push--> ring ~~transport~~> ring --next--> process 1
 *
 * Both sleep when they cannot move. Rows are counted and the first value of
 * each batch is compared; the library checks the contents of every frame. The
 * clock runs from the first push after a warm-up to the end of the stream.
 */
#ifndef WB_STREAM_H
#define WB_STREAM_H

#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

#include "bench/lib/plan.h"

struct wb_stream_params {
    const char *transport; /* ["shm"] */
    const char *listen;    /* without port [the transport chooses] */
    uint32_t frame_bytes;  /* [65536] */
    uint32_t ring_frames;  /* [the library's] */
    uint32_t mib;          /* of payload [256], 1..1048576 */
    uint64_t timeout_ns;   /* [120 s] */
};

struct wb_stream {
    double seconds;
    double mb_per_s; /* payload, 10^6 bytes */
    struct wb_usage usage;
};

/**
 * Measure.
 *
 * Errors:     WEIR_ERR_ARG; WEIR_ERR_INTEGRITY (rows lost, doubled or wrong);
 *             as weir_node_open, weir_query_open, wl_group_run
 * Blocks:     until done, at most params->timeout_ns
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_stream_run(const struct wb_stream_params *params,
                       struct wb_stream *out, struct weir_error *err);

/** Print for people, and as one JSON object on one line.
 *  Errors: as wb_report_write. Blocks: on output. Threads: one. */
void wb_stream_print(const struct wb_stream_params *params,
                     const struct wb_stream *stream, FILE *out);
weir_err wb_stream_print_json(const struct wb_stream_params *params,
                              const struct wb_stream *stream, FILE *out,
                              struct weir_error *err);

#endif /* WB_STREAM_H */
