/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What fork(2) of the program means to the library: a child has the memory of
 * what its parent opened, and nothing else of it.
 *
 *   parent   fd = wi_fd_open(socket(..))  ...  fork  ...  wi_fd_close(fd)
 *   child                                        `-- fd is closed there,
 *                                                    wi_forks is one more
 *
 * A child that kept the descriptors would hold the names and ports that its
 * parent listens at after the parent has closed them, and keep connections up
 * whose process was killed. Children of vfork(2), posix_spawn(3) and of bare
 * system calls do not pass here: all descriptors close on exec.
 */
#ifndef WI_BASE_FORKS_H
#define WI_BASE_FORKS_H

#include <stdint.h>

/** Forks that lie between this process and the one that loaded the library.
 *  Written in a child before fork(2) returns, when it has one thread: what was
 *  opened under another number is the parent's. */
extern uint32_t wi_forks;

/**
 * Evaluate a call that opens a descriptor, and have it closed in children.
 *
 * Returns:    what the call returns; -1 and ENOMEM if that cannot be arranged
 * Blocks:     a fork, while the call lasts
 * Threads:    any.  Ownership: wi_fd_close, or wi_fd_leave
 */
#define wi_fd_open(call) (wi_fd_begin(), wi_fd_end(call))
void wi_fd_begin(void);
int wi_fd_end(int fd);

/** Close what wi_fd_open() gave; -1 is allowed. Leaves errno alone. */
void wi_fd_close(int fd);

/** The same of a descriptor that came in another way; -1 is allowed. Returns
 *  it. Where another library closes it, wi_fd_leave() comes before. */
int wi_fd_keep(int fd);
void wi_fd_leave(int fd);

#endif /* WI_BASE_FORKS_H */
