/* SPDX-License-Identifier: Apache-2.0 */
/* Names of sockets, and what to say when descriptors run out. */
#include "transport/shm/shm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "core/base/err.h"

static const char prefix[] = "weir/";

static_assert(sizeof(prefix) - 1 + SHM_NAME_BYTES ==
                  sizeof(((struct sockaddr_un *)0)->sun_path),
              "a NUL in front, the prefix and the name fill sun_path");

bool wi_shm_sockaddr(const char *name, struct sockaddr_un *sa, socklen_t *len)
{
    size_t n = strnlen(name, SHM_NAME_BYTES);
    if (n == 0 || n == SHM_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c <= ' ' || c == 0x7f) {
            return false;
        }
    }
    memset(sa, 0, sizeof(*sa));
    sa->sun_family = AF_UNIX;
    memcpy(sa->sun_path + 1, prefix, sizeof(prefix) - 1);
    memcpy(sa->sun_path + sizeof(prefix), name, n);
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(prefix) +
                       n);
    return true;
}

unsigned long long wi_shm_fd_limit(void)
{
    struct rlimit lim = {0};
    (void)getrlimit(RLIMIT_NOFILE, &lim);
    return (unsigned long long)lim.rlim_cur;
}

weir_err wi_shm_fail_fd(struct weir_error *err, int errno_value,
                        const char *what)
{
    if (errno_value == EMFILE) {
        return wi_fail(err, WEIR_ERR_SYSTEM,
                       "%s: the limit of %llu open files is reached; raise "
                       "it with \"ulimit -n\"",
                       what, wi_shm_fd_limit());
    }
    if (errno_value == ENFILE) {
        return wi_fail(err, WEIR_ERR_SYSTEM,
                       "%s: the host's limit of open files is reached; raise "
                       "the sysctl fs.file-max",
                       what);
    }
    return wi_fail_errno(err, errno_value, "%s", what);
}
