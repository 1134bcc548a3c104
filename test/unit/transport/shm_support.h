/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the tests of the transport "shm" share: a node, a pair of connected
 * nodes, a raw socket that plays a foreign or broken peer, and waiting that
 * sleeps in poll(2) until an event is there.
 */
#ifndef WT_SHM_SUPPORT_H
#define WT_SHM_SUPPORT_H

#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/shm/shm.h"

enum { WT_EVENTS = 16, WT_PATIENCE_MS = 20000 };

/** One transport and what was seen at it. */
struct wt_node {
    struct wi_transport *t;
    char name[64];
    char address[WI_ADDRESS_BYTES];
    uint64_t now_ns;
    struct wi_ep *accepted; /* the last one */
    uint32_t n_accepted, n_connected, n_messages, n_sendable, n_closed;
    char reason[WI_REASON_BYTES]; /* of the last CLOSED */
    char text[64];                /* the last message, cut */
};

static inline void wt_node_init(struct wt_node *n, const char *name,
                                uint32_t max_links)
{
    struct weir_error err = {0};
    *n = (struct wt_node){.now_ns = 1};
    snprintf(n->name, sizeof(n->name), "%s-%d", name, (int)getpid());
    struct wi_transport_params params = {.name = n->name,
                                         .max_links = max_links};
    cr_assert_eq(wi_shm_ops.open(&params, &n->t, &err), WEIR_OK, "%s",
                 err.message);
    wi_shm_ops.address(n->t, n->address);
}

static inline void wt_node_record(struct wt_node *n, const struct wi_event *ev)
{
    switch (ev->kind) {
    case WI_EV_ACCEPTED:
        n->n_accepted++;
        n->accepted = ev->ep;
        break;
    case WI_EV_CONNECTED:
        n->n_connected++;
        break;
    case WI_EV_SENDABLE:
        n->n_sendable++;
        break;
    case WI_EV_CLOSED:
        n->n_closed++;
        snprintf(n->reason, sizeof(n->reason), "%s", ev->reason);
        break;
    case WI_EV_MESSAGE:
        n->n_messages++;
        snprintf(n->text, sizeof(n->text), "%.*s", (int)ev->len,
                 (const char *)ev->bytes);
        break;
    case WI_EV_READ_DONE:
    default:
        cr_assert_fail("event %d", (int)ev->kind);
    }
}

/** Poll until nothing is left to do now. */
static inline uint32_t wt_node_drain(struct wt_node *n)
{
    struct wi_event events[WT_EVENTS];
    uint32_t got, all = 0;
    do {
        got = wi_shm_ops.poll(n->t, n->now_ns, events, WT_EVENTS);
        for (uint32_t i = 0; i < got; i++) {
            wt_node_record(n, &events[i]);
        }
        all += got;
    } while (got > 0 || wi_shm_ops.arm(n->t) == WEIR_AGAIN);
    return all;
}

/** Is the descriptor that an engine sleeps on readable right now? */
static inline bool wt_node_stirs(struct wt_node *n)
{
    struct pollfd p = {.fd = wi_shm_ops.fd(n->t), .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/** Does the descriptor come to rest? One that is readable without an event
 *  stays so; the transport's own timer is let fire a few times. */
static inline bool wt_node_rests(struct wt_node *n)
{
    for (int i = 0; i < 100; i++) {
        if (!wt_node_stirs(n)) {
            return true;
        }
        wt_node_drain(n);
    }
    return false;
}

/** Drain both until neither stirs. */
static inline void wt_drain_both(struct wt_node *a, struct wt_node *b)
{
    while (wt_node_stirs(b) || wt_node_stirs(a)) {
        wt_node_drain(b);
        wt_node_drain(a);
    }
}

/** Drain both (b may be NULL), then sleep until one stirs. */
static inline void wt_turn(struct wt_node *a, struct wt_node *b)
{
    uint32_t got = wt_node_drain(a) + (b != NULL ? wt_node_drain(b) : 0);
    struct pollfd p[2] = {
        {.fd = wi_shm_ops.fd(a->t), .events = POLLIN},
        {.fd = b != NULL ? wi_shm_ops.fd(b->t) : -1, .events = POLLIN}};
    if (got == 0) {
        cr_assert_gt(poll(p, 2, WT_PATIENCE_MS), 0, "nothing more happens");
    }
}

#define WT_UNTIL(a, b, cond)                                                   \
    do {                                                                       \
        while (!(cond)) {                                                      \
            wt_turn((a), (b));                                                 \
        }                                                                      \
    } while (0)

static inline struct wi_ep *wt_dial(struct wt_node *from, const char *address)
{
    struct weir_error err = {0};
    struct wi_ep *ep = NULL;
    cr_assert_eq(wi_shm_ops.connect(from->t, address, &ep, &err), WEIR_OK, "%s",
                 err.message);
    return ep;
}

/** Connect a to b; b's end is b->accepted. */
static inline struct wi_ep *wt_link(struct wt_node *a, struct wt_node *b)
{
    uint32_t up = a->n_connected, in = b->n_accepted;
    struct wi_ep *ep = wt_dial(a, b->address);
    WT_UNTIL(a, b, a->n_connected > up && b->n_accepted > in);
    return ep;
}

static inline void wt_say(struct wi_ep *ep, const char *text)
{
    cr_assert_eq(wi_shm_ops.send(ep, text, (uint32_t)strlen(text)), WEIR_OK);
    cr_assert_eq(wi_shm_ops.kick(ep), WEIR_OK);
}

/** Open descriptors of this process. */
static inline int wt_fd_count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    cr_assert_not_null(dir);
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n;
}

/* ---- raw sockets ------------------------------------------------------- */

static inline int wt_raw_connect(const char *name)
{
    struct sockaddr_un sa;
    socklen_t len = 0;
    cr_assert(wi_shm_sockaddr(name, &sa, &len));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&sa, len), 0, "%s",
                 strerror(errno));
    return fd;
}

static inline int wt_raw_listen(const char *name, int type, int backlog)
{
    struct sockaddr_un sa;
    socklen_t len = 0;
    cr_assert(wi_shm_sockaddr(name, &sa, &len));
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&sa, len), 0);
    cr_assert_eq(listen(fd, backlog), 0);
    return fd;
}

/** One packet, with a descriptor unless passed_fd is -1. */
static inline void wt_raw_send(int fd, const void *bytes, size_t len,
                               int passed_fd)
{
    char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
    struct iovec iov = {(void *)bytes, len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (passed_fd >= 0) {
        msg.msg_control = control;
        msg.msg_controllen = sizeof(control);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &passed_fd, sizeof(int));
    }
    cr_assert_eq(sendmsg(fd, &msg, MSG_NOSIGNAL), (ssize_t)len, "%s",
                 strerror(errno));
}

static inline void wt_raw_greet(int fd)
{
    struct {
        struct shm_head head;
        struct shm_greeting greeting;
    } p = {{SHM_GREET, sizeof(p.greeting)},
           {SHM_MAGIC, SHM_VERSION, SHM_PACKET_BYTES}};
    wt_raw_send(fd, &p, sizeof(p), -1);
}

#endif /* WT_SHM_SUPPORT_H */
