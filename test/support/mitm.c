/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "test/support/mitm.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 65536, PATH = 256 };

static struct sockaddr_in home(uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* ---- one connection ------------------------------------------------------ */

static void swap(struct wt_mitm *r, uint8_t *bytes, size_t n)
{
    for (uint32_t i = 0; i < WT_MITM_SWAPS && r->swaps[i].from != NULL; i++) {
        size_t len = strlen(r->swaps[i].from);
        uint8_t *at = bytes;
        while ((at = memmem(at, n - (size_t)(at - bytes), r->swaps[i].from,
                            len)) != NULL) {
            memcpy(at, r->swaps[i].to, len);
            at += len;
            r->swapped++;
        }
    }
}

static int get(struct wt_mitm_pair *p, int side, uint8_t *bytes)
{
    return p->ssl[side] != NULL ? SSL_read(p->ssl[side], bytes, PIECE)
                                : (int)recv(p->fd[side], bytes, PIECE, 0);
}

static int put(struct wt_mitm_pair *p, int side, const uint8_t *bytes, int n)
{
    return p->ssl[side] != NULL
               ? SSL_write(p->ssl[side], bytes, n)
               : (int)send(p->fd[side], bytes, (size_t)n, MSG_NOSIGNAL);
}

static bool pass_on(struct wt_mitm_pair *p, int side)
{
    uint8_t piece[PIECE];
    int n = get(p, side, piece);
    if (n <= 0) {
        return false;
    }
    swap(p->mitm, piece, (size_t)n);
    p->mitm->bytes += (uint64_t)n;
    for (int at = 0; at < n;) {
        int one = put(p, 1 - side, piece + at, n - at);
        if (one <= 0) {
            return false;
        }
        at += one;
    }
    return true;
}

static bool shake(struct wt_mitm_pair *p, int side)
{
    SSL *ssl = p->ssl[side];
    if (ssl == NULL) {
        return true;
    }
    (void)SSL_set_fd(ssl, p->fd[side]);
    return (side == 0 ? SSL_accept(ssl) : SSL_connect(ssl)) == 1;
}

static void *carry(void *arg)
{
    struct wt_mitm_pair *p = arg;
    sigset_t pipe; /* SSL_write(3) raises it, here alone */
    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    bool on = shake(p, 0) && shake(p, 1);
    while (on) {
        struct pollfd fds[2] = {{.fd = p->fd[0], .events = POLLIN},
                                {.fd = p->fd[1], .events = POLLIN}};
        bool more[2];
        for (int i = 0; i < 2; i++) {
            more[i] = p->ssl[i] != NULL && SSL_has_pending(p->ssl[i]) == 1;
        }
        (void)poll(fds, 2, more[0] || more[1] ? 0 : -1);
        for (int i = 0; i < 2 && on; i++) {
            on = (fds[i].revents == 0 && !more[i]) || pass_on(p, i);
        }
    }
    (void)shutdown(p->fd[0], SHUT_RDWR);
    (void)shutdown(p->fd[1], SHUT_RDWR);
    return NULL;
}

static void take_in(struct wt_mitm *r, int fd)
{
    struct sockaddr_in to = home(r->port);
    cr_assert_lt(r->n_pairs, (uint32_t)WT_MITM_PAIRS);
    struct wt_mitm_pair *p = &r->pair[r->n_pairs++];
    *p = (struct wt_mitm_pair){.mitm = r, .fd = {fd, -1}};
    p->fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = connect(p->fd[1], (const struct sockaddr *)&to, sizeof(to));
    cr_assert_eq(rc, 0);
    for (int i = 0; i < 2 && r->ctx != NULL; i++) {
        p->ssl[i] = SSL_new(r->ctx);
        cr_assert_not_null(p->ssl[i]);
    }
    rc = pthread_create(&p->thread, NULL, carry, p);
    cr_assert_eq(rc, 0);
}

/* ---- all of them --------------------------------------------------------- */

static void *work(void *arg)
{
    struct wt_mitm *r = arg;
    int fd;
    while ((fd = accept(r->listen_fd, NULL, NULL)) >= 0) {
        take_in(r, fd);
    }
    return NULL;
}

static SSL_CTX *make_ctx(const char *cert)
{
    char file[PATH];
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    cr_assert_not_null(ctx);
    (void)snprintf(file, sizeof(file), "%s.crt", cert);
    int rc = SSL_CTX_use_certificate_file(ctx, file, SSL_FILETYPE_PEM);
    cr_assert_eq(rc, 1);
    (void)snprintf(file, sizeof(file), "%s.key", cert);
    rc = SSL_CTX_use_PrivateKey_file(ctx, file, SSL_FILETYPE_PEM);
    cr_assert_eq(rc, 1);
    /* He takes whoever comes, and whoever is there. */
    SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
    return ctx;
}

void wt_mitm_start(struct wt_mitm *r, const char *node_address,
                   const char *cert)
{
    struct sockaddr_in own = home(0);
    socklen_t len = sizeof(own);
    r->port = (uint16_t)atoi(strrchr(node_address, ':') + 1);
    r->ctx = cert != NULL ? make_ctx(cert) : NULL;
    r->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = bind(r->listen_fd, (const struct sockaddr *)&own, sizeof(own));
    cr_assert_eq(rc, 0);
    rc = listen(r->listen_fd, WT_MITM_PAIRS);
    cr_assert_eq(rc, 0);
    rc = getsockname(r->listen_fd, (struct sockaddr *)&own, &len);
    cr_assert_eq(rc, 0);
    (void)snprintf(r->address, sizeof(r->address), "tcp:127.0.0.1:%u",
                   ntohs(own.sin_port));
    rc = pthread_create(&r->thread, NULL, work, r);
    cr_assert_eq(rc, 0);
}

void wt_mitm_stop(struct wt_mitm *r)
{
    (void)shutdown(r->listen_fd, SHUT_RDWR); /* accept(2) ends */
    (void)pthread_join(r->thread, NULL);
    for (uint32_t i = 0; i < r->n_pairs; i++) {
        struct wt_mitm_pair *p = &r->pair[i];
        for (int side = 0; side < 2; side++) {
            (void)shutdown(p->fd[side], SHUT_RDWR);
        }
        (void)pthread_join(p->thread, NULL);
        for (int side = 0; side < 2; side++) {
            SSL_free(p->ssl[side]);
            (void)close(p->fd[side]);
        }
    }
    (void)close(r->listen_fd);
    SSL_CTX_free(r->ctx);
}
