/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Probes of the public calls: what they say to a NULL, and to a number that is
 * out of range. test/scripts/check_probes.sh wants one for each pointer and
 * each index that a function of include/weir takes, and reads these names:
 *
 *   REFUSES(fn, arg, ...)   WEIR_ERR_ARG, and a message that names arg
 *   CODE(fn, arg, code, ..) this code; for calls without struct weir_error
 *   ANSWERS(fn, arg, what)  what holds: for getters and calls without a code
 *   ALLOWS(fn, arg, what)   the same, where NULL has a meaning
 *   ABORTS(fn, arg, ...)    an assertion stops the process
 *
 * The arguments of the call follow; `w` is the world.
 */
#ifndef WT_ARGS_H
#define WT_ARGS_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/run.h>
#include <weir/weir.h>

/** One of each: everything valid that a call may be given. */
struct wt_args {
    struct weir_error err;
    weir_sim *sim;
    weir_node *node;
    weir_query *query;
    weir_shuffle *shuffle;
    weir_writer *writer;
    weir_reader *reader;
    weir_row_writer *rw;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    weir_table *table;
    weir_plan *plan;
    weir_run *run;
};

void wt_args_open(struct wt_args *w);
void wt_args_close(struct wt_args *w);

/** @param want  WEIR_ERR_ARG, or another code
 *  @param err   with a message that names arg, or NULL: the call has none */
void wt_args_code(const char *fn, const char *arg, weir_err want, weir_err got,
                  struct weir_error *err);
void wt_args_holds(const char *fn, const char *arg, bool holds);

#define REFUSES(fn, arg, ...)                                                  \
    wt_args_code(#fn, #arg, WEIR_ERR_ARG, (weir_err)fn(__VA_ARGS__), &w->err)
#define CODE(fn, arg, code, ...)                                               \
    wt_args_code(#fn, #arg, code, (weir_err)fn(__VA_ARGS__), NULL)
#define ANSWERS(fn, arg, what) wt_args_holds(#fn, #arg, what)
#define ALLOWS(fn, arg, what) wt_args_holds(#fn, #arg, what)
/* In a child, whose complaint nobody wants to read. */
#define ABORTS(fn, arg, ...)                                                   \
    do {                                                                       \
        int status_ = 0;                                                       \
        pid_t pid_ = fork();                                                   \
        if (pid_ == 0) {                                                       \
            const struct rlimit none_ = {0};                                   \
            (void)setrlimit(RLIMIT_CORE, &none_);                              \
            (void)close(STDERR_FILENO);                                        \
            (void)fn(__VA_ARGS__);                                             \
            _exit(0);                                                          \
        }                                                                      \
        cr_assert_eq(waitpid(pid_, &status_, 0), pid_);                        \
        wt_args_holds(#fn, #arg,                                               \
                      WIFSIGNALED(status_) && WTERMSIG(status_) == SIGABRT);   \
    } while (0)
/* A call without a result, as a condition: it came back. */
#define DONE(call) ((call), true)

#endif /* WT_ARGS_H */
