/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One line on a terminal that says how far the work is, while this process and
 * its children do it.
 *
 *   progress_open --> progress_begin, progress_counters ... --> progress_close
 *
 * Counters lie in shared memory; a separate process adds them up and paints ten
 * times a second, so that workers never do. Where the output is no terminal
 * there is no such process and nothing is written.
 *
 *   main run, shm   [#########---------------]  37 %  41.2 M rows/s
 */
#ifndef WEIR_PROGRESS_H
#define WEIR_PROGRESS_H

#include <stdint.h>

#include <weir/error.h>

#include "launch/counter.h"

struct progress;

/** A phase of the work: what is counted in it. */
struct progress_phase {
    const char *label; /* at most 25 characters */
    const char *unit;  /* " rows", "B"; NULL: no rate is shown */
};

/**
 * @param fd        where to paint, if it is a terminal
 * @param counters  1 .. 4096
 * @param phases    borrowed until close; must not change
 *
 * Errors:     WEIR_ERR_SYSTEM
 * Blocks:     never
 * Threads:    one, the only one of the process
 * Ownership:  progress_close
 */
weir_err progress_open(int fd, uint32_t counters,
                       const struct progress_phase *phases,
                       struct progress **out, struct weir_error *err);

/** Begin a phase, counters at zero. Nobody counts at this time.
 *  @param total  0: unknown; the count is shown instead of a bar, and the phase
 *  has a unit
 *  Errors: none. Blocks: never. Threads: one. Ownership: nothing. */
void progress_begin(struct progress *p, uint32_t phase, uint64_t total);

/** The counters; one thread of any process writes each.
 *  Errors: none. Blocks: never. Threads: any. Ownership: progress's. */
struct wl_counter *progress_counters(struct progress *p);

/** Wipe the line and end. NULL is allowed. Errors: none.
 *  Blocks: shortly. Threads: as open. Ownership: frees p. */
void progress_close(struct progress *p);

#define PROGRESS_TEXT_BYTES 24
/** "12.3 M", "980 k", "17": about three digits; returns text.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the caller's. */
char *progress_figure(double value, char text[PROGRESS_TEXT_BYTES]);

#define PROGRESS_BAR_BYTES 81
/** A bar of `width` characters, `part` (0..1) of it filled.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the caller's. */
char *progress_bar(double part, uint32_t width, char fill, char rest,
                   char text[PROGRESS_BAR_BYTES]);

#endif /* WEIR_PROGRESS_H */
