/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "operators/base/below.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int wi_open_below(const char *folder, const char *path, int flags)
{
    const struct open_how how = {
        .flags = (unsigned long long)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0) {
        return -1;
    }
    /* EAGAIN: something was renamed on the way, and ".." may lead anywhere. */
    long fd;
    do {
        fd = syscall(SYS_openat2, at, path, &how, sizeof(how));
    } while (fd < 0 && (errno == EAGAIN || errno == EINTR));
    const int why = errno;
    (void)close(at);
    errno = why;
    return (int)fd;
}

const char *wi_below_why(int errno_value)
{
    return errno_value == EXDEV    ? "it leads out of its folder"
           : errno_value == ENOSYS ? "the kernel cannot keep paths in a folder "
                                     "(openat2 of Linux 5.6)"
                                   : strerror(errno_value);
}
