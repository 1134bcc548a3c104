/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport as a whole: one epoll over the listening socket, a timer and
 * the endpoints. Everything is level triggered, so what one poll leaves is
 * reported by the next.
 */
#include "transport/shm/shm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/forks.h"

static struct shm *shm_of(struct wi_transport *t)
{
    return wi_container_of(t, struct shm, base);
}

static void shm_close(struct wi_transport *base)
{
    struct shm *t = shm_of(base);
    while (t->waiting != NULL) {
        wi_shm_ep_free(t->waiting); /* strangers: the core knows none */
    }
    if (t->listen_fd >= 0) {
        /* A copy in a child must not go on taking connections. */
        (void)shutdown(t->listen_fd, SHUT_RDWR);
    }
    wi_fd_close(t->listen_fd);
    wi_fd_close(t->timer_fd);
    wi_fd_close(t->epoll_fd);
    free(t->slab);
    free(t);
}

static weir_err start_listening(struct shm *t, struct weir_error *err)
{
    struct sockaddr_un sa;
    socklen_t len;
    if (!wi_shm_sockaddr(t->name, &sa, &len)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "\"%s\" cannot be listened at: shm takes a name of 1 "
                       "to %d characters without white space",
                       t->name, SHM_NAME_BYTES - 1);
    }
    t->listen_fd = wi_fd_open(
        socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (t->listen_fd < 0) {
        return wi_shm_fail_fd(err, errno, "socket to listen at");
    }
    if (bind(t->listen_fd, (struct sockaddr *)&sa, len) != 0) {
        if (errno == EADDRINUSE) {
            return wi_fail(err, WEIR_ERR_SYSTEM,
                           "shm:%s is in use by another process, or held by "
                           "a child that got it by a bare clone(2); choose "
                           "another listen name",
                           t->name);
        }
        return wi_fail_errno(err, errno, "bind to shm:%s", t->name);
    }
    if (listen(t->listen_fd, SOMAXCONN) != 0) {
        return wi_fail_errno(err, errno, "listen at shm:%s", t->name);
    }
    return WEIR_OK;
}

static weir_err start_epoll(struct shm *t, struct weir_error *err)
{
    t->epoll_fd = wi_fd_open(epoll_create1(EPOLL_CLOEXEC));
    if (t->epoll_fd < 0) {
        return wi_shm_fail_fd(err, errno, "epoll_create1");
    }
    t->timer_fd =
        wi_fd_open(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (t->timer_fd < 0) {
        return wi_shm_fail_fd(err, errno, "timerfd_create");
    }
    int *fds[] = {&t->listen_fd, &t->timer_fd};
    for (size_t i = 0; i < WI_ARRAY_LEN(fds); i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = fds[i]};
        if (epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, *fds[i], &e) != 0) {
            return wi_fail_errno(err, errno, "epoll_ctl");
        }
    }
    return WEIR_OK;
}

static weir_err take_slots(struct shm *t, struct weir_error *err)
{
    const size_t bytes = (size_t)SHM_SLOTS * SHM_PACKET_BYTES;
    t->slab = aligned_alloc(WI_PAGE, bytes);
    if (t->slab == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "%zu bytes for packets", bytes);
    }
    for (size_t i = 0; i < SHM_SLOTS; i++) {
        t->slots[i] = t->slab + i * SHM_PACKET_BYTES;
    }
    return WEIR_OK;
}

static weir_err shm_open_node(const struct wi_transport_params *params,
                              struct wi_transport **out, struct weir_error *err)
{
    const char *name = params->listen != NULL ? params->listen : params->name;
    struct shm *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "%zu bytes for the transport",
                       sizeof(*t));
    }
    t->base.ops = &wi_shm_ops;
    t->epoll_fd = t->timer_fd = t->listen_fd = -1;
    t->due_ns = UINT64_MAX;
    t->max_links = params->max_links != 0 ? params->max_links : UINT32_MAX;
    t->proved = params->proved;
    wi_shm_own_spaces(&t->own);
    weir_err rc;
    if (params->advertise != NULL) {
        rc = wi_fail(err, WEIR_ERR_ARG,
                     "advertise: shm is reached by its name alone: listen at "
                     "\"%.60s\"",
                     params->advertise);
    } else if (name == NULL || strlen(name) >= sizeof(t->name)) {
        rc = wi_fail(err, WEIR_ERR_ARG,
                     "shm takes a name to listen at of 1 to %d characters",
                     SHM_NAME_BYTES - 1);
    } else {
        (void)snprintf(t->name, sizeof(t->name), "%s", name);
        rc = start_listening(t, err);
    }
    rc = rc == WEIR_OK ? start_epoll(t, err) : rc;
    rc = rc == WEIR_OK ? take_slots(t, err) : rc;
    if (rc != WEIR_OK) {
        shm_close(&t->base);
        return rc;
    }
    *out = &t->base;
    return WEIR_OK;
}

static void shm_address(struct wi_transport *t, char *text)
{
    (void)snprintf(text, WI_ADDRESS_BYTES, "shm:%s", shm_of(t)->name);
}

static void ep_ready(struct shm_ep *ep, uint32_t what, struct shm_events *out)
{
    if ((what & ~(uint32_t)EPOLLOUT) != 0) {
        wi_shm_read(ep, out);
    }
    if ((what & EPOLLOUT) != 0 && ep->state == SHM_OPEN && !wi_shm_full(out)) {
        struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = ep};
        (void)epoll_ctl(ep->t->epoll_fd, EPOLL_CTL_MOD, ep->fd, &e);
        wi_shm_ungrant_rest(ep);
        wi_shm_event(
            out, (struct wi_event){.kind = WI_EV_SENDABLE, .ep = &ep->base});
    }
}

/* False: there may be more to read. */
static bool collect(struct shm *t, struct shm_events *out)
{
    struct epoll_event ready[SHM_READY];
    bool knock = false;
    int n = epoll_wait(t->epoll_fd, ready, SHM_READY, 0);
    for (int i = 0; i < n; i++) {
        void *who = ready[i].data.ptr;
        if (who == &t->listen_fd) {
            knock = true;
        } else if (who == &t->timer_fd) {
            uint64_t ticks;
            (void)!read(t->timer_fd, &ticks, sizeof(ticks));
            t->due_ns = 0;
        } else if (!wi_shm_full(out)) {
            ep_ready(who, ready[i].events, out);
        }
    }
    if (knock) {
        wi_shm_accept(t); /* last: links that just ended make room */
    }
    return n < SHM_READY && !wi_shm_full(out) && t->n_slots < SHM_SLOTS;
}

static uint32_t shm_poll(struct wi_transport *base, uint64_t now_ns,
                         struct wi_event *events, uint32_t max)
{
    struct shm *t = shm_of(base);
    struct shm_events out = {events, 0, max};
    t->now_ns = now_ns;
    wi_shm_take_rest(t, &out);
    /* Read, then judge: after a node has slept, the answer may be there. */
    t->all_read = !wi_shm_full(&out) && collect(t, &out);
    if (t->due_ns <= now_ns) {
        wi_shm_step_waiting(t, &out);
    }
    return out.n;
}

static weir_err shm_arm(struct wi_transport *base)
{
    struct shm *t = shm_of(base);
    /* All else is level triggered and shows in the descriptor. */
    return t->rest.ep != NULL || t->due_ns == 0 ? WEIR_AGAIN : WEIR_OK;
}

static int shm_fd(struct wi_transport *t)
{
    return shm_of(t)->epoll_fd;
}

const struct wi_transport_ops wi_shm_ops = {
    .name = "shm",
    .caps = WI_CAP_MAP | WI_CAP_GRANT_STICKS | WI_CAP_FD | WI_CAP_LAZY,
    .max_message_bytes = SHM_MESSAGE_BYTES,
    .usual_frame_bytes = WI_USUAL_FRAME_BYTES,
    .open = shm_open_node,
    .close = shm_close,
    .address = shm_address,
    .mem_open = wi_shm_mem_open,
    .mem_reserve = wi_shm_mem_reserve,
    .mem_take = wi_shm_mem_take,
    .mem_borrow = wi_shm_mem_borrow,
    .mem_close = wi_shm_mem_close,
    .grant = wi_shm_grant,
    .ungrant = wi_shm_ungrant,
    .map = wi_shm_map,
    .unmap = wi_shm_unmap,
    .check = wi_shm_check,
    .connect = wi_shm_connect,
    .connect_next = wi_no_next,
    .why = wi_plain_why,
    .disconnect = wi_shm_disconnect,
    .send = wi_shm_send,
    .write = wi_no_rma,
    .read = wi_no_rma,
    .kick = wi_shm_kick,
    .poll = shm_poll,
    .arm = shm_arm,
    .fd = shm_fd,
};
