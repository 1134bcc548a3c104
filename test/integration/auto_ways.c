/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters on `auto` whose links run over different transports: the query is
 * exact, and every member says of every link what it runs over and why.
 *
 * Members without shm, with a shm address that nobody has, and in two network
 * namespaces that a pair of virtual Ethernet devices joins (that test needs the
 * right to make namespaces, and is skipped where there is none).
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/lacks.h"
#include "test/support/team.h"

enum { ROWS = 40000, MEMBERS = 4, LINKS = 6 };

struct scene {
    const char *listen[MEMBERS];
    int net_fd[MEMBERS]; /* namespace to go to; 0: stay */
    const char *shm;     /* all say this is their shm address */
    uint64_t connect_ns;
    bool seed;                         /* join through member 0 */
    const char *way[MEMBERS][MEMBERS]; /* transport of each link, upper half */
    const char *why;                   /* part of the text for links over tcp */
};

/* ---- members ------------------------------------------------------------- */

static void go_to_net(struct wt_proc *p, int net_fd)
{
    wt_proc_check(p, net_fd == 0 || setns(net_fd, CLONE_NEWNET) == 0,
                  "setns failed");
}

/* Publish another shm address than the node's. */
static void spoil(struct wt_proc *p, const char *shm)
{
    struct wt_team *t = p->shared;
    char *address = t->address[p->self];
    char *at = strstr(address, ";shm=");
    wt_proc_check(p, at != NULL, "no shm in %s", address);
    char rest[sizeof(t->address[0])];
    (void)snprintf(rest, sizeof(rest), "%s", at + 5 + strcspn(at + 5, ";"));
    (void)snprintf(at, sizeof(t->address[0]) - (size_t)(at - address),
                   ";shm=%s%s", shm, rest);
}

static _Atomic uint32_t said;     /* log lines about a way that failed */
static _Atomic uint32_t *went_on; /* all members': ends of links that did so */

static void hear(void *arg, weir_log_level level, const char *line)
{
    (void)arg;
    said += level == WEIR_LOG_WARN && strstr(line, "shm failed: ") != NULL &&
            strstr(line, "going on over tcp") != NULL;
}

static void look(struct wt_proc *p, weir_node *node)
{
    const struct scene *s = p->arg;
    const struct wt_team *t = p->shared;
    uint32_t failed = 0;
    uint32_t self = weir_node_self(node);
    for (uint32_t k = 0; k < p->n; k++) {
        struct weir_link_stats l;
        uint32_t low = k < self ? k : self;
        uint32_t high = k < self ? self : k;
        const char *want = k == self ? "self" : s->way[low][high];
        wt_proc_check(p, weir_link_stats_get(node, k, &l) == WEIR_OK,
                      "no member %u", k);
        wt_proc_check(p, l.open && strcmp(l.transport, want) == 0,
                      "link of %u to %u over %s, not %s: %s; query: %s", self,
                      k, l.transport, want, l.why,
                      t->outcome[p->self][0].message);
        failed += strstr(l.why, "shm failed: ") != NULL;
        wt_proc_check(p,
                      strncmp(l.why, want, strlen(want)) == 0 &&
                          l.why[strlen(want)] == ':',
                      "why: %s", l.why);
        wt_proc_check(p,
                      strcmp(want, "tcp") != 0 || s->why == NULL ||
                          strstr(l.why, s->why) != NULL,
                      "link of %u to %u: \"%s\" does not say \"%s\"", self, k,
                      l.why, s->why);
    }
    *went_on += failed;
    wt_proc_check(p, said >= failed, "%u links went on over tcp, %u lines",
                  failed, said);
    struct weir_link_stats none;
    wt_proc_check(p,
                  weir_link_stats_get(node, p->n, &none) == WEIR_ERR_NOT_FOUND,
                  "there is a member %u", p->n);
}

static void join(struct wt_proc *p, weir_node *node)
{
    const struct scene *s = p->arg;
    const struct wt_team *t = p->shared;
    struct weir_error err = {0};
    if (!s->seed) {
        wt_team_join(p, node);
        return;
    }
    weir_err rc = weir_node_join_seed(node, p->self == 0 ? NULL : t->address[0],
                                      p->n, UINT64_C(30000000000), &err);
    wt_proc_check(p, rc == WEIR_OK, "join: %s", err.message);
}

static void member(struct wt_proc *p)
{
    const struct scene *s = p->arg;
    go_to_net(p, s->net_fd[p->self]);
    weir_node *node =
        wt_team_open(p, (struct weir_node_params){.transport = "auto",
                                                  .listen = s->listen[p->self],
                                                  .connect_ns = s->connect_ns,
                                                  .log_level = WEIR_LOG_WARN,
                                                  .log = hear});
    wt_proc_await(p);
    if (s->shm != NULL) {
        spoil(p, s->shm);
    }
    wt_proc_say(p, 'r');
    wt_proc_await(p);
    join(p, node);
    wt_team_query(p, node, 0, NULL, 0, ROWS);
    look(p, node);
    wt_proc_say(p, 'l');
    wt_proc_await(p); /* all have looked: links may close */
    weir_node_close(node);
}

/* ---- the parent ---------------------------------------------------------- */

static void play(struct scene *scene)
{
    static const uint32_t all[] = {0, 1, 2, 3};
    went_on = mmap(NULL, sizeof(*went_on), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(went_on, MAP_FAILED);
    struct wt_procs *ps = wt_team_start(MEMBERS, member, scene);
    wt_team_meet(ps, MEMBERS);
    wt_procs_expect_all(ps, 'r');
    wt_procs_go_all(ps);
    wt_procs_expect_all(ps, 'l');
    wt_procs_go_all(ps);
    for (uint32_t k = 0; k < MEMBERS; k++) {
        wt_procs_end_well(ps, k);
    }
    wt_team_exact(ps, 0, all, MEMBERS);
    wt_team_left_nothing(ps);
    wt_procs_close(ps);
    /* Each of the links was begun by somebody, over shm. */
    uint32_t least = scene->shm != NULL && !scene->seed ? LINKS : 0;
    cr_assert_geq(*went_on, least, "%u ends went on over tcp", *went_on);
    (void)munmap(went_on, sizeof(*went_on));
}

Test(auto_ways, one_host_uses_shm, .timeout = 60)
{
    struct scene s = {.way = {{"", "shm", "shm", "shm"},
                              {"", "", "shm", "shm"},
                              {"", "", "", "shm"}}};
    play(&s);
}

Test(auto_ways, a_member_without_shm_is_reached_over_tcp, .timeout = 60)
{
    struct scene s = {.listen = {NULL, NULL, NULL, "tcp"},
                      .way = {{"", "shm", "shm", "tcp"},
                              {"", "", "shm", "tcp"},
                              {"", "", "", "tcp"}}};
    play(&s);
}

Test(auto_ways, shm_that_cannot_be_reached_is_followed_by_tcp, .timeout = 60)
{
    struct scene s = {.shm = "nobody-is-here",
                      .way = {{"", "tcp", "tcp", "tcp"},
                              {"", "", "tcp", "tcp"},
                              {"", "", "", "tcp"}},
                      .why = "shm"};
    play(&s);
}

/* A socket that connections come to and that never answers. */
static void listen_mute(const char *name)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "weir/%s", name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t len =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    cr_assert_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
    cr_assert_eq(listen(fd, 64), 0);
}

Test(auto_ways, shm_that_does_not_answer_is_followed_by_tcp, .timeout = 60)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "mute-%ld", (long)getpid());
    listen_mute(name);
    struct scene s = {.shm = name,
                      .connect_ns = 6000000000,
                      .way = {{"", "tcp", "tcp", "tcp"},
                              {"", "", "tcp", "tcp"},
                              {"", "", "", "tcp"}},
                      .why = "shm"};
    play(&s);
}

Test(auto_ways, seed_whose_shm_does_not_answer_is_joined_over_tcp,
     .timeout = 60)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "mute-%ld", (long)getpid());
    listen_mute(name);
    struct scene s = {.shm = name,
                      .connect_ns = 6000000000,
                      .seed = true, /* tells the true addresses */
                      .way = {{"", "shm", "shm", "shm"},
                              {"", "", "shm", "shm"},
                              {"", "", "", "shm"}}};
    play(&s);
}

/* As listen_mute(), on tcp; returns the port. */
static unsigned listen_mute_tcp(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, len), 0);
    cr_assert_eq(listen(fd, 4), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    return ntohs(at.sin_port);
}

static weir_err rest_at(weir_node *node, uint64_t now_ns, weir_query *q)
{
    uint64_t next;
    while (weir_node_step(node, now_ns, &next) == WEIR_OK) {
    }
    return weir_query_status(q, NULL);
}

/* A process that is stopped while it connects (a debugger, SIGSTOP) gives the
 * next way its time, each time that it is stopped, and not forever. */
Test(auto_ways, deadline_that_passed_in_a_stop_is_moved, .timeout = 60)
{
    static const uint64_t second = 1000000000u;
    char name[32];
    char address[256];
    struct weir_error err = {0};
    const struct weir_node_params params = {
        .transport = "auto", .manual = 1, .connect_ns = 4 * second};
    const struct weir_query_params query = {.id = 1};
    weir_node *node;
    weir_query *q;
    (void)snprintf(name, sizeof(name), "mute-%ld", (long)getpid());
    listen_mute(name);
    cr_assert_eq(weir_node_open(&params, &node, &err), WEIR_OK, "%s",
                 err.message);
    const char *own = weir_node_address(node);
    (void)snprintf(address, sizeof(address), "%.*s;shm=%s;tcp=127.0.0.1:%u",
                   (int)strcspn(own, ";"), own, name, listen_mute_tcp());
    const struct weir_member members[] = {{"mute", address, 1},
                                          {weir_node_name(node), own, 1}};
    cr_assert_eq(weir_node_join(node, members, 2, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_query_open(node, &query, &q, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(rest_at(node, second, q), WEIR_OK);
    cr_assert_eq(rest_at(node, 100 * second, q), WEIR_OK);
    cr_assert_eq(rest_at(node, 200 * second, q), WEIR_OK); /* slept again */
    uint64_t at = 200; /* awake from here on */
    while (rest_at(node, at * second, q) == WEIR_OK) {
        at++;
        cr_assert_leq(at, 205, "it waits for ever");
    }
    cr_assert_eq(weir_query_status(q, NULL), WEIR_ERR_PEER_LOST);
    weir_query_close(q);
    weir_node_close(node);
}

static void run(const char *command)
{
    int status = system(command); /* NOLINT(cert-env33-c) */
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", command);
}

static int new_net(void)
{
    if (unshare(CLONE_NEWNET) != 0) {
        return -1;
    }
    return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* Two namespaces with one host each, as with two containers. */
static void join_nets(const int net[2])
{
    char command[160];
    (void)snprintf(command, sizeof(command),
                   "ip link add weir1 type veth peer name weir0 && "
                   "ip link set weir0 netns /proc/%ld/fd/%d && "
                   "ip addr add 10.77.0.2/24 dev weir1",
                   (long)getpid(), net[0]);
    run(command);
    run("ip link set weir1 up && ip link set lo up");
    cr_assert_eq(setns(net[0], CLONE_NEWNET), 0);
    run("ip addr add 10.77.0.1/24 dev weir0 && ip link set weir0 up && "
        "ip link set lo up");
}

Test(auto_ways, two_network_namespaces_meet_over_tcp, .timeout = 60)
{
    int net[2] = {new_net(), new_net()}; /* and stay in the second */
    if (net[0] < 0 || net[1] < 0) {
        WT_LACKS("no right to make network namespaces");
    }
    join_nets(net);
    struct scene s = {
        .listen = {"10.77.0.1:0", "10.77.0.1:0", "10.77.0.2:0", "10.77.0.2:0"},
        .net_fd = {net[0], net[0], net[1], net[1]},
        .way = {{"", "shm", "tcp", "tcp"},
                {"", "", "tcp", "tcp"},
                {"", "", "", "shm"}},
        .why = "no shm (same host, other network namespace)"};
    play(&s);
}

/* ---- a lost member ------------------------------------------------------- */

enum { ENDLESS = 1000000000 };

static void endless(struct wt_proc *p)
{
    const struct scene *s = p->arg;
    struct weir_error err = {0};
    struct wt_plan plan;
    weir_node *node =
        wt_team_open(p, (struct weir_node_params){
                            .transport = "auto", .listen = s->listen[p->self]});
    wt_proc_await(p);
    wt_team_join(p, node);
    weir_err rc = wt_plan_open(&plan, node, 1, NULL, 0, WT_PLAN_ENDLESS, &err);
    wt_proc_check(p, rc == WEIR_OK, "%s", err.message);
    plan.limit = ENDLESS;
    while (rc >= 0 && plan.sums.got_rows == 0) {
        rc = wt_plan_step(&plan);
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
        }
    }
    wt_proc_say(p, 'u'); /* under way */
    rc = rc >= 0 ? wt_plan_run(&plan, &err) : rc;
    (void)weir_query_status(plan.query, &err);
    wt_team_report(p, 0, &plan, rc, &err);
    wt_plan_close(&plan);
    weir_node_close(node);
}

static void lose(uint32_t victim)
{
    struct scene s = {.listen = {NULL, NULL, NULL, "tcp"}};
    struct wt_procs *ps = wt_team_start(MEMBERS, endless, &s);
    wt_team_meet(ps, MEMBERS);
    wt_procs_expect_all(ps, 'u');
    wt_team_strike(ps, victim, SIGKILL);
    cr_assert(WIFSIGNALED(wt_procs_end(ps, victim)));
    for (uint32_t k = 0; k < MEMBERS; k++) {
        if (k != victim) {
            wt_procs_end_well(ps, k);
            wt_team_failed(ps, 0, k, WEIR_ERR_PEER_LOST, victim, 5000000000u);
        }
    }
    wt_procs_close(ps);
}

Test(auto_ways, member_lost_behind_shm_fails_the_query, .timeout = 60)
{
    lose(1);
}

Test(auto_ways, member_lost_behind_tcp_fails_the_query, .timeout = 60)
{
    lose(3);
}
