/* SPDX-License-Identifier: Apache-2.0 */
/** Files that hold what nobody else may know: secrets and keys. */
#ifndef WI_PRIVATE_FILE_H
#define WI_PRIVATE_FILE_H

#include <weir/error.h>

/**
 * Open one to read it. What is checked is what is read: the file is named once.
 *
 * @param what    the option, for messages
 * @param fd_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_SYSTEM: it cannot be opened, is no regular file, belongs
 *             neither to the process's user nor to root, or others may use it,
 *             or its group change it
 * Blocks:     while it is opened; a pipe is not waited for
 * Threads:    any
 * Ownership:  close(2)
 */
weir_err wi_private_open(const char *what, const char *name, int *fd_out,
                         struct weir_error *err);

#endif /* WI_PRIVATE_FILE_H */
