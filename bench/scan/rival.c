/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "bench/scan/rival.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"

enum { VERSION_BYTES = 64 };

struct wb_rival {
    const char *name;
    pid_t pid;
    int to;     /* the ends of one socket pair: what it is told, */
    FILE *from; /* and what it says */
    char *line; /* the last one read */
    size_t line_bytes;
    char version[VERSION_BYTES];
};

/* ---- the child ----------------------------------------------------------- */

static void exec_program(const char *const *argv, int talk)
    __attribute__((noreturn));

static void exec_program(const char *const *argv, int talk)
{
    if (dup2(talk, STDIN_FILENO) >= 0 && dup2(talk, STDOUT_FILENO) >= 0) {
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        perror(argv[0]);
    }
    _exit(127);
}

static void be_child(const struct wb_rival_params *p, int talk)
    __attribute__((noreturn));

static void be_child(const struct wb_rival_params *p, int talk)
{
    struct weir_error err = {.message = "cannot talk"};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (p->argv != NULL) {
        exec_program(p->argv, talk);
    }
    int copy = dup(talk);
    FILE *from = fdopen(talk, "r");
    FILE *to = copy < 0 ? NULL : fdopen(copy, "w");
    if (from == NULL || to == NULL ||
        p->run(p->arg, from, to, &err) != WEIR_OK) {
        (void)fprintf(stderr, "%s: %s\n", p->name, err.message);
        _exit(EXIT_FAILURE);
    }
    _exit(EXIT_SUCCESS);
}

/* ---- the parent ---------------------------------------------------------- */

static weir_err start(struct wb_rival *r, const struct wb_rival_params *p,
                      struct weir_error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return wi_fail_errno(err, errno, "socketpair");
    }
    r->pid = fork();
    if (r->pid == 0) {
        (void)close(pair[0]);
        be_child(p, pair[1]);
    }
    (void)close(pair[1]);
    r->to = pair[0];
    r->from = fdopen(pair[0], "r");
    return r->pid > 0 && r->from != NULL
               ? WEIR_OK
               : wi_fail_errno(err, errno, "start %s", p->name);
}

/* The next line, without its end; NULL: it has ended. */
static const char *next_line(struct wb_rival *r)
{
    if (getline(&r->line, &r->line_bytes, r->from) <= 0) {
        return NULL;
    }
    r->line[strcspn(r->line, "\r\n")] = '\0';
    return r->line;
}

static weir_err lost(const struct wb_rival *r, struct weir_error *err)
{
    return wi_fail(err, WEIR_ERR_PEER_LOST, "%s has ended", r->name);
}

static weir_err await_ready(struct wb_rival *r, struct weir_error *err)
{
    static const char ready[] = "ready ";
    const char *line = next_line(r);
    if (line == NULL || strncmp(line, ready, sizeof(ready) - 1) != 0) {
        return line == NULL ? lost(r, err)
                            : wi_fail(err, WEIR_ERR_DATA, "%s said \"%s\"",
                                      r->name, line);
    }
    (void)snprintf(r->version, sizeof(r->version), "%s",
                   line + sizeof(ready) - 1);
    return WEIR_OK;
}

weir_err wb_rival_open(const struct wb_rival_params *params,
                       struct wb_rival **out, struct weir_error *err)
{
    struct wb_rival *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for an opponent");
    }
    r->name = params->name;
    weir_err rc = start(r, params, err);
    if (rc == WEIR_OK) {
        rc = await_ready(r, err);
    }
    if (rc != WEIR_OK) {
        wb_rival_close(r);
        return rc;
    }
    *out = r;
    return WEIR_OK;
}

weir_err wb_rival_ask(struct wb_rival *rival, const char *line,
                      struct wb_scan_pass *out, struct weir_error *err)
{
    /* One that has ended is no reason for a SIGPIPE. */
    if (send(rival->to, line, strlen(line), MSG_NOSIGNAL) < 0 ||
        send(rival->to, "\n", 1, MSG_NOSIGNAL) < 0) {
        return lost(rival, err);
    }
    const char *answer = next_line(rival);
    if (answer == NULL) {
        return lost(rival, err);
    }
    return sscanf(answer,
                  "rows %" SCNu64 " bytes %" SCNu64 " sum %" SCNu64
                  " seconds %lf",
                  &out->rows, &out->bytes, &out->sum, &out->seconds) == 4
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_DATA, "%s, told to \"%s\": %s",
                         rival->name, line, answer);
}

const char *wb_rival_version(const struct wb_rival *rival)
{
    return rival->version;
}

void wb_rival_close(struct wb_rival *rival)
{
    if (rival == NULL) {
        return;
    }
    if (rival->from != NULL) {
        /* Its input ends, whoever else has inherited the descriptor. */
        (void)shutdown(rival->to, SHUT_RDWR);
        (void)fclose(rival->from);
    }
    if (rival->pid > 0) {
        (void)waitpid(rival->pid, NULL, 0);
    }
    free(rival->line);
    free(rival);
}
