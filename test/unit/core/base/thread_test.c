/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/thread.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* A directory that stands for "/": the host has 100 of 1000 threads, the group
 * `used` of `most`. */
static void plant(char *root, const char *file, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "%s%s", root, file);
    for (char *c = strchr(path + 1, '/'); c != NULL; c = strchr(c + 1, '/')) {
        *c = '\0';
        (void)mkdir(path, 0755);
        *c = '/';
    }
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f, "%s", path);
    (void)fputs(text, f);
    (void)fclose(f);
}

static void expect_limit(const char *most, const char *used, const char *host,
                         const char *said)
{
    char root[] = "/tmp/weir-limit-XXXXXX";
    char text[160];
    cr_assert_not_null(mkdtemp(root));
    plant(root, "/proc/self/cgroup", "0::/box/inner\n");
    plant(root, "/sys/fs/cgroup/box/pids.max", most);
    plant(root, "/sys/fs/cgroup/box/pids.current", used);
    plant(root, "/sys/fs/cgroup/box/inner/pids.max", "max\n");
    plant(root, "/proc/loadavg", host);
    plant(root, "/proc/sys/kernel/threads-max", "1000\n");
    plant(root, "/proc/sys/kernel/pid_max", "4194304\n");
    wi_thread_limit(root, text, sizeof(text));
    cr_assert_not_null(strstr(text, said), "no \"%s\" in: %s", said, text);
    (void)snprintf(text, sizeof(text), "rm -r %s", root);
    cr_assert_eq(system(text), 0); /* NOLINT: a fixed name */
}

Test(thread, limit_that_stands_in_the_way_is_named)
{
    const struct rlimit some = {77, 77};
    expect_limit("20\n", "20\n", "0.0 0.0 0.0 1/100 9\n", "20 threads (pids");
    expect_limit("20\n", "19\n", "0.0 0.0 0.0 1/999 9\n", "1000 threads (sys");
    cr_assert_eq(setrlimit(RLIMIT_NPROC, &some), 0);
    expect_limit("max\n", "19\n", "0.0 0.0 0.0 1/100 9\n",
                 "77 threads (RLIMIT_NPROC)");
}

static void *look(void *mask)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

Test(thread, signals_are_for_the_programs_own_threads)
{
    pthread_t thread;
    sigset_t there;
    sigset_t here;
    struct weir_error err = {0};
    cr_assert_eq(wi_thread_start(&thread, look, &there, "a test", &err),
                 WEIR_OK, "%s", err.message);
    (void)pthread_join(thread, NULL);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &here);
    cr_assert(sigismember(&there, SIGTERM) && sigismember(&there, SIGUSR1));
    cr_assert_not(sigismember(&here, SIGTERM));
}
