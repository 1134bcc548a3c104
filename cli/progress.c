/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/fail.h"
#include "launch/clock.h"

enum { PAINT_MS = 100, BAR_WIDTH = 24, LINE_BYTES = 160 };

/* None of this needs an order with anything else: it is only shown. C's default
 * for _Atomic is stronger than that and cheap enough, as each is written once
 * for many rows. */
struct shared {
    _Atomic uint32_t phase;
    _Atomic uint64_t total;
    _Atomic uint64_t begin_ns; /* 0: no phase has begun */
    struct wl_counter counter[];
};

struct progress {
    int fd;
    uint32_t counters;
    const struct progress_phase *phases;
    struct shared *shared;
    size_t shared_bytes;
    pid_t painter; /* 0: none */
    int stop;      /* pipe to the painter */
};

/* ---- texts --------------------------------------------------------------- */

char *progress_figure(double value, char text[PROGRESS_TEXT_BYTES])
{
    static const char units[] = " kMGT";
    size_t unit = 0;
    while (value >= 999.5 && unit + 2 < sizeof(units)) {
        value /= 1000;
        unit++;
    }
    int decimals = unit == 0 || value >= 99.95 ? 0 : 1;
    (void)snprintf(text, PROGRESS_TEXT_BYTES, unit == 0 ? "%.*f" : "%.*f %c",
                   decimals, value, units[unit]);
    return text;
}

char *progress_bar(double part, uint32_t width, char fill, char rest,
                   char text[PROGRESS_BAR_BYTES])
{
    if (width >= PROGRESS_BAR_BYTES) {
        width = PROGRESS_BAR_BYTES - 1;
    }
    double limited = part < 0 ? 0 : part > 1 ? 1 : part;
    uint32_t filled = (uint32_t)(limited * width + 0.5);
    memset(text, fill, filled);
    memset(text + filled, rest, width - filled);
    text[width] = '\0';
    return text;
}

/* ---- the painter --------------------------------------------------------- */

static void write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno != EINTR) {
            return; /* a display that cannot be written is no failure */
        }
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
    }
}

static uint64_t sum(const struct progress *p)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < p->counters; i++) {
        all += p->shared->counter[i].rows;
    }
    return all;
}

/* Of an unknown total: the count and its rate. */
static void paint_count(const struct progress *p, double seconds)
{
    char line[LINE_BYTES];
    char count[PROGRESS_TEXT_BYTES];
    char rate[PROGRESS_TEXT_BYTES];
    const struct progress_phase *phase = &p->phases[p->shared->phase];
    const double done = (double)sum(p);
    int n = snprintf(line, sizeof(line), "\r%-25s %s%s  %s%s/s\033[K",
                     phase->label, progress_figure(done, count), phase->unit,
                     progress_figure(done / seconds, rate), phase->unit);
    write_all(p->fd, line, (size_t)n);
}

static void paint(const struct progress *p)
{
    char line[LINE_BYTES];
    char bar[PROGRESS_BAR_BYTES];
    char figure[PROGRESS_TEXT_BYTES];
    uint64_t begin_ns = p->shared->begin_ns;
    uint64_t total = p->shared->total;
    const struct progress_phase *phase = &p->phases[p->shared->phase];
    double seconds = (double)(wl_now_ns() - begin_ns) * 1e-9;
    if (begin_ns == 0) {
        return;
    }
    if (total == 0) {
        paint_count(p, seconds);
        return;
    }
    double part = (double)sum(p) / (double)total;
    part = part > 1 ? 1 : part;
    char rate[LINE_BYTES / 4] = "";
    if (phase->unit != NULL) {
        double done = part * (double)total;
        (void)snprintf(rate, sizeof(rate), "%s%s/s",
                       progress_figure(done / seconds, figure), phase->unit);
    }
    int n = snprintf(line, sizeof(line), "\r%-25s [%s] %3.0f %%  %s\033[K",
                     phase->label, progress_bar(part, BAR_WIDTH, '#', '-', bar),
                     part * 100, rate);
    write_all(p->fd, line, (size_t)n);
}

static void painter(const struct progress *p, int stop, pid_t parent)
    __attribute__((noreturn));

static void painter(const struct progress *p, int stop, pid_t parent)
{
    struct pollfd fd = {.fd = stop, .events = POLLIN};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    do {
        paint(p);
    } while (poll(&fd, 1, PAINT_MS) <= 0);
    write_all(p->fd, "\r\033[K", 4);
    _exit(EXIT_SUCCESS);
}

static weir_err start_painter(struct progress *p, struct weir_error *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return tool_fail_errno(err, "pipe of the progress display");
    }
    (void)fflush(NULL);
    p->painter = fork();
    if (p->painter == 0) {
        (void)close(ends[1]);
        painter(p, ends[0], parent);
    }
    (void)close(ends[0]);
    p->stop = ends[1];
    if (p->painter < 0) {
        p->painter = 0;
        (void)close(p->stop);
        return tool_fail_errno(err, "fork of the progress display");
    }
    return WEIR_OK;
}

/* ---- the work's side ----------------------------------------------------- */

weir_err progress_open(int fd, uint32_t counters,
                       const struct progress_phase *phases,
                       struct progress **out, struct weir_error *err)
{
    struct progress *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory");
    }
    *p = (struct progress){.fd = fd, .counters = counters, .phases = phases};
    p->shared_bytes =
        sizeof(struct shared) + counters * sizeof(struct wl_counter);
    void *map = mmap(NULL, p->shared_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        free(p);
        return tool_fail_errno(err, "memory of the progress display");
    }
    p->shared = map;
    if (isatty(fd)) {
        weir_err rc = start_painter(p, err);
        if (rc != WEIR_OK) {
            progress_close(p);
            return rc;
        }
    }
    *out = p;
    return WEIR_OK;
}

void progress_begin(struct progress *p, uint32_t phase, uint64_t total)
{
    p->shared->begin_ns = 0;
    for (uint32_t i = 0; i < p->counters; i++) {
        p->shared->counter[i].rows = 0;
    }
    p->shared->phase = phase;
    p->shared->total = total;
    p->shared->begin_ns = wl_now_ns();
}

struct wl_counter *progress_counters(struct progress *p)
{
    return p->shared->counter;
}

void progress_close(struct progress *p)
{
    if (p == NULL) {
        return;
    }
    if (p->painter != 0) {
        write_all(p->stop, "", 1);
        while (waitpid(p->painter, NULL, 0) < 0 && errno == EINTR) {
        }
        (void)close(p->stop);
    }
    (void)munmap(p->shared, p->shared_bytes);
    free(p);
}
