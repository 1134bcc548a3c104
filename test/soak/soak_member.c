/* SPDX-License-Identifier: Apache-2.0 */
/* A member: does what it is told, and tells what came of it. */
#include "test/soak/soak.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct soak *soak;
static struct seat *seat;
static weir_node *node;
static int say_fd;

static void say(char mark)
{
    if (write(say_fd, &mark, 1) != 1) {
        _exit(3); /* the parent has gone */
    }
}

static void check(bool ok, const char *what, const struct weir_error *err)
{
    if (!ok) {
        (void)fprintf(stderr, "soak: %s: %s: %s\n", seat->name, what,
                      err->message);
        exit(2);
    }
}

/* ---- membership ---------------------------------------------------------- */

static void open_node(void)
{
    struct weir_error err = {0};
    const struct weir_node_params params = {
        .name = seat->name,
        .transport = soak->transport,
        .listen = strcmp(soak->transport, "shm") == 0 ? NULL : "127.0.0.1:0",
        .max_members = SOAK_MEMBERS,
        .memory_bytes = 64 << 20,
        .detect_ns = soak->detect_ns,
        .connect_ns = 4 * soak->detect_ns};
    check(weir_node_open(&params, &node, &err) == WEIR_OK, "open", &err);
    (void)snprintf(seat->address, sizeof(seat->address), "%s",
                   weir_node_address(node));
}

static struct weir_member entry(uint32_t k)
{
    return (struct weir_member){.name = soak->seat[k].name,
                                .address = soak->seat[k].address,
                                .workers = 1};
}

static void join(void)
{
    struct weir_member all[SOAK_MEMBERS];
    struct weir_error err = {0};
    for (uint32_t k = 0; k < soak->n; k++) {
        all[k] = entry(k);
    }
    check(weir_node_join(node, all, soak->n, &err) == WEIR_OK, "join", &err);
}

static void hear_of(uint32_t k)
{
    struct weir_error err = {0};
    const struct weir_member m = entry(k);
    check(weir_node_add_member(node, k, &m, &err) == WEIR_OK, "add", &err);
}

/* ---- queries ------------------------------------------------------------- */

/* Until it ends, or its rows flow and it is to be given up. */
static weir_err run(struct wt_plan *p, struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    bool told = false;
    while (rc == WEIR_OK || rc == WEIR_AGAIN) {
        rc = wt_plan_step(p);
        if (!told && p->sums.got_rows > 0) {
            told = true;
            say('h');
            if (seat->fault == FAULT_CANCEL) {
                weir_query_cancel(p->query, seat->name);
            } else if (seat->fault == FAULT_CLOSE) {
                return WEIR_ERR_ABORTED;
            }
        }
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
        }
    }
    if (rc != WEIR_DONE) {
        (void)weir_query_status(p->query, err);
    }
    return rc;
}

static void query(void)
{
    struct wt_plan plan;
    struct weir_error err = {0};
    weir_err rc =
        wt_plan_open(&plan, node, seat->id, NULL, 0, seat->rows, &err);
    if (rc == WEIR_OK) {
        rc = run(&plan, &err);
    }
    seat->code = rc;
    seat->sums = plan.sums;
    memcpy(seat->message, err.message, sizeof(seat->message));
    wt_plan_close(&plan);
}

/* ---- faults -------------------------------------------------------------- */

/* As if the cable had been pulled at the kernel: both ends learn it. */
static void cut(int signal_number)
{
    (void)signal_number;
    for (int fd = 3; fd < 512; fd++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof(peer);
        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0) {
            (void)shutdown(fd, SHUT_RDWR);
        }
    }
}

static void limit(bool on)
{
    static struct rlimit files;
    static struct rlimit space;
    struct rlimit now;
    if (on) {
        (void)getrlimit(RLIMIT_NOFILE, &files);
        (void)getrlimit(RLIMIT_AS, &space);
        now = files;
        now.rlim_cur = 1; /* those that are open stay */
        (void)setrlimit(RLIMIT_NOFILE,
                        seat->fault == FAULT_FILES ? &now : &files);
        now = space;
        now.rlim_cur = 1 << 20; /* what there is stays */
        (void)setrlimit(RLIMIT_AS, seat->fault == FAULT_SPACE ? &now : &space);
    } else {
        (void)setrlimit(RLIMIT_NOFILE, &files);
        (void)setrlimit(RLIMIT_AS, &space);
    }
}

/* ---- reports ------------------------------------------------------------- */

static void print(void *arg, const char *line)
{
    (void)arg;
    (void)fprintf(stderr, "soak: %s\n", line);
}

/* SIGUSR1, which no other thread takes: who waits for whom. */
static void *report(void *arg)
{
    sigset_t asked;
    int got;
    (void)arg;
    (void)sigemptyset(&asked);
    (void)sigaddset(&asked, SIGUSR1);
    while (sigwait(&asked, &got) == 0) {
        (void)weir_node_report(node, print, NULL);
    }
    return NULL;
}

static void start_reports(void)
{
    pthread_t thread;
    struct weir_error err = {.message = "no thread"};
    check(pthread_create(&thread, NULL, report, NULL) == 0, "report", &err);
    (void)pthread_detach(thread);
}

/* ---- vitals -------------------------------------------------------------- */

static uint64_t entries_of(const char *path)
{
    uint64_t n = 0;
    DIR *dir = opendir(path);
    for (const struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL;
         e = readdir(dir)) {
        n += e->d_name[0] != '.';
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return n;
}

static void look(void)
{
    char line[512];
    seat->vitals = (struct vitals){.files = entries_of("/proc/self/fd"),
                                   .threads = entries_of("/proc/self/task")};
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        unsigned long kib;
        if (sscanf(line, "Rss: %lu kB", &kib) == 1) {
            seat->vitals.resident_bytes = (uint64_t)kib << 10;
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    f = fopen("/proc/self/maps", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        seat->vitals.mappings++;
    }
    if (f != NULL) {
        (void)fclose(f);
    }
}

/* ---- orders -------------------------------------------------------------- */

static void obey(char order)
{
    switch (order) {
    case 'j':
        join();
        break;
    case 'a':
        hear_of(seat->about);
        break;
    case 'q':
        query();
        break;
    case 'l':
        limit(true);
        break;
    case 'u':
        limit(false);
        break;
    case 'v':
        look();
        break;
    default:
        weir_node_close(node);
        exit(0);
    }
}

void soak_member(struct soak *s, uint32_t self, int go_fd, int fd)
{
    char order;
    soak = s;
    seat = &s->seat[self];
    say_fd = fd;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGUSR2, cut);
    sigset_t asked;
    (void)sigemptyset(&asked);
    (void)sigaddset(&asked, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &asked, NULL);
    open_node();
    start_reports();
    say('o');
    while (read(go_fd, &order, 1) == 1) {
        obey(order);
        say('d');
    }
    exit(3);
}
