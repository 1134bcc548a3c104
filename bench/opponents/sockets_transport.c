/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets transport: listening, the reader thread, events. */
#define _GNU_SOURCE 1
#include "bench/opponents/sockets_transport.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench/opponents/sockets_link.h"
#include "core/base/atomic.h"
#include "core/base/err.h"
#include "core/base/inet.h"
#include "core/base/pages.h"

static const char prefix[] = "sockets:";
enum { EVENTS = 64 };

/* ---- the reader thread --------------------------------------------------- */

static void take_peer(struct wb_sockets_node *t)
{
    const int one = 1;
    struct wb_link *l = NULL;
    int fd = accept4(t->listen, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (wb_link_open(t, fd, &l, NULL) == WEIR_OK) {
        wb_event_put(t, wb_event_make(WI_EV_ACCEPTED, l, 0));
    }
}

/* Events that epoll has handed out may name a link that was disconnected since.
 * It is freed here, when there are none. */
static void free_gone(struct wb_sockets_node *t)
{
    while (t->gone != NULL) {
        struct wb_link *l = t->gone;
        t->gone = l->gone;
        free(l->message);
        wi_grants_fini(&l->grants);
        free(l);
    }
}

/* False: the node closes. */
static bool serve(struct wb_sockets_node *t, const struct epoll_event *ev)
{
    void *what = ev->data.ptr;
    struct wb_link *l = what;
    if (what == &t->stop) {
        return false;
    }
    if (what == &t->listen) {
        take_peer(t);
    } else if (!l->dead && !wi_load_rlx(&l->ended)) { /* under this lock */
        wb_link_ready(t, l, ev->events);
    }
    return true;
}

static void *reader_main(void *arg)
{
    struct wb_sockets_node *t = arg;
    bool on = true;
    while (on) {
        struct epoll_event ev[EVENTS];
        int n = epoll_wait(t->epoll, ev, EVENTS, -1);
        (void)pthread_mutex_lock(&t->lock);
        for (int i = 0; i < n && on; i++) {
            on = serve(t, &ev[i]);
        }
        free_gone(t);
        (void)pthread_mutex_unlock(&t->lock);
    }
    return NULL;
}

/* ---- node ---------------------------------------------------------------- */

static weir_err watch(struct wb_sockets_node *t, int fd, void *what,
                      struct weir_error *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = what};
    return fd >= 0 && epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &ev) == 0
               ? WEIR_OK
               : wi_fail_errno(err, errno, "sockets: epoll");
}

static weir_err listen_at(struct wb_sockets_node *t, const char *where,
                          struct weir_error *err)
{
    union wi_inet a;
    weir_err rc = wi_inet_decode(where != NULL ? where : "127.0.0.1:0",
                                 WI_INET_LISTEN, &a, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    socklen_t len = wi_inet_len(&a);
    t->listen = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (t->listen < 0 || bind(t->listen, &a.any, len) != 0 ||
        listen(t->listen, SOMAXCONN) != 0 ||
        getsockname(t->listen, &a.any, &len) != 0) {
        return wi_fail_errno(err, errno, "sockets: listen");
    }
    memcpy(t->address, prefix, sizeof(prefix));
    wi_inet_encode(&a, t->address + sizeof(prefix) - 1,
                   sizeof(t->address) - sizeof(prefix));
    return WEIR_OK;
}

static weir_err open_node(struct wb_sockets_node *t,
                          const struct wi_transport_params *params,
                          struct weir_error *err)
{
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    t->stop = eventfd(0, EFD_CLOEXEC);
    t->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    weir_err rc = watch(t, t->stop, &t->stop, err);
    if (rc == WEIR_OK) {
        rc = listen_at(t, params->listen, err);
    }
    if (rc == WEIR_OK) {
        rc = watch(t, t->listen, &t->listen, err);
    }
    if (rc == WEIR_OK) {
        int e = pthread_create(&t->reader, NULL, reader_main, t);
        rc = e == 0 ? WEIR_OK : wi_fail_errno(err, e, "sockets: reader");
    }
    return rc;
}

static void close_all(struct wb_sockets_node *t)
{
    const int fds[] = {t->listen, t->epoll, t->stop, t->news};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

static weir_err node_open(const struct wi_transport_params *params,
                          struct wi_transport **out, struct weir_error *err)
{
    struct wb_sockets_node *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a node");
    }
    t->base.ops = &wb_sockets_transport;
    t->listen = -1;
    wi_list_init(&t->events);
    wi_list_init(&t->shown);
    (void)pthread_mutex_init(&t->lock, NULL);
    weir_err rc = open_node(t, params, err);
    if (rc != WEIR_OK) {
        close_all(t);
        return rc;
    }
    *out = &t->base;
    return WEIR_OK;
}

static void free_events(struct wi_list *list)
{
    while (!wi_list_empty(list)) {
        free(wi_list_take(list)); /* `at` is its first member */
    }
}

static void node_close(struct wi_transport *base)
{
    struct wb_sockets_node *t = wb_node_of(base);
    uint64_t one = 1;
    if (write(t->stop, &one, sizeof(one)) == (ssize_t)sizeof(one)) {
        (void)pthread_join(t->reader, NULL);
    }
    free_events(&t->events);
    free_events(&t->shown);
    free_gone(t);
    close_all(t);
}

static void node_address(struct wi_transport *base, char *text)
{
    (void)snprintf(text, WI_ADDRESS_BYTES, "%s", wb_node_of(base)->address);
}

static weir_err mem_open(struct wi_transport *base, size_t bytes,
                         struct wi_mem *out, struct weir_error *err)
{
    void *at = NULL;
    (void)base;
    weir_err rc = wi_pages_open(bytes, &at, err);
    if (rc == WEIR_OK) {
        *out = (struct wi_mem){.base = at, .bytes = bytes};
    }
    return rc;
}

static void mem_close(struct wi_transport *base, struct wi_mem *mem)
{
    (void)base;
    wi_pages_close(mem->base, mem->bytes);
}

/* ---- links --------------------------------------------------------------- */

static weir_err decode(const char *address, union wi_inet *out,
                       struct weir_error *err)
{
    if (strncmp(address, prefix, sizeof(prefix) - 1) != 0) {
        return wi_fail(err, WEIR_ERR_ARG, "not a sockets address: %s", address);
    }
    return wi_inet_decode(address + sizeof(prefix) - 1, 0, out, err);
}

static weir_err link_check(struct wi_transport *t, const char *address,
                           struct weir_error *err)
{
    union wi_inet a;
    (void)t;
    return decode(address, &a, err);
}

/* Blocks until the peer's system has taken the connection: at once where this
 * runs, on one machine. */
static weir_err link_connect(struct wi_transport *base, const char *address,
                             struct wi_ep **out, struct weir_error *err)
{
    const int one = 1;
    struct wb_sockets_node *t = wb_node_of(base);
    struct wb_link *l = NULL;
    union wi_inet a;
    weir_err rc = decode(address, &a, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return wi_fail_errno(err, errno, "sockets: connect to %s", address);
    }
    bool up = connect(fd, &a.any, wi_inet_len(&a)) == 0;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)pthread_mutex_lock(&t->lock);
    rc = wb_link_open(t, fd, &l, err);
    if (rc == WEIR_OK && up) {
        wb_event_put(t, wb_event_make(WI_EV_CONNECTED, l, 0));
    } else if (rc == WEIR_OK) {
        wb_link_end(t, l, "the peer cannot be connected to");
    }
    (void)pthread_mutex_unlock(&t->lock);
    if (rc == WEIR_OK) {
        *out = &l->base;
    }
    return rc;
}

static void drop_events(struct wi_list *list, const struct wb_link *l)
{
    struct wi_list *next = NULL;
    for (struct wi_list *at = list->next; at != list; at = next) {
        struct wb_event *e = (struct wb_event *)(void *)at;
        next = at->next;
        if (e->event.ep == &l->base) {
            wi_list_remove(at);
            free(e);
        }
    }
}

static void link_disconnect(struct wi_ep *ep)
{
    struct wb_link *l = wb_link_of(ep);
    struct wb_sockets_node *t = wb_node_of(ep->transport);
    (void)pthread_mutex_lock(&t->lock);
    (void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, l->fd, NULL);
    drop_events(&t->events, l);
    (void)close(l->fd);
    l->dead = true;
    l->gone = t->gone;
    t->gone = l;
    (void)pthread_mutex_unlock(&t->lock);
}

/* ---- events -------------------------------------------------------------- */

static uint32_t node_poll(struct wi_transport *base, uint64_t now_ns,
                          struct wi_event *events, uint32_t max)
{
    struct wb_sockets_node *t = wb_node_of(base);
    uint32_t n = 0;
    uint64_t news;
    (void)now_ns;
    free_events(&t->shown);
    (void)pthread_mutex_lock(&t->lock);
    while (n < max && !wi_list_empty(&t->events)) {
        struct wb_event *e =
            (struct wb_event *)(void *)wi_list_take(&t->events);
        events[n] = e->event;
        n++;
        if (e->event.kind == WI_EV_MESSAGE) {
            wb_link_took(t, wb_link_of(e->event.ep), e->event.len);
        }
        wi_list_push_back(&t->shown, &e->at);
    }
    if (wi_list_empty(&t->events)) {
        ssize_t r = read(t->news, &news, sizeof(news));
        (void)r; /* empty already is as good */
    }
    (void)pthread_mutex_unlock(&t->lock);
    return n;
}

static weir_err node_arm(struct wi_transport *base)
{
    struct wb_sockets_node *t = wb_node_of(base);
    (void)pthread_mutex_lock(&t->lock);
    bool some = !wi_list_empty(&t->events);
    (void)pthread_mutex_unlock(&t->lock);
    return some ? WEIR_AGAIN : WEIR_OK;
}

static int node_fd(struct wi_transport *base)
{
    return wb_node_of(base)->news;
}

const struct wi_transport_ops wb_sockets_transport = {
    .name = "sockets",
    .caps = WI_CAP_WRITE | WI_CAP_FD,
    .max_message_bytes = WB_LINK_MESSAGE_BYTES,
    .usual_frame_bytes = 65536,
    .open = node_open,
    .close = node_close,
    .address = node_address,
    .mem_open = mem_open,
    .mem_reserve = mem_open,
    .mem_take = wi_all_taken,
    .mem_borrow = wi_no_borrow,
    .mem_close = mem_close,
    .grant = wb_link_grant,
    .ungrant = wb_link_ungrant,
    .map = wi_no_map,
    .unmap = wi_no_unmap,
    .check = link_check,
    .connect = link_connect,
    .connect_next = wi_no_next,
    .why = wi_plain_why,
    .disconnect = link_disconnect,
    .send = wb_link_send,
    .write = wb_link_write,
    .read = wi_no_rma,
    .kick = wb_link_kick,
    .poll = node_poll,
    .arm = node_arm,
    .fd = node_fd,
};
