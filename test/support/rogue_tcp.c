/* SPDX-License-Identifier: Apache-2.0 */
/* A rogue on plain tcp sockets: records by docs/wire.md, "The tcp
 * transport". */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/rogue.h"

enum { IN_BYTES = 1 << 20, RECORD = 24 };

static const uint8_t greeting[16] = "WEIR\r\n\r\n\1";

void wt_rogue_record(uint8_t at[24], uint32_t type, uint32_t bytes,
                     uint64_t key, uint64_t off)
{
    wt_put(at, type, 4);
    wt_put(at + 4, bytes, 4);
    wt_put(at + 8, key, 8);
    wt_put(at + 16, off, 8);
}

static void begin(struct wt_rogue_link *l, int fd)
{
    static uint64_t keys = 100;
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    l->fd = fd;
    l->key = ++keys;
    l->area = calloc(1, WT_ROGUE_AREA);
    l->in = malloc(IN_BYTES);
    WT_MUST(l->area != NULL && l->in != NULL, "no memory");
}

static struct sockaddr_in address_of(const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    const char *colon = strrchr(text, ':');
    WT_MUST(strncmp(text, "tcp:127.0.0.1:", 14) == 0 && colon != NULL, "%s",
            text);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    in.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    return in;
}

static void tcp_connect(struct wt_rogue_link *l, const char *address)
{
    struct sockaddr_in in = address_of(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    WT_MUST(fd >= 0, "no socket: %s", strerror(errno));
    begin(l, fd);
    if (connect(fd, (struct sockaddr *)&in, sizeof(in)) != 0) {
        l->closed = true;
        return;
    }
    l->up = true;
}

/* A node that does not take more for a second has been fed enough. */
void wt_rogue_raw(struct wt_rogue_link *l, const void *bytes, uint32_t len)
{
    const uint8_t *at = bytes;
    while (len > 0 && l->fd >= 0 && !l->closed) {
        ssize_t n = send(l->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            len -= (uint32_t)n;
        } else if (errno == EAGAIN) {
            struct pollfd p = {.fd = l->fd, .events = POLLOUT};
            if (poll(&p, 1, 1000) == 0) {
                return;
            }
        } else if (errno != EINTR) {
            l->closed = true;
        }
    }
}

static void greet(struct wt_rogue_link *l)
{
    if (!l->greeted) {
        l->greeted = true;
        wt_rogue_raw(l, greeting, sizeof(greeting));
    }
}

static void tcp_send(struct wt_rogue_link *l, const void *bytes, uint32_t len)
{
    uint8_t head[RECORD];
    greet(l);
    wt_rogue_record(head, 1, len, 0, 0);
    wt_rogue_raw(l, head, sizeof(head));
    wt_rogue_raw(l, bytes, len);
}

static void tcp_write(struct wt_rogue_link *l, uint64_t key, uint64_t off,
                      const void *bytes, uint32_t len)
{
    uint8_t head[RECORD];
    greet(l);
    wt_rogue_record(head, 2, len, key, off);
    wt_rogue_raw(l, head, sizeof(head));
    wt_rogue_raw(l, bytes, len);
}

static void tcp_close(struct wt_rogue_link *l)
{
    if (l->fd >= 0) {
        (void)close(l->fd);
        l->fd = -1;
        free(l->area);
        l->area = NULL;
    }
}

/* ---- what came ----------------------------------------------------------- */

/* What a node reads of the area, which may be more than there is. */
static void answer_read(struct wt_rogue_link *l, const uint8_t *at)
{
    uint8_t head[RECORD];
    uint32_t n = (uint32_t)wt_get(at + 4, 4);
    uint64_t off = wt_get(at + 16, 8);
    l->reads++;
    if (l->mute || wt_get(at + 8, 8) != l->key || off > WT_ROGUE_AREA ||
        n > WT_ROGUE_AREA - off - l->more) {
        return;
    }
    wt_rogue_record(head, 4, n + l->more, 0, 0);
    wt_rogue_raw(l, head, sizeof(head));
    wt_rogue_raw(l, l->area + off, n + l->more);
}

/* One record at the front of what came; its length, 0: not whole yet. */
static uint32_t take_record(struct wt_rogue_link *l, const uint8_t *at,
                            uint32_t left)
{
    bool reads = left >= RECORD && wt_get(at, 4) == 3;
    uint32_t n = left < RECORD || reads ? 0 : (uint32_t)wt_get(at + 4, 4);
    uint64_t off = left < RECORD ? 0 : wt_get(at + 16, 8);
    if (left < RECORD || left - RECORD < n) {
        WT_MUST(n < IN_BYTES - RECORD, "a record of %u bytes", n);
        return 0;
    }
    if (reads) {
        answer_read(l, at);
    } else if (wt_get(at, 4) == 1) {
        wt_rogue_take(l, at + RECORD, n);
    } else if (wt_get(at, 4) == 2) {
        WT_MUST(off + n <= WT_ROGUE_AREA && wt_get(at + 8, 8) == l->key,
                "a node writes outside of what it was granted");
        memcpy(l->area + off, at + RECORD, n);
    }
    return RECORD + n;
}

static void take_records(struct wt_rogue_link *l)
{
    uint32_t at = 0;
    uint32_t n;
    if (l->peer_key == 0 && l->seen[0] == 0) { /* the other's greeting */
        if (l->in_bytes < sizeof(greeting)) {
            return;
        }
        WT_MUST(memcmp(l->in, greeting, sizeof(greeting)) == 0, "greeting");
        l->seen[0] = 1;
        at = sizeof(greeting);
    }
    while (l->used && (n = take_record(l, l->in + at, l->in_bytes - at)) != 0) {
        at += n;
    }
    l->in_bytes -= at;
    memmove(l->in, l->in + at, l->in_bytes);
}

static uint32_t poll_link(struct wt_rogue_link *l)
{
    ssize_t n =
        recv(l->fd, l->in + l->in_bytes, IN_BYTES - l->in_bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n <= 0) {
        l->closed = true;
        return 1;
    }
    l->in_bytes += (uint32_t)n;
    take_records(l);
    return 1;
}

static uint32_t take_connections(struct wt_rogue *r)
{
    uint32_t n = 0;
    int fd;
    while ((fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        struct wt_rogue_link *l = wt_rogue_accept(r);
        n++;
        if (l == NULL) {
            (void)close(fd);
            continue;
        }
        begin(l, fd);
        l->up = true;
        greet(l);
    }
    return n;
}

static uint32_t tcp_poll(struct wt_rogue *r)
{
    uint32_t n = take_connections(r);
    for (uint32_t i = 0; i < WT_ROGUE_LINKS; i++) {
        struct wt_rogue_link *l = &r->link[i];
        if (l->used && l->fd >= 0 && !l->closed && !l->deaf) {
            n += poll_link(l);
        }
    }
    return n;
}

static const struct wt_carrier tcp_carrier = {.connect = tcp_connect,
                                              .send = tcp_send,
                                              .write = tcp_write,
                                              .close = tcp_close,
                                              .poll = tcp_poll};

void wt_rogue_on_tcp(struct wt_rogue *r)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t len = sizeof(in);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    r->listener =
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    WT_MUST(r->listener >= 0 &&
                bind(r->listener, (struct sockaddr *)&in, len) == 0 &&
                listen(r->listener, 64) == 0 &&
                getsockname(r->listener, (struct sockaddr *)&in, &len) == 0,
            "no listener: %s", strerror(errno));
    (void)snprintf(r->address, sizeof(r->address), "tcp:127.0.0.1:%u",
                   (unsigned)ntohs(in.sin_port));
    r->carrier = &tcp_carrier;
}

void wt_rogue_off_tcp(struct wt_rogue *r)
{
    for (uint32_t i = 0; i < WT_ROGUE_LINKS; i++) {
        wt_rogue_hang_up(&r->link[i]);
    }
    (void)close(r->listener);
}
