/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Clients of scans (weir/scan_client.h) without a server: requests go straight
 * to an engine of this process. What is tested is the driver on top of them.
 */
#ifndef WT_ADBC_NEAR_H
#define WT_ADBC_NEAR_H

#include <weir/scan.h>

#include <arrow-adbc/adbc.h>

#include "test/unit/services/scan/engines.h"

/** The engine that all clients ask. */
extern struct weir_scan_engine wt_near_engine;

/** Clients that were connected and not freed. */
extern int wt_near_clients;

/** Whom the last one that was made expects; "": nobody said. */
extern char wt_near_server_name[32];

/** The driver's table, a database and a connection to it. */
struct wt_near {
    struct AdbcDriver d;
    struct AdbcDatabase database;
    struct AdbcConnection connection;
    struct AdbcError error;
};

/** Open all of them for an engine, or fail the test. */
void wt_near_open(struct wt_near *n, enum wt_scan_engine which);

/** Close them, and the engine: all clients must have been freed. */
void wt_near_close(struct wt_near *n);

/** A statement with a query. Ownership: d.StatementRelease. */
struct AdbcStatement wt_near_query(struct wt_near *n, const char *text);

/** Sum of the first column, int64, of a stream, which is released. */
int64_t wt_near_sum(struct ArrowArrayStream *stream);

#endif /* WT_ADBC_NEAR_H */
