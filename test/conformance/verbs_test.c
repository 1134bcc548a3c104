/* SPDX-License-Identifier: Apache-2.0 */
/* What only the verbs transport can do wrong: peers that break its rules, on
 * WEIR_TEST_VERBS_ADDR. Hostile peers are made of our own endpoints, whose
 * queue pairs are used directly. */
#include <arpa/inet.h>
#include <endian.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/inet.h"
#include "test/conformance/spi.h"
#include "test/support/verbs.h"
#include "transport/registry.h"
#include "transport/verbs/verbs.h"

static struct wt_spi_fixture fixture = {.ops = &wi_verbs_ops};

__attribute__((constructor)) static void on_device(void)
{
    fixture.listen = wt_verbs_listen();
}

/* ---- listening ----------------------------------------------------------- */

Test(verbs, a_port_in_use_is_told_whichever_device_it_would_be, .timeout = 60)
{
    enum { MOST = 16 }; /* more than there are addresses of devices */
    struct wi_transport *t[MOST] = {NULL};
    struct weir_error err = {0};
    char address[WI_ADDRESS_BYTES];
    char listen[32] = "0.0.0.0:0";
    struct wi_transport_params params = {.listen = listen};
    uint32_t n = 0;
    while (n < MOST && wi_verbs_ops.open(&params, &t[n], &err) == WEIR_OK) {
        if (n++ == 0) {
            wi_verbs_ops.address(t[0], address);
            snprintf(listen, sizeof(listen), "0.0.0.0%s",
                     strrchr(address, ':'));
        }
    }
    cr_assert(n > 0 && n < MOST, "%s", err.message);
    cr_assert_not_null(strstr(err.message, "take another port"), "%s",
                       err.message);
    while (n > 0) {
        wi_verbs_ops.close(t[--n]);
    }
}

/* Take every second port of TCP at the device's address. */
static void take_ports(int *fds, uint32_t n, uint16_t from)
{
    struct rlimit limit = {n + 1024, n + 1024};
    union wi_inet at;
    struct weir_error err;
    uint32_t taken = 0;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    cr_assert_eq(wi_inet_decode(fixture.listen, WI_INET_LISTEN, &at, &err),
                 WEIR_OK);
    for (uint32_t i = 0; i < n; i++) {
        wi_inet_set_port(&at, (uint16_t)(from + 2 * i));
        fds[i] = socket(at.any.sa_family, SOCK_STREAM, 0);
        taken += bind(fds[i], &at.any, wi_inet_len(&at)) == 0;
    }
    cr_assert_gt(taken, n * 9 / 10, "%u of %u", taken, n);
}

/* siw has sockets of TCP, and rdma_cm knows nothing of TCP's ports: those of
 * listeners, and those that links come from. */
Test(verbs, a_free_port_is_free_for_tcp_too, .timeout = 60)
{
    enum { FROM = 32768, TO = 61000, PORTS = (TO - FROM) / 2, ROUNDS = 3 };
    static int fds[PORTS];
    take_ports(fds, PORTS, FROM);
    for (int i = 0; i < ROUNDS; i++) {
        struct wt_spi spi;
        struct wt_end *a, *b;
        wt_spi_open(&spi, &fixture, 3);
        wt_spi_connect(&spi, 0, 1, &a, &b);
        wt_spi_connect(&spi, 2, 1, &a, &b);
        wt_spi_connect(&spi, 2, 0, &a, &b);
        wt_spi_drain(&spi);
        wt_spi_close(&spi);
    }
    for (uint32_t i = 0; i < PORTS; i++) {
        (void)close(fds[i]);
    }
}

/* ---- messages that break the rules --------------------------------------- */

/* A link whose end `a` misbehaves, and one beside it that has to live on. */
struct scene {
    struct wt_spi spi;
    struct wt_end *a, *b;
    struct wt_end *good, *other;
};

static void scene_open(struct scene *s)
{
    wt_spi_open(&s->spi, &fixture, 3);
    wt_spi_connect(&s->spi, 0, 1, &s->a, &s->b);
    wt_spi_connect(&s->spi, 2, 1, &s->good, &s->other);
    wt_spi_drain(&s->spi);
}

/* The bad link is closed for this reason, and the good one works both ways. */
static void scene_ends(struct scene *s, const char *word)
{
    uint64_t here = s->other->messages;
    uint64_t there = s->good->messages;
    WT_UNTIL(&s->spi, s->b->closed);
    cr_assert_not_null(strstr(s->b->reason, word), "reason: %s", s->b->reason);
    wt_end_drop(s->b);
    WT_UNTIL(&s->spi, s->a->closed);
    cr_assert_not(s->other->closed || s->good->closed);
    for (uint32_t i = 0; i < 3 * VB_WINDOW; i++) {
        cr_assert(wt_end_send(s->good, "hello", 5) && wt_end_kick(s->good));
        cr_assert(wt_end_send(s->other, "hello", 5) && wt_end_kick(s->other));
    }
    WT_UNTIL(&s->spi, s->other->messages == here + 3 * VB_WINDOW &&
                          s->good->messages == there + 3 * VB_WINDOW);
    wt_spi_close(&s->spi);
}

/* Post bytes as they are, past the transport. */
static void post_raw(struct wt_end *end, const void *bytes, uint32_t len)
{
    struct vb_ep *ep = vb_ep_of(end->ep);
    uint8_t *at = ep->slab->base + (VB_SLOTS - 1) * VB_BUF_BYTES;
    struct ibv_sge sge = {
        .addr = (uintptr_t)at, .length = len, .lkey = ep->slab->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = vb_send_id(ep, ep->tx.wr_end),
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND};
    struct ibv_send_wr *bad = NULL;
    memcpy(at, bytes, len);
    cr_assert_eq(ibv_post_send(ep->qp, &wr, &bad), 0);
}

static void misbehave(struct vb_head head, uint32_t len, const char *word)
{
    struct scene s;
    uint8_t bytes[sizeof(head) + 8] = {0};
    scene_open(&s);
    memcpy(bytes, &head, sizeof(head));
    post_raw(s.a, bytes, len);
    scene_ends(&s, word);
}

Test(verbs, message_without_a_head_closes, .timeout = 60)
{
    misbehave((struct vb_head){.kind = VB_DATA}, 4, "kind");
}

Test(verbs, message_of_unknown_kind_closes, .timeout = 60)
{
    misbehave((struct vb_head){.kind = 77}, 16, "kind 77");
}

Test(verbs, message_of_no_bytes_closes, .timeout = 60)
{
    misbehave((struct vb_head){.kind = VB_DATA}, sizeof(struct vb_head),
              "kind 1 with 8 bytes");
}

Test(verbs, second_first_closes, .timeout = 60)
{
    misbehave((struct vb_head){.kind = VB_FIRST}, sizeof(struct vb_head),
              "did not begin");
}

Test(verbs, acknowledging_what_was_not_sent_closes, .timeout = 60)
{
    misbehave((struct vb_head){.kind = VB_ACK, .got = htole16(1000)},
              sizeof(struct vb_head), "acknowledged more");
    misbehave((struct vb_head){.kind = VB_ACK, .freed = htole16(1)},
              sizeof(struct vb_head), "acknowledged more");
}

Test(verbs, overrun_of_the_window_ends_the_link, .timeout = 60)
{
    const struct vb_head head = {.kind = VB_ACK};
    struct scene s;
    scene_open(&s);
    s.spi.paused = 2; /* b's node frees nothing */
    for (uint32_t i = 0; i < VB_WINDOW + VB_SLACK / 2; i++) {
        post_raw(s.a, &head, sizeof(head));
    }
    s.spi.paused = 0;
    scene_ends(&s, "more than the 64 messages");
}

/* ---- strangers ----------------------------------------------------------- */

/* Let the node work until the stranger has an event. */
static void until_readable(struct wt_spi *spi, int fd)
{
    struct wi_transport *t = spi->t[0];
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
                          {.fd = t->ops->fd(t), .events = POLLIN}};
    do {
        do {
            wt_spi_drain(spi);
        } while (t->ops->arm(t) == WEIR_AGAIN);
        cr_assert_gt(poll(p, 2, 20000), 0, "nothing happens");
    } while (p[0].revents == 0);
}

/* Connect by rdma_cm alone, with this as hello; the event that ends it. */
static enum rdma_cm_event_type knock(struct wt_spi *spi, const void *hello,
                                     uint8_t len, struct rdma_cm_id **id_out)
{
    struct rdma_cm_id *id = NULL;
    struct rdma_cm_event *ev = NULL;
    union wi_inet to;
    struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = 4,
                                            .max_recv_wr = 4,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_RC};
    struct rdma_event_channel *channel = rdma_create_event_channel();
    cr_assert_not_null(channel);
    cr_assert_eq(wi_inet_decode(spi->address[0] + 6, 0, &to, NULL), 0);
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_resolve_addr(id, NULL, &to.any, 2000), 0);
    enum rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_RESOLVED;
    for (;;) {
        until_readable(spi, channel->fd);
        cr_assert_eq(rdma_get_cm_event(channel, &ev), 0);
        type = ev->event;
        cr_assert_eq(rdma_ack_cm_event(ev), 0);
        if (type == RDMA_CM_EVENT_ADDR_RESOLVED) {
            cr_assert_eq(rdma_resolve_route(id, 2000), 0);
        } else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
            struct rdma_conn_param param = {.private_data = hello,
                                            .private_data_len = len,
                                            .retry_count = 7,
                                            .rnr_retry_count = 7};
            cr_assert_eq(rdma_create_qp(id, NULL, &attr), 0);
            cr_assert_eq(rdma_connect(id, &param), 0);
        } else {
            *id_out = id;
            return type;
        }
    }
}

static void leave(struct rdma_cm_id *id)
{
    struct rdma_event_channel *channel = id->channel;
    rdma_destroy_qp(id);
    cr_assert_eq(rdma_destroy_id(id), 0);
    rdma_destroy_event_channel(channel);
}

Test(verbs, stranger_without_a_hello_is_refused, .timeout = 60)
{
    struct wt_spi spi;
    struct rdma_cm_id *id = NULL;
    wt_spi_open(&spi, &fixture, 1);
    cr_assert_eq(knock(&spi, "GET / HTTP/1.1", 14, &id),
                 RDMA_CM_EVENT_REJECTED);
    cr_assert_null(spi.ends[0].ep, "a stranger was reported");
    leave(id);
    wt_spi_close(&spi);
}

Test(verbs, stranger_that_stays_silent_is_dropped, .timeout = 60)
{
    const struct vb_hello hello = {.magic = htole32(VB_MAGIC),
                                   .version = VB_VERSION,
                                   .window = htole16(VB_WINDOW)};
    struct wt_spi spi;
    struct wi_event ev;
    struct rdma_cm_id *id = NULL;
    wt_spi_open(&spi, &fixture, 1);
    struct vb_transport *t = vb_of(spi.t[0]);
    cr_assert_eq(knock(&spi, &hello, sizeof(hello), &id),
                 RDMA_CM_EVENT_ESTABLISHED);
    cr_assert_eq(t->n_greeting, 1);
    uint64_t later = wt_spi_now(&spi) + VB_GREETING_NS + 1;
    cr_assert_eq(wi_verbs_ops.poll(spi.t[0], later, &ev, 1), 0);
    cr_assert_eq(t->n_greeting, 0);
    leave(id);
    wt_spi_close(&spi);
}

Test(verbs, strangers_do_not_take_the_places_of_nodes, .timeout = 60)
{
    enum { PLACES = 3 };
    const struct vb_hello hello = {.magic = htole32(VB_MAGIC),
                                   .version = VB_VERSION,
                                   .window = htole16(VB_WINDOW)};
    struct wt_spi spi;
    struct rdma_cm_id *id[PLACES + 1];
    struct wt_end *a;
    struct wt_end *b;
    wt_spi_open(&spi, &fixture, 2);
    struct vb_transport *t = vb_of(spi.t[0]);
    t->max_eps = PLACES; /* the tables are larger */
    for (uint32_t i = 0; i < PLACES + 1; i++) {
        cr_assert_eq(knock(&spi, &hello, sizeof(hello), &id[i]),
                     RDMA_CM_EVENT_ESTABLISHED, "stranger %u", i);
    }
    cr_assert_eq(t->n_greeting, PLACES);
    wt_spi_connect(&spi, 1, 0, &a, &b); /* comes */
    wt_end_drop(a);
    WT_UNTIL(&spi, b->closed);
    wt_end_drop(b);
    wt_spi_connect(&spi, 0, 1, &a, &b); /* goes */
    for (uint32_t i = 0; i < PLACES + 1; i++) {
        leave(id[i]);
    }
    wt_spi_close(&spi);
}

/* ---- limits -------------------------------------------------------------- */

static void drop_ipc_lock(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    cr_assert_eq(syscall(SYS_capget, &head, data), 0);
    data[CAP_IPC_LOCK / 32].effective &= ~(1u << CAP_IPC_LOCK % 32);
    cr_assert_eq(syscall(SYS_capset, &head, data), 0);
}

Test(verbs, memlock_limit_is_named_with_its_remedy, .timeout = 60)
{
    const struct rlimit little = {4 << 20, 4 << 20};
    struct wt_spi spi;
    struct wi_mem mem = {0};
    struct weir_error err = {0};
    wt_spi_open(&spi, &fixture, 1);
    cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &little), 0);
    drop_ipc_lock();
    struct wi_mem fits = wt_mem_open(&spi, 0, 1 << 20);
    cr_assert_eq(wi_verbs_ops.mem_open(spi.t[0], 8 << 20, &mem, &err),
                 WEIR_ERR_NO_MEMORY);
    cr_assert_null(mem.base);
    cr_assert_not_null(strstr(err.message, "8388608 bytes"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "4194304 bytes"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "ulimit -l"), "%s", err.message);
    wi_verbs_ops.mem_close(spi.t[0], &fits);
    wt_spi_close(&spi);
}
