/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/runs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/fail.h"
#include "launch/clock.h"

enum { MOST_SECONDS = 60 }; /* of the processor, for one run */

/* What a child tells. */
struct slot {
    uint64_t seed; /* that runs, or ran last */
    bool begun;    /* it runs */
    uint64_t runs;
    uint64_t done;
    uint64_t failed;
    uint64_t events;
    uint64_t hash;
    struct ws_result result;
};

struct crew {
    const struct ws_runs_params *params;
    struct slot *slots;
    pid_t child[WS_JOBS]; /* 0: it has ended */
    uint64_t begin_ns;
    struct ws_tally *tally;
};

static struct slot *share(uint32_t n)
{
    void *p = mmap(NULL, n * sizeof(struct slot), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* ---- in a child ---------------------------------------------------------- */

/* A run that takes longer than this will not end: the signal ends the child. */
static void set_alarm(void)
{
    const struct itimerval t = {.it_value = {.tv_sec = MOST_SECONDS}};
    (void)setitimer(ITIMER_PROF, &t, NULL);
}

static void run_one(struct slot *slot, const struct ws_options *o)
{
    struct ws_shape shape;
    slot->seed = o->seed;
    slot->begun = true;
    set_alarm();
    ws_shape_draw(&shape, o);
    ws_world_run(&shape, &slot->result);
    slot->begun = false;
    slot->runs++;
    slot->done += slot->result.done;
    slot->failed += slot->result.failed;
    slot->events += slot->result.events;
    slot->hash += ws_mix(slot->result.trace ^ o->seed);
}

static void run_many(const struct crew *c, struct slot *slot, uint64_t seed)
{
    struct ws_options o = c->params->options;
    const uint64_t limit = c->params->limit_ns;
    for (o.seed = seed; o.seed <= c->params->last; o.seed += c->params->jobs) {
        if (limit != 0 && wl_now_ns() - c->begin_ns > limit) {
            break;
        }
        run_one(slot, &o);
        if (slot->result.finding.rule[0] != '\0') {
            _exit(EXIT_FAILURE);
        }
    }
    _exit(EXIT_SUCCESS);
}

/* ---- in the parent ------------------------------------------------------- */

static void note_death(struct ws_finding *f, int status)
{
    const int s = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    (void)snprintf(f->rule, sizeof(f->rule),
                   s == SIGPROF ? "endless" : "crash");
    if (s == SIGPROF) {
        (void)snprintf(f->text, sizeof(f->text),
                       "the run took more than %d s of the processor",
                       MOST_SECONDS);
    } else if (s != 0) {
        (void)snprintf(f->text, sizeof(f->text), "signal %d (%s)", s,
                       strsignal(s));
    } else {
        (void)snprintf(f->text, sizeof(f->text), "the process exited");
    }
}

static weir_err start(struct crew *c, uint32_t i, uint64_t seed,
                      struct weir_error *err)
{
    (void)fflush(NULL);
    c->child[i] = fork();
    if (c->child[i] == 0) {
        run_many(c, &c->slots[i], seed);
    }
    if (c->child[i] < 0) {
        c->child[i] = 0;
        return tool_fail_errno(err, "no process");
    }
    return WEIR_OK;
}

static void note_bad(struct crew *c, const struct slot *slot, int status)
{
    struct ws_tally *t = c->tally;
    if (t->n_bad == c->params->most_bad) {
        return;
    }
    struct ws_failure *f = &t->bad[t->n_bad++];
    f->seed = slot->seed;
    f->finding = slot->result.finding;
    if (slot->begun) {
        note_death(&f->finding, status);
    }
}

static uint32_t find_child(const struct crew *c, pid_t pid)
{
    uint32_t i = 0;
    while (i < c->params->jobs && c->child[i] != pid) {
        i++;
    }
    return i;
}

static void stop_others(const struct crew *c)
{
    for (uint32_t i = 0; i < c->params->jobs; i++) {
        if (c->child[i] > 0) {
            (void)kill(c->child[i], SIGKILL);
        }
    }
}

/* One has ended; if it was a bad run that ended it, another child goes on. */
static weir_err take_end(struct crew *c, struct weir_error *err)
{
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    const uint32_t i = find_child(c, pid);
    if (pid < 0) {
        return errno == EINTR ? WEIR_OK : tool_fail_errno(err, "waitpid");
    }
    if (i == c->params->jobs) {
        return WEIR_OK;
    }
    c->child[i] = 0;
    const struct slot *slot = &c->slots[i];
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS) {
        return WEIR_OK;
    }
    if (c->tally->n_bad == c->params->most_bad) {
        return WEIR_OK; /* ended by stop_others() */
    }
    note_bad(c, slot, status);
    if (c->tally->n_bad == c->params->most_bad) {
        stop_others(c);
        return WEIR_OK;
    }
    const uint64_t next = slot->seed + c->params->jobs;
    return next <= c->params->last ? start(c, i, next, err) : WEIR_OK;
}

static bool any_left(const struct crew *c)
{
    for (uint32_t i = 0; i < c->params->jobs; i++) {
        if (c->child[i] != 0) {
            return true;
        }
    }
    return false;
}

static void add_up(const struct crew *c)
{
    struct ws_tally *t = c->tally;
    for (uint32_t i = 0; i < c->params->jobs; i++) {
        const struct slot *s = &c->slots[i];
        t->runs += s->runs;
        t->done += s->done;
        t->failed += s->failed;
        t->events += s->events;
        t->hash += s->hash;
    }
    t->took_ns = wl_now_ns() - c->begin_ns;
}

weir_err ws_runs(const struct ws_runs_params *params, struct ws_tally *out,
                 struct weir_error *err)
{
    struct crew c = {.params = params,
                     .slots = share(params->jobs),
                     .begin_ns = wl_now_ns(),
                     .tally = out};
    *out = (struct ws_tally){0};
    if (c.slots == NULL) {
        return tool_fail_errno(err, "no shared memory");
    }
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; i < params->jobs && rc == WEIR_OK; i++) {
        if (params->first + i <= params->last) {
            rc = start(&c, i, params->first + i, err);
        }
    }
    while (rc == WEIR_OK && any_left(&c)) {
        rc = take_end(&c, err);
    }
    stop_others(&c);
    add_up(&c);
    (void)munmap(c.slots, params->jobs * sizeof(struct slot));
    return rc;
}

weir_err ws_runs_one(const struct ws_options *o, struct ws_result *out,
                     struct weir_error *err)
{
    struct slot *slot = share(1);
    int status = 0;
    if (slot == NULL) {
        return tool_fail_errno(err, "no shared memory");
    }
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        run_one(slot, o);
        _exit(EXIT_SUCCESS);
    }
    weir_err rc = pid < 0 ? tool_fail_errno(err, "no process") : WEIR_OK;
    while (rc == WEIR_OK && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    *out = slot->result;
    if (rc == WEIR_OK && (!WIFEXITED(status) || slot->begun)) {
        note_death(&out->finding, status);
    }
    (void)munmap(slot, sizeof(*slot));
    return rc;
}
