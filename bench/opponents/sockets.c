/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets opponent: connections, and the reader thread. What its workers
 * do is in sockets_worker.c.
 *
 * A socket per pair of workers of different nodes: the node with the higher
 * number connects, and says in a hello which two workers it is for. The listen
 * backlog takes the connects, so all nodes connect first and accept afterwards.
 */
#define _GNU_SOURCE 1
#include "bench/opponents/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/opponents/sockets_node.h"
#include "core/base/err.h"

/* Messages taken from one socket before the others get their turn. */
#define READS_PER_TURN 4

#define HELLO_MAGIC 0x57425348u

struct hello {
    uint32_t magic;
    uint32_t from; /* worker of the connecting node, by id */
    uint32_t to;   /* worker of the listening node, by id */
};

/* ---- connections --------------------------------------------------------- */

static weir_err listen_loopback(int *fd_out, uint16_t *port_out,
                                struct weir_error *err)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return wi_fail_errno(err, errno, "socket");
    }
    struct sockaddr_in a = {.sin_family = AF_INET};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t len = sizeof(a);
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
        listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) != 0) {
        weir_err rc = wi_fail_errno(err, errno, "listen on loopback");
        (void)close(fd);
        return rc;
    }
    *fd_out = fd;
    *port_out = ntohs(a.sin_port);
    return WEIR_OK;
}

static weir_err read_hello(int fd, struct hello *h, struct weir_error *err)
{
    ssize_t n = recv(fd, h, sizeof(*h), MSG_WAITALL);
    if (n != (ssize_t)sizeof(*h) || h->magic != HELLO_MAGIC) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL, "no hello on a socket");
    }
    return WEIR_OK;
}

/* Take over a connected socket between a worker of ours and one of a peer. */
static weir_err add_socket(struct wb_sockets *s, int fd, uint32_t ours,
                           uint32_t theirs, struct weir_error *err)
{
    int one = 1;
    struct wb_conn *c = &s->conns[s->n_conns++];
    *c =
        (struct wb_conn){.fd = fd, .peer = theirs, .worker = ours % s->workers};
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0) {
        return wi_fail_errno(err, errno, "TCP_NODELAY");
    }
    s->fd[(size_t)c->worker * s->all_workers + theirs] = fd;
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) != 0) {
        return wi_fail_errno(err, errno, "epoll_ctl");
    }
    return WEIR_OK;
}

static weir_err connect_one(struct wb_sockets *s, uint32_t ours,
                            uint32_t theirs, struct weir_error *err)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons((uint16_t)atoi(s->node->address[theirs / s->workers]));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return wi_fail_errno(err, errno,
                             "socket %u (raise ulimit -n to more than %u)",
                             s->n_conns, s->max_conns);
    }
    struct hello h = {.magic = HELLO_MAGIC, .from = ours, .to = theirs};
    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
        send(fd, &h, sizeof(h), MSG_NOSIGNAL) != (ssize_t)sizeof(h)) {
        weir_err rc = wi_fail_errno(err, errno, "connect to worker %u", theirs);
        (void)close(fd);
        return rc;
    }
    return add_socket(s, fd, ours, theirs, err);
}

static weir_err accept_one(struct wb_sockets *s, struct weir_error *err)
{
    int fd = accept4(s->listen, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        return wi_fail_errno(err, errno, "accept");
    }
    struct hello h = {.magic = 0};
    weir_err rc = read_hello(fd, &h, err);
    if (rc == WEIR_OK &&
        (h.from >= s->all_workers || h.to / s->workers != s->node->self)) {
        rc = wi_fail(err, WEIR_ERR_PEER_PROTOCOL, "hello from %u to %u", h.from,
                     h.to);
    }
    if (rc != WEIR_OK) {
        (void)close(fd);
        return rc;
    }
    return add_socket(s, fd, h.to, h.from, err);
}

/* ---- the reader thread --------------------------------------------------- */

/* The message in c->buffer is complete: queue it, and go on with what was
 * received beyond its end. */
static weir_err pass_message(struct wb_sockets *s, struct wb_conn *c)
{
    struct wb_buffer *b = c->buffer;
    uint32_t bytes = b->message.bytes;
    uint32_t more = b->filled - bytes;
    struct wb_buffer *next = NULL;
    if (more > 0) {
        next = wb_pool_take(&s->pool);
        if (next == NULL) {
            return WEIR_ERR_NO_MEMORY;
        }
        memcpy(&next->message, (const uint8_t *)&b->message + bytes, more);
        next->filled = more;
    }
    b->source = c->peer;
    wb_queue_put(&s->queues[c->worker], b);
    c->buffer = next;
    return WEIR_OK;
}

static bool bad_header(const struct wb_message *m)
{
    return m->bytes < sizeof(*m) || m->bytes > WB_BUFFER_BYTES ||
           m->bytes % 8 != 0 || m->stage >= WB_STAGES;
}

static weir_err pass_messages(struct wb_sockets *s, struct wb_conn *c)
{
    while (c->buffer != NULL &&
           c->buffer->filled >= sizeof(c->buffer->message)) {
        if (bad_header(&c->buffer->message)) {
            return WEIR_ERR_PEER_PROTOCOL;
        }
        if (c->buffer->filled < c->buffer->message.bytes) {
            return WEIR_OK;
        }
        weir_err rc = pass_message(s, c);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    return WEIR_OK;
}

/* Returns WEIR_DONE when the peer closed. */
static weir_err read_conn(struct wb_sockets *s, struct wb_conn *c)
{
    for (int turn = 0; turn < READS_PER_TURN; turn++) {
        if (c->buffer == NULL) {
            c->buffer = wb_pool_take(&s->pool);
            if (c->buffer == NULL) {
                return WEIR_ERR_NO_MEMORY;
            }
        }
        struct wb_buffer *b = c->buffer;
        size_t want = WB_BUFFER_BYTES - b->filled;
        ssize_t n =
            recv(c->fd, (uint8_t *)&b->message + b->filled, want, MSG_DONTWAIT);
        if (n <= 0) {
            bool later = n < 0 && (errno == EAGAIN || errno == EINTR);
            return later ? WEIR_OK : WEIR_DONE;
        }
        b->filled += (uint32_t)n;
        weir_err rc = pass_messages(s, c);
        if (rc != WEIR_OK || (size_t)n < want) {
            return rc; /* a short receive: the socket is empty for now */
        }
    }
    return WEIR_OK;
}

static void fail_queues(struct wb_sockets *s)
{
    for (uint32_t w = 0; w < s->workers; w++) {
        wb_queue_fail(&s->queues[w]);
    }
}

static void *reader_main(void *arg)
{
    struct wb_sockets *s = arg;
    struct epoll_event events[64];
    for (;;) {
        int n = epoll_wait(s->epoll, events, 64, -1);
        for (int i = 0; i < n; i++) {
            struct wb_conn *c = events[i].data.ptr;
            if (c == NULL) { /* the stop descriptor */
                return NULL;
            }
            weir_err rc = read_conn(s, c);
            if (rc != WEIR_OK) {
                /* A peer closes when all are done; if it was lost before, its
                 * rows are missing and the queues' end says so. */
                (void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->fd, NULL);
                fail_queues(s);
            }
        }
    }
}

/* ---- the engine ---------------------------------------------------------- */

static weir_err open_memory(struct wb_sockets *s, struct weir_error *err)
{
    s->conns = calloc((size_t)s->max_conns + 1, sizeof(*s->conns));
    s->fd = calloc((size_t)s->workers * s->all_workers, sizeof(*s->fd));
    s->queues = calloc(s->workers, sizeof(*s->queues));
    if (s->conns == NULL || s->fd == NULL || s->queues == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u sockets",
                       s->max_conns);
    }
    weir_err rc = wb_pool_init(&s->pool, err);
    for (uint32_t w = 0; w < s->workers && rc == WEIR_OK; w++) {
        rc = wb_queue_init(&s->queues[w], err);
    }
    return rc;
}

static weir_err open_descriptors(struct wb_sockets *s, uint16_t *port_out,
                                 struct weir_error *err)
{
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->stop = eventfd(0, EFD_CLOEXEC);
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
    if (s->epoll < 0 || s->stop < 0 ||
        epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->stop, &ev) != 0) {
        return wi_fail_errno(err, errno, "epoll");
    }
    return listen_loopback(&s->listen, port_out, err);
}

/* A failure ends the process (see wb_plan_run), so nothing is undone here. */
static weir_err sockets_open(const struct wb_node *node, void **out,
                             struct weir_error *err)
{
    struct wb_sockets *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a node");
    }
    uint32_t w = node->params.workers;
    s->node = node;
    s->workers = w;
    s->all_workers = w * node->params.nodes;
    s->max_conns = (node->params.nodes - 1) * w * w;
    uint16_t port = 0;
    weir_err rc = open_memory(s, err);
    if (rc == WEIR_OK) {
        rc = open_descriptors(s, &port, err);
    }
    if (rc == WEIR_OK) {
        (void)snprintf(node->address[node->self], WL_ADDRESS_BYTES, "%u", port);
        *out = s;
    }
    return rc;
}

static weir_err sockets_connect(void *engine, struct weir_error *err)
{
    struct wb_sockets *s = engine;
    uint32_t first = s->node->self * s->workers; /* our workers' ids */
    for (uint32_t theirs = 0; theirs < first; theirs++) {
        for (uint32_t w = 0; w < s->workers; w++) {
            weir_err rc = connect_one(s, first + w, theirs, err);
            if (rc != WEIR_OK) {
                return rc;
            }
        }
    }
    while (s->n_conns < s->max_conns) {
        weir_err rc = accept_one(s, err);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    int rc = pthread_create(&s->reader, NULL, reader_main, s);
    return rc == 0 ? WEIR_OK : wi_fail_errno(err, rc, "start the reader");
}

static weir_err sockets_work(void *engine, struct wb_worker *worker,
                             struct weir_error *err)
{
    return wb_sockets_work(engine, worker, err);
}

static void sockets_close(void *engine)
{
    struct wb_sockets *s = engine;
    uint64_t one = 1;
    if (write(s->stop, &one, sizeof(one)) == (ssize_t)sizeof(one)) {
        (void)pthread_join(s->reader, NULL);
    }
    for (uint32_t i = 0; i < s->n_conns; i++) {
        (void)close(s->conns[i].fd);
        free(s->conns[i].buffer);
    }
    (void)close(s->listen);
    (void)close(s->epoll);
    (void)close(s->stop);
    for (uint32_t w = 0; w < s->workers; w++) {
        wb_queue_fini(&s->queues[w]);
    }
    wb_pool_fini(&s->pool);
    free(s->queues);
    free(s->fd);
    free(s->conns);
    free(s);
}

const struct wb_engine_ops wb_sockets_engine = {
    .name = "sockets",
    .open = sockets_open,
    .connect = sockets_connect,
    .prepare = wb_no_step,
    .work = sockets_work,
    .settle = wb_no_step,
    .close = sockets_close,
};
