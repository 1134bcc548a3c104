/* SPDX-License-Identifier: Apache-2.0 */
/** Error messages of the command's own code: as the library fills its own. */
#ifndef WEIR_TOOL_FAIL_H
#define WEIR_TOOL_FAIL_H

#include <weir/error.h>

/** Write code and message (cut to fit) into err unless NULL; returns code.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
weir_err tool_fail(struct weir_error *err, weir_err code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/** As tool_fail with WEIR_ERR_SYSTEM and the text of errno appended. */
weir_err tool_fail_errno(struct weir_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

#endif /* WEIR_TOOL_FAIL_H */
