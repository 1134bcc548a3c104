/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Somebody on the way to a node, who reads what passes and exchanges some of
 * it: with a certificate of his own he is the end of TLS on both sides, without
 * one he passes on what comes.
 *
 *   peer <--TLS--> relay <--TLS--> node        sockets of 127.0.0.1, a thread
 *                                              for each connection
 */
#ifndef WT_RELAY_H
#define WT_RELAY_H

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { WT_RELAY_PAIRS = 8, WT_RELAY_SWAPS = 4 };

/** Each place where `from` passes becomes `to`, which is as long. */
struct wt_swap {
    const char *from;
    const char *to;
};

struct wt_relay;

struct wt_relay_pair {
    struct wt_relay *relay;
    int fd[2];   /* peer, node; -1: none */
    SSL *ssl[2]; /* NULL: plain */
    pthread_t thread;
};

struct wt_relay {
    char address[64];                     /* "tcp:HOST:PORT": of the relay */
    struct wt_swap swaps[WT_RELAY_SWAPS]; /* set before start */
    _Atomic uint64_t swapped;             /* places so far */
    _Atomic uint64_t bytes;               /* passed on, as he reads them */
    uint16_t port;                        /* of the node */
    int listen_fd;
    SSL_CTX *ctx; /* NULL: plain */
    uint32_t n_pairs;
    struct wt_relay_pair pair[WT_RELAY_PAIRS];
    pthread_t thread;
};

/** Before the node that has this address is connected to. `cert`: "DIR/NAME" of
 *  NAME.crt and NAME.key; NULL: none. Fails the test. */
void wt_relay_start(struct wt_relay *r, const char *node_address,
                    const char *cert);

/** Ends all of its connections. */
void wt_relay_stop(struct wt_relay *r);

#endif /* WT_RELAY_H */
