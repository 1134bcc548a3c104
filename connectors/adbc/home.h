/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The node of a database, and its workers, one for each connection.
 *
 *   database ---- hold --+
 *   sessions ---- hold --+--> home --> weir_node
 *   clients  ---- hold --+    (closed with the last of them)
 *
 * A client lasts until the last array that it lent was released, which may be
 * long after the database: tables that Python has kept, for example.
 */
#ifndef WI_ADBC_HOME_H
#define WI_ADBC_HOME_H

#include <stdbool.h>

#include <weir/node.h>

#include <arrow-adbc/adbc.h>

enum { WI_ADBC_WORKERS = 64 }; /* most connections at a time */

struct wi_adbc_home;

/**
 * Open a node, held once.
 *
 * @param who  its transport, and who it is: name, secret_file, identity
 *
 * Errors:     what weir_node_open says
 * Blocks:     shortly
 * Threads:    any
 * Ownership:  wi_adbc_home_drop
 */
AdbcStatusCode wi_adbc_home_open(const struct weir_node_params *who,
                                 struct wi_adbc_home **home_out,
                                 struct AdbcError *error);

/** Is this the process that opened it? A child of fork has copies, which are of
 *  no use: their locks may be held for ever, and what they are connected with
 *  goes on being the parent's. There, hold and drop do nothing, and take fails.
 *  Errors: none. Blocks: never. Threads: any. */
bool wi_adbc_home_here(const struct wi_adbc_home *home);

/** Errors: none. Blocks: shortly; the last drop while the node closes.
 *  Threads: any. Ownership: the last one frees home. */
void wi_adbc_home_hold(struct wi_adbc_home *home);
void wi_adbc_home_drop(void *home);

/** Its node, as long as home is held. */
weir_node *wi_adbc_home_node(const struct wi_adbc_home *home);

/** Say so. */
AdbcStatusCode wi_adbc_home_refuse(const struct wi_adbc_home *home,
                                   struct AdbcError *error);

/** Take a worker that nobody has. Errors: ADBC_STATUS_INVALID_STATE (all are
 *  taken, or another process opened it). Blocks: shortly. Threads: any.
 *  Ownership: wi_adbc_home_put. */
AdbcStatusCode wi_adbc_home_take(struct wi_adbc_home *home,
                                 uint32_t *worker_out, struct AdbcError *error);
void wi_adbc_home_put(struct wi_adbc_home *home, uint32_t worker);

#endif /* WI_ADBC_HOME_H */
