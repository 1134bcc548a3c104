/* SPDX-License-Identifier: Apache-2.0 */
/* Transport "shm": names, links, grants, threads. What every transport must do
 * is in test/conformance; hostile peers and limits are in files beside. */
#include "test/unit/transport/shm_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct wi_transport_ops *const ops = &wi_shm_ops;

/* ---- names -------------------------------------------------------------- */

Test(shm, name_in_use_is_an_error_that_names_it)
{
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_transport *t = NULL;
    wt_node_init(&a, "twice", 4);
    struct wi_transport_params params = {.name = a.name};
    cr_assert_eq(ops->open(&params, &t, &err), WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, a.address), "%s", err.message);
    cr_assert_null(t);
    ops->close(a.t);
    cr_assert_eq(ops->open(&params, &t, &err), WEIR_OK, "%s", err.message);
    ops->close(t);
}

Test(shm, listen_name_goes_before_node_name)
{
    struct weir_error err = {0};
    struct wi_transport *t = NULL;
    char address[WI_ADDRESS_BYTES];
    char door[64];
    struct wi_transport_params params = {.name = "node", .listen = door + 4};
    (void)snprintf(door, sizeof(door), "shm:door-%ld", (long)getpid());
    cr_assert_eq(ops->open(&params, &t, &err), WEIR_OK, "%s", err.message);
    ops->address(t, address);
    cr_assert_str_eq(address, door);
    ops->close(t);
}

Test(shm, names_that_no_socket_can_have_are_refused)
{
    char longest[SHM_NAME_BYTES + 1];
    memset(longest, 'n', SHM_NAME_BYTES);
    longest[SHM_NAME_BYTES] = '\0';
    const char *bad[] = {"", "two words", "line\n", longest};
    for (size_t i = 0; i < WI_ARRAY_LEN(bad); i++) {
        struct weir_error err = {0};
        struct wi_transport *t = NULL;
        struct wi_transport_params params = {.listen = bad[i]};
        cr_assert_eq(ops->open(&params, &t, &err), WEIR_ERR_ARG);
        cr_assert_neq(err.message[0], '\0');
    }
    longest[SHM_NAME_BYTES - 1] = '\0';
    struct sockaddr_un sa;
    socklen_t len = 0;
    cr_assert(wi_shm_sockaddr(longest, &sa, &len));
    cr_assert_leq(len, sizeof(sa));
}

/* ---- connecting --------------------------------------------------------- */

/* The reason with which a connect to `address` ends. */
static const char *reason_of(struct wt_node *n, const char *address)
{
    struct wi_ep *ep = wt_dial(n, address);
    WT_UNTIL(n, NULL, n->n_closed == 1);
    ops->disconnect(ep);
    n->n_closed = 0;
    return n->reason;
}

Test(shm, nobody_listens)
{
    struct wt_node a;
    wt_node_init(&a, "lonely", 4);
    cr_assert_str_eq(reason_of(&a, "shm:nobody-is-here"),
                     "nobody listens at shm:nobody-is-here");
    ops->close(a.t);
}

/* A connect that finds the backlog full is tried again until there is room. */
Test(shm, full_backlog_is_waited_out, .timeout = 60)
{
    struct wt_node a;
    wt_node_init(&a, "queue", 4);
    int listener = wt_raw_listen("crowded", SOCK_SEQPACKET, 0);
    int first = wt_raw_connect("crowded");
    struct wi_ep *ep = wt_dial(&a, "shm:crowded");
    cr_assert_eq(wt_node_drain(&a), 0);
    int fd = accept(listener, NULL, NULL);
    cr_assert_geq(fd, 0);
    a.now_ns += SHM_RETRY_NS;
    wt_node_drain(&a);
    int mine = accept(listener, NULL, NULL);
    cr_assert_geq(mine, 0);
    wt_raw_greet(mine);
    WT_UNTIL(&a, NULL, a.n_connected == 1);
    ops->disconnect(ep);
    close(first);
    close(fd);
    close(mine);
    close(listener);
    ops->close(a.t);
}

/* The retry wakes a sleeper, and gives up in the end. */
Test(shm, full_backlog_is_not_waited_for_ever, .timeout = 60)
{
    struct wt_node a;
    wt_node_init(&a, "patience", 4);
    int listener = wt_raw_listen("stuffed", SOCK_SEQPACKET, 0);
    int first = wt_raw_connect("stuffed");
    struct wi_ep *ep = wt_dial(&a, "shm:stuffed");
    wt_node_drain(&a);
    a.now_ns += SHM_CONNECT_NS;
    WT_UNTIL(&a, NULL, a.n_closed == 1);
    cr_assert_not_null(strstr(a.reason, "shm:stuffed did not answer"), "%s",
                       a.reason);
    ops->disconnect(ep);
    close(first);
    close(listener);
    ops->close(a.t);
}

/* Found by 7 nodes that cleared gigabytes on 2 cores: a node that had slept
 * looked at its watch before it looked into its sockets. */
Test(shm, answer_that_came_while_the_node_slept_counts)
{
    struct wt_node a, b;
    wt_node_init(&a, "sleeper", 4);
    wt_node_init(&b, "waker", 4);
    struct wi_ep *ep = wt_dial(&a, b.address);
    wt_node_drain(&a);
    wt_node_drain(&b); /* accepts, and greets */
    a.now_ns += 2 * SHM_CONNECT_NS;
    b.now_ns += 2 * SHM_STRANGER_NS;
    WT_UNTIL(&a, &b, a.n_connected + a.n_closed == 1);
    cr_assert_eq(a.n_connected, 1, "%s", a.reason);
    wt_node_drain(&b);
    cr_assert_eq(b.n_accepted, 1);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->close(a.t);
    ops->close(b.t);
}

/* The answer is read by the next poll: what came before it fills this one. */
Test(shm, answer_that_does_not_fit_one_poll_counts)
{
    struct wt_node a, b, c;
    struct wi_event first;
    wt_node_init(&a, "sleeper", 4);
    wt_node_init(&b, "waker", 4);
    wt_node_init(&c, "talker", 4);
    struct wi_ep *talk = wt_link(&c, &a);
    struct wi_ep *ep = wt_dial(&a, b.address);
    wt_node_drain(&a);
    wt_say(talk, "first");
    wt_node_drain(&b); /* accepts, and greets */
    a.now_ns += 2 * SHM_CONNECT_NS;
    cr_assert_eq(ops->poll(a.t, a.now_ns, &first, 1), 1);
    wt_node_record(&a, &first);
    cr_assert_eq(a.n_messages, 1);
    WT_UNTIL(&a, &b, a.n_connected + a.n_closed == 1);
    cr_assert_eq(a.n_connected, 1, "%s", a.reason);
    wt_node_drain(&b);
    ops->disconnect(ep);
    ops->disconnect(talk);
    ops->disconnect(a.accepted);
    ops->disconnect(b.accepted);
    ops->close(a.t);
    ops->close(b.t);
    ops->close(c.t);
}

Test(shm, more_links_than_allowed_are_refused_with_a_reason)
{
    struct wt_node a, b;
    wt_node_init(&a, "many", 8);
    wt_node_init(&b, "few", 1);
    struct wi_ep *one = wt_link(&a, &b);
    struct wi_ep *two = wt_dial(&a, b.address);
    WT_UNTIL(&a, &b, a.n_closed == 1);
    cr_assert_not_null(strstr(a.reason, "maximum of 1 links"), "%s", a.reason);
    ops->disconnect(two);
    ops->disconnect(one);
    WT_UNTIL(&a, &b, b.n_closed == 1);
    /* A link that has ended makes room, even before it is disconnected. */
    struct wi_ep *old = b.accepted;
    struct wi_ep *three = wt_link(&a, &b);
    ops->disconnect(three);
    ops->disconnect(old);
    ops->disconnect(b.accepted);
    ops->close(a.t);
    ops->close(b.t);
}

/* ---- grants ------------------------------------------------------------- */

Test(shm, grant_passes_memory_once)
{
    struct wt_node a, b;
    struct weir_error err = {0};
    struct wi_mem mem;
    uint64_t key = 0;
    void *at = NULL;
    int before = wt_fd_count();
    wt_node_init(&a, "giver", 4);
    wt_node_init(&b, "taker", 4);
    struct wi_ep *ep = wt_link(&a, &b);
    cr_assert_eq(ops->mem_open(a.t, 65536, &mem, &err), WEIR_OK);
    cr_assert_eq(ops->grant(ep, &mem, WI_ACCESS_BOTH, &key, &err), WEIR_OK);
    wt_say(ep, "key");
    WT_UNTIL(&a, &b, b.n_messages == 1);
    struct shm_ep *taker = wi_container_of(b.accepted, struct shm_ep, base);
    cr_assert_eq(taker->n_in, 1);
    cr_assert_eq(fcntl(taker->in[0].fd, F_GETFD), FD_CLOEXEC);
    cr_assert_eq(
        ops->map(b.accepted, key + 1, 65536, WI_ACCESS_BOTH, &at, &err),
        WEIR_ERR_PEER_PROTOCOL);
    cr_assert_eq(ops->map(b.accepted, key, 65536, WI_ACCESS_BOTH, &at, &err),
                 WEIR_OK, "%s", err.message);
    strcpy(at, "written through the mapping");
    cr_assert_str_eq(mem.base, at);
    void *again = NULL;
    cr_assert_eq(ops->map(b.accepted, key, 65536, WI_ACCESS_BOTH, &again, &err),
                 WEIR_ERR_PEER_PROTOCOL);
    ops->unmap(b.t, at, 65536);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
    ops->close(b.t);
    cr_assert_eq(wt_fd_count(), before);
}

Test(shm, announcing_more_than_was_granted_is_refused)
{
    struct wt_node a, b;
    struct weir_error err = {0};
    struct wi_mem mem;
    uint64_t key = 0;
    void *at = NULL;
    wt_node_init(&a, "boaster", 4);
    wt_node_init(&b, "doubter", 4);
    struct wi_ep *ep = wt_link(&a, &b);
    cr_assert_eq(ops->mem_open(a.t, 4096, &mem, &err), WEIR_OK);
    cr_assert_eq(ops->grant(ep, &mem, WI_ACCESS_BOTH, &key, &err), WEIR_OK);
    wt_say(ep, "key");
    WT_UNTIL(&a, &b, b.n_messages == 1);
    cr_assert_eq(ops->map(b.accepted, key, 8192, WI_ACCESS_BOTH, &at, &err),
                 WEIR_ERR_PEER_PROTOCOL);
    cr_assert_not_null(strstr(err.message, "4096"), "%s", err.message);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
    ops->close(b.t);
}

/* Of what is mapped aligned, a part of a page would stay mapped for ever. */
Test(shm, announcing_a_part_of_a_page_is_refused)
{
    enum { ALL = 4 << 20, PART = ALL - 2048 };
    struct wt_node a, b;
    struct weir_error err = {0};
    struct wi_mem mem;
    uint64_t key = 0;
    void *at = NULL;
    wt_node_init(&a, "giver", 4);
    wt_node_init(&b, "taker", 4);
    struct wi_ep *ep = wt_link(&a, &b);
    cr_assert_eq(ops->mem_open(a.t, ALL, &mem, &err), WEIR_OK);
    cr_assert_eq(ops->grant(ep, &mem, WI_ACCESS_BOTH, &key, &err), WEIR_OK);
    wt_say(ep, "key");
    WT_UNTIL(&a, &b, b.n_messages == 1);
    cr_assert_eq(ops->map(b.accepted, key, PART, WI_ACCESS_BOTH, &at, &err),
                 WEIR_ERR_PEER_PROTOCOL);
    cr_assert_null(at);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
    ops->close(b.t);
}

/* As many as the socket takes; then the peer has to take some first. */
Test(shm, full_socket_puts_grants_off)
{
    struct wt_node a, b;
    struct weir_error err = {0};
    struct wi_mem mem;
    uint64_t key = 0, last = 0;
    void *at = NULL;
    weir_err rc;
    int before = wt_fd_count();
    wt_node_init(&a, "generous", 4);
    wt_node_init(&b, "slow", 4);
    struct wi_ep *ep = wt_link(&a, &b);
    cr_assert_eq(ops->mem_open(a.t, 4096, &mem, &err), WEIR_OK);
    for (uint32_t n = 0; n < 2000; n++) {
        uint32_t seen = a.n_sendable;
        while ((rc = ops->grant(ep, &mem, n % 3 + 1, &key, &err)) ==
               WEIR_AGAIN) {
            WT_UNTIL(&a, &b, a.n_sendable > seen);
        }
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
        cr_assert_gt(key, last);
        last = key;
        cr_assert_eq(ops->ungrant(ep, &mem, key), WEIR_OK);
    }
    wt_drain_both(&a, &b);
    cr_assert_eq(ops->map(b.accepted, key, 4096, WI_ACCESS_READ, &at, &err),
                 WEIR_ERR_PEER_PROTOCOL);
    cr_assert_eq(b.n_closed, 0, "%s", b.reason);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
    ops->close(b.t);
    cr_assert_eq(wt_fd_count(), before);
}

/* The peer is told later. */
Test(shm, full_socket_puts_ungrants_off)
{
    enum { N = 8 };
    struct wt_node a, b;
    struct weir_error err = {0};
    struct wi_mem mem;
    uint64_t keys[N];
    void *at = NULL;
    wt_node_init(&a, "generous", 4);
    wt_node_init(&b, "slow", 4);
    struct wi_ep *ep = wt_link(&a, &b);
    cr_assert_eq(ops->mem_open(a.t, 4096, &mem, &err), WEIR_OK);
    for (uint32_t i = 0; i < N; i++) {
        cr_assert_eq(ops->grant(ep, &mem, WI_ACCESS_READ, &keys[i], &err),
                     WEIR_OK, "%s", err.message);
    }
    do {
        cr_assert_eq(ops->send(ep, "a", 1), WEIR_OK);
    } while (ops->kick(ep) == WEIR_OK);
    for (uint32_t i = 0; i < N; i++) {
        cr_assert_eq(ops->ungrant(ep, &mem, keys[i]), WEIR_OK);
    }
    wt_drain_both(&a, &b);
    for (uint32_t i = 0; i < N; i++) {
        cr_assert_eq(
            ops->map(b.accepted, keys[i], 4096, WI_ACCESS_READ, &at, &err),
            WEIR_ERR_PEER_PROTOCOL, "grant %u is still there", i);
    }
    cr_assert_eq(b.n_closed, 0, "%s", b.reason);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
    ops->close(b.t);
}

/* What was never mapped is closed with the endpoint. */
Test(shm, grants_do_not_leak)
{
    struct wt_node a, b;
    struct weir_error err = {0};
    struct wi_mem mem;
    uint64_t key = 0;
    int before = wt_fd_count();
    wt_node_init(&a, "generous", 4);
    wt_node_init(&b, "idle", 4);
    struct wi_ep *ep = wt_link(&a, &b);
    cr_assert_eq(ops->mem_open(a.t, 4096, &mem, &err), WEIR_OK);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(ops->grant(ep, &mem, WI_ACCESS_READ, &key, &err), WEIR_OK);
    }
    wt_say(ep, "all");
    WT_UNTIL(&a, &b, b.n_messages == 1);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
    ops->close(b.t);
    cr_assert_eq(wt_fd_count(), before);
}

/* ---- ends --------------------------------------------------------------- */

/* The peer closes while data from here lies unread there: the kernel then says
 * ECONNRESET first, and what the peer said before must still arrive. */
Test(shm, last_words_survive_a_reset)
{
    struct wt_node a, b;
    wt_node_init(&a, "hearer", 4);
    wt_node_init(&b, "goner", 4);
    struct wi_ep *ep = wt_link(&a, &b);
    wt_say(ep, "never read");
    wt_say(b.accepted, "last words");
    ops->disconnect(b.accepted);
    WT_UNTIL(&a, NULL, a.n_closed == 1);
    cr_assert_str_eq(a.text, "last words");
    cr_assert_not_null(strstr(a.reason, "peer closed the connection"), "%s",
                       a.reason);
    ops->disconnect(ep);
    ops->close(a.t);
    ops->close(b.t);
}

/* One by a bare system call holds copies of every descriptor: nobody closes
 * them in it. */
Test(shm, cloned_child_does_not_keep_a_link_alive, .timeout = 60)
{
    struct wt_node a, b;
    int hold[2];
    wt_node_init(&a, "forker", 4);
    wt_node_init(&b, "other", 4);
    struct wi_ep *ep = wt_link(&a, &b);
    cr_assert_eq(pipe(hold), 0);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0);
    if (child == 0) {
        char c;
        close(hold[1]);
        _exit((int)read(hold[0], &c, 1));
    }
    ops->disconnect(ep);
    WT_UNTIL(&b, NULL, b.n_closed == 1);
    wt_node_drain(&a); /* no event of the freed endpoint */
    ops->close(a.t);
    struct wi_ep *late = wt_dial(&b, a.address);
    WT_UNTIL(&b, NULL, b.n_closed == 2);
    cr_assert_not_null(strstr(b.reason, "nobody listens"), "%s", b.reason);
    close(hold[0]);
    close(hold[1]);
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    ops->disconnect(late);
    ops->disconnect(b.accepted);
    ops->close(b.t);
}

/* In the child, where assertions do not report: connect, map, write, die.
 * Every failure is an exit code that the parent checks. */
static _Noreturn void write_and_die(const char *address)
{
    char name[64];
    struct wi_transport_params params = {.name = name};
    struct wi_transport *t;
    struct wi_ep *ep;
    struct wi_event ev;
    void *at;
    struct pollfd p = {.events = POLLIN};
    (void)snprintf(name, sizeof(name), "victim-%ld", (long)getpid());
    if (ops->open(&params, &t, NULL) != WEIR_OK ||
        ops->connect(t, address, &ep, NULL) != WEIR_OK) {
        _exit(10);
    }
    p.fd = ops->fd(t);
    while (poll(&p, 1, WT_PATIENCE_MS) > 0) {
        uint64_t key;
        if (ops->poll(t, 1, &ev, 1) == 0 || ev.kind != WI_EV_MESSAGE) {
            continue;
        }
        memcpy(&key, ev.bytes, sizeof(key));
        if (ops->map(ep, key, 65536, WI_ACCESS_BOTH, &at, NULL) != WEIR_OK) {
            _exit(11);
        }
        memset(at, 0x5a, 65536);
        raise(SIGKILL);
    }
    _exit(12);
}

Test(shm, killed_peer_leaves_nothing_behind, .timeout = 60)
{
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_mem mem;
    wt_node_init(&a, "survivor", 4);
    cr_assert_eq(ops->mem_open(a.t, 65536, &mem, &err), WEIR_OK);
    int before = wt_fd_count();
    for (int round = 0; round < 3; round++) {
        uint64_t key = 0;
        uint32_t closed = a.n_closed, accepted = a.n_accepted;
        pid_t child = fork();
        if (child == 0) {
            write_and_die(a.address);
        }
        WT_UNTIL(&a, NULL, a.n_accepted > accepted);
        cr_assert_eq(ops->grant(a.accepted, &mem, WI_ACCESS_BOTH, &key, &err),
                     WEIR_OK);
        cr_assert_eq(ops->send(a.accepted, &key, sizeof(key)), WEIR_OK);
        cr_assert_eq(ops->kick(a.accepted), WEIR_OK);
        WT_UNTIL(&a, NULL, a.n_closed > closed);
        int status = 0;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                  "status %x", (unsigned)status);
        char who[32];
        snprintf(who, sizeof(who), "(pid %d)", (int)child);
        cr_assert_not_null(strstr(a.reason, who), "%s", a.reason);
        const uint8_t *bytes = mem.base;
        cr_assert(bytes[0] == 0x5a && bytes[65535] == 0x5a);
        memset(mem.base, 0, 65536);
        ops->disconnect(a.accepted);
        cr_assert_eq(wt_fd_count(), before);
    }
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
}

/* ---- threads ------------------------------------------------------------ */

enum { STREAM = 60000 };

struct stream {
    struct wi_ep *ep;
    int wake[2]; /* the poller wakes the sender */
    int full[2]; /* the sender has no room: the poller begins */
};

/* Sends numbers; after AGAIN it sleeps until the poller saw SENDABLE. */
static void *send_stream(void *arg)
{
    struct stream *s = arg;
    bool full = false;
    for (uint64_t i = 0; i < STREAM; i++) {
        uint64_t m[16] = {i};
        while (ops->send(s->ep, m, (uint32_t)(8 + i % 120)) == WEIR_AGAIN) {
            char c;
            (void)ops->kick(s->ep);
            if ((!full && write(s->full[1], "!", 1) != 1) ||
                read(s->wake[0], &c, 1) != 1) {
                return NULL;
            }
            full = true;
        }
        if (i % 5 == 0) {
            (void)ops->kick(s->ep);
        }
    }
    while (ops->kick(s->ep) == WEIR_AGAIN) {
        char c;
        if (read(s->wake[0], &c, 1) != 1) {
            return NULL;
        }
    }
    return s;
}

/* One thread sends under back-pressure, another one polls both ends: every
 * number arrives once and in order, and no wake-up is lost. */
Test(shm, sender_and_poller_in_two_threads, .timeout = 120)
{
    struct wt_node a, b;
    wt_node_init(&a, "talker", 4);
    wt_node_init(&b, "listener", 4);
    struct stream s = {.ep = wt_link(&a, &b)};
    cr_assert_eq(pipe(s.wake), 0);
    cr_assert_eq(pipe(s.full), 0);
    pthread_t sender;
    cr_assert_eq(pthread_create(&sender, NULL, send_stream, &s), 0);
    uint64_t next = 0;
    char full;
    cr_assert_eq(read(s.full[0], &full, 1), 1);
    while (next < STREAM) {
        struct wi_event ev[WT_EVENTS];
        uint32_t sent = a.n_sendable;
        wt_node_drain(&a);
        for (; sent < a.n_sendable; sent++) {
            cr_assert_eq(write(s.wake[1], "!", 1), 1);
        }
        uint32_t n = ops->poll(b.t, 1, ev, 3);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t got;
            cr_assert_eq(ev[i].kind, WI_EV_MESSAGE);
            cr_assert_eq(ev[i].len, 8 + next % 120);
            memcpy(&got, ev[i].bytes, sizeof(got));
            cr_assert_eq(got, next);
            next++;
        }
        struct pollfd p[2] = {{.fd = ops->fd(a.t), .events = POLLIN},
                              {.fd = ops->fd(b.t), .events = POLLIN}};
        if (n == 0 && ops->arm(b.t) == WEIR_OK) {
            cr_assert_gt(poll(p, 2, WT_PATIENCE_MS), 0, "stuck at %llu",
                         (unsigned long long)next);
        }
    }
    /* The last kick may still wait for a SENDABLE that comes after the last
     * message: let it go. */
    close(s.wake[1]);
    void *done = NULL;
    cr_assert_eq(pthread_join(sender, &done), 0);
    cr_assert(a.n_sendable > 0, "there was no back-pressure to test");
    close(s.wake[0]);
    close(s.full[0]);
    close(s.full[1]);
    ops->disconnect(s.ep);
    ops->disconnect(b.accepted);
    ops->close(a.t);
    ops->close(b.t);
}
