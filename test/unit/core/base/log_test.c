/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct wi_log plain = {.name = "n", .level = WI_LOG_ERROR};

/* Descriptor 2 is closed and then is fd, which is given up. */
static void replace_stderr(int fd)
{
    cr_assert_geq(fd, 0);
    cr_assert_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    (void)close(fd);
}

static off_t written(int flags)
{
    char path[] = "/tmp/weir-log-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    int again = open(path, O_WRONLY | O_CLOEXEC | flags);
    replace_stderr(again);
    wi_log(&plain, WI_LOG_ERROR, "a message");
    (void)unlink(path);
    return lseek(fd, 0, SEEK_END);
}

Test(log, a_file_of_the_programs_gets_no_line)
{
    cr_assert_eq(written(0), 0);
}

Test(log, a_file_that_is_appended_to_gets_it)
{
    off_t expected = (off_t)strlen("weir: error: n: a message\n");
    cr_assert_eq(written(O_APPEND), expected);
}

Test(log, a_socket_of_the_programs_gets_no_line)
{
    char byte;
    int ends[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    replace_stderr(ends[0]);
    wi_log(&plain, WI_LOG_ERROR, "a message");
    cr_assert_eq(recv(ends[1], &byte, 1, MSG_DONTWAIT), -1);
}

Test(log, a_pipe_gets_it)
{
    char text[64];
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    replace_stderr(ends[1]);
    wi_log(&plain, WI_LOG_ERROR, "a message");
    cr_assert_eq(read(ends[0], text, sizeof(text)),
                 (ssize_t)strlen("weir: error: n: a message\n"));
}
