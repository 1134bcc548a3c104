/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/tap.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 65536, FDS = 2 + 2 * WT_TAP_PAIRS };

static struct sockaddr_in home(uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void take_in(struct wt_tap *t)
{
    struct sockaddr_in to = home(t->port);
    uint32_t i = 0;
    while (i < WT_TAP_PAIRS && t->pair[i][0] >= 0) {
        i++;
    }
    cr_assert_lt(i, WT_TAP_PAIRS);
    t->pair[i][0] = accept(t->listen_fd, NULL, NULL);
    t->pair[i][1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert(t->pair[i][0] >= 0 && t->pair[i][1] >= 0);
    int rc = connect(t->pair[i][1], (const struct sockaddr *)&to, sizeof(to));
    cr_assert_eq(rc, 0);
}

static void hang_up(int pair[2])
{
    (void)close(pair[0]);
    (void)close(pair[1]);
    pair[0] = pair[1] = -1;
}

/* What has come on one side goes out on the other one. */
static void pass_on(struct wt_tap *t, int pair[2], uint32_t side)
{
    uint8_t piece[PIECE];
    ssize_t n = recv(pair[side], piece, sizeof(piece), 0);
    ssize_t sent = 0;
    while (n > 0 && sent < n) {
        ssize_t one = send(pair[1 - side], piece + sent, (size_t)(n - sent),
                           MSG_NOSIGNAL);
        n = one > 0 ? n : -1;
        sent += one > 0 ? one : 0;
    }
    if (n <= 0) {
        hang_up(pair);
        return;
    }
    cr_assert_leq(t->len + (size_t)n, (size_t)WT_TAP_BYTES);
    memcpy(t->bytes + t->len, piece, (size_t)n);
    t->len += (size_t)n;
}

static void *work(void *arg)
{
    struct wt_tap *t = arg;
    struct pollfd fds[FDS];
    for (;;) {
        fds[0] = (struct pollfd){.fd = t->stop_fd[0], .events = POLLIN};
        fds[1] = (struct pollfd){.fd = t->listen_fd, .events = POLLIN};
        for (uint32_t i = 2; i < FDS; i++) {
            fds[i] = (struct pollfd){.fd = t->pair[i / 2 - 1][i % 2],
                                     .events = POLLIN};
        }
        (void)poll(fds, FDS, -1);
        if (fds[0].revents != 0) {
            return NULL;
        }
        for (uint32_t i = 2; i < FDS; i++) {
            int *pair = t->pair[i / 2 - 1];
            if (fds[i].revents != 0 && pair[i % 2] == fds[i].fd) {
                pass_on(t, pair, i % 2);
            }
        }
        if (fds[1].revents != 0) {
            take_in(t);
        }
    }
}

void wt_tap_start(struct wt_tap *t, const char *node_address)
{
    struct sockaddr_in own = home(0);
    socklen_t len = sizeof(own);
    t->len = 0;
    t->port = (uint16_t)atoi(strrchr(node_address, ':') + 1);
    memset(t->pair, -1, sizeof(t->pair));
    t->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(t->listen_fd, 0);
    int rc = bind(t->listen_fd, (const struct sockaddr *)&own, sizeof(own));
    cr_assert_eq(rc, 0);
    rc = listen(t->listen_fd, WT_TAP_PAIRS);
    cr_assert_eq(rc, 0);
    rc = getsockname(t->listen_fd, (struct sockaddr *)&own, &len);
    cr_assert_eq(rc, 0);
    (void)snprintf(t->address, sizeof(t->address), "tcp:127.0.0.1:%u",
                   ntohs(own.sin_port));
    rc = pipe(t->stop_fd);
    cr_assert_eq(rc, 0);
    rc = pthread_create(&t->thread, NULL, work, t);
    cr_assert_eq(rc, 0);
}

void wt_tap_stop(struct wt_tap *t)
{
    cr_assert_eq(write(t->stop_fd[1], "", 1), 1);
    (void)pthread_join(t->thread, NULL);
    for (uint32_t i = 0; i < WT_TAP_PAIRS; i++) {
        if (t->pair[i][0] >= 0) {
            hang_up(t->pair[i]);
        }
    }
    (void)close(t->listen_fd);
    (void)close(t->stop_fd[0]);
    (void)close(t->stop_fd[1]);
}
