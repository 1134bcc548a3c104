/* SPDX-License-Identifier: Apache-2.0 */
/**
 * TLS 1.3 below the tcp transport, by OpenSSL: both ends show a certificate of
 * one authority, or have a key in common that was made from a secret
 * (tcp_psk.h), and everything that follows is encrypted, greeting and rows.
 *
 *   connect, accept --> TCP_TLS: wi_tls_shake() until it is done
 *                   --> TCP_GREETING, TCP_UP: wi_tls_put(), wi_tls_get()
 *
 * A session is used by the holder of the post lock and by the engine at a time,
 * so each call takes its lock, for as long as one record or a few take.
 */
#ifndef WI_TCP_TLS_H
#define WI_TCP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "core/transport.h"

/** Certificate, key and authority of a node, or its pre-shared keys. */
struct wi_tls;

/** TLS of one connection. */
struct wi_tls_session;

enum wi_tls_want {
    WI_TLS_DONE,
    WI_TLS_IN,      /* when there is more to read */
    WI_TLS_OUT,     /* when there is room to write */
    WI_TLS_GONE,    /* the peer has closed without a word */
    WI_TLS_UNKNOWN, /* it does not have the key of this turn */
    WI_TLS_FAILED,  /* either side refuses the other */
};

/**
 * Read the files, and see that the certificate is of `name`; or take keys.
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_SYSTEM (which file, and what is wrong)
 */
weir_err wi_tls_open(const struct wi_tls_params *params, const char *name,
                     struct wi_tls **out, struct weir_error *err);
void wi_tls_close(struct wi_tls *t);

/** Sessions that are started later change their keys after so many bytes [2^37:
 *  a tenth of what AES-GCM allows]. */
void wi_tls_rekey(struct wi_tls *t, uint64_t bytes);

/** How many keys one that connects can offer, one after the other: turns. */
uint32_t wi_tls_turns(const struct wi_tls *t);

/** A session over a connected socket. `turn`: from 0, of one that connects.
 *  NULL: no memory. */
struct wi_tls_session *wi_tls_start(struct wi_tls *t, int fd, bool accepted,
                                    uint32_t turn);
void wi_tls_end(struct wi_tls_session *s);

/** Go on with the handshake. GONE and below: `why`, of `bytes`, says why. */
enum wi_tls_want wi_tls_shake(struct wi_tls_session *s, char *why,
                              size_t bytes);

/** Names in the peer's certificate, as wi_ep.names has them: NULL without. */
const char *wi_tls_names(const struct wi_tls_session *s);

/** IP addresses in it, as wi_ep.ips has them. */
const char *wi_tls_ips(const struct wi_tls_session *s);

/** As sendmsg(2): bytes that were taken, or -1 and errno (EAGAIN, or EPROTO).
 *  After EAGAIN the same bytes come first again. */
ssize_t wi_tls_put(struct wi_tls_session *s, const struct iovec *iov,
                   uint32_t n);

/** As readv(2): bytes, 0 at the end, or -1 and errno. EAGAIN: nothing is left
 *  here, so the socket tells when there is more. */
ssize_t wi_tls_get(struct wi_tls_session *s, const struct iovec *iov,
                   uint32_t n);

/** What went wrong, after EPROTO. */
const char *wi_tls_why(const struct wi_tls_session *s);

#endif /* WI_TCP_TLS_H */
