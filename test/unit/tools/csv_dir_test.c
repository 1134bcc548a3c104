/* SPDX-License-Identifier: Apache-2.0 */
/* The output directory of weir shuffle: all files or none. */
#include "tools/csv_dir.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int end_in_sync; /* a signal, or 0 */

/* In place of the C library's: when all files have their names. */
int fsync(int fd)
{
    (void)fd;
    return end_in_sync == 0 ? 0 : raise(end_in_sync);
}

/* In a process of its own: make the files, and give them their names. */
static int commit(const char *path, int signal)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct csv_dir *dir;
        struct weir_error err;
        end_in_sync = signal;
        _exit(csv_dir_open(path, NULL, 2, &dir, &err) != WEIR_OK ||
              csv_dir_commit(dir, &err) != WEIR_OK);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

Test(csv_dir, a_signal_at_the_last_moment_leaves_nothing)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    char parent[] = "/tmp/csv-dir-XXXXXX";
    char path[40];
    struct stat st;
    cr_assert_not_null(mkdtemp(parent));
    (void)snprintf(path, sizeof(path), "%s/out", parent);
    for (int i = 0; i < 3; i++) {
        const int status = commit(path, ends[i]);
        cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == ends[i]);
        cr_expect(stat(path, &st) != 0 && errno == ENOENT, "signal %d",
                  ends[i]);
    }
    cr_assert_eq(rmdir(parent), 0);
}

Test(csv_dir, without_one_the_files_have_their_names)
{
    char parent[] = "/tmp/csv-dir-XXXXXX";
    char path[60];
    cr_assert_not_null(mkdtemp(parent));
    const int status = commit(parent, 0);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (uint32_t i = 0; i < 2; i++) {
        char name[CSV_PART_NAME_BYTES];
        csv_dir_part_name(i, name);
        (void)snprintf(path, sizeof(path), "%s/%s", parent, name);
        cr_expect_eq(unlink(path), 0, "%s", path);
    }
    cr_assert_eq(rmdir(parent), 0, "more files than these");
}
