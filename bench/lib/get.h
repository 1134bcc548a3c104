/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Gets: one process publishes a region of known bytes, another reads it.
 *
 *   process 0: region            process 1: get, get, get ...
 *     word k is wb_get_word(k)     one at a time; several in flight
 *                                  lent, and copied to memory of its own
 *
 * Offsets change from get to get, within the first `span` bytes. The first and
 * the last word of every get that is timed are added up and compared; before
 * that, gets that are not timed cover the span once (at most 64 MiB of it), and
 * each of their words is compared.
 *
 * The owner's program does nothing meanwhile: what is to do there, the network
 * thread does. With `attend` its worker waits in the library instead.
 */
#ifndef WB_GET_H
#define WB_GET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

#define WB_GET_SIZES 8u
#define WB_GET_REPEAT 100u
#define WB_GET_IN_FLIGHT 256u

enum wb_get_way { WB_GET_LENT, WB_GET_COPIED, WB_GET_WAYS };

struct wb_get_params {
    const char *transport;        /* ["shm"] */
    const char *listen;           /* without port [the transport chooses] */
    uint64_t sizes[WB_GET_SIZES]; /* of a get, multiples of 8 */
    uint32_t n_sizes;             /* [8, 4096, 65536 and 1048576] */
    uint64_t region_bytes;        /* [64 MiB] */
    uint64_t span;                /* [the region], at least each size */
    uint32_t in_flight;           /* [16] */
    uint32_t repeat;              /* [5] */
    uint32_t ms;                  /* of each run [50], 1..10000 */
    bool attend;
    uint64_t timeout_ns; /* [120 s] */
};

/** Medians over the runs. */
struct wb_get_figures {
    double mean_ns;   /* one at a time: of a whole run */
    double median_ns; /* each with the clock's own time */
    double p99_ns;
    double mb_per_s; /* 10^6 bytes, in_flight of them */
};

struct wb_get {
    struct wb_get_params params; /* with the defaults */
    struct wb_get_figures figures[WB_GET_SIZES][WB_GET_WAYS];
};

/** Word k of the region. Errors: none. Blocks: never. Threads: any. Ownership:
 *  nothing. */
static inline uint64_t wb_get_word(uint64_t k)
{
    k *= 0x9e3779b97f4a7c15u;
    return k ^ (k >> 29);
}

/**
 * Measure.
 *
 * Errors:     WEIR_ERR_ARG; WEIR_ERR_INTEGRITY (other bytes came); as
 *             weir_node_open, weir_region_open, wl_group_run, or of a get
 * Blocks:     until done, at most params->timeout_ns
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_get_run(const struct wb_get_params *params, struct wb_get *out,
                    struct weir_error *err);

/** Print for people, and as one JSON object on one line.
 *  Errors: as wb_report_write. Blocks: on output. Threads: one. */
void wb_get_print(const struct wb_get *get, FILE *out);
weir_err wb_get_print_json(const struct wb_get *get, FILE *out,
                           struct weir_error *err);

#endif /* WB_GET_H */
