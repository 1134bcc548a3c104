/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Contestants of `weir bench scan`: a child process each, which holds what it
 * needs and does what it is told over a socket pair (talk.h), so that runs of
 * all of them are interleaved.
 */
#ifndef WB_SCAN_RIVAL_H
#define WB_SCAN_RIVAL_H

#include <stdio.h>

#include <weir/error.h>

#include "bench/scan/talk.h"

struct wb_rival;

struct wb_rival_params {
    const char *name; /* borrowed */
    /* The child: program and arguments, ended by NULL; */
    const char *const *argv;
    /* or, if that is NULL, a function, and its argument. */
    weir_err (*run)(void *arg, FILE *from, FILE *to, struct weir_error *err);
    void *arg;
};

/**
 * Start one, and wait until it is ready.
 *
 * Errors:     WEIR_ERR_PEER_LOST (it ended: it has said why on standard error),
 *             WEIR_ERR_SYSTEM, WEIR_ERR_NO_MEMORY
 * Blocks:     while it loads
 * Threads:    one, the only one of the process
 * Ownership:  wb_rival_close
 */
weir_err wb_rival_open(const struct wb_rival_params *params,
                       struct wb_rival **out, struct weir_error *err);

/** Have it do what a line says. Errors: WEIR_ERR_PEER_LOST (it ended),
 *  WEIR_ERR_DATA (what it said). Blocks: until it has. Threads: one.
 *  Ownership: nothing. */
weir_err wb_rival_ask(struct wb_rival *rival, const char *line,
                      struct wb_scan_pass *out, struct weir_error *err);

/** Its version, as it says: "pyarrow 1.2.3". Errors: none. Blocks: never.
 *  Threads: any. Ownership: the rival's. */
const char *wb_rival_version(const struct wb_rival *rival);

/** End it. NULL is allowed. Errors: none. Blocks: until it has ended. */
void wb_rival_close(struct wb_rival *rival);

#endif /* WB_SCAN_RIVAL_H */
