/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/scan/part.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/fail.h"
#include "tools/scan/spill.h"

enum { PATH_ROOM = 4096 };

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_ENDS = sizeof(ends) / sizeof(ends[0]) };

/* For the handler: set before it is installed. */
static char path[PATH_ROOM];
static const char *final;

static void end(int number)
{
    (void)unlink(path);
    spill_drop();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void handle(void (*handler)(int number))
{
    const struct sigaction act = {.sa_handler = handler};
    for (int i = 0; i < N_ENDS; i++) {
        struct sigaction old;
        (void)sigaction(ends[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) {
            (void)sigaction(ends[i], &act, NULL);
        }
    }
}

weir_err part_begin(const char *file, struct weir_error *err)
{
    int n = snprintf(path, sizeof(path), "%s.%d.part", file, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof(path)) {
        return tool_fail(err, WEIR_ERR_ARG, "%s: the name is too long", file);
    }
    /* What writes it may say less well why it cannot. */
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        return tool_fail_errno(err, "%s", file);
    }
    (void)close(fd);
    final = file;
    handle(end);
    return WEIR_OK;
}

const char *part_path(void)
{
    return path;
}

weir_err part_keep(struct weir_error *err)
{
    int code = rename(path, final);
    handle(SIG_DFL);
    return code == 0 ? WEIR_OK : tool_fail_errno(err, "%s", final);
}

void part_drop(void)
{
    (void)unlink(path);
    handle(SIG_DFL);
}
