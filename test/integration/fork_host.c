/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that fork: a child that sleeps keeps nothing of its parent's nodes,
 * and is refused at once where it calls one. Detection by silence takes an hour
 * here, so what a peer learns it learns from the transport.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/weir.h>

#include "test/support/lacks.h"
#include "test/support/proc.h"

#define SECOND 1000000000ull
#define HOUR (3600 * SECOND)

enum { FDS = 1024, ADDRESS_BYTES = 256 };

static const uint32_t both[] = {0, 1};
static const struct weir_field fields[] = {{"id", "l", 0}};

/* ---- a child that sleeps ------------------------------------------------- */

/* What fork(3) does for a program, or what the system call alone does. */
enum way { FORK, BARE };

struct sleeper {
    pid_t pid;
    int line[2]; /* its end and ours: it says when it is there, and ends when
                    ours is closed */
};

static pid_t fork_by(enum way way)
{
    return way == FORK ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0);
}

/* fork(2) may return here before it has returned in the child, which holds all
 * descriptors until then: so the child is waited for. */
static void sleeper_start(struct sleeper *s, enum way way)
{
    char c = 0;
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s->line),
                 0);
    s->pid = fork_by(way);
    cr_assert_geq(s->pid, 0);
    if (s->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(s->line[1]);
        _exit(write(s->line[0], &c, 1) == 1 ? (int)read(s->line[0], &c, 1) : 1);
    }
    (void)close(s->line[0]);
    cr_assert_eq(read(s->line[1], &c, 1), 1, "the child has ended");
}

static void sleeper_end(struct sleeper *s)
{
    int status = -1;
    cr_assert_eq(waitpid(s->pid, &status, WNOHANG), 0, "it slept no more");
    (void)close(s->line[1]);
    cr_assert_eq(waitpid(s->pid, &status, 0), s->pid);
    cr_assert_eq(status, 0);
}

/* ---- nodes --------------------------------------------------------------- */

static void swallow(void *arg, weir_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

static weir_err try_open(const char *transport, const char *listen,
                         uint64_t detect_ns, weir_node **out,
                         struct weir_error *err)
{
    const struct weir_node_params params = {.transport = transport,
                                            .listen = listen,
                                            .max_members = 2,
                                            .memory_bytes = 16u << 20,
                                            .detect_ns = detect_ns,
                                            .log = swallow};
    return weir_node_open(&params, out, err);
}

static weir_node *open_node(const char *transport, const char *listen,
                            uint64_t detect_ns)
{
    struct weir_error err = {0};
    weir_node *n = NULL;
    weir_err rc = try_open(transport, listen, detect_ns, &n, &err);
    cr_assert_eq(rc, WEIR_OK, "%s: %s", transport, err.message);
    return n;
}

/** One end of a shuffle from node 0 to node 1. */
struct end {
    weir_node *node;
    weir_query *query;
    weir_writer *writer;
    weir_reader *reader;
};

static weir_err open_end(struct end *e, uint32_t self, weir_node *node,
                         const struct weir_member *members,
                         struct weir_error *err)
{
    struct ArrowSchema schema;
    const struct weir_query_params query = {
        .id = 1, .members = both, .n_members = 2};
    const struct weir_shuffle_params params = {.id = 1,
                                               .schema = &schema,
                                               .partitioning = WEIR_GATHER,
                                               .producers = &both[0],
                                               .n_producers = 1,
                                               .consumers = &both[1],
                                               .n_consumers = 1};
    weir_shuffle *s = NULL;
    *e = (struct end){.node = node};
    weir_err rc = weir_node_join(node, members, 2, err);
    rc = rc == WEIR_OK ? weir_query_open(node, &query, &e->query, err) : rc;
    if (rc == WEIR_OK) {
        rc = weir_schema_build(fields, 1, &schema, err);
    }
    if (rc == WEIR_OK) {
        rc = weir_shuffle_open(e->query, &params, &s, err);
        schema.release(&schema);
    }
    if (rc == WEIR_OK) {
        rc = self == 0 ? weir_writer_open(s, 0, &e->writer, err)
                       : weir_reader_open(s, 0, &e->reader, err);
    }
    return rc;
}

static void kept(struct ArrowArray *array)
{
    array->release = NULL; /* all of it lies on the stack */
}

static weir_err push_one(struct end *e, int64_t id)
{
    const void *buffers[] = {NULL, &id};
    const void *none[] = {NULL};
    struct ArrowArray column = {
        .length = 1, .n_buffers = 2, .buffers = buffers, .release = kept};
    struct ArrowArray *columns[] = {&column};
    const struct ArrowArray batch = {.length = 1,
                                     .n_buffers = 1,
                                     .buffers = none,
                                     .n_children = 1,
                                     .children = columns,
                                     .release = kept};
    weir_err rc = weir_writer_push_wait(e->writer, &batch);
    return rc == WEIR_OK ? weir_writer_flush(e->writer) : rc;
}

/* The next row's number, or a code. */
static int64_t take_one(struct end *e)
{
    struct ArrowArray batch = {0};
    weir_err rc = weir_reader_next_wait(e->reader, &batch);
    if (rc != WEIR_OK) {
        return rc;
    }
    const int64_t *ids = batch.children[0]->buffers[1];
    int64_t id = ids[batch.offset + batch.children[0]->offset];
    batch.release(&batch);
    return id;
}

static void open_pair(struct end e[2], const char *transport)
{
    struct weir_error err = {0};
    weir_node *node[2] = {open_node(transport, NULL, SECOND),
                          open_node(transport, NULL, HOUR)};
    struct weir_member members[2];
    for (uint32_t i = 0; i < 2; i++) {
        members[i] = (struct weir_member){.name = weir_node_name(node[i]),
                                          .address = weir_node_address(node[i]),
                                          .workers = 1};
    }
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(open_end(&e[i], i, node[i], members, &err), WEIR_OK, "%s",
                     err.message);
    }
    cr_assert_eq(push_one(&e[0], 41), WEIR_OK);
    cr_assert_eq(take_one(&e[1]), 41);
}

/* ---- addresses ----------------------------------------------------------- */

/* An address, its transport or host cut off, can be listened at. */
static void reopen(const char *transport, enum way way)
{
    struct sleeper s;
    char listen[ADDRESS_BYTES];
    weir_node *n = open_node(transport, NULL, HOUR);
    const char *address = strchr(weir_node_address(n), ':') + 1;
    const char *parts = strchr(address, ';');
    (void)snprintf(listen, sizeof(listen), "%s",
                   parts != NULL ? parts + 1 : address);
    sleeper_start(&s, way);
    weir_node_close(n);
    weir_node_close(open_node(transport, listen, HOUR));
    sleeper_end(&s);
}

Test(fork_host, a_node_opens_again_at_its_address_while_a_child_sleeps,
     .timeout = 60)
{
    reopen("tcp", FORK);
    reopen("tcp", BARE);
    reopen("shm", FORK);
    reopen("auto", FORK);
}

/* Whoever connects learns it at once: nobody listens, and nothing waits in a
 * queue that nobody looks at. */
static void knock(enum way way)
{
    struct sleeper s;
    struct sockaddr_in at = {.sin_family = AF_INET};
    weir_node *n = open_node("tcp", NULL, HOUR);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(
        (uint16_t)strtoul(strrchr(weir_node_address(n), ':') + 1, NULL, 10));
    sleeper_start(&s, way);
    weir_node_close(n);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), -1,
                 "a closed node takes connections");
    cr_assert_eq(errno, ECONNREFUSED, "%s", strerror(errno));
    (void)close(fd);
    sleeper_end(&s);
}

Test(fork_host, a_closed_node_refuses_connections_while_a_child_sleeps,
     .timeout = 60)
{
    knock(FORK);
    knock(BARE);
}

/* The name is the socket's, which a child of a bare system call has as well:
 * that is said. */
Test(fork_host, a_name_that_a_child_holds_is_said_to_be_held, .timeout = 60)
{
    struct sleeper s;
    struct weir_error err = {0};
    weir_node *n = open_node("shm", "fork-host-held", HOUR);
    sleeper_start(&s, BARE);
    weir_node_close(n);
    cr_assert_eq(try_open("shm", "fork-host-held", HOUR, &n, &err),
                 WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, "a child"), "%s", err.message);
    sleeper_end(&s);
}

/* ---- peers --------------------------------------------------------------- */

static void close_one(const char *transport, enum way way)
{
    struct sleeper s;
    struct end e[2];
    open_pair(e, transport);
    sleeper_start(&s, way);
    weir_node_close(e[0].node);
    int64_t rc = take_one(&e[1]);
    cr_assert_lt(rc, 0, "%s: it got row %lld", transport, (long long)rc);
    weir_query_close(e[1].query);
    weir_node_close(e[1].node);
    sleeper_end(&s);
}

Test(fork_host, a_peer_learns_that_a_node_was_closed_while_a_child_sleeps,
     .timeout = 120)
{
    close_one("tcp", FORK);
    close_one("tcp", BARE);
    close_one("shm", FORK);
    close_one("shm", BARE);
    close_one("auto", FORK);
}

/** What two processes know of each other. */
struct meeting {
    char transport[16];
    char name[2][64];
    char address[2][ADDRESS_BYTES];
    pid_t sleeper;
};

static void sleep_for_good(struct wt_proc *p)
{
    (void)prctl(PR_SET_PDEATHSIG, 0);
    (void)close(p->say_fd);
    (void)close(p->go_fd);
    for (;;) {
        (void)pause();
    }
}

static void meet(struct wt_proc *p)
{
    struct meeting *m = p->shared;
    struct weir_error err = {0};
    struct end e;
    weir_node *n = NULL;
    wt_proc_await(p);
    wt_proc_check(p, try_open(m->transport, NULL, HOUR, &n, &err) == WEIR_OK,
                  "%s", err.message);
    (void)snprintf(m->name[p->self], sizeof(m->name[0]), "%s",
                   weir_node_name(n));
    (void)snprintf(m->address[p->self], ADDRESS_BYTES, "%s",
                   weir_node_address(n));
    wt_proc_say(p, 'o');
    wt_proc_await(p);
    struct weir_member members[2];
    for (uint32_t i = 0; i < 2; i++) {
        members[i] = (struct weir_member){
            .name = m->name[i], .address = m->address[i], .workers = 1};
    }
    wt_proc_check(p, open_end(&e, p->self, n, members, &err) == WEIR_OK, "%s",
                  err.message);
    if (p->self == 0) {
        wt_proc_check(p, push_one(&e, 41) == WEIR_OK, "push");
        pid_t pid = fork();
        if (pid == 0) {
            sleep_for_good(p);
        }
        m->sleeper = pid;
        wt_proc_say(p, 's');
        wt_proc_await(p); /* for its end */
    }
    wt_proc_check(p, take_one(&e) == 41, "the row");
    wt_proc_say(p, 'g');
    int64_t rc = take_one(&e);
    wt_proc_check(p, rc == WEIR_ERR_PEER_LOST, "code %lld", (long long)rc);
    wt_proc_say(p, 'l');
}

static void kill_one(const char *transport)
{
    struct wt_procs *ps = wt_procs_open(2, sizeof(struct meeting), meet, NULL);
    struct meeting *m = wt_procs_shared(ps);
    (void)snprintf(m->transport, sizeof(m->transport), "%s", transport);
    wt_procs_go_all(ps);
    wt_procs_expect_all(ps, 'o');
    wt_procs_go_all(ps);
    wt_procs_expect(ps, 0, 's');
    wt_procs_expect(ps, 1, 'g');
    wt_procs_signal(ps, 0, SIGKILL);
    wt_procs_expect(ps, 1, 'l');
    cr_assert_eq(kill(m->sleeper, 0), 0, "the child does not live");
    (void)kill(m->sleeper, SIGKILL);
    (void)wt_procs_end(ps, 0);
    (void)wt_procs_end(ps, 1);
    wt_procs_close(ps);
}

Test(fork_host, a_peer_learns_that_a_process_was_killed_whose_child_sleeps,
     .timeout = 240)
{
    kill_one("tcp");
    kill_one("shm");
    kill_one("auto");
}

/* ---- descriptors --------------------------------------------------------- */

static uint32_t open_fds(bool set[FDS])
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *d;
    uint32_t n = 0;
    memset(set, 0, FDS * sizeof(*set));
    while (dir != NULL && (d = readdir(dir)) != NULL) {
        long fd = strtol(d->d_name, NULL, 10);
        if (d->d_name[0] != '.' && fd != dirfd(dir) && fd < FDS) {
            set[fd] = true;
            n++;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return n;
}

static void look_at_fds(const char *transport)
{
    struct end e[2];
    static bool before[FDS];
    static bool now[FDS];
    uint32_t n = open_fds(before);
    open_pair(e, transport);
    cr_assert_geq(weir_worker_fd(e[1].node, 0), 0);
    cr_assert_gt(open_fds(now), n + 6);
    for (int fd = 0; fd < FDS; fd++) {
        int flags = now[fd] && !before[fd] ? fcntl(fd, F_GETFD) : FD_CLOEXEC;
        cr_assert((flags & FD_CLOEXEC) != 0, "%s: descriptor %d stays open",
                  transport, fd);
    }
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        (void)open_fds(now);
        _exit(memcmp(now, before, sizeof(now)) == 0 ? 0 : 1);
    }
    int status = -1;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert_eq(status, 0, "%s: a child has descriptors of it", transport);
    cr_assert_eq(push_one(&e[0], 42), WEIR_OK);
    cr_assert_eq(take_one(&e[1]), 42);
    for (uint32_t i = 2; i-- > 0;) {
        weir_query_close(e[i].query);
    }
    for (uint32_t i = 2; i-- > 0;) {
        weir_node_close(e[i].node);
    }
}

Test(fork_host, descriptors_close_on_exec_and_in_children, .timeout = 60)
{
    look_at_fds("tcp");
    look_at_fds("shm");
    look_at_fds("auto");
}

/* ---- calls --------------------------------------------------------------- */

/* What a child calls, each with its number: 0 if it was refused. */
static int refuse_all(struct end e[2], weir_peer *peer, weir_fetch *fetch,
                      weir_region *region, weir_asks *asks)
{
    weir_node *n = e[0].node;
    struct weir_error err = {0};
    struct weir_member member = {.name = "x", .address = "tcp:127.0.0.1:1"};
    const struct weir_query_params query = {.id = 9};
    const struct weir_get get = {.bytes = 1};
    const struct weir_region_params params = {.bytes = 1};
    const struct weir_name name = {1, 2};
    struct ArrowArray batch;
    struct weir_got got;
    struct weir_ask ask;
    uint32_t taken;
    void *out;
    struct weir_step steps[1] = {{.fn = NULL}};
    const weir_err codes[] = {
        weir_node_join(n, &member, 1, &err),
        weir_node_join_seed(n, NULL, 1, HOUR, &err),
        weir_node_add_member(n, 1, &member, &err),
        weir_node_remove_member(n, 1, &err),
        weir_node_member(n, 0, &member),
        weir_node_renew_secret(n, &err),
        weir_worker_wait(n, 0, WEIR_FOREVER),
        weir_worker_wake(n, 0),
        weir_worker_fd(n, 0),
        weir_worker_arm(n, 0),
        weir_worker_run(n, 0, steps, 1, WEIR_FOREVER),
        weir_query_open(n, &query, (weir_query **)&out, &err),
        weir_query_status(e[0].query, &err),
        push_one(&e[0], 1),
        weir_writer_poll(e[0].writer),
        weir_writer_finish_wait(e[0].writer),
        weir_writer_error(e[0].writer, &err),
        weir_reader_next_wait(e[1].reader, &batch),
        weir_reader_filter_open(e[1].reader, 1),
        weir_reader_filter_send(e[1].reader),
        weir_peer_open(n, "tcp:127.0.0.1:1", (weir_peer **)&out, &err),
        weir_fetch_open(n, NULL, (weir_fetch **)&out, &err),
        weir_fetch_get(fetch, peer, &get, 1, &taken),
        weir_fetch_next(fetch, &got),
        weir_region_open(n, &params, (weir_region **)&out, &err),
        weir_region_publish(region, &name, &err),
        weir_asks_open(n, 5, 0, (weir_asks **)&out, &err),
        weir_asks_next(asks, &ask),
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        if (codes[i] != WEIR_ERR_STATE) {
            return (int)i + 1;
        }
    }
    return strstr(err.message, "forked") != NULL ? 0 : 100;
}

/* What the destructors and collectors of a child call. */
static void close_all(struct end e[2], weir_peer *peer, weir_fetch *fetch,
                      weir_region *region, weir_asks *asks,
                      struct ArrowArray *held)
{
    held->release(held);
    weir_asks_close(asks);
    weir_region_close(region);
    weir_fetch_close(fetch);
    weir_peer_close(peer);
    weir_writer_close(e[0].writer);
    weir_reader_close(e[1].reader);
    for (uint32_t i = 0; i < 2; i++) {
        weir_query_cancel(e[i].query, "by a child");
        weir_query_close(e[i].query);
        weir_node_close(e[i].node);
    }
}

static void call(const char *transport)
{
    struct end e[2];
    struct weir_error err = {0};
    weir_peer *peer = NULL;
    weir_fetch *fetch = NULL;
    weir_region *region = NULL;
    weir_asks *asks = NULL;
    struct ArrowArray held = {0};
    const struct weir_region_params params = {.bytes = 4096};
    open_pair(e, transport);
    weir_node *n = e[0].node;
    cr_assert_eq(weir_peer_open(n, weir_node_address(e[1].node), &peer, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(weir_fetch_open(n, NULL, &fetch, &err), WEIR_OK);
    cr_assert_eq(weir_region_open(n, &params, &region, &err), WEIR_OK);
    cr_assert_eq(weir_asks_open(n, 4, 0, &asks, &err), WEIR_OK);
    cr_assert_eq(push_one(&e[0], 42), WEIR_OK);
    cr_assert_eq(weir_reader_next_wait(e[1].reader, &held), WEIR_OK);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        (void)alarm(20); /* if one hangs */
        int code = refuse_all(e, peer, fetch, region, asks);
        close_all(e, peer, fetch, region, asks, &held);
        _exit(code);
    }
    int status = -1;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status), "%s: the child ended by signal %d", transport,
              WTERMSIG(status));
    cr_assert_eq(WEXITSTATUS(status), 0, "%s: call %d was not refused",
                 transport, WEXITSTATUS(status));
    held.release(&held);
    for (int64_t i = 0; i < 20000; i++) { /* the rings go round */
        cr_assert_eq(push_one(&e[0], i), WEIR_OK);
        cr_assert_eq(take_one(&e[1]), i);
    }
    cr_assert_eq(weir_writer_finish_wait(e[0].writer), WEIR_OK);
    cr_assert_eq(take_one(&e[1]), WEIR_DONE);
    weir_asks_close(asks);
    weir_region_close(region);
    weir_fetch_close(fetch);
    weir_peer_close(peer);
    for (uint32_t i = 0; i < 2; i++) {
        weir_query_close(e[i].query);
    }
    for (uint32_t i = 0; i < 2; i++) {
        weir_node_close(e[i].node);
    }
}

Test(fork_host, a_child_is_refused_and_its_parent_goes_on, .timeout = 120)
{
    call("tcp");
    call("shm");
    call("auto");
}
