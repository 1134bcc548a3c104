/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/csv_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/fail.h"

struct csv_dir {
    const char *path;
    int fd;
    bool made; /* by us */
    bool mine; /* its files are ours: nobody else writes here */
    uint32_t parts;
    bool numbered; /* not named */
    pid_t owner;
    /* [parts], made in advance for the signal handler */
    char (*temporary)[CSV_PART_NAME_BYTES]; /* ".NAME.tmp" */
    char (*final)[CSV_PART_NAME_BYTES];
    uint32_t renamed; /* this many of the first have their final name */
};

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_SIGNALS = sizeof(end_signals) / sizeof(end_signals[0]) };

static struct csv_dir *to_clean; /* set while the handlers are */

/* ---- signals ------------------------------------------------------------- */

/* Only calls that are safe in a signal handler. */
static void remove_files(const struct csv_dir *dir)
{
    if (!dir->mine) {
        return;
    }
    for (uint32_t i = 0; i < dir->parts; i++) {
        (void)unlinkat(dir->fd, dir->temporary[i], 0);
    }
    for (uint32_t i = 0; i < dir->renamed; i++) {
        (void)unlinkat(dir->fd, dir->final[i], 0);
    }
    if (dir->made) {
        (void)rmdir(dir->path);
    }
}

static void clean_and_end(int number)
{
    if (to_clean != NULL && to_clean->owner == getpid()) {
        remove_files(to_clean);
    }
    (void)signal(number, SIG_DFL);
    (void)raise(number); /* takes effect when this returns */
}

static void watch_signals(struct csv_dir *dir)
{
    struct sigaction act = {.sa_handler = clean_and_end};
    (void)sigemptyset(&act.sa_mask);
    to_clean = dir;
    for (int i = 0; i < N_SIGNALS; i++) {
        struct sigaction old;
        (void)sigaction(end_signals[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) { /* nohup */
            (void)sigaction(end_signals[i], &act, NULL);
        }
    }
}

static void release_signals(void)
{
    for (int i = 0; i < N_SIGNALS; i++) {
        struct sigaction old;
        (void)sigaction(end_signals[i], NULL, &old);
        if (old.sa_handler == clean_and_end) {
            (void)signal(end_signals[i], SIG_DFL);
        }
    }
    to_clean = NULL;
}

/* ---- names --------------------------------------------------------------- */

void csv_dir_part_name(uint32_t part, char name[CSV_PART_NAME_BYTES])
{
    (void)snprintf(name, CSV_PART_NAME_BYTES, "part-%05u.csv", part);
}

/* Number of a part file, or -1 for any other name. */
static int64_t part_number(const char *name)
{
    char again[CSV_PART_NAME_BYTES];
    unsigned int number;
    if (sscanf(name, "part-%5u.csv", &number) != 1) {
        return -1;
    }
    csv_dir_part_name(number, again);
    return strcmp(name, again) == 0 ? (int64_t)number : -1;
}

static void temporary_name(uint32_t part, char name[CSV_PART_NAME_BYTES])
{
    (void)snprintf(name, CSV_PART_NAME_BYTES, ".part-%05u.csv.tmp", part);
}

static bool is_temporary(const struct csv_dir *dir, const char *name)
{
    char again[CSV_PART_NAME_BYTES];
    unsigned int number;
    (void)dir;
    if (sscanf(name, ".part-%5u.csv.tmp", &number) != 1) {
        return false;
    }
    temporary_name(number, again);
    return strcmp(name, again) == 0;
}

/* A smaller run must not leave parts of a larger one beside its own. */
static bool is_beyond(const struct csv_dir *dir, const char *name)
{
    return part_number(name) >= (int64_t)dir->parts;
}

static weir_err remove_old(const struct csv_dir *dir,
                           bool (*is_old)(const struct csv_dir *dir,
                                          const char *name),
                           struct weir_error *err)
{
    DIR *d = opendir(dir->path);
    if (d == NULL) {
        return tool_fail_errno(err, "directory %s", dir->path);
    }
    weir_err rc = WEIR_OK;
    const struct dirent *e;
    while (rc == WEIR_OK && (e = readdir(d)) != NULL) {
        if (is_old(dir, e->d_name) && unlinkat(dir->fd, e->d_name, 0) != 0) {
            rc = tool_fail_errno(err, "remove old %s/%s", dir->path, e->d_name);
        }
    }
    (void)closedir(d);
    return rc;
}

/* ---- opening ------------------------------------------------------------- */

/* Not in the way: temporary files are removed by open, or refused as in use. */
static bool is_passed_over(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           is_temporary(NULL, name);
}

weir_err csv_dir_check(const char *path, bool force, struct weir_error *err)
{
    DIR *d = opendir(path);
    if (d == NULL) {
        return errno == ENOENT ? WEIR_OK : tool_fail_errno(err, "%s", path);
    }
    const struct dirent *e = readdir(d);
    while (e != NULL && is_passed_over(e->d_name)) {
        e = readdir(d);
    }
    weir_err rc = WEIR_OK;
    if (e != NULL && !force) {
        rc = tool_fail(err, WEIR_ERR_ARG,
                       "directory %s is not empty (it holds %s); name another "
                       "one, or replace its files with --force",
                       path, e->d_name);
    }
    (void)closedir(d);
    return rc;
}

static weir_err open_directory(struct csv_dir *dir, struct weir_error *err)
{
    if (mkdir(dir->path, 0777) == 0) {
        dir->made = true;
    } else if (errno != EEXIST) {
        return tool_fail_errno(err, "make directory %s", dir->path);
    }
    dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir->fd >= 0 ? WEIR_OK
                        : tool_fail_errno(err, "directory %s", dir->path);
}

/* The lock lives as long as this process and its children, however they end;
 * so temporary files that are found under it belong to nobody. On file systems
 * that cannot lock a directory (NFS), it is up to the user. */
static weir_err own_directory(struct csv_dir *dir, struct weir_error *err)
{
    if (flock(dir->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return tool_fail(err, WEIR_ERR_STATE,
                         "another run is writing to directory %s; wait for its "
                         "end or name another one",
                         dir->path);
    }
    dir->mine = true;
    return remove_old(dir, is_temporary, err);
}

/* Made here and not by the children: a dying child could make its file after
 * the others were removed, and it would stay. */
static weir_err make_temporaries(struct csv_dir *dir, struct weir_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    for (uint32_t i = 0; i < dir->parts; i++) {
        int fd = openat(dir->fd, dir->temporary[i], flags, 0666);
        if (fd < 0) {
            return tool_fail_errno(err, "make %s/%s", dir->path,
                                   dir->temporary[i]);
        }
        (void)close(fd);
    }
    return WEIR_OK;
}

/* NULL is allowed. */
static void free_names(struct csv_dir *dir)
{
    if (dir != NULL) {
        free(dir->temporary);
        free(dir->final);
        free(dir);
    }
}

static bool make_names(struct csv_dir *dir, const char *const *names,
                       uint32_t parts)
{
    dir->temporary = calloc(parts, sizeof(*dir->temporary));
    dir->final = calloc(parts, sizeof(*dir->final));
    if (dir->temporary == NULL || dir->final == NULL) {
        return false;
    }
    dir->parts = parts;
    dir->numbered = names == NULL;
    for (uint32_t i = 0; i < parts; i++) {
        csv_dir_part_name(i, dir->final[i]);
        if (names != NULL) {
            (void)snprintf(dir->final[i], CSV_PART_NAME_BYTES, "%.26s",
                           names[i]);
        }
        (void)snprintf(dir->temporary[i], CSV_PART_NAME_BYTES, ".%.26s.tmp",
                       dir->final[i]);
    }
    return true;
}

weir_err csv_dir_open(const char *path, const char *const *names,
                      uint32_t parts, struct csv_dir **out,
                      struct weir_error *err)
{
    struct csv_dir *dir = calloc(1, sizeof(*dir));
    if (dir == NULL || !make_names(dir, names, parts)) {
        free_names(dir);
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u parts",
                         parts);
    }
    dir->path = path;
    dir->fd = -1;
    dir->owner = getpid();
    weir_err rc = open_directory(dir, err);
    if (rc == WEIR_OK) {
        rc = own_directory(dir, err);
    }
    if (rc == WEIR_OK) {
        watch_signals(dir);
        rc = make_temporaries(dir, err);
    }
    if (rc != WEIR_OK) {
        csv_dir_abandon(dir);
        return rc;
    }
    *out = dir;
    return WEIR_OK;
}

weir_err csv_dir_part_open(const struct csv_dir *dir, uint32_t part,
                           int *fd_out, struct weir_error *err)
{
    const char *name = dir->temporary[part];
    int fd = openat(dir->fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return tool_fail_errno(err, "open %s/%s", dir->path, name);
    }
    *fd_out = fd;
    return WEIR_OK;
}

/* ---- the end ------------------------------------------------------------- */

static void free_dir(struct csv_dir *dir)
{
    release_signals();
    if (dir->fd >= 0) {
        (void)close(dir->fd);
    }
    free_names(dir);
}

void csv_dir_abandon(struct csv_dir *dir)
{
    if (dir != NULL) {
        remove_files(dir);
        free_dir(dir);
    }
}

static weir_err rename_each(struct csv_dir *dir, struct weir_error *err)
{
    for (uint32_t i = 0; i < dir->parts; i++) {
        if (renameat(dir->fd, dir->temporary[i], dir->fd, dir->final[i]) != 0) {
            return tool_fail_errno(err, "rename to %s/%s", dir->path,
                                   dir->final[i]);
        }
        dir->renamed = i + 1;
    }
    return WEIR_OK;
}

/* Signals wait meanwhile, so that the handler knows which names exist. */
static weir_err rename_all(struct csv_dir *dir, struct weir_error *err)
{
    sigset_t ends;
    sigset_t before;
    (void)sigemptyset(&ends);
    for (int i = 0; i < N_SIGNALS; i++) {
        (void)sigaddset(&ends, end_signals[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &ends, &before);
    weir_err rc = rename_each(dir, err);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

weir_err csv_dir_commit(struct csv_dir *dir, struct weir_error *err)
{
    weir_err rc = dir->numbered ? remove_old(dir, is_beyond, err) : WEIR_OK;
    if (rc == WEIR_OK) {
        rc = rename_all(dir, err);
    }
    if (rc != WEIR_OK) {
        csv_dir_abandon(dir);
        return rc;
    }
    if (fsync(dir->fd) != 0) {
        rc = tool_fail_errno(err, "sync directory %s", dir->path);
    }
    free_dir(dir);
    return rc;
}
