/* SPDX-License-Identifier: Apache-2.0 */
/* A file is checked before it is opened, because opening a device can have
 * effects, and again afterwards, because it can be another file by then. */
#define _GNU_SOURCE 1
#include "operators/table/csv_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "operators/base/below.h"
#include "operators/base/fail.h"

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static weir_err check(const char *path, const struct stat *st,
                      struct weir_error *err)
{
    if (S_ISREG(st->st_mode)) {
        return WEIR_OK;
    }
    if (S_ISDIR(st->st_mode)) {
        return wi_exec_fail(err, WEIR_ERR_DATA,
                            "%s: a directory; the file of a table was expected",
                            path);
    }
    return wi_exec_fail(err, WEIR_ERR_DATA,
                        "%s: %s, not a regular file; it is read at several "
                        "places, so store it in a file first",
                        path, kind_of(st->st_mode));
}

/* No descriptors or no memory left: that is not the file's fault. */
static weir_err say_errno(const char *path, struct weir_error *err)
{
    const bool lacks = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    return wi_exec_fail(err,
                        lacks             ? WEIR_ERR_NO_MEMORY
                        : errno == EXDEV  ? WEIR_ERR_DATA
                        : errno == ENOSYS ? WEIR_ERR_UNSUPPORTED
                                          : WEIR_ERR_SYSTEM,
                        "%s: %s", path, wi_below_why(errno));
}

/* Open one, which is checked. */
static weir_err open_checked(const struct wi_csv_place *p, int flags,
                             int *fd_out, struct stat *st,
                             struct weir_error *err)
{
    const int fd = p->below != NULL ? wi_open_below(p->below, p->path, flags)
                                    : open(p->path, flags | O_CLOEXEC);
    if (fd < 0) {
        return say_errno(p->name, err);
    }
    weir_err rc =
        fstat(fd, st) != 0 ? say_errno(p->name, err) : check(p->name, st, err);
    if (rc != WEIR_OK) {
        (void)close(fd);
        return rc;
    }
    *fd_out = fd;
    return WEIR_OK;
}

weir_err wi_csv_file_open(const struct wi_csv_place *place, int *fd_out,
                          uint64_t *bytes_out, struct weir_error *err)
{
    struct stat st;
    int fd;
    weir_err rc = open_checked(place, O_PATH, &fd, &st, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    (void)close(fd);
    rc =
        open_checked(place, O_RDONLY | O_NONBLOCK | O_NOCTTY, fd_out, &st, err);
    if (rc == WEIR_OK) {
        *bytes_out = (uint64_t)st.st_size;
    }
    return rc;
}

weir_err wi_csv_file_read(const struct wi_csv_file *file, uint64_t off,
                          uint64_t most, char *to, size_t *got_out,
                          struct weir_error *err)
{
    ssize_t got;
    do {
        got = pread(file->fd, to, (size_t)most, (off_t)off);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return wi_exec_fail(err, WEIR_ERR_SYSTEM, "read %s: %s", file->name,
                            strerror(errno));
    }
    if (got == 0) {
        return wi_exec_fail(err, WEIR_ERR_DATA,
                            "%s: the file became shorter while it was read",
                            file->name);
    }
    *got_out = (size_t)got;
    return WEIR_OK;
}
