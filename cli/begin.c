/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/begin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* open(2) takes the lowest number that is free: those below are open. */
static void open_standard(int fd)
{
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) {
        return;
    }
    int wrong_way = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", wrong_way) != fd && open("/", O_PATH) != fd) {
        _exit(EXIT_FAILURE);
    }
}

void cli_begin(void)
{
    sigset_t none;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        open_standard(fd);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
}
