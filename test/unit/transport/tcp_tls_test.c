/* SPDX-License-Identifier: Apache-2.0 */
/* TLS over a pair of sockets: what is put comes out, whatever its pieces, while
 * the socket is full again and again and keys are changed. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/certs.h"
#include "transport/tcp/tcp_tls.h"

enum { BYTES = 4 << 20, PIECES = 64, ENDS = 2 };

static char dir[] = "/tmp/weir-tls-XXXXXX";
static struct wi_tls *tls[ENDS];
static struct wi_tls_session *session[ENDS];
static int fd[ENDS];
static uint8_t sent[BYTES];
static uint8_t got[BYTES];

static void open_context(struct wl_authority *a, uint32_t i, uint64_t rekey)
{
    char path[3][WL_PATH_BYTES];
    char file[WL_PATH_BYTES];
    struct weir_error err = {0};
    (void)snprintf(file, sizeof(file), "%s/%u", dir, i);
    const struct wl_cert cert = {file, "DNS:a,DNS:b", -3600, 3600, false};
    weir_err rc = wl_authority_issue(a, &cert);
    cr_assert_eq(rc, WEIR_OK);
    (void)snprintf(path[0], WL_PATH_BYTES, "%s/%u.crt", dir, i);
    (void)snprintf(path[1], WL_PATH_BYTES, "%s/%u.key", dir, i);
    (void)snprintf(path[2], WL_PATH_BYTES, "%s/one.ca", dir);
    const struct wi_tls_params params = {
        .cert = path[0], .key = path[1], .ca = path[2]};
    rc = wi_tls_open(&params, "b", &tls[i], &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    wi_tls_rekey(tls[i], rekey);
}

static void shake(void)
{
    enum wi_tls_want want[ENDS] = {WI_TLS_IN, WI_TLS_IN};
    char why[160] = "";
    for (uint32_t k = 0; k < 20; k++) {
        for (uint32_t i = 0; i < ENDS; i++) {
            if (want[i] != WI_TLS_DONE) {
                want[i] = wi_tls_shake(session[i], why, sizeof(why));
            }
            cr_assert_leq(want[i], WI_TLS_OUT, "%s", why);
        }
    }
    cr_assert(want[0] == WI_TLS_DONE && want[1] == WI_TLS_DONE);
}

static void open_pair(uint64_t rekey)
{
    char file[WL_PATH_BYTES];
    cr_assert_not_null(mkdtemp(dir));
    (void)snprintf(file, sizeof(file), "%s/one", dir);
    struct wl_authority *a = wl_authority_open(file, "one");
    cr_assert_not_null(a);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    for (uint32_t i = 0; i < ENDS; i++) {
        open_context(a, i, rekey);
        session[i] = wi_tls_start(tls[i], fd[i], i == 1, 0);
        cr_assert_not_null(session[i]);
    }
    wl_authority_close(a);
    shake();
}

static void close_pair(void)
{
    char command[64];
    for (uint32_t i = 0; i < ENDS; i++) {
        wi_tls_end(session[i]);
        wi_tls_close(tls[i]);
        (void)close(fd[i]);
    }
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    cr_assert_eq(system(command), 0);
}

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Up to n pieces of what is left from `at` on, some of them tiny. */
static uint32_t cut(uint8_t *bytes, size_t at, struct iovec iov[PIECES],
                    uint32_t *state)
{
    uint32_t n = 1 + next(state) % PIECES;
    uint32_t k = 0;
    while (k < n && at < BYTES) {
        uint32_t most = next(state) % 3 == 0 ? 60000 : 40;
        size_t len = 1 + next(state) % most;
        len = len < BYTES - at ? len : BYTES - at;
        iov[k++] = (struct iovec){bytes + at, len};
        at += len;
    }
    return k;
}

/* What is left of a queue after so many bytes: what was not taken comes first
 * again. */
static uint32_t rest(struct iovec queue[PIECES], uint32_t n, size_t bytes)
{
    uint32_t k = 0;
    while (k < n && bytes >= queue[k].iov_len) {
        bytes -= queue[k++].iov_len;
    }
    memmove(queue, queue + k, (n - k) * sizeof(*queue));
    if (k < n) {
        queue[0].iov_base = (uint8_t *)queue[0].iov_base + bytes;
        queue[0].iov_len -= bytes;
    }
    return n - k;
}

static void move(uint32_t seed)
{
    uint32_t state = seed;
    size_t out = 0;
    size_t in = 0;
    uint32_t full = 0;
    uint32_t n = 0;
    ssize_t moved = 0;
    struct iovec queue[PIECES];
    while (in < BYTES) {
        struct iovec iov[PIECES];
        if (n == 0) {
            n = cut(sent, out, queue, &state);
        }
        moved = n > 0 ? wi_tls_put(session[0], queue, n) : 0;
        cr_assert(moved >= 0 || errno == EAGAIN, "%s", wi_tls_why(session[0]));
        if (moved > 0) {
            out += (size_t)moved;
            n = rest(queue, n, (size_t)moved);
        }
        full += moved < 0;
        if (moved > 0 && next(&state) % 8 != 0) {
            continue; /* let it fill up */
        }
        ssize_t came = wi_tls_get(session[1], iov, cut(got, in, iov, &state));
        cr_assert(came > 0 || (came < 0 && errno == EAGAIN), "%s",
                  wi_tls_why(session[1]));
        in += came > 0 ? (size_t)came : 0;
    }
    cr_assert_eq(out, BYTES);
    cr_assert_gt(full, 0, "the socket was never full");
    cr_assert_eq(memcmp(sent, got, BYTES), 0);
}

static void fill(void)
{
    uint32_t state = 7;
    for (size_t i = 0; i < BYTES; i++) {
        sent[i] = (uint8_t)next(&state);
    }
}

Test(tcp_tls, bytes_come_as_they_were_put, .timeout = 60)
{
    fill();
    open_pair(UINT64_C(1) << 37);
    move(1);
    cr_assert_str_eq(wi_tls_names(session[0]), "a");
    cr_assert_str_eq(wi_tls_names(session[0]) + 2, "b");
    cr_assert_str_eq(wi_tls_names(session[0]) + 4, "");
    close_pair();
}

Test(tcp_tls, keys_change_under_way, .timeout = 60)
{
    fill();
    open_pair(50000);
    move(2);
    close_pair();
}

/* A byte that is changed on its way is found, and nothing of it comes. */
Test(tcp_tls, altered_bytes_do_not_come, .timeout = 60)
{
    uint8_t record[4096];
    fill();
    open_pair(UINT64_C(1) << 37);
    const struct iovec out = {sent, 1000};
    const struct iovec in = {got, 1000};
    ssize_t n = wi_tls_put(session[0], &out, 1);
    cr_assert_eq(n, 1000);
    n = recv(fd[1], record, sizeof(record), 0);
    cr_assert_gt(n, 1000);
    record[500] ^= 1;
    cr_assert_eq(send(fd[0], record, (size_t)n, 0), n);
    n = wi_tls_get(session[1], &in, 1);
    cr_assert(n == -1 && errno == EPROTO);
    /* OpenSSL 3.0; the record layer that 3.2 made a part of its own */
    cr_assert(strstr(wi_tls_why(session[1]), "bad record mac") != NULL ||
                  strstr(wi_tls_why(session[1]), "record layer") != NULL,
              "%s", wi_tls_why(session[1]));
    close_pair();
}

/* ---- SIGPIPE ------------------------------------------------------------- */

static volatile sig_atomic_t pipes;

static void count(int signo)
{
    (void)signo;
    pipes++;
}

/* The host program's thread writes: a peer that has gone is no signal. */
Test(tcp_tls, a_peer_that_has_gone_raises_no_signal, .timeout = 60)
{
    const struct iovec out = {sent, 1000};
    const struct sigaction counted = {.sa_handler = count};
    char why[160] = "";
    cr_assert_eq(sigaction(SIGPIPE, &counted, NULL), 0);
    open_pair(UINT64_C(1) << 37);
    (void)close(fd[1]);
    fd[1] = -1;
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(wi_tls_put(session[0], &out, 1), -1);
        cr_assert_eq(errno, EPROTO);
    }

    /* Nor is one that goes while hands are shaken. */
    int other[ENDS];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, other), 0);
    struct wi_tls_session *s = wi_tls_start(tls[0], other[0], false, 0);
    cr_assert_not_null(s);
    (void)close(other[1]);
    cr_assert_gt(wi_tls_shake(s, why, sizeof(why)), WI_TLS_OUT);
    wi_tls_end(s);
    (void)close(other[0]);
    cr_assert_eq(pipes, 0, "%d times SIGPIPE", (int)pipes);
    close_pair();
}
