/* SPDX-License-Identifier: Apache-2.0 */
/* Driver of the transport conformance suite: see spi.h. */
#include "test/conformance/spi.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/clock.h"

/* Few events per poll, so that transports meet a full event array often. */
enum { EVENTS = 4, WAIT_MS = 20000 };

uint64_t wt_spi_now(const struct wt_spi *spi)
{
    return spi->fixture->now ? spi->fixture->now(spi->net) : wi_clock_now();
}

/* ---- events -------------------------------------------------------------- */

static struct wt_end *end_take(struct wt_spi *spi, struct wi_ep *ep,
                               uint32_t node)
{
    for (uint32_t i = 0; i < WT_SPI_ENDS; i++) {
        struct wt_end *end = &spi->ends[i];
        if (!end->ep) {
            *end = (struct wt_end){.spi = spi, .ep = ep, .node = node};
            ep->user = end;
            return end;
        }
    }
    cr_assert_fail("more endpoints than the suite ever makes");
    return NULL;
}

static void record(struct wt_spi *spi, uint32_t node, const struct wi_event *ev)
{
    struct wt_end *end = ev->ep->user;
    if (ev->kind == WI_EV_ACCEPTED) {
        cr_assert_null(end, "ACCEPTED for an endpoint that is known");
        end = end_take(spi, ev->ep, node);
        end->accepted = end->up = true;
        return;
    }
    cr_assert_not_null(end, "event %d for an unknown endpoint", (int)ev->kind);
    cr_assert_not(end->closed, "event %d after CLOSED", (int)ev->kind);
    cr_assert_eq(end->node, node);
    switch (ev->kind) {
    case WI_EV_CONNECTED:
        cr_assert_not(end->up || end->accepted, "CONNECTED twice");
        end->up = true;
        break;
    case WI_EV_MESSAGE:
        cr_assert(end->up, "MESSAGE before CONNECTED");
        end->messages++;
        if (end->on_message) {
            end->on_message(end, ev->bytes, ev->len);
        }
        break;
    case WI_EV_SENDABLE:
        end->sendable++;
        wt_end_kick(end);
        break;
    case WI_EV_READ_DONE:
        end->reads_done++;
        break;
    case WI_EV_CLOSED:
        end->closed = true;
        end->hung_up = ev->hung_up;
        cr_assert(ev->reason && ev->reason[0], "CLOSED without a reason");
        snprintf(end->reason, sizeof(end->reason), "%s", ev->reason);
        break;
    default:
        cr_assert_fail("unknown event kind %d", (int)ev->kind);
    }
}

static uint32_t poll_node(struct wt_spi *spi, uint32_t node)
{
    struct wi_event events[EVENTS];
    struct wi_transport *t = spi->t[node];
    uint32_t n = t->ops->poll(t, wt_spi_now(spi), events, EVENTS);
    cr_assert_leq(n, EVENTS);
    for (uint32_t i = 0; i < n; i++) {
        record(spi, node, &events[i]);
    }
    return n;
}

static uint32_t poll_all(struct wt_spi *spi)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < spi->n; i++) {
        if (spi->t[i] && (spi->paused & (1u << i)) == 0) {
            n += poll_node(spi, i);
        }
    }
    return n;
}

static bool wait_on_fds(struct wi_transport *const *t, uint32_t n)
{
    struct pollfd fds[WT_SPI_NODES];
    for (uint32_t i = 0; i < n; i++) {
        if (t[i]->ops->arm(t[i]) == WEIR_AGAIN) {
            return true;
        }
        fds[i] = (struct pollfd){.fd = t[i]->ops->fd(t[i]), .events = POLLIN};
    }
    return poll(fds, n, WAIT_MS) > 0;
}

bool wt_spi_turn(struct wt_spi *spi)
{
    struct wi_transport *t[WT_SPI_NODES];
    uint32_t n = 0;
    if (poll_all(spi) > 0) {
        return true;
    }
    for (uint32_t i = 0; i < spi->n; i++) {
        if (spi->t[i] && (spi->paused & (1u << i)) == 0) {
            t[n++] = spi->t[i];
        }
    }
    if (spi->fixture->wait) {
        return spi->fixture->wait(spi->net, t, n);
    }
    return wait_on_fds(t, n);
}

void wt_spi_drain(struct wt_spi *spi)
{
    while (poll_all(spi) > 0) {
    }
}

/* ---- transports and endpoints -------------------------------------------- */

void wt_spi_open(struct wt_spi *spi, const struct wt_spi_fixture *fixture,
                 uint32_t n)
{
    char name[32]; /* of this process: suites run side by side */
    struct weir_error err = {0};
    *spi = (struct wt_spi){.fixture = fixture, .n = n};
    spi->net = fixture->net_open ? fixture->net_open() : NULL;
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "node%u-%d", i, (int)getpid());
        struct wi_transport_params params = {
            .listen = fixture->listen,
            .tls = fixture->tls,
            .name = name,
            .max_links = WT_SPI_ENDS,
            .arg = spi->net,
        };
        weir_err rc = fixture->ops->open(&params, &spi->t[i], &err);
        cr_assert_eq(rc, WEIR_OK, "open: %s", err.message);
        cr_assert_eq(spi->t[i]->ops, fixture->ops);
        fixture->ops->address(spi->t[i], spi->address[i]);
    }
}

void wt_spi_close(struct wt_spi *spi)
{
    for (uint32_t i = 0; i < WT_SPI_ENDS; i++) {
        wt_end_drop(&spi->ends[i]);
    }
    for (uint32_t i = 0; i < spi->n; i++) {
        if (spi->t[i]) {
            spi->fixture->ops->close(spi->t[i]);
        }
    }
    if (spi->fixture->net_close) {
        spi->fixture->net_close(spi->net);
    }
}

struct wt_end *wt_spi_dial(struct wt_spi *spi, uint32_t from,
                           const char *address)
{
    struct weir_error err = {0};
    struct wi_ep *ep = NULL;
    weir_err rc = spi->fixture->ops->connect(spi->t[from], address, &ep, &err);
    cr_assert_eq(rc, WEIR_OK, "connect %s: %s", address, err.message);
    cr_assert_eq(ep->transport->ops, wt_spi_ep_ops(spi->fixture));
    cr_assert_null(ep->user);
    return end_take(spi, ep, from);
}

void wt_spi_connect(struct wt_spi *spi, uint32_t from, uint32_t to,
                    struct wt_end **a, struct wt_end **b)
{
    bool known[WT_SPI_ENDS];
    for (uint32_t i = 0; i < WT_SPI_ENDS; i++) {
        known[i] = spi->ends[i].ep != NULL;
    }
    *a = wt_spi_dial(spi, from, spi->address[to]);
    *b = NULL;
    while (!*b || !(*a)->up) {
        cr_assert_not((*a)->closed, "connect: %s", (*a)->reason);
        cr_assert(wt_spi_turn(spi), "connect never ends");
        for (uint32_t i = 0; i < WT_SPI_ENDS; i++) {
            struct wt_end *end = &spi->ends[i];
            if (!known[i] && end->ep && end->accepted && end->node == to) {
                *b = end;
            }
        }
    }
}

void wt_end_drop(struct wt_end *end)
{
    if (end->ep) {
        end->spi->fixture->ops->disconnect(end->ep);
        end->ep = NULL;
    }
}

/* ---- posting ------------------------------------------------------------- */

bool wt_end_kick(struct wt_end *end)
{
    weir_err rc = end->spi->fixture->ops->kick(end->ep);
    cr_assert(rc == WEIR_OK || rc == WEIR_AGAIN || rc == WEIR_ERR_PEER_LOST,
              "kick: %s", weir_err_name(rc));
    return rc >= 0;
}

/* After WEIR_AGAIN: kick, then only a SENDABLE makes it worth a retry. */
static bool retry_later(struct wt_end *end, weir_err rc, uint64_t seen)
{
    cr_assert(rc == WEIR_AGAIN || rc == WEIR_ERR_PEER_LOST, "post: %s",
              weir_err_name(rc));
    if (rc != WEIR_AGAIN || !wt_end_kick(end)) {
        return false;
    }
    WT_UNTIL(end->spi, end->sendable != seen || end->closed);
    return !end->closed;
}

bool wt_end_send(struct wt_end *end, const void *bytes, uint32_t len)
{
    for (;;) {
        uint64_t seen = end->sendable;
        weir_err rc = end->spi->fixture->ops->send(end->ep, bytes, len);
        if (rc == WEIR_OK) {
            return true;
        }
        if (!retry_later(end, rc, seen)) {
            return false;
        }
    }
}

static bool post(struct wt_end *end, const struct wi_rma *op,
                 weir_err (*fn)(struct wi_ep *, const struct wi_rma *))
{
    for (;;) {
        uint64_t seen = end->sendable;
        weir_err rc = fn(end->ep, op);
        if (rc == WEIR_OK) {
            end->posted++;
            return true;
        }
        if (!retry_later(end, rc, seen)) {
            return false;
        }
    }
}

bool wt_end_write(struct wt_end *end, const struct wi_rma *op)
{
    return post(end, op, end->spi->fixture->ops->write);
}

bool wt_end_read(struct wt_end *end, const struct wi_rma *op)
{
    return post(end, op, end->spi->fixture->ops->read);
}

uint64_t wt_end_completed(struct wt_end *end)
{
    return wi_load_sc(&end->ep->completed);
}

struct wi_mem wt_mem_open(struct wt_spi *spi, uint32_t node, size_t bytes)
{
    struct weir_error err = {0};
    struct wi_mem mem = {0};
    weir_err rc = spi->fixture->ops->mem_open(spi->t[node], bytes, &mem, &err);
    cr_assert_eq(rc, WEIR_OK, "mem_open: %s", err.message);
    cr_assert_eq(mem.bytes, bytes);
    return mem;
}

uint64_t wt_end_grant_as(struct wt_end *end, const struct wi_mem *mem,
                         uint32_t access)
{
    struct weir_error err = {0};
    uint64_t key = 0;
    for (;;) {
        uint64_t seen = end->sendable;
        weir_err rc =
            end->spi->fixture->ops->grant(end->ep, mem, access, &key, &err);
        if (rc == WEIR_OK) {
            return key;
        }
        cr_assert(retry_later(end, rc, seen), "grant: %s", err.message);
    }
}

uint64_t wt_end_grant(struct wt_end *end, const struct wi_mem *mem)
{
    return wt_end_grant_as(end, mem, WI_ACCESS_BOTH);
}

/* ---- bytes --------------------------------------------------------------- */

uint64_t wt_rand(uint64_t *state)
{
    /* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift
     * generators", 2016. */
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545F4914F6CDD1Du;
}

static uint8_t pattern(uint64_t seed, size_t i)
{
    uint64_t x = (seed * 0x9E3779B97F4A7C15u) ^ (i * 0xD6E8FEB86659FD93u);
    return (uint8_t)((x ^ (x >> 29)) >> 17);
}

void wt_fill(void *bytes, size_t len, uint64_t seed)
{
    for (size_t i = 0; i < len; i++) {
        ((uint8_t *)bytes)[i] = pattern(seed, i);
    }
}

bool wt_is_filled(const void *bytes, size_t len, uint64_t seed)
{
    for (size_t i = 0; i < len; i++) {
        if (((const uint8_t *)bytes)[i] != pattern(seed, i)) {
            return false;
        }
    }
    return true;
}
