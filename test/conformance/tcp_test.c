/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only tcp has: strangers, hostile streams, tiny socket buffers, lack of
 * descriptors. The other end is a plain socket where a node would behave.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/err.h"
#include "test/conformance/spi.h"
#include "test/support/lacks.h"
#include "transport/registry.h"
#include "transport/tcp/tcp.h"

static const struct wt_spi_fixture fixture = {.ops = &wi_tcp_ops};

static const uint8_t greeting[16] = "WEIR\r\n\r\n\1";

/* ---- plain sockets ------------------------------------------------------- */

static int raw_connect(const char *address)
{
    union wi_inet addr;
    struct weir_error err = {0};
    weir_err rc = wi_inet_decode(address + 4, 0, &addr, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    int fd = socket(addr.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(connect(fd, &addr.any, wi_inet_len(&addr)), 0);
    return fd;
}

static int raw_listen(char *address)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    socklen_t len = sizeof(in);
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&in, len), 0);
    cr_assert_eq(listen(fd, 8), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
    snprintf(address, WI_ADDRESS_BYTES, "tcp:127.0.0.1:%u",
             (unsigned)ntohs(in.sin_port));
    return fd;
}

static void raw_send(int fd, const void *bytes, size_t len)
{
    cr_assert_eq(send(fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len, "%s",
                 strerror(errno));
}

static void raw_recv(int fd, void *bytes, size_t len)
{
    cr_assert_eq(recv(fd, bytes, len, MSG_WAITALL), (ssize_t)len);
}

/* Poll the transport until it has closed its side of a plain connection. */
static void until_raw_closed(struct wt_spi *spi, int fd, uint64_t now_ns)
{
    struct wi_transport *t = spi->t[0];
    for (;;) {
        struct wi_event ev;
        char byte;
        cr_assert_eq(t->ops->poll(t, now_ns, &ev, 1), 0, "a stranger shows");
        ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
        if (n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
            return;
        }
        struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
                              {.fd = t->ops->fd(t), .events = POLLIN}};
        cr_assert_gt(poll(p, 2, 20000), 0, "the stranger is still there");
    }
}

static uint32_t count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint32_t n = 0;
    cr_assert_not_null(dir);
    while (readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

/* A plain connection that has greeted, and its end in the transport. */
struct raw {
    struct wt_spi spi;
    int fd;
    struct wt_end *end;
    struct wi_mem mem;
    uint64_t key;
};

static void raw_open(struct raw *raw)
{
    uint8_t got[16];
    wt_spi_open(&raw->spi, &fixture, 1);
    raw->fd = raw_connect(raw->spi.address[0]);
    raw_send(raw->fd, greeting, sizeof(greeting));
    raw->end = &raw->spi.ends[0];
    WT_UNTIL(&raw->spi, raw->end->up);
    raw_recv(raw->fd, got, sizeof(got));
    cr_assert_eq(memcmp(got, greeting, sizeof(got)), 0);
    raw->mem = wt_mem_open(&raw->spi, 0, 65536);
    /* Only the middle is granted; the rest must stay as it is. */
    struct wi_mem middle = {.base = (uint8_t *)raw->mem.base + 16384,
                            .bytes = 32768};
    raw->key = wt_end_grant(raw->end, &middle);
}

static void raw_close(struct raw *raw)
{
    const uint8_t *bytes = raw->mem.base;
    for (uint32_t i = 0; i < 16384; i++) {
        cr_assert(bytes[i] == 0 && bytes[49152 + i] == 0, "wrote outside");
    }
    (void)close(raw->fd);
    wt_end_drop(raw->end);
    wi_tcp_ops.mem_close(raw->spi.t[0], &raw->mem);
    wt_spi_close(&raw->spi);
}

static void header(uint8_t *at, uint32_t type, uint32_t bytes, uint64_t key,
                   uint64_t off)
{
    uint32_t word = htole32(type);
    memcpy(at, &word, 4);
    word = htole32(bytes);
    memcpy(at + 4, &word, 4);
    key = htole64(key);
    memcpy(at + 8, &key, 8);
    off = htole64(off);
    memcpy(at + 16, &off, 8);
}

/* ---- strangers ----------------------------------------------------------- */

Test(tcp, web_server_is_named_as_such, .timeout = 60)
{
    struct wt_spi spi;
    char address[WI_ADDRESS_BYTES];
    uint8_t got[16];
    int listener = raw_listen(address);
    wt_spi_open(&spi, &fixture, 1);
    struct wt_end *a = wt_spi_dial(&spi, 0, address);
    int fd = accept(listener, NULL, NULL);
    cr_assert_geq(fd, 0);
    wt_spi_drain(&spi);
    raw_recv(fd, got, sizeof(got));
    /* A whole line, so that such a server answers and does not wait. */
    cr_assert_not_null(memmem(got, sizeof(got), "\r\n\r\n", 4));
    raw_send(fd, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    WT_UNTIL(&spi, a->closed);
    cr_assert_not(a->up);
    cr_assert_not_null(strstr(a->reason, address + 4), "%s", a->reason);
    cr_assert_not_null(strstr(a->reason, "is not a Weir node (it answered "
                                         "\"HTTP/1.1 400 Bad\")"),
                       "%s", a->reason);
    wt_spi_close(&spi);
    close(fd);
    close(listener);
}

Test(tcp, server_that_hangs_up_is_reported, .timeout = 60)
{
    struct wt_spi spi;
    char address[WI_ADDRESS_BYTES];
    int listener = raw_listen(address);
    wt_spi_open(&spi, &fixture, 1);
    struct wt_end *a = wt_spi_dial(&spi, 0, address);
    close(accept(listener, NULL, NULL));
    WT_UNTIL(&spi, a->closed);
    cr_assert_not(a->up);
    cr_assert_not_null(strstr(a->reason, address + 4), "%s", a->reason);
    wt_spi_close(&spi);
    close(listener);
}

/* It has no room and resets the connection, before or after it is greeted: the
 * core tries again, as after an end of the stream. */
Test(tcp, server_that_resets_has_hung_up, .timeout = 60)
{
    const struct linger reset = {.l_onoff = 1};
    for (int greeted = 0; greeted <= 1; greeted++) {
        struct wt_spi spi;
        char address[WI_ADDRESS_BYTES];
        int listener = raw_listen(address);
        wt_spi_open(&spi, &fixture, 1);
        struct wt_end *a = wt_spi_dial(&spi, 0, address);
        int fd = accept(listener, NULL, NULL);
        if (greeted) {
            wt_spi_drain(&spi);
        }
        cr_assert_eq(
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
        close(fd);
        WT_UNTIL(&spi, a->closed);
        cr_assert_not(a->up);
        cr_assert(a->hung_up, "%s", a->reason);
        wt_spi_close(&spi);
        close(listener);
    }
}

Test(tcp, other_version_is_named, .timeout = 60)
{
    struct wt_spi spi;
    char address[WI_ADDRESS_BYTES];
    uint8_t other[16];
    int listener = raw_listen(address);
    wt_spi_open(&spi, &fixture, 1);
    struct wt_end *a = wt_spi_dial(&spi, 0, address);
    int fd = accept(listener, NULL, NULL);
    memcpy(other, greeting, sizeof(other));
    other[8] = 9;
    raw_send(fd, other, sizeof(other));
    WT_UNTIL(&spi, a->closed);
    cr_assert_not_null(strstr(a->reason, "version 9"), "%s", a->reason);
    wt_spi_close(&spi);
    close(fd);
    close(listener);
}

Test(tcp, refused_connect_says_so, .timeout = 60)
{
    struct wt_spi spi;
    char address[WI_ADDRESS_BYTES];
    close(raw_listen(address));
    wt_spi_open(&spi, &fixture, 1);
    struct wt_end *a = wt_spi_dial(&spi, 0, address);
    WT_UNTIL(&spi, a->closed);
    cr_assert_not(a->hung_up);
    cr_assert_not_null(strstr(a->reason, address + 4), "%s", a->reason);
    cr_assert_not_null(strstr(a->reason, "refused"), "%s", a->reason);
    wt_spi_close(&spi);
}

Test(tcp, garbage_is_dropped_without_a_word, .timeout = 60)
{
    static const char *const garbage[] = {"G", "GET / HTTP/1.1\r\n\r\n",
                                          "WEIR\r\n\r\r", "WEIR\r\n\r\n\7"};
    struct wt_spi spi;
    wt_spi_open(&spi, &fixture, 1);
    uint32_t before = count_fds();
    for (size_t i = 0; i < 4; i++) {
        int fd = raw_connect(spi.address[0]);
        raw_send(fd, garbage[i], strlen(garbage[i]));
        until_raw_closed(&spi, fd, 1);
        close(fd);
    }
    cr_assert_eq(count_fds(), before);
    wt_spi_close(&spi);
}

Test(tcp, silent_stranger_is_dropped_in_time, .timeout = 60)
{
    struct wt_spi spi;
    struct wi_event ev;
    wt_spi_open(&spi, &fixture, 1);
    uint32_t before = count_fds();
    int fd = raw_connect(spi.address[0]);
    raw_send(fd, greeting, 5);
    uint64_t now = 1000;
    for (uint32_t i = 0; i < 100 && count_fds() < before + 2; i++) {
        cr_assert_eq(wi_tcp_ops.poll(spi.t[0], now, &ev, 1), 0);
    }
    cr_assert_eq(count_fds(), before + 2);
    wi_tcp_ops.poll(spi.t[0], now + TCP_GREETING_NS - 1, &ev, 1);
    cr_assert_eq(count_fds(), before + 2, "dropped too early");
    until_raw_closed(&spi, fd, now + TCP_GREETING_NS);
    cr_assert_eq(count_fds(), before + 1);
    close(fd);
    wt_spi_close(&spi);
}

Test(tcp, sleep_ends_when_a_stranger_is_to_be_dropped, .timeout = 60)
{
    struct wt_spi spi;
    struct wi_event ev;
    wt_spi_open(&spi, &fixture, 1);
    uint32_t before = count_fds();
    int fd = raw_connect(spi.address[0]);
    while (count_fds() < before + 2) {
        cr_assert_eq(wi_tcp_ops.poll(spi.t[0], 1, &ev, 1), 0);
    }
    /* A clock that stands just before the end makes the timer short. */
    wi_tcp_ops.poll(spi.t[0], TCP_GREETING_NS, &ev, 1);
    cr_assert_eq(wi_tcp_ops.arm(spi.t[0]), WEIR_OK);
    struct pollfd p = {.fd = wi_tcp_ops.fd(spi.t[0]), .events = POLLIN};
    cr_assert_eq(poll(&p, 1, 20000), 1, "nobody wakes the engine");
    until_raw_closed(&spi, fd, TCP_GREETING_NS + 1);
    close(fd);
    wt_spi_close(&spi);
}

Test(tcp, crowd_of_strangers_is_bounded_and_lets_nodes_in, .timeout = 60)
{
    enum { CROWD = 3 * TCP_MAX_GREETING };
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    int fds[CROWD];
    wt_spi_open(&spi, &fixture, 2);
    uint32_t before = count_fds();
    for (uint32_t i = 0; i < CROWD; i++) {
        fds[i] = raw_connect(spi.address[1]);
        wt_spi_drain(&spi);
    }
    wt_spi_connect(&spi, 0, 1, &a, &b);
    cr_assert_leq(count_fds(), before + CROWD + TCP_MAX_GREETING + 2);
    cr_assert(wt_end_send(a, "hi", 2) && wt_end_kick(a));
    WT_UNTIL(&spi, b->messages == 1);
    for (uint32_t i = 0; i < CROWD; i++) {
        close(fds[i]);
    }
    wt_spi_close(&spi);
}

Test(tcp, more_links_than_agreed_are_turned_away, .timeout = 60)
{
    struct wi_transport_params params = {.name = "small", .max_links = 2};
    struct wt_spi spi;
    struct weir_error err = {0};
    wt_spi_open(&spi, &fixture, 1);
    struct wi_transport *small = NULL;
    cr_assert_eq(wi_tcp_ops.open(&params, &small, &err), WEIR_OK);
    wi_tcp_ops.address(small, spi.address[1]);
    spi.t[1] = small;
    spi.n = 2;
    struct wt_end *ends[3];
    for (uint32_t i = 0; i < 3; i++) {
        ends[i] = wt_spi_dial(&spi, 0, spi.address[1]);
        WT_UNTIL(&spi, ends[i]->up || ends[i]->closed);
    }
    cr_assert(ends[0]->up && ends[1]->up);
    cr_assert(ends[2]->closed && !ends[2]->up);
    wt_spi_close(&spi);
}

/* ---- streams ------------------------------------------------------------- */

static void expect_letters(struct wt_end *end, const uint8_t *bytes,
                           uint32_t len)
{
    cr_assert_eq(len, 3 + end->messages % 50);
    cr_assert(wt_is_filled(bytes, len, end->messages));
}

/* Message, write, message, write ... as a node sends them. */
static size_t make_stream(uint8_t *out, uint64_t key, uint32_t rounds)
{
    uint8_t *at = out;
    for (uint32_t i = 1; i <= rounds; i++) {
        uint32_t bytes = 8 * (1 + i * 37 % 128);
        header(at, TCP_WRITE, bytes, key, 1024 * i);
        wt_fill(at + 24, bytes, i);
        at += 24 + bytes;
        header(at, TCP_MESSAGE, 3 + i % 50, 0, 0);
        wt_fill(at + 24, 3 + i % 50, i);
        at += 24 + 3 + i % 50;
    }
    return (size_t)(at - out);
}

Test(tcp, stream_may_be_cut_at_any_byte, .timeout = 120)
{
    static uint8_t stream[1 << 15];
    for (uint32_t step = 1; step < 400; step = step * 3 + 1) {
        struct raw raw;
        raw_open(&raw);
        raw.end->on_message = expect_letters;
        size_t len = make_stream(stream, raw.key, 20);
        for (size_t off = 0; off < len; off += step) {
            raw_send(raw.fd, stream + off,
                     off + step <= len ? step : len - off);
            wt_spi_drain(&raw.spi);
        }
        WT_UNTIL(&raw.spi, raw.end->messages == 20);
        for (uint32_t i = 1; i <= 20; i++) {
            uint8_t *at = (uint8_t *)raw.mem.base + 16384 + 1024 * i;
            cr_assert(wt_is_filled(at, 8 * (1 + i * 37 % 128), i));
        }
        raw_close(&raw);
    }
}

Test(tcp, end_within_a_record_is_told_from_a_clean_end, .timeout = 60)
{
    for (uint32_t cut = 0; cut <= 40; cut += 8) {
        struct raw raw;
        uint8_t record[24 + 64] = {0};
        raw_open(&raw);
        header(record, TCP_WRITE, 64, raw.key, 0);
        raw_send(raw.fd, record, cut);
        close(raw.fd);
        raw.fd = -1;
        WT_UNTIL(&raw.spi, raw.end->closed);
        cr_assert_eq(strstr(raw.end->reason, "within a record") != NULL,
                     cut > 0, "%s", raw.end->reason);
        raw_close(&raw);
    }
}

static void expect_hostile(uint32_t type, uint32_t bytes, uint64_t key_xor,
                           uint64_t off, const char *word)
{
    struct raw raw;
    uint8_t record[24];
    raw_open(&raw);
    header(record, type, bytes, raw.key ^ key_xor, off);
    raw_send(raw.fd, record, sizeof(record));
    WT_UNTIL(&raw.spi, raw.end->closed);
    cr_assert_not_null(strstr(raw.end->reason, word), "%s", raw.end->reason);
    cr_assert_not_null(strstr(raw.end->reason, "127.0.0.1:"), "%s",
                       raw.end->reason);
    cr_assert_eq(raw.end->messages, 0);
    raw_close(&raw);
}

Test(tcp, hostile_records_close_with_a_reason, .timeout = 60)
{
    expect_hostile(TCP_MESSAGE, 0, 0, 0, "message of 0 bytes");
    expect_hostile(TCP_MESSAGE, TCP_MESSAGE_BYTES + 1, 0, 0, "4097 bytes");
    expect_hostile(TCP_MESSAGE, UINT32_MAX, 0, 0, "4294967295 bytes");
    expect_hostile(0, 8, 0, 0, "unknown type");
    expect_hostile(TCP_READ_DATA + 1, 8, 0, 0, "unknown type");
    expect_hostile(TCP_WRITE | 0x100, 8, 0, 0, "unknown type");
    expect_hostile(TCP_WRITE, 0, 0, 0, "outside");
    expect_hostile(TCP_WRITE, WI_RMA_BYTES + 1, 0, 0, "outside");
    expect_hostile(TCP_WRITE, 3, 0, 32766, "outside");
    expect_hostile(TCP_WRITE, 32776, 0, 0, "outside");
    expect_hostile(TCP_WRITE, 8, 0, 32768, "outside");
    expect_hostile(TCP_WRITE, 8, 0, UINT64_MAX - 7, "outside");
    expect_hostile(TCP_WRITE, 8, 1, 0, "outside");
    expect_hostile(TCP_WRITE, 8, UINT64_C(1) << 40, 0, "outside");
    expect_hostile(TCP_READ, UINT32_MAX & ~7u, 0, 0, "outside");
    expect_hostile(TCP_READ, 8, 0xffff, 0, "outside");
    expect_hostile(TCP_READ_DATA, 8, 0, 0, "not asked");
}

Test(tcp, flood_of_reads_is_stopped, .timeout = 60)
{
    struct raw raw;
    uint8_t records[TCP_READS + 24][24];
    raw_open(&raw);
    for (uint32_t i = 0; i < TCP_READS + 24; i++) {
        header(records[i], TCP_READ, 32768, raw.key, 0);
    }
    raw_send(raw.fd, records, sizeof(records));
    WT_UNTIL(&raw.spi, raw.end->closed);
    cr_assert_not_null(strstr(raw.end->reason, "reads"), "%s", raw.end->reason);
    raw_close(&raw);
}

/* A write finds a bounded part of the answers before it, not all 64 MiB. */
Test(tcp, answers_take_turns_with_writes, .timeout = 60)
{
    enum { READS = 16, EACH = 4 << 20 };
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    wt_spi_open(&spi, &fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    struct wi_mem near = wt_mem_open(&spi, 0, EACH);
    struct wi_mem far = wt_mem_open(&spi, 1, EACH);
    struct wi_mem ring = wt_mem_open(&spi, 0, 65536);
    uint64_t key = wt_end_grant_as(b, &far, WI_ACCESS_READ);
    uint64_t back = wt_end_grant_as(a, &ring, WI_ACCESS_WRITE);
    wt_fill(far.base, EACH, 1);
    for (uint32_t i = 0; i < READS; i++) {
        struct wi_rma op = {near.base, EACH, key, 0};
        cr_assert(wt_end_read(a, &op));
    }
    cr_assert(wt_end_kick(a));
    WT_UNTIL(&spi, a->reads_done == 1);
    struct wi_rma op = {far.base, 65536, back, 0};
    cr_assert(wt_end_write(b, &op) && wt_end_send(b, "row", 3));
    (void)wt_end_kick(b);
    WT_UNTIL(&spi, a->messages == 1);
    cr_assert(wt_is_filled(ring.base, 65536, 1));
    cr_assert_lt(a->reads_done, READS, "the write came after every answer");
    WT_UNTIL(&spi, a->reads_done == READS);
    cr_assert(wt_is_filled(near.base, EACH, 1));
    cr_assert_eq(wt_end_completed(a), READS);
    wt_end_drop(a);
    wt_end_drop(b);
    wi_tcp_ops.mem_close(spi.t[0], &near);
    wi_tcp_ops.mem_close(spi.t[0], &ring);
    wi_tcp_ops.mem_close(spi.t[1], &far);
    wt_spi_close(&spi);
}

/* ---- grants that end too early ------------------------------------------- */

/* What the raw peer sends is parsed, and no answer is kicked. */
static void poll_once(struct raw *raw)
{
    struct wi_event events[8];
    struct pollfd p = {.fd = wi_tcp_ops.fd(raw->spi.t[0]), .events = POLLIN};
    cr_assert_eq(poll(&p, 1, 20000), 1);
    (void)wi_tcp_ops.poll(raw->spi.t[0], wt_spi_now(&raw->spi), events, 8);
}

static void expect_early(uint32_t type, const char *word)
{
    struct raw raw;
    uint8_t record[24 + 8];
    raw_open(&raw);
    memset(record, 0, sizeof(record));
    header(record, type, 64, raw.key, 0);
    raw_send(raw.fd, record, type == TCP_WRITE ? sizeof(record) : 24);
    poll_once(&raw);
    cr_assert_eq(wi_tcp_ops.ungrant(raw.end->ep, &raw.mem, raw.key),
                 WEIR_ERR_PEER_LOST);
    WT_UNTIL(&raw.spi, raw.end->closed);
    cr_assert_not_null(strstr(raw.end->reason, word), "%s", raw.end->reason);
    raw_close(&raw);
}

/* The transport would go on to send from the memory, or to write to it. */
Test(tcp, grant_that_ends_under_an_operation_ends_the_link, .timeout = 60)
{
    expect_early(TCP_READ, "still read");
    expect_early(TCP_WRITE, "still wrote");
}

/* All of its answer is queued, behind what the socket does not take. */
Test(tcp, grant_that_ends_before_its_answer_is_sent_ends_the_link,
     .timeout = 60)
{
    static const uint8_t much[4096];
    struct raw raw;
    uint8_t record[24];
    weir_err rc = WEIR_OK;
    raw_open(&raw);
    while (rc == WEIR_OK) { /* the raw peer reads nothing */
        rc = wi_tcp_ops.send(raw.end->ep, much, sizeof(much));
        rc = rc == WEIR_OK ? wi_tcp_ops.kick(raw.end->ep) : rc;
    }
    cr_assert_eq(rc, WEIR_AGAIN);
    header(record, TCP_READ, 64, raw.key, 0);
    raw_send(raw.fd, record, sizeof(record));
    poll_once(&raw);
    cr_assert_eq(wi_tcp_ops.kick(raw.end->ep), WEIR_AGAIN);
    cr_assert_eq(wi_tcp_ops.ungrant(raw.end->ep, &raw.mem, raw.key),
                 WEIR_ERR_PEER_LOST);
    WT_UNTIL(&raw.spi, raw.end->closed);
    cr_assert_not_null(strstr(raw.end->reason, "still read"), "%s",
                       raw.end->reason);
    raw_close(&raw);
}

/* Records that are almost right, in random pieces, of 300 seeds. Whatever
 * happens, nothing outside the grant changes and messages have legal sizes. */
Test(tcp, random_streams_do_no_harm, .timeout = 120)
{
    static uint8_t stream[1 << 14];
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct raw raw;
        uint64_t state = seed * 77;
        size_t len = 0;
        raw_open(&raw);
        for (uint32_t i = 0; i < 30; i++) {
            uint64_t r = wt_rand(&state);
            uint32_t bytes = r & 4 ? (uint32_t)(r >> 8) % 64 * 8
                                   : (uint32_t)(r >> 8) % 40000;
            uint64_t off = r & 3 ? (r >> 32) % 32768 : wt_rand(&state);
            header(stream + len, (uint32_t)(1 + r % 4 + (r >> 60) / 15), bytes,
                   raw.key ^ (r >> 59 == 7), off);
            len += 24;
            size_t body = bytes < 480 ? bytes : 480;
            wt_fill(stream + len, body, r);
            len += body;
        }
        for (size_t off = 0; off < len;) {
            size_t n = 1 + wt_rand(&state) % 3000;
            n = n < len - off ? n : len - off;
            (void)!send(raw.fd, stream + off, n, MSG_NOSIGNAL);
            wt_spi_drain(&raw.spi);
            off += n;
        }
        close(raw.fd);
        raw.fd = -1;
        WT_UNTIL(&raw.spi, raw.end->closed);
        raw_close(&raw);
    }
}

/* ---- tiny socket buffers ------------------------------------------------- */

static void shrink(struct wt_end *end)
{
    const int tiny = 1; /* the kernel takes its minimum, some 5 KiB */
    int fd = tcp_ep_of(end->ep)->fd;
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &tiny, 4), 0);
}

struct tally {
    uint64_t got;
    const struct wi_mem *mem;
};

/* Message i follows write i, which fills slot i of 16 KiB. */
static void expect_slot(struct wt_end *end, const uint8_t *bytes, uint32_t len)
{
    struct tally *tally = end->arg;
    uint8_t *slot = (uint8_t *)tally->mem->base + tally->got % 16 * 16384;
    cr_assert_eq(len, 1 + tally->got * 331 % TCP_MESSAGE_BYTES);
    cr_assert(wt_is_filled(bytes, len, tally->got));
    cr_assert(wt_is_filled(slot, 16384, tally->got));
    tally->got++;
}

Test(tcp, tiny_socket_buffers_change_nothing, .timeout = 120)
{
    static uint8_t bytes[TCP_MESSAGE_BYTES];
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    wt_spi_open(&spi, &fixture, 2);
    /* Accepted sockets inherit it. Smaller windows only bring long timers. */
    const int window = 16384;
    cr_assert_eq(setsockopt(tcp_of(spi.t[1])->listen_fd, SOL_SOCKET, SO_RCVBUF,
                            &window, sizeof(window)),
                 0);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    shrink(a);
    shrink(b);
    struct wi_mem local = wt_mem_open(&spi, 0, 1 << 18);
    struct wi_mem remote = wt_mem_open(&spi, 1, 1 << 18);
    uint64_t key = wt_end_grant(b, &remote);
    struct tally tally = {0, &remote};
    b->on_message = expect_slot;
    b->arg = &tally;
    for (uint64_t i = 0; i < 100; i++) {
        WT_UNTIL(&spi, i < tally.got + 16); /* slots are free again */
        struct wi_rma op = {(uint8_t *)local.base + i % 16 * 16384, 16384, key,
                            i % 16 * 16384};
        uint32_t len = (uint32_t)(1 + i * 331 % TCP_MESSAGE_BYTES);
        wt_fill(op.local, 16384, i);
        wt_fill(bytes, len, i);
        cr_assert(wt_end_write(a, &op) && wt_end_send(a, bytes, len));
        cr_assert(wt_end_kick(a));
    }
    WT_UNTIL(&spi, tally.got == 100 && wt_end_completed(a) == 100);
    for (uint64_t i = 0; i < 16; i++) { /* and back, by reads */
        struct wi_rma op = {(uint8_t *)local.base + i * 16384, 16384, key,
                            (15 - i) * 16384};
        cr_assert(wt_end_read(a, &op) && wt_end_kick(a));
    }
    WT_UNTIL(&spi, a->reads_done == 16 && wt_end_completed(a) == 116);
    for (uint64_t i = 0; i < 16; i++) {
        cr_assert_eq(memcmp((uint8_t *)local.base + i * 16384,
                            (uint8_t *)remote.base + (15 - i) * 16384, 16384),
                     0);
    }
    wt_end_drop(a);
    wt_end_drop(b);
    wi_tcp_ops.mem_close(spi.t[0], &local);
    wi_tcp_ops.mem_close(spi.t[1], &remote);
    wt_spi_close(&spi);
}

/* ---- disconnect ---------------------------------------------------------- */

/* What the kernel of the disconnecting side still holds must arrive, though
 * that side leaves bytes unread, for which a plain close sends a reset. */
Test(tcp, disconnect_delivers_what_the_kernel_holds, .timeout = 60)
{
    static uint8_t bytes[TCP_MESSAGE_BYTES];
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    const int window = 16384;
    const int queue = 1 << 20;
    wt_spi_open(&spi, &fixture, 2);
    cr_assert_eq(setsockopt(tcp_of(spi.t[1])->listen_fd, SOL_SOCKET, SO_RCVBUF,
                            &window, sizeof(window)),
                 0);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    cr_assert_eq(setsockopt(tcp_ep_of(a->ep)->fd, SOL_SOCKET, SO_SNDBUF, &queue,
                            sizeof(queue)),
                 0);
    spi.paused = 1;
    cr_assert(wt_end_send(b, "unread", 6) && wt_end_kick(b));
    for (uint32_t i = 0; i < 25; i++) {
        cr_assert_eq(wi_tcp_ops.send(a->ep, bytes, sizeof(bytes)), WEIR_OK);
        cr_assert_eq(wi_tcp_ops.kick(a->ep), WEIR_OK);
    }
    wt_end_drop(a);
    spi.paused = 0;
    WT_UNTIL(&spi, b->closed);
    cr_assert_eq(b->messages, 25);
    wt_spi_close(&spi);
}

Test(tcp, peer_that_never_ends_is_not_waited_for, .timeout = 60)
{
    struct raw raw;
    struct wi_event ev;
    raw_open(&raw);
    uint32_t before = count_fds();
    wi_tcp_ops.poll(raw.spi.t[0], 1000, &ev, 1);
    wt_end_drop(raw.end);
    raw_send(raw.fd, "more", 4);
    wi_tcp_ops.poll(raw.spi.t[0], 999 + TCP_LINGER_NS, &ev, 1);
    cr_assert_eq(count_fds(), before);
    wi_tcp_ops.poll(raw.spi.t[0], 1000 + TCP_LINGER_NS, &ev, 1);
    cr_assert_eq(count_fds(), before - 1);
    raw_close(&raw);
}

/* ---- descriptors --------------------------------------------------------- */

/* Take every descriptor that the process may have. */
static uint32_t exhaust(int *fds, uint32_t max)
{
    struct rlimit lim;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &lim), 0);
    lim.rlim_cur = 128;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &lim), 0);
    uint32_t n = 0;
    while (n < max && (fds[n] = dup(0)) >= 0) {
        n++;
    }
    cr_assert(n > 0 && n < max);
    return n;
}

Test(tcp, connect_without_descriptors_names_the_limit, .timeout = 60)
{
    struct wt_spi spi;
    struct weir_error err = {0};
    struct wi_ep *ep = NULL;
    int fds[128];
    wt_spi_open(&spi, &fixture, 1);
    uint32_t n = exhaust(fds, 128);
    weir_err rc = wi_tcp_ops.connect(spi.t[0], spi.address[0], &ep, &err);
    cr_assert_eq(rc, WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, "128"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "ulimit -n"), "%s", err.message);
    cr_assert_null(ep);
    while (n > 0) {
        close(fds[--n]);
    }
    wt_spi_close(&spi);
}

Test(tcp, accept_without_descriptors_pauses_and_goes_on, .timeout = 60)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    struct wi_event ev;
    int fds[128];
    wt_spi_open(&spi, &fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    uint32_t n = exhaust(fds, 128);
    close(fds[--n]);
    struct wt_end *c = wt_spi_dial(&spi, 0, spi.address[1]);
    struct wi_transport *t = spi.t[1];
    struct pollfd p = {.fd = wi_tcp_ops.fd(t), .events = POLLIN};
    cr_assert_eq(poll(&p, 1, 20000), 1);
    cr_assert_eq(wi_tcp_ops.poll(t, 1000, &ev, 1), 0);
    cr_assert_eq(poll(&p, 1, 0), 0, "spins while it cannot accept");
    cr_assert_eq(wi_tcp_ops.poll(t, 1000, &ev, 1), 0);
    /* Time brings it back, and then it pauses again. */
    cr_assert_eq(wi_tcp_ops.poll(t, 1000 + TCP_PAUSE_NS, &ev, 1), 0);
    cr_assert_eq(poll(&p, 1, 20000), 1);
    cr_assert_eq(wi_tcp_ops.poll(t, 1001 + TCP_PAUSE_NS, &ev, 1), 0);
    cr_assert_eq(poll(&p, 1, 0), 0, "spins while it cannot accept");
    /* So does an endpoint that closes. */
    wt_end_drop(a);
    WT_UNTIL(&spi, b->closed);
    wt_end_drop(b);
    WT_UNTIL(&spi, c->up);
    while (n > 0) {
        close(fds[--n]);
    }
    wt_spi_close(&spi);
}

/* ---- addresses ----------------------------------------------------------- */

Test(tcp, names_are_looked_up, .timeout = 60)
{
    struct wt_spi spi;
    char address[WI_ADDRESS_BYTES];
    wt_spi_open(&spi, &fixture, 2);
    snprintf(address, sizeof(address), "tcp:localhost%s",
             strrchr(spi.address[1], ':'));
    struct wt_end *a = wt_spi_dial(&spi, 0, address);
    /* localhost may be ::1, where nobody listens; either way it was found. */
    WT_UNTIL(&spi, a->up || a->closed);
    cr_assert(a->up || strstr(a->reason, "[::1]:"), "%s", a->reason);
    wt_spi_close(&spi);
}

Test(tcp, listens_on_ipv6, .timeout = 60)
{
    struct wt_spi_fixture v6 = fixture;
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    struct weir_error err = {0};
    struct wi_transport *t = NULL;
    struct wi_transport_params params = {.listen = "[::1]:0", .name = "six"};
    if (wi_tcp_ops.open(&params, &t, &err) != WEIR_OK) {
        WT_LACKS("this host has no IPv6 loopback");
    }
    wi_tcp_ops.close(t);
    v6.listen = "[::1]:0";
    wt_spi_open(&spi, &v6, 2);
    cr_assert_eq(strncmp(spi.address[0], "tcp:[::1]:", 10), 0);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    wt_spi_close(&spi);
}

Test(tcp, wildcard_gives_an_address_that_can_be_reached, .timeout = 60)
{
    struct wt_spi_fixture any = fixture;
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    any.listen = "0.0.0.0:0";
    wt_spi_open(&spi, &any, 2);
    cr_assert_null(strstr(spi.address[1], "0.0.0.0"), "%s", spi.address[1]);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    wt_spi_close(&spi);
}

Test(tcp, busy_port_is_an_error_with_a_remedy)
{
    struct wt_spi spi;
    struct weir_error err = {0};
    struct wi_transport *t = NULL;
    wt_spi_open(&spi, &fixture, 1);
    struct wi_transport_params params = {.listen = spi.address[0] + 4,
                                         .name = "late"};
    cr_assert_eq(wi_tcp_ops.open(&params, &t, &err), WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, spi.address[0] + 4), "%s",
                       err.message);
    cr_assert_not_null(strstr(err.message, "in use"), "%s", err.message);
    cr_assert_null(t);
    wt_spi_close(&spi);
}
