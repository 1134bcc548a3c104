/* SPDX-License-Identifier: Apache-2.0 */
/* DuckDB in a process of its own, spoken to over two pipes. */
#define _GNU_SOURCE 1
#include "bench/opponents/duckdb.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/lib/embedded.h"
#include "bench/lib/query.h"
#include "core/base/err.h"

#define VERSION_BYTES 64
#define N_WORDS 5 /* before the queries */

struct wb_duckdb {
    pid_t pid;
    FILE *from; /* what it says, and what it is told: the ends */
    FILE *to;   /* of one socket pair */
    char version[VERSION_BYTES];
    char *line; /* the last one read */
    size_t line_bytes;
};

static void exec_python(const struct wb_duckdb_params *p, int talk)
    __attribute__((noreturn));

static void exec_python(const struct wb_duckdb_params *p, int talk)
{
    char threads[16];
    (void)snprintf(threads, sizeof(threads), "%u", p->threads);
    const char *argv[N_WORDS + WB_DUCKDB_QUERIES + 1] = {
        p->python, "-c", wb_embedded("opponents/duckdb_query.py"), p->data_dir,
        threads};
    memcpy(argv + N_WORDS, p->sql, p->n_sql * sizeof(p->sql[0]));
    if (dup2(talk, STDIN_FILENO) < 0 || dup2(talk, STDOUT_FILENO) < 0) {
        _exit(126);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static weir_err start(struct wb_duckdb *d, const struct wb_duckdb_params *p,
                      struct weir_error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return wi_fail_errno(err, errno, "socketpair");
    }
    d->pid = fork();
    if (d->pid == 0) {
        exec_python(p, pair[1]);
    }
    (void)close(pair[1]);
    int copy = fcntl(pair[0], F_DUPFD_CLOEXEC, 0);
    d->from = fdopen(pair[0], "r");
    d->to = copy < 0 ? NULL : fdopen(copy, "w");
    return d->pid > 0 && d->from != NULL && d->to != NULL
               ? WEIR_OK
               : wi_fail_errno(err, errno, "start %s", p->python);
}

/* The next line, without its end; NULL: it has ended. */
static char *next_line(struct wb_duckdb *d)
{
    ssize_t n = getline(&d->line, &d->line_bytes, d->from);
    if (n <= 0) {
        return NULL;
    }
    d->line[strcspn(d->line, "\r\n")] = '\0';
    return d->line;
}

static weir_err await_ready(struct wb_duckdb *d,
                            const struct wb_duckdb_params *p,
                            struct weir_error *err)
{
    static const char ready[] = "ready ";
    const char *line = next_line(d);
    if (line == NULL || strncmp(line, ready, sizeof(ready) - 1) != 0) {
        return wi_fail(err, WEIR_ERR_NOT_FOUND,
                       "duckdb: %s did not load the tables of %s; it needs the "
                       "package duckdb (python3 -m venv DIR, DIR/bin/pip "
                       "install duckdb, --python DIR/bin/python)",
                       p->python, p->data_dir);
    }
    (void)snprintf(d->version, sizeof(d->version), "%s",
                   line + sizeof(ready) - 1);
    return WEIR_OK;
}

weir_err wb_duckdb_open(const struct wb_duckdb_params *params,
                        struct wb_duckdb **out, struct weir_error *err)
{
    struct wb_duckdb *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an opponent");
    }
    weir_err rc = start(d, params, err);
    if (rc == WEIR_OK) {
        rc = await_ready(d, params, err);
    }
    if (rc != WEIR_OK) {
        wb_duckdb_close(d);
        return rc;
    }
    *out = d;
    return WEIR_OK;
}

void wb_duckdb_close(struct wb_duckdb *d)
{
    if (d == NULL) {
        return;
    }
    if (d->to != NULL) {
        (void)shutdown(fileno(d->to), SHUT_RDWR); /* so it ends */
        (void)fclose(d->to);
    }
    if (d->from != NULL) {
        (void)fclose(d->from);
    }
    if (d->pid > 0) {
        (void)waitpid(d->pid, NULL, 0);
    }
    free(d->line);
    free(d);
}

const char *wb_duckdb_version(const struct wb_duckdb *d)
{
    return d->version;
}

static weir_err lost(struct weir_error *err)
{
    return wi_fail(err, WEIR_ERR_PEER_LOST, "duckdb ended before its answer");
}

static weir_err read_rows(struct wb_duckdb *d, size_t n, char *answer,
                          struct weir_error *err)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const char *line = next_line(d);
        if (line == NULL) {
            return lost(err);
        }
        size_t len = strlen(line);
        if (at + len + 2 > WB_ANSWER_BYTES) {
            return wi_fail(err, WEIR_ERR_BUDGET,
                           "duckdb's answer is longer than %u bytes",
                           WB_ANSWER_BYTES);
        }
        memcpy(answer + at, line, len);
        answer[at + len] = '\n';
        at += len + 1;
    }
    answer[at] = '\0';
    return WEIR_OK;
}

weir_err wb_duckdb_run(struct wb_duckdb *d, uint32_t query, double *seconds_out,
                       char *answer_out, struct weir_error *err)
{
    size_t rows = 0;
    if (fprintf(d->to, "run %u\n", query) < 0 || fflush(d->to) != 0) {
        return lost(err);
    }
    const char *line = next_line(d);
    if (line == NULL) {
        return lost(err);
    }
    if (sscanf(line, "rows %zu", &rows) != 1) {
        return wi_fail(err, WEIR_ERR_DATA, "duckdb said \"%s\"", line);
    }
    weir_err rc = read_rows(d, rows, answer_out, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    line = next_line(d);
    if (line == NULL) {
        return lost(err);
    }
    return sscanf(line, "seconds %lf", seconds_out) == 1
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_DATA, "duckdb said \"%s\"", line);
}
