/* SPDX-License-Identifier: Apache-2.0 */
/** Starting threads of the library. */
#ifndef WI_BASE_THREAD_H
#define WI_BASE_THREAD_H

#include <pthread.h>

#include <weir/error.h>

#include "core/base/cc.h"

/**
 * Start a thread. It blocks all signals: the program's own threads take them.
 *
 * @param what  which thread, for the message
 * @param out   [out] to join; NULL: detached
 *
 * Errors:     WEIR_ERR_SYSTEM: the limit that stands in the way, and its value
 * Blocks:     shortly.  Threads: any.  Ownership: pthread_join, unless detached
 */
weir_err wi_thread_start(pthread_t *out, void *(*fn)(void *arg), void *arg,
                         const char *what, struct weir_error *err);

/**
 * Say which limit keeps a process from having one more thread.
 *
 * @param root  "" or, in tests, a directory that stands for "/"
 * @param text  [out] one clause: the limit, its value, what to do
 */
void wi_thread_limit(const char *root, char *text, size_t room) WI_COLD;

#endif /* WI_BASE_THREAD_H */
