/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a contestant of `weir bench scan` does when it is told to, over two
 * pipes; opponents/scan.py is the same in Python.
 *
 *   ready VERSION                 <--
 *   take TEXT                     -->   take each batch, and drop it
 *   read TEXT                     -->   add up every value (sum.h)
 *   one N TEXT                    -->   read it N times in a row
 *   rows R bytes B sum S seconds T <--  to each; or:  failed MESSAGE
 *
 * TEXT is what a server is asked for.
 */
#ifndef WB_SCAN_TALK_H
#define WB_SCAN_TALK_H

#include <stdint.h>
#include <stdio.h>

#include <weir/batch.h>
#include <weir/error.h>

/** What a pass came to. */
struct wb_scan_pass {
    uint64_t rows;  /* of all of `one` */
    uint64_t bytes; /* of values, of the last of `one`; take: 0 */
    uint64_t sum;   /* likewise */
    double seconds;
};

/** Opens the stream that a text asks for. */
struct wb_scan_way {
    weir_err (*open)(void *arg, const char *text,
                     struct ArrowArrayStream *stream_out,
                     struct weir_error *err);
    void *arg;
};

/**
 * Do what one line says.
 *
 * Errors:     of way->open; WEIR_ERR_DATA (the line, or a stream's own error);
 *             WEIR_ERR_SCHEMA (a type that has no sum)
 * Blocks:     until it is done
 * Threads:    that of the stream
 * Ownership:  nothing
 */
weir_err wb_scan_pass_run(const struct wb_scan_way *way, const char *line,
                          struct wb_scan_pass *out, struct weir_error *err);

/** Say that it is ready, and answer line by line until there are no more.
 *  Errors: WEIR_ERR_SYSTEM (output). Blocks: until then. Threads: as above.
 *  Ownership: nothing. */
weir_err wb_scan_talk(const struct wb_scan_way *way, const char *version,
                      FILE *from, FILE *to, struct weir_error *err);

#endif /* WB_SCAN_TALK_H */
