/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the Java side of the plug-in holds: a node with one worker and one
 * fetch, and a descriptor by which other threads end a sleep.
 *
 *   struct wj_handle --- node, fetch     one per executor, used under the
 *        |                               Java side's lock
 *        +--- wake_fd                    put to by any thread
 *
 * A got and a get travel as 64-bit words in a direct buffer, see records.c.
 */
#ifndef WEIR_SPARK_HANDLE_H
#define WEIR_SPARK_HANDLE_H

#include <stdint.h>

#include <weir/weir.h>

struct wj_handle {
    weir_node *node;
    weir_fetch *fetch;
    int worker_fd;
    int wake_fd;
};

static inline struct wj_handle *wj_handle(int64_t h)
{
    return (struct wj_handle *)(intptr_t)h;
}

/** Throw a WeirException with a code and its message. env is a JNIEnv: this
 *  header compiles without Java's. */
void wj_throw(void *env, weir_err code, const char *message);

#endif /* WEIR_SPARK_HANDLE_H */
