/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Contestants of `weir bench scan` that are written in C; each is what a
 * rival's process (rival.h) runs.
 *
 *   wb_contest_weir   a server and a client, a process each, over a transport
 *   wb_contest_own    the engine in the client's own process: the limit
 */
#ifndef WB_SCAN_CONTEST_H
#define WB_SCAN_CONTEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/error.h>

struct wb_contest_params {
    const char *driver;    /* libduckdb.so */
    const char *database;  /* a file with the table lineitem */
    bool memory;           /* the table is loaded before; else DuckDB runs each
                              query */
    const char *transport; /* of Weir: "shm", ... */
    const char *listen;    /* without port [the transport chooses] */
    uint64_t memory_bytes; /* of either node [512 MiB] */
    uint64_t batch_bytes;  /* [the server's] */
    uint32_t ahead;        /* [the client's] */
    uint32_t run;          /* tells apart what one program runs */
};

/**
 * Answer until there are no more lines (talk.h).
 *
 * @param arg   struct wb_contest_params
 *
 * Errors:     as weir_node_open, weir_scan_server_open, weir_scan_connect,
 *             wb_engine_open, wb_scan_talk
 * Blocks:     until then
 * Threads:    one, the only one of the process
 * Ownership:  nothing
 */
weir_err wb_contest_weir(void *arg, FILE *from, FILE *to,
                         struct weir_error *err);
weir_err wb_contest_own(void *arg, FILE *from, FILE *to,
                        struct weir_error *err);

#endif /* WB_SCAN_CONTEST_H */
