/* SPDX-License-Identifier: Apache-2.0 */
/** Files of a folder, of which nothing leads out. */
#ifndef WI_OPERATORS_BELOW_H
#define WI_OPERATORS_BELOW_H

#include <weir/error.h>

/**
 * open(2) of a path that begins at a folder. An absolute path, .., and links
 * that lead out of the folder are refused, whatever is renamed meanwhile.
 *
 * @param flags  of open(2); O_CLOEXEC is added
 *
 * Returns:    a descriptor, or -1 and errno: EXDEV: it leads out; ENOSYS: the
 *             system cannot tell (before Linux 5.6)
 * Errors:     none
 * Blocks:     on the disk
 * Threads:    any
 * Ownership:  the descriptor is the caller's
 * Source:     openat2(2), RESOLVE_BENEATH
 */
int wi_open_below(const char *folder, const char *path, int flags);

/** What to say of such an errno. */
const char *wi_below_why(int errno_value);

#endif /* WI_OPERATORS_BELOW_H */
