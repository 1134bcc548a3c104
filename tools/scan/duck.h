/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DuckDB as an engine for clients that are not trusted with the server.
 *
 *   a file of DuckDB    opened READ_ONLY, or to be changed
 *   a folder            a view over each file, in a database that is made in a
 *                       folder of its own and then opened the same way
 *
 * Then, in this order: the files that may be named, nothing else outside, and
 * no setting can be changed any more. Clients' statements go through a guard.
 */
#ifndef WEIR_TOOL_DUCK_H
#define WEIR_TOOL_DUCK_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/scan_engine.h>

struct duck_params {
    const char *database;               /* a file or a folder */
    const struct weir_scan_option *set; /* options of the database */
    uint32_t n_set;
    const char *const *allow; /* folders whose files statements may name */
    uint32_t n_allow;
    bool write;  /* tables, views, and files that may be named */
    bool create; /* the database, if it is not there; with write */
};

/** Zeroed: none. */
struct duck {
    struct weir_scan_engine engine; /* close NULL: none */
    uint32_t n_views;
    char *scratch; /* a folder for what DuckDB writes; NULL: none */
};

/**
 * Open it.
 *
 * @param duck_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_NOT_FOUND (the library, the database, a folder that is
 *             allowed), WEIR_ERR_ARG (create without write), WEIR_ERR_SYSTEM,
 *             WEIR_ERR_NO_MEMORY; as folder_views; what DuckDB says
 * Blocks:     on files
 * Threads:    any
 * Ownership:  duck_close
 */
weir_err duck_open(const struct duck_params *params, struct duck *duck_out,
                   struct weir_error *err);

/** Close the engine; all its streams were released. Errors: none. Blocks: on
 *  files. Threads: any. Ownership: frees what duck holds. */
void duck_close(struct duck *duck);

#endif /* WEIR_TOOL_DUCK_H */
