/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Somebody on the way to a node, who reads what passes and exchanges some of
 * it: with a certificate of his own he is the end of TLS on both sides, without
 * one he passes on what comes.
 *
 *   peer <--TLS--> mitm <--TLS--> node        sockets of 127.0.0.1, a thread
 *                                              for each connection
 */
#ifndef WT_MITM_H
#define WT_MITM_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { WT_MITM_PAIRS = 8, WT_MITM_SWAPS = 4 };

/** Each place where `from` passes becomes `to`, which is as long. */
struct wt_swap {
    const char *from;
    const char *to;
};

struct wt_mitm;

struct wt_mitm_pair {
    struct wt_mitm *mitm;
    int fd[2];   /* peer, node; -1: none */
    SSL *ssl[2]; /* NULL: plain */
    pthread_t thread;
};

struct wt_mitm {
    char address[64];                    /* "tcp:HOST:PORT": of the mitm */
    struct wt_swap swaps[WT_MITM_SWAPS]; /* set before start */
    _Atomic uint64_t swapped;            /* places so far */
    _Atomic uint64_t bytes;              /* passed on, as he reads them */
    uint16_t port;                       /* of the node */
    int listen_fd;
    SSL_CTX *ctx; /* NULL: plain */
    uint32_t n_pairs;
    struct wt_mitm_pair pair[WT_MITM_PAIRS];
    pthread_t thread;
};

/** Before the node that has this address is connected to. `cert`: "DIR/NAME" of
 *  NAME.crt and NAME.key; NULL: none. Fails the test. */
void wt_mitm_start(struct wt_mitm *r, const char *node_address,
                   const char *cert);

/** Ends all of its connections. */
void wt_mitm_stop(struct wt_mitm *r);

#endif /* WT_MITM_H */
