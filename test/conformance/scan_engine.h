/* SPDX-License-Identifier: Apache-2.0 */
/**
 * An engine that does what a request's text says:
 *
 *   numbers M N     M batches of N int64, which count up from 0
 *   fail L          open fails with a text of L bytes, vendor 42, "22012"
 *   fail-next M L   M batches of 10 rows, then an error with such a text
 *   block           open does not come back until it is cancelled
 *   block-next M N  nor get_next, after M batches of N rows
 *   nothing         no stream; 7 rows affected
 *   take            counts and adds up the rows of bind, as rows affected
 *   gulp            the same, and says nothing of it if they fail
 *   echo            bind is the stream
 */
#ifndef WT_SCAN_ENGINE_H
#define WT_SCAN_ENGINE_H

#include <pthread.h>
#include <stdbool.h>

#include <weir/scan_engine.h>

/** What it has, and has seen. */
struct wt_scan_engine {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t opens;
    uint32_t streams;   /* that were not released */
    uint32_t blocked;   /* threads in it that wait to be cancelled */
    uint32_t cancelled; /* that were */
    uint64_t took_rows;
    int64_t took_sum;
    int took_status; /* of bind's last get_next */
};

void wt_scan_engine_init(struct wt_scan_engine *e,
                         struct weir_scan_engine *out);
void wt_scan_engine_fini(struct wt_scan_engine *e);

/** Schema and batch of "numbers". Ownership: the caller's, to release. */
void wt_scan_engine_schema(struct ArrowSchema *out);
void wt_scan_engine_batch(int64_t first, uint32_t rows, struct ArrowArray *out);

#endif /* WT_SCAN_ENGINE_H */
