/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"

/* Whoever owns a file can change it, and give it any mode. */
static weir_err check(const char *what, const char *name, const struct stat *st,
                      struct weir_error *err)
{
    if (!S_ISREG(st->st_mode)) {
        return wi_fail(err, WEIR_ERR_SYSTEM, "%s %.200s is not a regular file",
                       what, name);
    }
    if (st->st_uid != 0 && st->st_uid != geteuid()) {
        return wi_fail(err, WEIR_ERR_SYSTEM,
                       "%s %.200s belongs to uid %u: it has to be this "
                       "process's (uid %u) or root's",
                       what, name, st->st_uid, geteuid());
    }
    if ((st->st_mode & (S_IRWXO | S_IWGRP)) != 0) {
        return wi_fail(err, WEIR_ERR_SYSTEM,
                       "%s %.200s has mode %03o: others may use it, or its "
                       "group change it: chmod 600",
                       what, name, (unsigned)st->st_mode & 0777u);
    }
    return WEIR_OK;
}

weir_err wi_private_open(const char *what, const char *name, int *fd_out,
                         struct weir_error *err)
{
    struct stat st;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return wi_fail_errno(err, errno, "%s %.200s", what, name);
    }
    weir_err rc = fstat(fd, &st) != 0
                      ? wi_fail_errno(err, errno, "%s %.200s", what, name)
                      : check(what, name, &st, err);
    if (rc == WEIR_OK) {
        *fd_out = fd;
    } else {
        (void)close(fd);
    }
    return rc;
}
