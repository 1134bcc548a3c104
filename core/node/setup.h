/* SPDX-License-Identifier: Apache-2.0 */
/** Setting up an engine, and taking it down. */
#ifndef WI_SETUP_H
#define WI_SETUP_H

#include <weir/node.h>

struct wi_engine;

/**
 * Set up an engine in memory that is zeroed but for its log and hooks. cfg has
 * its defaults filled in.
 *
 * Errors: as weir_node_open.  Ownership: wi_engine_fini, also after an error
 */
weir_err wi_engine_init(struct wi_engine *e, const struct weir_node_params *cfg,
                        struct weir_error *err);
void wi_engine_fini(struct wi_engine *e);

#endif /* WI_SETUP_H */
