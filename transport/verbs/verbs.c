/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs transport: opening, polling, sleeping. See verbs.h for the picture.
 *
 * poll looks at the completion queue, which costs no system call, and at the
 * descriptors (rdma_cm, asynchronous events, timer) only after a sleep that
 * brought no completion, and once in VB_LOOK_NS while there is traffic.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/forks.h"
#include "transport/verbs/cq.h"
#include "transport/verbs/mr.h"
#include "transport/verbs/receive.h"
#include "transport/verbs/timer.h"
#include "transport/verbs/verbs.h"

enum { DEFAULT_LINKS = 64, SOURCES = 5 };

/* ---- descriptors --------------------------------------------------------- */

static void not_blocking(int fd)
{
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* What epoll names. */
static void *const what_cm = &(char){0};
static void *const what_cq = &(char){0};
static void *const what_async = &(char){0};
static void *const what_timer = &(char){0};
static void *const what_wake = &(char){0};

static weir_err open_descriptors(struct vb_transport *t, struct weir_error *err)
{
    t->epoll_fd = wi_fd_open(epoll_create1(EPOLL_CLOEXEC));
    t->timer_fd =
        wi_fd_open(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    t->wake_fd = wi_fd_open(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    const struct {
        int fd;
        void *what;
    } sources[SOURCES] = {{t->cm->fd, what_cm},
                          {t->channel->fd, what_cq},
                          {t->ctx->async_fd, what_async},
                          {t->timer_fd, what_timer},
                          {t->wake_fd, what_wake}};
    not_blocking(t->channel->fd);
    not_blocking(t->ctx->async_fd);
    for (size_t i = 0; i < SOURCES; i++) {
        struct epoll_event ev = {.events = EPOLLIN,
                                 .data.ptr = sources[i].what};
        (void)wi_fd_keep(sources[i].fd);
        if (epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, sources[i].fd, &ev) != 0) {
            return wi_fail_errno(err, errno,
                                 "descriptors of the verbs transport (if out "
                                 "of them: raise ulimit -n)");
        }
    }
    return WEIR_OK;
}

/* ---- open and close ------------------------------------------------------ */

static bool open_tables(struct vb_transport *t)
{
    uint32_t n = 16;
    while (n < 4 * t->max_eps) {
        n *= 2;
    }
    t->by_qp_mask = n - 1;
    t->by_qp = calloc(n, sizeof(struct vb_ep *));
    t->by_idx = calloc(t->max_eps, sizeof(struct vb_ep *));
    return t->by_qp != NULL && t->by_idx != NULL;
}

static void close_list(struct wi_list *list)
{
    wi_list_each(n, list)
    {
        wi_vb_ep_close(wi_container_of(n, struct vb_ep, all));
    }
}

/* Endpoints whose time is over. */
static void expire(struct vb_transport *t)
{
    struct wi_list *const lists[] = {&t->greeting, &t->linger};
    for (size_t i = 0; i < WI_ARRAY_LEN(lists); i++) {
        wi_list_each(n, lists[i])
        {
            struct vb_ep *ep = wi_container_of(n, struct vb_ep, all);
            if (ep->until_ns <= t->now_ns) {
                wi_vb_ep_close(ep);
            }
        }
    }
}

/* Let last messages go. */
static void flush_linger(struct vb_transport *t)
{
    uint64_t until = wi_clock_now() + VB_LINGER_NS / 4;
    struct wi_event events[16];
    while (!wi_list_empty(&t->linger) && !t->dead) {
        uint64_t now = wi_clock_now();
        wi_vb_refill(t);
        while (wi_vb_cq_poll(t, events, WI_ARRAY_LEN(events)) != 0) {
            wi_vb_refill(t);
        }
        expire(t);
        if (now >= until || wi_list_empty(&t->linger)) {
            return;
        }
        if (wi_vb_cq_arm(t) == WEIR_OK) {
            struct pollfd fd = {.fd = t->channel->fd, .events = POLLIN};
            (void)poll(&fd, 1, (int)((until - now) / 1000000u) + 1);
            wi_vb_cq_drain(t);
        }
    }
}

/* Everything that is held of the device, except endpoints. */
static void release(struct vb_transport *t)
{
    if (t->released) {
        return;
    }
    t->released = true;
    if (t->listen_id != NULL) {
        (void)rdma_destroy_id(t->listen_id);
        t->listen_id = NULL;
    }
    wi_vb_slabs_close(t);
    wi_vb_mems_release(t);
    if (t->epoll_fd >= 0 && t->ctx != NULL && t->channel != NULL) {
        (void)epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, t->channel->fd, NULL);
        (void)epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, t->ctx->async_fd, NULL);
    }
    wi_vb_dev_close(t);
}

static void verbs_close(struct wi_transport *base)
{
    struct vb_transport *t = vb_of(base);
    if (!t->released && t->cq != NULL) {
        flush_linger(t);
    }
    close_list(&t->eps);
    close_list(&t->greeting);
    close_list(&t->linger);
    release(t);
    if (t->cm != NULL) {
        wi_fd_leave(t->cm->fd);
        rdma_destroy_event_channel(t->cm);
    }
    wi_fd_close(t->epoll_fd);
    wi_fd_close(t->timer_fd);
    wi_fd_close(t->wake_fd);
    (void)pthread_mutex_destroy(&t->mem_lock);
    free(t->by_qp);
    free(t->by_idx);
    free(t->bufs);
    free(t->buf_lkey);
    free(t->held);
    free(t->held_by);
    free(t->stash);
    free(t);
}

static struct vb_transport *make(const struct wi_transport_params *params)
{
    struct vb_transport *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    t->base.ops = &wi_verbs_ops;
    t->base.networked = true;
    t->epoll_fd = t->timer_fd = t->wake_fd = -1;
    t->max_links = params->max_links != 0 ? params->max_links : DEFAULT_LINKS;
    t->max_eps = t->max_links + t->max_links / 2 + 8;
    (void)pthread_mutex_init(&t->mem_lock, NULL);
    wi_list_init(&t->mems);
    wi_list_init(&t->eps);
    wi_list_init(&t->greeting);
    wi_list_init(&t->linger);
    wi_list_init(&t->ready);
    wi_list_init(&t->owing);
    wi_list_init(&t->unheard);
    wi_list_init(&t->slabs);
    wi_list_init(&t->spare_slabs);
    return t;
}

static weir_err verbs_open(const struct wi_transport_params *params,
                           struct wi_transport **out, struct weir_error *err)
{
    const struct wi_vb_options *options = params->arg;
    bool no_srq = options != NULL && options->no_srq;
    struct vb_transport *t = make(params);
    if (t == NULL || !open_tables(t)) {
        if (t != NULL) {
            verbs_close(&t->base);
        }
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a transport");
    }
    /* Keeps kernels before 5.12 from copying registered pages that are
     * written after a fork; later ones need nothing. */
    (void)ibv_fork_init();
    weir_err rc = wi_vb_listen(t, params->listen, params->advertise, err);
    if (rc == WEIR_OK) {
        rc = wi_vb_dev_open(t, t->listen_id, no_srq, err);
    }
    if (rc == WEIR_OK) {
        rc = wi_vb_cq_open(t, err);
    }
    if (rc == WEIR_OK) {
        wi_vb_dev_probe(t);
        rc = open_descriptors(t, err);
    }
    if (rc != WEIR_OK) {
        verbs_close(&t->base);
        return rc;
    }
    *out = &t->base;
    return WEIR_OK;
}

static void verbs_address(struct wi_transport *base, char *text)
{
    memcpy(text, vb_of(base)->address, WI_ADDRESS_BYTES);
}

/* ---- events that are not completions ------------------------------------- */

static WI_COLD void take_async(struct vb_transport *t)
{
    struct ibv_async_event ev;
    while (!t->released && ibv_get_async_event(t->ctx, &ev) == 0) {
        struct vb_ep *ep = NULL;
        enum ibv_event_type type = ev.event_type;
        if (type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
            type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_COMM_EST) {
            ep = wi_vb_ep_find(t, ev.element.qp->qp_num);
        }
        ibv_ack_async_event(&ev);
        if (type == IBV_EVENT_DEVICE_FATAL) {
            wi_vb_all_lost(t, "the device %s failed or was removed",
                           t->dev.name);
        } else if (type == IBV_EVENT_CQ_ERR || type == IBV_EVENT_SRQ_ERR) {
            wi_vb_all_lost(t, "%s: %s", t->dev.name, ibv_event_type_str(type));
        } else if (type == IBV_EVENT_COMM_EST && ep != NULL) {
            (void)rdma_notify(ep->id, type);
        } else if (ep != NULL) {
            ep->deaf = true;
            wi_vb_ep_lose(ep, "%s broke the rules of the connection: %s",
                          ep->peer, ibv_event_type_str(type));
        }
    }
}

/* A thread that posts has found its link broken. */
static WI_COLD void take_faults(struct vb_transport *t)
{
    uint64_t count;
    (void)!read(t->wake_fd, &count, sizeof(count));
    wi_list_each(n, &t->eps)
    {
        struct vb_ep *ep = wi_container_of(n, struct vb_ep, all);
        if (wi_load_rlx(&ep->fault)) { /* rlx: read(2) above orders */
            wi_vb_ep_lose(ep, "%s: a request was not taken by %s", ep->peer,
                          t->dev.name);
        }
    }
}

static void look(struct vb_transport *t)
{
    struct epoll_event evs[SOURCES];
    int n = epoll_wait(t->epoll_fd, evs, SOURCES, 0);
    bool faults = false;
    t->looked_ns = t->now_ns;
    t->napped = false;
    for (int i = 0; i < n; i++) {
        void *what = evs[i].data.ptr;
        if (what == what_timer) {
            uint64_t ticks;
            (void)!read(t->timer_fd, &ticks, sizeof(ticks));
            t->timer_ns = 0;
        } else if (what == what_cq) {
            wi_vb_cq_drain(t);
        } else if (what == what_async) {
            take_async(t);
        } else if (what == what_wake) {
            faults = true;
        } else {
            wi_vb_cm_poll(t);
        }
    }
    if (faults) {
        take_faults(t); /* last: others know better what has happened */
    }
}

/* ---- poll ---------------------------------------------------------------- */

static uint32_t report(struct vb_ep *ep, uint32_t todo, enum wi_event_kind kind,
                       struct wi_event *events, uint32_t max)
{
    if ((ep->todo & todo) == 0 || max == 0) {
        return 0;
    }
    ep->todo &= ~todo;
    events[0] = (struct wi_event){.kind = kind, .ep = &ep->base};
    if (kind == WI_EV_CLOSED) {
        events[0].reason = ep->reason;
        events[0].hung_up = ep->refused;
    }
    return 1;
}

static uint32_t report_reads(struct vb_ep *ep, struct wi_event *events,
                             uint32_t max)
{
    uint32_t n = 0;
    while (n < max && ep->reads_to_report > 0) {
        events[n++] =
            (struct wi_event){.kind = WI_EV_READ_DONE, .ep = &ep->base};
        ep->reads_to_report--;
    }
    if (ep->reads_to_report == 0) {
        ep->todo &= ~(uint32_t)VB_TODO_READ_DONE;
    }
    return n;
}

static uint32_t step(struct vb_transport *t, struct vb_ep *ep,
                     struct wi_event *events, uint32_t max)
{
    uint32_t n = report(ep, VB_TODO_UP, WI_EV_CONNECTED, events, max);
    n += report_reads(ep, events + n, max - n);
    n += report(ep, VB_TODO_SENDABLE, WI_EV_SENDABLE, events + n, max - n);
    /* Last: after every message that came before it. */
    if (ep->todo == VB_TODO_CLOSED && (t->dead || wi_vb_cq_idle(t))) {
        n += report(ep, VB_TODO_CLOSED, WI_EV_CLOSED, events + n, max - n);
    }
    return n;
}

static uint32_t take_ready(struct vb_transport *t, struct wi_event *events,
                           uint32_t max)
{
    struct wi_list again;
    struct wi_list *node;
    uint32_t n = 0;
    wi_list_init(&again);
    while (n < max && (node = wi_list_take(&t->ready)) != NULL) {
        struct vb_ep *ep = wi_container_of(node, struct vb_ep, ready);
        n += step(t, ep, events + n, max - n);
        if (ep->todo != 0) {
            wi_list_push_back(&again, &ep->ready);
        }
    }
    while ((node = wi_list_take(&again)) != NULL) {
        wi_list_push_back(&t->ready, node);
    }
    return n;
}

/* CONNECTED of endpoints that wait to be reported: before their messages. */
static uint32_t take_ups(struct vb_transport *t, struct wi_event *events,
                         uint32_t max)
{
    uint32_t n = 0;
    wi_list_each(node, &t->ready)
    {
        struct vb_ep *ep = wi_container_of(node, struct vb_ep, ready);
        n += report(ep, VB_TODO_UP, WI_EV_CONNECTED, events + n, max - n);
        if (ep->todo == 0) {
            wi_list_remove(&ep->ready);
        }
    }
    return n;
}

static bool look_due(const struct vb_transport *t)
{
    return t->napped || t->now_ns - t->looked_ns >= VB_LOOK_NS;
}

static uint32_t verbs_poll(struct wi_transport *base, uint64_t now_ns,
                           struct wi_event *events, uint32_t max)
{
    struct vb_transport *t = vb_of(base);
    uint32_t n = 0;
    t->now_ns = now_ns;
    if (!t->released) {
        wi_vb_refill(t);
        n = take_ups(t, events, max);
        uint32_t before = n;
        n += wi_vb_cq_poll(t, events + n, max - n);
        if (n != before) {
            t->napped = false; /* that is what ended the sleep */
        }
        if (look_due(t)) {
            look(t);
        }
        expire(t);
        wi_vb_pay(t, 0);
        wi_vb_nudge(t);
    }
    n += take_ready(t, events + n, max - n);
    if (t->dead && !t->released && wi_list_empty(&t->eps) &&
        wi_list_empty(&t->greeting) && wi_list_empty(&t->linger)) {
        release(t); /* or the device cannot go */
    }
    return n;
}

/* ---- sleep --------------------------------------------------------------- */

static weir_err verbs_arm(struct wi_transport *base)
{
    struct vb_transport *t = vb_of(base);
    if (t->released) {
        return wi_list_empty(&t->ready) ? WEIR_OK : WEIR_AGAIN;
    }
    wi_vb_refill(t);
    wi_vb_pay(t, VB_ACK_SOON_NS);
    if (!wi_list_empty(&t->ready) || !wi_vb_cq_idle(t) ||
        wi_vb_cq_arm(t) != WEIR_OK) {
        return WEIR_AGAIN;
    }
    wi_vb_set_timer(t);
    t->napped = true;
    return WEIR_OK;
}

static int verbs_fd(struct wi_transport *base)
{
    return vb_of(base)->epoll_fd;
}

/* Each write costs a request. Over iWARP it is one TCP segment, of at most
 * 64 KiB with the headers of IP, TCP, MPA and DDP in it: a write of 64 KiB
 * would take a second segment for its end. */
#define WRITE_BYTES 65408u

const struct wi_transport_ops wi_verbs_ops = {
    .name = "verbs",
    .caps = WI_CAP_WRITE | WI_CAP_READ | WI_CAP_FD,
    .max_message_bytes = VB_MESSAGE_BYTES,
    .usual_frame_bytes = WRITE_BYTES,
    .write_bytes = WRITE_BYTES,
    .open = verbs_open,
    .close = verbs_close,
    .address = verbs_address,
    .mem_open = wi_vb_mem_open,
    .mem_reserve = wi_vb_mem_open,
    .mem_take = wi_all_taken,
    .mem_borrow = wi_vb_mem_borrow,
    .mem_close = wi_vb_mem_close,
    .grant = wi_vb_grant,
    .ungrant = wi_vb_ungrant,
    .map = wi_no_map,
    .unmap = wi_no_unmap,
    .check = wi_vb_check,
    .connect = wi_vb_connect,
    .connect_next = wi_no_next,
    .why = wi_plain_why,
    .disconnect = wi_vb_disconnect,
    .send = wi_vb_send,
    .write = wi_vb_write,
    .read = wi_vb_read,
    .kick = wi_vb_kick,
    .poll = verbs_poll,
    .arm = verbs_arm,
    .fd = verbs_fd,
};
