/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the system or a neighbour denies: descriptors, ports, names, memory, and
 * peers that are something else. Each has to end in an error that says what to
 * change, and to work again when the reason is gone.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lacks.h"
#include "test/support/team.h"

static const uint64_t second = 1000000000u;
static const uint32_t both[] = {0, 1};

/* ---- descriptors --------------------------------------------------------- */

enum { LIMIT = 64 };

/* False: not allowed to, which is no failure. */
static bool lower_limit(void)
{
    struct rlimit lim = {0};
    (void)getrlimit(RLIMIT_NOFILE, &lim);
    lim.rlim_cur = LIMIT;
    return setrlimit(RLIMIT_NOFILE, &lim) == 0;
}

/* Take every descriptor there is; returns how many, list in fds. */
static int take_descriptors(int fds[LIMIT])
{
    int n = 0;
    while (n < LIMIT && (fds[n] = open("/dev/null", O_RDONLY)) >= 0) {
        n++;
    }
    return n;
}

static void give_descriptors(const int fds[LIMIT], int n)
{
    for (int i = 0; i < n; i++) {
        (void)close(fds[i]);
    }
}

static void open_without_descriptors(const char *transport)
{
    int fds[LIMIT];
    struct weir_node_params p = {.transport = transport};
    struct weir_error err = {0};
    weir_node *node = NULL;
    if (!lower_limit()) {
        WT_LACKS("setrlimit is not allowed here");
    }
    int n = take_descriptors(fds);
    cr_assert_gt(n, 0);
    /* Each step of the open meets the limit once. */
    weir_err rc = WEIR_ERR_SYSTEM;
    for (; rc != WEIR_OK && n > 0; n--) {
        rc = weir_node_open(&p, &node, &err);
        if (rc != WEIR_OK) {
            cr_assert(strstr(err.message, "ulimit -n") != NULL, "%s",
                      err.message);
        }
        (void)close(fds[n - 1]);
    }
    give_descriptors(fds, n);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    weir_node_close(node);
}

Test(fault_limits, shm_open_without_descriptors, .timeout = 60)
{
    open_without_descriptors("shm");
}

Test(fault_limits, tcp_open_without_descriptors, .timeout = 60)
{
    open_without_descriptors("tcp");
}

/* Member 0 has no descriptor left when the link is to be opened; member 1 is
 * well. Query 0 fails on 0 with the limit; query 1 works. */
static void poor_member(struct wt_proc *p)
{
    int fds[LIMIT];
    int n = 0;
    struct weir_node_params params = {
        .transport = p->arg, .detect_ns = 2 * second, .connect_ns = 2 * second};
    bool poor = p->self == 0 && lower_limit();
    weir_node *node = wt_team_open(p, params);
    wt_proc_await(p);
    if (poor) {
        n = take_descriptors(fds);
    }
    wt_team_join(p, node);
    wt_proc_say(p, 'j');
    wt_proc_await(p);
    wt_team_query(p, node, 0, both, 2, 1000);
    if (poor) {
        give_descriptors(fds, n);
    }
    wt_proc_say(p, 'f');
    wt_proc_await(p);
    wt_team_query(p, node, 1, both, 2, 1000);
    weir_node_close(node);
}

static void link_without_descriptors(const char *transport)
{
    struct wt_procs *ps = wt_procs_open(2, sizeof(struct wt_team), poor_member,
                                        (void *)(uintptr_t)transport);
    const struct wt_team *t = wt_procs_shared(ps);
    wt_team_meet(ps, 2);
    wt_procs_expect_all(ps, 'j');
    wt_procs_go_all(ps);
    wt_procs_expect_all(ps, 'f');
    wt_procs_go_all(ps);
    wt_procs_end_well(ps, 0);
    wt_procs_end_well(ps, 1);
    cr_assert_lt(t->outcome[0][0].code, 0);
    cr_assert_lt(t->outcome[1][0].code, 0);
    bool named = strstr(t->outcome[0][0].message, "ulimit -n") != NULL ||
                 strstr(t->outcome[1][0].message, "ulimit -n") != NULL;
    cr_assert(named, "%s; %s", t->outcome[0][0].message,
              t->outcome[1][0].message);
    wt_team_exact(ps, 1, both, 2);
    wt_procs_close(ps);
}

Test(fault_limits, shm_link_without_descriptors, .timeout = 60)
{
    link_without_descriptors("shm");
}

Test(fault_limits, tcp_link_without_descriptors, .timeout = 60)
{
    link_without_descriptors("tcp");
}

/* ---- /dev/shm ------------------------------------------------------------ */

static void fill_dev_shm(void)
{
    static char block[4096];
    int fd = open("/dev/shm/full", O_CREAT | O_WRONLY, 0600);
    while (fd >= 0 && write(fd, block, sizeof(block)) > 0) {
    }
    (void)close(fd);
}

static void plain_member(struct wt_proc *p)
{
    struct weir_node_params params = {.transport = p->arg};
    weir_node *node = wt_team_open(p, params);
    wt_proc_await(p);
    wt_team_join(p, node);
    wt_team_query(p, node, 0, both, 2, 60000);
    weir_node_close(node);
}

Test(fault_limits, full_dev_shm_does_not_matter, .timeout = 60)
{
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=16k") != 0) {
        WT_LACKS("no private mount namespace: %s", strerror(errno));
    }
    fill_dev_shm();
    struct wt_procs *ps = wt_procs_open(2, sizeof(struct wt_team), plain_member,
                                        (void *)(uintptr_t) "shm");
    wt_team_meet(ps, 2);
    wt_procs_end_well(ps, 0);
    wt_procs_end_well(ps, 1);
    wt_team_exact(ps, 0, both, 2);
    wt_procs_close(ps);
}

/* ---- budget, ports, names ------------------------------------------------ */

Test(fault_limits, budget_says_the_sum_and_what_to_change)
{
    struct weir_node_params p = {.memory_bytes = 1 << 20, .max_members = 64};
    struct weir_error err = {0};
    weir_node *node = NULL;
    cr_assert_eq(weir_node_open(&p, &node, &err), WEIR_ERR_BUDGET);
    const char *need = strstr(err.message, "raise it to ");
    cr_assert_neq(need, NULL, "%s", err.message);
    cr_assert_neq(strstr(err.message, "max_members"), NULL);
    /* What it says is enough is enough. */
    p.memory_bytes = strtoull(need + strlen("raise it to "), NULL, 10);
    cr_assert_eq(weir_node_open(&p, &node, &err), WEIR_OK, "%s", err.message);
    weir_node_close(node);
    p.memory_bytes--;
    cr_assert_eq(weir_node_open(&p, &node, &err), WEIR_ERR_BUDGET);
}

static void name_taken(const char *transport)
{
    struct weir_node_params p = {.transport = transport, .name = "one"};
    struct weir_error err = {0};
    weir_node *a = NULL;
    weir_node *b = NULL;
    char listen[64];
    (void)snprintf(listen, sizeof(listen), "taken-%ld", (long)getpid());
    p.listen = strcmp(transport, "shm") == 0 ? listen : NULL;
    cr_assert_eq(weir_node_open(&p, &a, &err), WEIR_OK, "%s", err.message);
    p.listen = strchr(weir_node_address(a), ':') + 1;
    p.name = "two";
    cr_assert_eq(weir_node_open(&p, &b, &err), WEIR_ERR_SYSTEM);
    cr_assert_neq(strstr(err.message, p.listen), NULL, "%s", err.message);
    cr_assert_neq(strstr(err.message, "in use"), NULL, "%s", err.message);
    char again[128];
    (void)snprintf(again, sizeof(again), "%s", p.listen);
    p.listen = again;
    weir_node_close(a);
    cr_assert_eq(weir_node_open(&p, &b, &err), WEIR_OK, "%s", err.message);
    weir_node_close(b);
}

Test(fault_limits, shm_name_in_use)
{
    name_taken("shm");
}

Test(fault_limits, tcp_port_in_use)
{
    name_taken("tcp");
}

Test(fault_limits, members_of_one_name)
{
    struct weir_node_params p = {.name = "same"};
    struct weir_error err = {0};
    weir_node *node = NULL;
    char listen[64];
    (void)snprintf(listen, sizeof(listen), "same-%ld", (long)getpid());
    p.listen = listen;
    cr_assert_eq(weir_node_open(&p, &node, &err), WEIR_OK, "%s", err.message);
    struct weir_member m = {
        .name = "same", .address = weir_node_address(node), .workers = 1};
    struct weir_member members[] = {m, m};
    cr_assert_eq(weir_node_join(node, members, 2, &err), WEIR_ERR_ARG);
    cr_assert_neq(strstr(err.message, "same"), NULL, "%s", err.message);
    weir_node_close(node);
}

/* ---- something else listens ---------------------------------------------- */

enum stranger { CLOSED, SILENT, TALKS };

static int listener(uint16_t *port_out)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    socklen_t len = sizeof(addr);
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    cr_assert_eq(listen(fd, 8), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
    *port_out = ntohs(addr.sin_port);
    return fd;
}

static void *talk(void *arg)
{
    static const char text[] =
        "HTTP/1.1 400 Bad Request\r\nServer: none\r\nContent-Length: 0\r\n\r\n";
    int fd = accept(*(int *)arg, NULL, NULL);
    if (fd >= 0) {
        (void)!write(fd, text, sizeof(text) - 1);
        (void)close(fd);
    }
    return NULL;
}

static void meet_stranger(enum stranger kind)
{
    uint16_t port = 0;
    char address[64];
    int fd = listener(&port);
    pthread_t thread;
    struct weir_error err = {0};
    struct weir_node_params p = {
        .name = "here", .transport = "tcp", .connect_ns = second};
    weir_node *node = NULL;
    (void)snprintf(address, sizeof(address), "tcp:127.0.0.1:%u", port);
    cr_assert_eq(weir_node_open(&p, &node, &err), WEIR_OK, "%s", err.message);
    struct weir_member members[] = {
        {.name = "here", .address = weir_node_address(node), .workers = 1},
        {.name = "there", .address = address, .workers = 1}};
    cr_assert_eq(weir_node_join(node, members, 2, &err), WEIR_OK);
    if (kind == CLOSED) {
        (void)close(fd);
    } else if (kind == TALKS) {
        cr_assert_eq(pthread_create(&thread, NULL, talk, &fd), 0);
    }
    struct wt_plan plan;
    weir_err rc = wt_plan_open(&plan, node, 1, NULL, 0, 100, &err);
    if (rc == WEIR_OK) {
        rc = wt_plan_run(&plan, &err);
    }
    cr_assert_eq(weir_err_scope(rc), WEIR_SCOPE_PEER, "%s: %s",
                 weir_err_name(rc), err.message);
    cr_assert_neq(strstr(err.message, "there"), NULL, "%s", err.message);
    cr_assert_neq(strstr(err.message, address), NULL, "%s", err.message);
    wt_plan_close(&plan);
    weir_node_close(node);
    if (kind == TALKS) {
        cr_assert_eq(pthread_join(thread, NULL), 0);
    }
    if (kind != CLOSED) {
        (void)close(fd);
    }
}

Test(fault_limits, closed_port, .timeout = 60)
{
    meet_stranger(CLOSED);
}

Test(fault_limits, silent_server, .timeout = 60)
{
    meet_stranger(SILENT);
}

Test(fault_limits, server_of_another_protocol, .timeout = 60)
{
    meet_stranger(TALKS);
}
