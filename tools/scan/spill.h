/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A folder for what an engine cannot keep in memory: new, with a name that
 * nobody can guess, and only this user may enter it. One at a time.
 */
#ifndef WEIR_TOOL_SPILL_H
#define WEIR_TOOL_SPILL_H

#include <weir/error.h>

/** Make PREFIX.spill-XXXXXX. Errors: WEIR_ERR_ARG (too long), WEIR_ERR_SYSTEM.
 *  Blocks: on the folder. Threads: one. */
weir_err spill_make(const char *prefix, struct weir_error *err);

/** Where it is. Errors: none. Blocks: never. Ownership: static. */
const char *spill_path(void);

/** Remove it, which the engine has left empty. Also in handlers of signals.
 *  Errors: none. Blocks: on the folder. Threads: one. */
void spill_drop(void);

#endif /* WEIR_TOOL_SPILL_H */
