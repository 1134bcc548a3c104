/* SPDX-License-Identifier: Apache-2.0 */
/* Transport "shm" and peers that are foreign, broken or hostile: each costs
 * its own link and nothing else. */
#include "test/unit/transport/shm_support.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "core/base/err.h"
#include "test/support/lacks.h"

static const struct wi_transport_ops *const ops = &wi_shm_ops;

/* A node, and a raw socket that it has accepted and that has greeted. */
static int intrude(struct wt_node *n)
{
    uint32_t before = n->n_accepted;
    int fd = wt_raw_connect(n->name);
    wt_raw_greet(fd);
    WT_UNTIL(n, NULL, n->n_accepted > before);
    return fd;
}

/* The intruder's link ends with a reason that contains `why`. */
static void expect_end(struct wt_node *n, int fd, const char *why)
{
    WT_UNTIL(n, NULL, n->n_closed == 1);
    cr_assert_not_null(strstr(n->reason, why), "\"%s\" is not about %s",
                       n->reason, why);
    ops->disconnect(n->accepted);
    n->n_closed = 0;
    close(fd);
}

/* ---- greetings ---------------------------------------------------------- */

/* What the connecting side says of a service that sends `bytes` first. */
static void expect_answer(const void *bytes, size_t len, const char *why)
{
    struct wt_node a;
    char name[64], address[80];
    snprintf(name, sizeof(name), "service-%d", (int)getpid());
    snprintf(address, sizeof(address), "shm:%s", name);
    wt_node_init(&a, "caller", 4);
    int listener = wt_raw_listen(name, SOCK_SEQPACKET, 4);
    struct wi_ep *ep = wt_dial(&a, address);
    int fd = accept(listener, NULL, NULL);
    cr_assert_geq(fd, 0);
    if (len > 0) {
        wt_raw_send(fd, bytes, len, -1);
    } else {
        close(fd);
    }
    WT_UNTIL(&a, NULL, a.n_closed == 1);
    cr_assert_not_null(strstr(a.reason, why), "%s", a.reason);
    cr_assert_eq(a.n_connected, 0);
    ops->disconnect(ep);
    if (len > 0) {
        close(fd);
    }
    close(listener);
    ops->close(a.t);
}

Test(shm_hostile, service_that_is_not_a_node_is_told_apart)
{
    expect_answer("HTTP/1.1 400\r\n", 14, "is not a Weir node");
    expect_answer("x", 1, "is not a Weir node");
    expect_answer("", 0, "closed the connection without a greeting");
}

Test(shm_hostile, other_version_is_named)
{
    struct {
        struct shm_head head;
        struct shm_greeting greeting;
    } p = {{SHM_GREET, sizeof(p.greeting)}, {SHM_MAGIC, 7, SHM_PACKET_BYTES}};
    expect_answer(&p, sizeof(p), "peer speaks version 7");
}

Test(shm_hostile, refusal_is_passed_on_as_printable_text)
{
    struct {
        struct shm_head head;
        char text[8];
    } p = {{SHM_REFUSE, 8}, {'g', 'o', '\n', 'a', 'w', 'a', 'y', 0x1b}};
    expect_answer(&p, sizeof(p), "refused the connection: go?away?");
}

/* The core never hears of a stranger, and its descriptor is not kept. */
Test(shm_hostile, silent_stranger_is_dropped_in_time)
{
    struct wt_node n;
    wt_node_init(&n, "host", 4);
    int before = wt_fd_count();
    int fd = wt_raw_connect(n.name);
    wt_node_drain(&n);
    cr_assert_eq(wt_fd_count(), before + 2);
    n.now_ns += SHM_STRANGER_NS - 1;
    wt_node_drain(&n);
    cr_assert_eq(wt_fd_count(), before + 2);
    n.now_ns += 1;
    wt_node_drain(&n);
    cr_assert_eq(wt_fd_count(), before + 1);
    cr_assert_eq(n.n_accepted + n.n_closed, 0);
    close(fd);
    ops->close(n.t);
}

/* Strangers are bounded, and do not keep out a node forever. */
Test(shm_hostile, crowd_of_strangers_ends)
{
    struct wt_node n, a;
    int fds[SHM_STRANGERS + 8];
    wt_node_init(&n, "besieged", 1000);
    wt_node_init(&a, "friend", 4);
    int before = wt_fd_count();
    for (size_t i = 0; i < WI_ARRAY_LEN(fds); i++) {
        fds[i] = wt_raw_connect(n.name);
    }
    struct wi_ep *ep = wt_dial(&a, n.address);
    wt_node_drain(&n);
    cr_assert_eq(wt_fd_count(),
                 before + (int)WI_ARRAY_LEN(fds) + SHM_STRANGERS + 1);
    cr_assert(wt_node_rests(&n), "the full house spins");
    n.now_ns += SHM_STRANGER_NS;
    WT_UNTIL(&a, &n, a.n_connected == 1 && n.n_accepted == 1);
    for (size_t i = 0; i < WI_ARRAY_LEN(fds); i++) {
        close(fds[i]);
    }
    ops->disconnect(ep);
    ops->disconnect(n.accepted);
    ops->close(a.t);
    ops->close(n.t);
}

/* ---- packets ------------------------------------------------------------ */

Test(shm_hostile, malformed_packets_end_the_link)
{
    static uint32_t big[SHM_PACKET_BYTES / 4 + 2] = {SHM_MESSAGES,
                                                     SHM_PACKET_BYTES, 8};
    static uint32_t fat[SHM_PACKET_BYTES / 4] = {
        SHM_MESSAGES, SHM_PACKET_BYTES - 8, SHM_MESSAGE_BYTES + 1};
    const uint32_t p[][8] = {
        {1},                                     /* not a head */
        {99, 0},                                 /* unknown kind */
        {SHM_MESSAGES, 0},                       /* no message */
        {SHM_MESSAGES, 100, 4, 0},               /* longer than it is */
        {SHM_MESSAGES, 8, 8, 0},                 /* message without bytes */
        {SHM_MESSAGES, 16, 0, 0, 0, 0},          /* empty message */
        {SHM_MESSAGES, 16, 9, 0, 0, 0},          /* runs over the end */
        {SHM_MESSAGES, 16, 0xffffffff, 0, 0, 0}, /* wraps */
        {SHM_MESSAGES, 4, 1},                    /* half a record */
        {SHM_GRANT, 8, 1, 0},                    /* no descriptor */
        {SHM_GREET, 0},                          /* greeting twice */
        {SHM_REFUSE, 0},
    };
    const size_t len[] = {4, 8, 8, 16, 16, 24, 24, 24, 12, 16, 8, 8};
    struct wt_node n;
    int before = wt_fd_count();
    wt_node_init(&n, "strict", 4);
    for (size_t i = 0; i < WI_ARRAY_LEN(len); i++) {
        int fd = intrude(&n);
        wt_raw_send(fd, p[i], len[i], -1);
        expect_end(&n, fd, "broke the shm protocol");
    }
    int fd = intrude(&n);
    wt_raw_send(fd, big, sizeof(big), -1);
    expect_end(&n, fd, "broke the shm protocol");
    fd = intrude(&n);
    wt_raw_send(fd, fat, sizeof(fat), -1);
    expect_end(&n, fd, "broke the shm protocol");
    cr_assert_eq(n.n_messages, 0);
    ops->close(n.t);
    cr_assert_eq(wt_fd_count(), before);
}

Test(shm_hostile, descriptor_where_none_belongs_is_closed)
{
    const uint32_t message[] = {SHM_MESSAGES, 16, 8, 0, 1, 2};
    const uint32_t short_grant[] = {SHM_GRANT, 4, 1};
    const uint32_t ungrant[] = {SHM_UNGRANT, 8, 1, 0};
    struct wt_node n;
    wt_node_init(&n, "closed", 4);
    int before = wt_fd_count();
    int fd = intrude(&n);
    wt_raw_send(fd, message, sizeof(message), 0);
    expect_end(&n, fd, "broke the shm protocol");
    fd = intrude(&n);
    wt_raw_send(fd, short_grant, sizeof(short_grant), 0);
    expect_end(&n, fd, "broke the shm protocol");
    fd = intrude(&n);
    wt_raw_send(fd, ungrant, sizeof(ungrant), 0);
    expect_end(&n, fd, "broke the shm protocol");
    cr_assert_eq(wt_fd_count(), before);
    ops->close(n.t);
}

Test(shm_hostile, double_key_and_hoarded_grants_end_the_link)
{
    struct wt_node n;
    wt_node_init(&n, "counter", 4);
    int before = wt_fd_count();
    int fd = intrude(&n);
    uint32_t grant[4] = {SHM_GRANT, 8, 5, 0};
    wt_raw_send(fd, grant, sizeof(grant), 0);
    wt_raw_send(fd, grant, sizeof(grant), 0);
    expect_end(&n, fd, "broke the shm protocol");
    fd = intrude(&n);
    for (uint32_t i = 0; i <= SHM_UNMAPPED; i++) {
        grant[2] = i;
        wt_raw_send(fd, grant, sizeof(grant), 0);
        while (i % 64 == 0 && wt_node_stirs(&n)) {
            wt_node_drain(&n); /* the socket holds some 270 */
        }
    }
    expect_end(&n, fd, "not mapped");
    cr_assert_eq(wt_fd_count(), before);
    ops->close(n.t);
}

/* Memory that its owner could shrink would be a SIGBUS in waiting. */
Test(shm_hostile, memory_that_could_shrink_is_not_mapped)
{
    const uint32_t packets[4][4] = {{SHM_GRANT, 8, 1, 0},
                                    {SHM_GRANT, 8, 2, 0},
                                    {SHM_GRANT, 8, 3, 0},
                                    {SHM_GRANT, 8, 4, 0}};
    const uint32_t message[] = {SHM_MESSAGES, 16, 8, 0, 1, 2};
    struct wt_node n;
    struct weir_error err = {0};
    void *at = NULL;
    wt_node_init(&n, "careful", 4);
    int before = wt_fd_count();
    int unsealed = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int tube[2];
    cr_assert_eq(ftruncate(unsealed, 65536), 0);
    cr_assert_eq(pipe(tube), 0);
    int fd = intrude(&n);
    wt_raw_send(fd, packets[0], sizeof(packets[0]), unsealed);
    wt_raw_send(fd, packets[1], sizeof(packets[1]), tube[0]);
    wt_raw_send(fd, packets[2], sizeof(packets[2]), tube[0]);
    wt_raw_send(fd, packets[3], sizeof(packets[3]), unsealed);
    wt_raw_send(fd, message, sizeof(message), -1);
    WT_UNTIL(&n, NULL, n.n_messages == 1);
    for (uint64_t key = 1; key <= 2; key++) {
        cr_assert_eq(ops->map(n.accepted, key, 4096, WI_ACCESS_BOTH, &at, &err),
                     WEIR_ERR_PEER_PROTOCOL);
        cr_assert_not_null(strstr(err.message, "sealed"), "%s", err.message);
    }
    /* To be read it may be a file, which a pipe is not, as long as it said. */
    cr_assert_eq(ops->map(n.accepted, 3, 4096, WI_ACCESS_READ, &at, &err),
                 WEIR_ERR_PEER_PROTOCOL);
    cr_assert_not_null(strstr(err.message, "sealed"), "%s", err.message);
    cr_assert_eq(
        ops->map(n.accepted, 4, 65536 + 4096, WI_ACCESS_READ, &at, &err),
        WEIR_ERR_PEER_PROTOCOL);
    cr_assert_not_null(strstr(err.message, "65536"), "%s", err.message);
    cr_assert_null(at);
    close(fd);
    close(unsealed);
    close(tube[0]);
    close(tube[1]);
    WT_UNTIL(&n, NULL, n.n_closed == 1);
    ops->disconnect(n.accepted);
    cr_assert_eq(wt_fd_count(), before);
    ops->close(n.t);
}

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t x = (*state += UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Random packets, most with a sound head: messages that come out lie inside
 * the packet (ASan and the suite's own check of len), nothing else happens. */
Test(shm_hostile, random_packets_do_no_harm, .timeout = 120)
{
    static uint32_t p[512];
    uint64_t seed = 4711;
    struct wt_node n;
    int before = wt_fd_count();
    wt_node_init(&n, "fuzzed", 4);
    for (int round = 0; round < 400; round++) {
        int fd = intrude(&n);
        for (int i = 0; i < 6; i++) {
            size_t words = 3 + draw(&seed) % (WI_ARRAY_LEN(p) - 3);
            for (size_t w = 0; w < words; w++) {
                uint64_t most = draw(&seed) % 2 != 0 ? 64 : UINT32_MAX;
                p[w] = (uint32_t)(draw(&seed) % most);
            }
            if (draw(&seed) % 8 != 0) {
                p[0] = (uint32_t)(1 + draw(&seed) % 5);
                p[1] = (uint32_t)(words * 4 - 8);
            }
            wt_raw_send(fd, p, words * 4, draw(&seed) % 4 == 0 ? 0 : -1);
        }
        close(fd);
        WT_UNTIL(&n, NULL, n.n_closed == 1);
        ops->disconnect(n.accepted);
        n.n_closed = 0;
    }
    cr_assert_gt(n.n_messages, 0);
    ops->close(n.t);
    cr_assert_eq(wt_fd_count(), before);
}

/* ---- other users -------------------------------------------------------- */

/* In the child, as another user. */
static _Noreturn void knock_as_other(const char *address, const char *name)
{
    struct wi_transport *t;
    struct wi_ep *ep;
    struct wi_event ev;
    struct wi_transport_params params = {.name = name};
    if (setresuid(65534, 65534, 65534) != 0 ||
        ops->open(&params, &t, NULL) != WEIR_OK ||
        ops->connect(t, address, &ep, NULL) != WEIR_OK) {
        _exit(10);
    }
    struct pollfd p = {.fd = ops->fd(t), .events = POLLIN};
    while (ops->poll(t, 1, &ev, 1) == 0) {
        if (ops->arm(t) == WEIR_OK && poll(&p, 1, WT_PATIENCE_MS) <= 0) {
            _exit(11);
        }
    }
    _exit(ev.kind == WI_EV_CLOSED && strstr(ev.reason, "uid") != NULL ? 0 : 12);
}

Test(shm_hostile, other_users_are_refused_on_both_sides, .timeout = 60)
{
    if (geteuid() != 0) {
        WT_LACKS("only root can play another user");
    }
    struct wt_node n;
    wt_node_init(&n, "mine", 4);
    pid_t child = fork();
    if (child == 0) {
        knock_as_other(n.address, "other-user");
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0, "the child says %d", WEXITSTATUS(status));
    wt_node_drain(&n);
    cr_assert_eq(n.n_accepted + n.n_closed, 0);
    /* And the accepting side on its own: what it answers to another user. */
    child = fork();
    if (child == 0) {
        char text[256] = {0};
        struct sockaddr_un sa;
        socklen_t len = 0;
        int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        bool ok = setresuid(65534, 65534, 65534) == 0 &&
                  wi_shm_sockaddr(n.name, &sa, &len) &&
                  connect(fd, (struct sockaddr *)&sa, len) == 0 &&
                  recv(fd, text, sizeof(text) - 1, 0) > 8 &&
                  strstr(text + 8, "and uid 65534") != NULL;
        _exit(ok ? 0 : 10);
    }
    struct pollfd p = {.fd = ops->fd(n.t), .events = POLLIN};
    cr_assert_gt(poll(&p, 1, WT_PATIENCE_MS), 0);
    wt_node_drain(&n);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_assert_eq(n.n_accepted + n.n_closed, 0);
    ops->close(n.t);
}
