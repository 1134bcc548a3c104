/* SPDX-License-Identifier: Apache-2.0 */
/** Servers of scans: engines, for whoever reaches the node (scan.h). */
#ifndef WEIR_SCAN_SERVER_H
#define WEIR_SCAN_SERVER_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/node.h>
#include <weir/scan_engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_scan_server weir_scan_server;

/** A data set of a server. */
struct weir_scan_source {
    const char *name; /* of the data set, which its engine sees as ""; NULL: any
                         other, which it sees under the name asked for */
    struct weir_scan_engine engine; /* open and arg are used; not closed */
};

/** Options of a server. Zero means the default in brackets. */
struct weir_scan_server_params {
    const struct weir_scan_source *sources; /* copied */
    uint32_t n_sources;                     /* 1..1024 */
    uint32_t worker;       /* of the node, which the server has to itself [0] */
    uint32_t threads;      /* most that run engines at a time [16], 1..256 */
    uint32_t max_readers;  /* most open at a time [1024], 1..65536 */
    uint64_t space;        /* of its names [WEIR_SCAN_SPACE] */
    uint64_t max_bytes;    /* most memory of batches, of all readers together
                             [half of the node's memory_bytes]; beyond it each
                             reader has one payload (batch_bytes, or one batch
                             that is larger), so that all get on */
    uint64_t batch_bytes;  /* batches of the engine travel together up to so
                             many bytes [2 MiB, or max_bytes if that is less] */
    uint64_t idle_ns;      /* a reader that nobody asks for is freed after
                             [10 min]; WEIR_FOREVER: with its client only */
    uint64_t statement_ns; /* an engine may work at a request for so long, the
                              time not counted in which the client does not ask
                              for rows; then it is cancelled, and its client
                              gets WEIR_ERR_TIMEOUT [WEIR_FOREVER] */
    uint64_t client_bytes; /* most memory of one client, beyond the one payload
                              that each of its readers has [max_bytes] */
    uint32_t client_threads; /* most that run engines for one client at a time
                                [a quarter of threads, but 2]; a quarter of
                                threads is left to clients that have none */
    uint32_t unused;         /* must be zero */
    uint64_t reserved[1];    /* must be zero */
};

/** What a server has at the moment, and so far. */
struct weir_scan_stats {
    uint64_t clients;
    uint64_t readers;
    uint64_t bytes;      /* of memory for batches */
    uint64_t peak_bytes; /* most so far */
    uint64_t opened;     /* requests so far, */
    uint64_t failed;     /* and those that ended with an error */
    uint64_t batches;    /* sent so far, */
    uint64_t rows;
    uint64_t sent_bytes; /* and how many bytes they had */
};

/**
 * Serve engines to whoever reaches the node. Takes one worker of the node, and
 * has threads of its own. A node with more than a few clients needs max_peers.
 *
 * @param server_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG (names the option), WEIR_ERR_DUPLICATE (the space
 *             has its server), WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM (threads)
 * Blocks:     never
 * Threads:    any; not on a manual node
 * Ownership:  weir_scan_server_close, before the node's close; engines outlive
 *             the server
 */
WEIR_API weir_err weir_scan_server_open(
    weir_node *node, const struct weir_scan_server_params *params,
    weir_scan_server **server_out, struct weir_error *err);

/** What it has at the moment. Errors: none. Blocks: shortly. Threads: any.
 *  Ownership: nothing. */
WEIR_API void weir_scan_server_stats(weir_scan_server *server,
                                     struct weir_scan_stats *stats_out);

/**
 * Stop serving: clients get WEIR_ERR_NOT_FOUND or WEIR_ERR_PEER_LOST.
 *
 * Errors:     none
 * Blocks:     until engines that work have come back
 * Threads:    one; no other call on this server may run
 * Ownership:  frees server; NULL is allowed
 */
WEIR_API void weir_scan_server_close(weir_scan_server *server);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_SCAN_SERVER_H */
