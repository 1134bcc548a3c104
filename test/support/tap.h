/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A tap on the wire to a node: who connects to the tap speaks to the node, and
 * all that passes, in both directions, is kept.
 *
 *   peer <--> tap <--> node            one thread, sockets of 127.0.0.1
 */
#ifndef WT_TAP_H
#define WT_TAP_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { WT_TAP_BYTES = 8 << 20, WT_TAP_PAIRS = 8 };

struct wt_tap {
    char address[64]; /* "tcp:HOST:PORT": of the tap */
    uint16_t port;    /* of the node */
    int listen_fd;
    int stop_fd[2];
    int pair[WT_TAP_PAIRS][2]; /* peer, node; -1: none */
    pthread_t thread;
    size_t len;
    uint8_t bytes[WT_TAP_BYTES]; /* what has passed; read it after stop */
};

/** Before the node that has this address is connected to. Fails the test. */
void wt_tap_start(struct wt_tap *t, const char *node_address);
void wt_tap_stop(struct wt_tap *t);

#endif /* WT_TAP_H */
