/* SPDX-License-Identifier: Apache-2.0 */
/** Error messages of operators and plans. */
#ifndef WI_OPERATORS_FAIL_H
#define WI_OPERATORS_FAIL_H

#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

/** Write code and message (cut to fit, one line of text: wi_utf8_clean) into
 *  err unless NULL; returns code. The function that detects the fault calls it,
 *  once; callers pass the code on. */
weir_err wi_exec_fail(struct weir_error *err, weir_err code, const char *fmt,
                      ...) __attribute__((format(printf, 3, 4), cold));

/** A pointer that the caller must give, and the name it has in the header. */
struct wi_exec_arg {
    const void *value;
    const char *name;
};
#define WI_EXEC_ARG(arg)                                                       \
    {                                                                          \
        (arg), #arg                                                            \
    }

/** WEIR_OK, or WEIR_ERR_ARG and the name of the first that is NULL. */
#define wi_exec_check_args(err, ...)                                           \
    wi_exec_check_given((err), (const struct wi_exec_arg[]){__VA_ARGS__},      \
                        sizeof((const struct wi_exec_arg[]){__VA_ARGS__}) /    \
                            sizeof(struct wi_exec_arg))
weir_err wi_exec_check_given(struct weir_error *err,
                             const struct wi_exec_arg *args, size_t n);

/** A list and its count come together: WEIR_ERR_ARG if one is given and the
 *  other is not. */
weir_err wi_exec_check_list(struct weir_error *err, const void *list,
                            uint32_t n, const char *name);

/** As wi_exec_fail, for memory that the system refused. */
weir_err wi_exec_no_memory(struct weir_error *err, uint64_t bytes)
    __attribute__((cold));

#endif /* WI_OPERATORS_FAIL_H */
