/* SPDX-License-Identifier: Apache-2.0 */
/** Log lines: one sink per node, one line per fault, written where the fault
 *  is detected. Never on a per-frame path. */
#ifndef WI_BASE_LOG_H
#define WI_BASE_LOG_H

#include "core/base/cc.h"

struct wi_log {
    void (*fn)(void *arg, int level, const char *line); /* NULL: stderr */
    void *arg;
    int level;        /* most verbose one that is written */
    const char *name; /* of the node, put in front */
};

/* The values of weir_log_level. */
enum { WI_LOG_ERROR, WI_LOG_WARN, WI_LOG_INFO, WI_LOG_DEBUG };

/** log: NULL for none. */
void wi_log(const struct wi_log *log, int level, const char *fmt, ...)
    WI_PRINTF(3, 4) WI_COLD;

#endif /* WI_BASE_LOG_H */
