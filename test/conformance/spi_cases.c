/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance cases of connections, messages, sleeping: see spi.h. */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/conformance/spi.h"

enum { LONGEST = 1 << 16 };

/* Messages of a seeded sequence: lengths and bytes follow from the number. */
struct sequence {
    uint64_t seed;
    uint64_t sent;
    uint64_t received;
};

static uint32_t length_of(const struct wt_end *end, uint64_t seed)
{
    uint32_t max = end->spi->fixture->ops->max_message_bytes;
    uint64_t state = seed * 2 + 1;
    uint64_t r = wt_rand(&state);
    uint32_t top = max < LONGEST ? max : LONGEST;
    return (uint32_t)((r & 3) == 0 ? 1 + (r >> 8) % top : 1 + (r >> 8) % 96);
}

static void expect_next(struct wt_end *end, const uint8_t *bytes, uint32_t len)
{
    struct sequence *seq = end->arg;
    uint64_t seed = seq->seed + seq->received;
    cr_assert_eq(len, length_of(end, seed), "message %lu has length %u",
                 (unsigned long)seq->received, len);
    cr_assert(wt_is_filled(bytes, len, seed), "message %lu is damaged",
              (unsigned long)seq->received);
    seq->received++;
}

static bool send_next(struct wt_end *end, struct sequence *seq)
{
    static uint8_t bytes[LONGEST];
    uint64_t seed = seq->seed + seq->sent;
    uint32_t len = length_of(end, seed);
    wt_fill(bytes, len, seed);
    if (!wt_end_send(end, bytes, len)) {
        return false;
    }
    seq->sent++;
    return true;
}

static void expect(struct wt_end *end, struct sequence *seq)
{
    end->on_message = expect_next;
    end->arg = seq;
}

/* ---- connections --------------------------------------------------------- */

void wt_spi_addresses_name_the_transport(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    char prefix[64];
    wt_spi_open(&spi, fixture, 2);
    snprintf(prefix, sizeof(prefix), "%s:", fixture->ops->name);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_not_null(memchr(spi.address[i], 0, WI_ADDRESS_BYTES));
        cr_assert_eq(strncmp(spi.address[i], prefix, strlen(prefix)), 0, "%s",
                     spi.address[i]);
        cr_assert_gt(strlen(spi.address[i]), strlen(prefix));
    }
    cr_assert_str_neq(spi.address[0], spi.address[1]);
    wt_spi_close(&spi);
}

void wt_spi_bad_addresses_are_refused(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    char empty[64];
    wt_spi_open(&spi, fixture, 1);
    snprintf(empty, sizeof(empty), "%s:", fixture->ops->name);
    const char *const bad[] = {empty, "nonsense:1", ""};
    for (size_t i = 0; i < 3; i++) {
        struct weir_error err = {0};
        struct wi_ep *ep = NULL;
        weir_err rc = fixture->ops->connect(spi.t[0], bad[i], &ep, &err);
        cr_assert_eq(rc, WEIR_ERR_ARG, "'%s' gives %s", bad[i],
                     weir_err_name(rc));
        cr_assert_eq(err.code, WEIR_ERR_ARG);
        cr_assert_neq(err.message[0], 0);
        cr_assert_null(ep);
    }
    wt_spi_close(&spi);
}

void wt_spi_connect_meets_accept(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    cr_assert(a->up && b->up && b->accepted && !a->accepted);
    cr_assert_eq(b->ep->transport->ops, wt_spi_ep_ops(fixture));
    cr_assert_eq(wt_end_completed(a), 0);
    cr_assert_eq(wt_end_completed(b), 0);
    wt_spi_close(&spi);
}

void wt_spi_crossing_connects_give_two_endpoints(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    wt_spi_open(&spi, fixture, 2);
    struct wt_end *a = wt_spi_dial(&spi, 0, spi.address[1]);
    struct wt_end *b = wt_spi_dial(&spi, 1, spi.address[0]);
    struct wt_end *ends = spi.ends; /* the accepted ones take slots 2 and 3 */
    WT_UNTIL(&spi, a->up && b->up && ends[2].up && ends[3].up);
    cr_assert(ends[2].accepted && ends[3].accepted);
    cr_assert_neq(ends[2].node, ends[3].node);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert(wt_end_send(&ends[i], "hello", 5) && wt_end_kick(&ends[i]));
    }
    for (uint32_t i = 0; i < 4; i++) {
        WT_UNTIL(&spi, ends[i].messages == 1);
    }
    wt_spi_close(&spi);
}

void wt_spi_connect_to_nobody_closes_with_a_reason(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    wt_spi_open(&spi, fixture, 2);
    fixture->ops->close(spi.t[1]);
    spi.t[1] = NULL;
    struct wt_end *a = wt_spi_dial(&spi, 0, spi.address[1]);
    WT_UNTIL(&spi, a->closed || a->up);
    cr_assert_not(a->up, "connected to a transport that was closed");
    cr_assert_neq(a->reason[0], 0);
    wt_end_drop(a);
    wt_spi_close(&spi);
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

static void link_once(struct wt_spi *spi, uint32_t round)
{
    struct wt_end *a;
    struct wt_end *b;
    wt_spi_connect(spi, round & 1, 1 - (round & 1), &a, &b);
    cr_assert(wt_end_send(a, "x", 1) && wt_end_kick(a));
    WT_UNTIL(spi, b->messages == 1);
    struct wt_end *first = round & 2 ? a : b;
    struct wt_end *second = round & 2 ? b : a;
    wt_end_drop(first);
    WT_UNTIL(spi, second->closed);
    wt_end_drop(second);
    wt_spi_drain(spi);
}

void wt_spi_two_hundred_links_leave_nothing_behind(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    wt_spi_open(&spi, fixture, 2);
    link_once(&spi, 0);
    uint32_t before = count_fds();
    for (uint32_t i = 1; i <= 200; i++) {
        link_once(&spi, i);
    }
    cr_assert_leq(count_fds(), before, "descriptors leak");
    wt_spi_close(&spi);
}

void wt_spi_lost_end_refuses_work(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    wt_end_drop(b);
    WT_UNTIL(&spi, a->closed);
    weir_err rc = fixture->ops->send(a->ep, "x", 1);
    if (rc == WEIR_OK || rc == WEIR_AGAIN) {
        rc = fixture->ops->kick(a->ep);
    }
    cr_assert_eq(rc, WEIR_ERR_PEER_LOST, "work on a closed endpoint gives %s",
                 weir_err_name(rc));
    wt_spi_close(&spi);
}

/* In the child: connect, say one thing, wait for the answer, die. */
static void live_and_die(const struct wt_spi_fixture *fixture, int address_fd)
{
    char address[WI_ADDRESS_BYTES];
    struct wt_spi *spi = calloc(1, sizeof(*spi));
    cr_assert_eq(read(address_fd, address, sizeof(address)), sizeof(address));
    wt_spi_open(spi, fixture, 1);
    struct wt_end *a = wt_spi_dial(spi, 0, address);
    WT_UNTIL(spi, a->up);
    cr_assert(wt_end_send(a, "born", 4) && wt_end_kick(a));
    WT_UNTIL(spi, a->messages == 1);
    raise(SIGKILL);
}

/* The child is forked first: the transport may have threads. */
void wt_spi_vanished_peer_closes(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    int fd[2];
    cr_assert_eq(pipe(fd), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        live_and_die(fixture, fd[0]);
        _exit(1);
    }
    wt_spi_open(&spi, fixture, 1);
    cr_assert_eq(write(fd[1], spi.address[0], WI_ADDRESS_BYTES),
                 WI_ADDRESS_BYTES);
    (void)close(fd[0]);
    (void)close(fd[1]);
    struct wt_end *b = &spi.ends[0];
    WT_UNTIL(&spi, b->up && b->messages == 1);
    cr_assert(wt_end_send(b, "die", 3) && wt_end_kick(b));
    WT_UNTIL(&spi, b->closed);
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    wt_spi_close(&spi);
}

/* ---- messages ------------------------------------------------------------ */

void wt_spi_messages_arrive_whole_and_in_order(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    struct sequence seq = {.seed = 7};
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    expect(b, &seq);
    while (seq.sent < 3000) {
        cr_assert(send_next(a, &seq));
        if (seq.sent % 7 == 0) {
            cr_assert(wt_end_kick(a));
        }
    }
    cr_assert(wt_end_kick(a));
    WT_UNTIL(&spi, seq.received == seq.sent);
    wt_spi_close(&spi);
}

static void expect_pattern(struct wt_end *end, const uint8_t *bytes,
                           uint32_t len)
{
    uint32_t *want = end->arg;
    cr_assert_eq(len, *want);
    cr_assert(wt_is_filled(bytes, len, len));
}

void wt_spi_longest_and_shortest_messages(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    uint32_t len = 0;
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    b->on_message = expect_pattern;
    b->arg = &len;
    uint32_t max = fixture->ops->max_message_bytes;
    cr_assert_geq(max, WI_MIN_MESSAGE_BYTES);
    uint8_t *bytes = malloc(max);
    for (uint32_t i = 0; i < 20; i++) {
        len = i % 2 ? max - i / 4 : 1 + i / 4;
        wt_fill(bytes, len, len);
        cr_assert(wt_end_send(a, bytes, len) && wt_end_kick(a));
        WT_UNTIL(&spi, b->messages == i + 1);
    }
    free(bytes);
    wt_spi_close(&spi);
}

/* As many as the core takes at a time. */
static uint32_t take_many(struct wt_spi *spi, struct wt_end *b)
{
    enum { EVENTS = 64 };
    struct wi_event events[EVENTS];
    uint32_t n =
        spi->fixture->ops->poll(spi->t[1], wt_spi_now(spi), events, EVENTS);
    for (uint32_t i = 0; i < n; i++) {
        if (events[i].kind == WI_EV_MESSAGE) {
            b->messages++;
            b->on_message(b, events[i].bytes, events[i].len);
        }
    }
    return n;
}

/* Nothing follows that would wake who has not taken all that has come. */
void wt_spi_burst_of_messages_arrives(const struct wt_spi_fixture *fixture)
{
    static const uint32_t lengths[] = {7, 230, 1057, 2000};
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    uint32_t len = 0;
    uint64_t sent = 0;
    static uint8_t bytes[WI_MIN_MESSAGE_BYTES];
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    b->on_message = expect_pattern;
    b->arg = &len;
    for (uint32_t i = 0; i < 4; i++) {
        len = lengths[i];
        wt_fill(bytes, len, len);
        weir_err rc = WEIR_OK;
        for (uint32_t n = 0; rc == WEIR_OK && n < 100; n++) {
            rc = fixture->ops->send(a->ep, bytes, len); /* b polls later */
            sent += rc == WEIR_OK;
            wt_end_kick(a);
        }
        while (b->messages != sent) {
            cr_assert(take_many(&spi, b) > 0 || wt_spi_turn(&spi),
                      "%u of %u of length %u", (unsigned)b->messages,
                      (unsigned)sent, len);
        }
    }
    wt_spi_close(&spi);
}

void wt_spi_messages_cross(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    struct sequence to_b = {.seed = 100};
    struct sequence to_a = {.seed = 90000};
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    expect(b, &to_b);
    expect(a, &to_a);
    while (to_b.sent < 2000) {
        cr_assert(send_next(a, &to_b) && send_next(b, &to_a));
        cr_assert(wt_end_kick(a) && wt_end_kick(b));
    }
    WT_UNTIL(&spi, to_b.received == 2000 && to_a.received == to_a.sent);
    wt_spi_close(&spi);
}

void wt_spi_full_queue_ends_in_sendable_and_loses_nothing(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    struct sequence seq = {.seed = 5};
    uint64_t bound = fixture->max_queued_bytes;
    uint64_t queued = 0;
    static uint8_t bytes[LONGEST];
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    expect(b, &seq);
    spi.paused = 2; /* b's node takes nothing */
    for (;;) {
        uint32_t len = length_of(a, seq.seed + seq.sent);
        wt_fill(bytes, len, seq.seed + seq.sent);
        weir_err rc = fixture->ops->send(a->ep, bytes, len);
        wt_end_kick(a);
        if (rc == WEIR_AGAIN) {
            break;
        }
        cr_assert_eq(rc, WEIR_OK);
        seq.sent++;
        queued += len;
        cr_assert_leq(queued, bound ? bound : 64u << 20, "no bound in sight");
    }
    uint64_t seen = a->sendable;
    cr_assert_eq(b->messages, 0);
    spi.paused = 0;
    WT_UNTIL(&spi, a->sendable != seen);
    WT_UNTIL(&spi, seq.received == seq.sent);
    cr_assert(send_next(a, &seq) && wt_end_kick(a));
    WT_UNTIL(&spi, seq.received == seq.sent);
    wt_spi_close(&spi);
}

void wt_spi_one_event_per_poll_loses_nothing(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    struct sequence seq = {.seed = 31};
    struct wi_event ev;
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    expect(b, &seq);
    for (uint32_t i = 0; i < 40; i++) {
        cr_assert(send_next(a, &seq) && wt_end_kick(a));
    }
    WT_UNTIL(&spi, seq.received > 0);
    /* The rest one by one; a virtual clock moves by turns in between. */
    while (seq.received < seq.sent) {
        uint32_t n = fixture->ops->poll(spi.t[1], wt_spi_now(&spi), &ev, 1);
        cr_assert_leq(n, 1);
        if (n == 1 && ev.kind == WI_EV_MESSAGE) {
            expect_next(b, ev.bytes, ev.len);
        } else if (n == 0) {
            cr_assert(wt_spi_turn(&spi));
        }
    }
    wt_spi_close(&spi);
}

void wt_spi_disconnect_delivers_what_was_kicked(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    struct sequence seq = {.seed = 77};
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    expect(b, &seq);
    /* Unread bytes at the side that disconnects must do no harm. */
    spi.paused = 1;
    cr_assert(wt_end_send(b, "unread", 6) && wt_end_kick(b));
    while (seq.sent < 20) {
        cr_assert(send_next(a, &seq));
    }
    weir_err rc = fixture->ops->kick(a->ep);
    cr_assert_eq(rc, WEIR_OK, "20 messages block an idle link");
    wt_end_drop(a);
    spi.paused = 0;
    WT_UNTIL(&spi, b->closed);
    cr_assert_eq(seq.received, seq.sent);
    wt_spi_close(&spi);
}

void wt_spi_disconnect_in_the_midst_of_traffic(
    const struct wt_spi_fixture *fixture)
{
    for (uint32_t round = 0; round < 24; round++) {
        struct wt_spi spi;
        struct wt_end *a;
        struct wt_end *b;
        struct sequence to_b = {.seed = round};
        struct sequence to_a = {.seed = 1000 + round};
        wt_spi_open(&spi, fixture, 2);
        wt_spi_connect(&spi, 0, 1, &a, &b);
        expect(b, &to_b);
        expect(a, &to_a);
        for (uint32_t i = 0; i < 10 + round * 9; i++) {
            cr_assert(send_next(a, &to_b) && send_next(b, &to_a));
            cr_assert(wt_end_kick(a) && wt_end_kick(b));
        }
        wt_end_drop(round & 1 ? a : b);
        struct wt_end *left = round & 1 ? b : a;
        WT_UNTIL(&spi, left->closed);
        cr_assert_leq(to_a.received, to_a.sent);
        cr_assert_leq(to_b.received, to_b.sent);
        wt_spi_close(&spi);
    }
}

/* ---- sleeping ------------------------------------------------------------ */

static bool is_readable(struct wi_transport *t, int timeout_ms)
{
    struct pollfd p = {.fd = t->ops->fd(t), .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

/* Poll until the transport agrees to sleep. */
static void arm(struct wt_spi *spi, uint32_t node)
{
    while (spi->t[node]->ops->arm(spi->t[node]) == WEIR_AGAIN) {
        wt_spi_drain(spi);
    }
}

/* As arm. A transport may also wake for its own sake (verbs has a timer for
 * acknowledgements), but not again and again. */
static void fall_asleep(struct wt_spi *spi, uint32_t node)
{
    uint32_t woken = 0;
    arm(spi, node);
    while (is_readable(spi->t[node], 0)) {
        cr_assert_lt(++woken, 10, "readable with no event");
        wt_spi_drain(spi);
        arm(spi, node);
    }
}

void wt_spi_arm_sleeps_and_wakes(const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    wt_spi_open(&spi, fixture, 2);
    cr_assert_eq(fixture->ops->fd(spi.t[1]), fixture->ops->fd(spi.t[1]));
    cr_assert_geq(fixture->ops->fd(spi.t[1]), 0);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    for (uint32_t i = 0; i < 50; i++) {
        wt_spi_drain(&spi);
        fall_asleep(&spi, 1);
        cr_assert(wt_end_send(a, "wake", 4) && wt_end_kick(a));
        cr_assert(is_readable(spi.t[1], 20000), "slept over an event");
        WT_UNTIL(&spi, b->messages == i + 1);
    }
    wt_spi_drain(&spi);
    fall_asleep(&spi, 1);
    wt_end_drop(a);
    cr_assert(is_readable(spi.t[1], 20000), "slept over a disconnect");
    WT_UNTIL(&spi, b->closed);
    wt_spi_close(&spi);
}

void wt_spi_event_before_arm_is_not_slept_over(
    const struct wt_spi_fixture *fixture)
{
    struct wt_spi spi;
    struct wt_end *a;
    struct wt_end *b;
    wt_spi_open(&spi, fixture, 2);
    wt_spi_connect(&spi, 0, 1, &a, &b);
    for (uint32_t i = 0; i < 50; i++) {
        wt_spi_drain(&spi);
        cr_assert(wt_end_send(a, "early", 5) && wt_end_kick(a));
        weir_err rc = fixture->ops->arm(spi.t[1]);
        cr_assert(rc == WEIR_AGAIN || rc == WEIR_OK);
        cr_assert(rc == WEIR_AGAIN || is_readable(spi.t[1], 20000));
        WT_UNTIL(&spi, b->messages == i + 1);
    }
    wt_spi_close(&spi);
}
