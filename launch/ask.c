/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "launch/ask.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/report.h>

#include "core/base/cc.h"
#include "core/base/err.h"
#include "launch/group.h"

enum { MAX_NODES = 64 };

/* ---- the parent ---------------------------------------------------------- */

/* Read by the handler, which runs in the thread that writes it. */
static volatile sig_atomic_t members[WL_MAX_MEMBERS];

static void send_on(int signal_number)
{
    for (uint32_t i = 0; i < WL_MAX_MEMBERS; i++) {
        if (members[i] != 0) {
            (void)kill((pid_t)members[i], signal_number);
        }
    }
}

void wl_ask_begin(void)
{
    struct sigaction action = {.sa_handler = send_on, .sa_flags = SA_RESTART};
    (void)sigaction(SIGUSR1, &action, NULL);
}

void wl_ask_member(uint32_t slot, pid_t pid)
{
    members[slot] = pid;
}

void wl_ask_block(int block)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    (void)pthread_sigmask(block != 0 ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* ---- a member ------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock; /* held while they are reported */
    weir_node *node[MAX_NODES];
    uint32_t n;
    bool over; /* the thread is to end */
    pthread_t thread;
} asked = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct text {
    FILE *file;
    const char *name;
};

static void add_line(void *arg, const char *line)
{
    const struct text *t = arg;
    (void)fprintf(t->file, "weir: %s: %s\n", t->name, line);
}

/* In one piece: other processes write there, too. */
static void report(weir_node *node)
{
    char *bytes = NULL;
    size_t n = 0;
    struct text t = {.file = open_memstream(&bytes, &n),
                     .name = weir_node_name(node)};
    if (t.file == NULL) {
        return;
    }
    (void)weir_node_report(node, add_line, &t);
    if (fclose(t.file) == 0) {
        (void)!write(STDERR_FILENO, bytes, n);
    }
    free(bytes);
}

static void *serve(void *arg)
{
    sigset_t set;
    int got;
    bool over = false;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    while (!over && sigwait(&set, &got) == 0) {
        (void)pthread_mutex_lock(&asked.lock);
        over = asked.over;
        for (uint32_t i = 0; i < asked.n && !over; i++) {
            report(asked.node[i]);
        }
        (void)pthread_mutex_unlock(&asked.lock);
    }
    return arg;
}

/* It waits for the signal, so it must never be one that takes it: one that came
 * before it waits, to end it, would be lost. */
static int start_thread(void)
{
    sigset_t set;
    sigset_t before;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &set, &before);
    int rc = pthread_create(&asked.thread, NULL, serve, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Under the lock. */
static weir_err add_node(weir_node *node, struct weir_error *err)
{
    if (asked.n == MAX_NODES) {
        return wi_fail(err, WEIR_ERR_BUDGET, "more than %d nodes in a process",
                       (int)MAX_NODES);
    }
    if (asked.n == 0) {
        asked.over = false;
        int rc = start_thread();
        if (rc != 0) {
            return wi_fail_errno(err, rc, "thread that waits for SIGUSR1");
        }
    }
    asked.node[asked.n++] = node;
    return WEIR_OK;
}

weir_err wl_ask_node(weir_node *node, struct weir_error *err)
{
    (void)pthread_mutex_lock(&asked.lock);
    weir_err rc = add_node(node, err);
    (void)pthread_mutex_unlock(&asked.lock);
    return rc;
}

/* Under the lock. */
static bool remove_node(const weir_node *node)
{
    for (uint32_t i = 0; i < asked.n; i++) {
        if (asked.node[i] == node) {
            asked.node[i] = asked.node[--asked.n];
            return true;
        }
    }
    return false;
}

void wl_ask_forget(weir_node *node)
{
    (void)pthread_mutex_lock(&asked.lock);
    bool last = remove_node(node) && asked.n == 0;
    asked.over = last;
    (void)pthread_mutex_unlock(&asked.lock);
    if (last) {
        (void)pthread_kill(asked.thread, SIGUSR1);
        (void)pthread_join(asked.thread, NULL);
    }
}
