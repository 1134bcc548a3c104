/* SPDX-License-Identifier: Apache-2.0 */
/**
 * TLS without certificates: both ends have a key that was made from the secret
 * of their cluster (external pre-shared keys: RFC 8446, sections 2.2, 4.2.11),
 * and there is a Diffie-Hellman exchange as well (psk_dhe_ke).
 *
 *   connecting                                       accepting
 *   ClientHello: id of one key, MAC by it ------->   has a key of that id?
 *              <------- ServerHello, Finished        else alert 40
 *
 * A peer may know the previous secret only: who gets that alert connects again
 * and offers its other key. OpenSSL offers no more than one at a time.
 */
#ifndef WI_TCP_PSK_H
#define WI_TCP_PSK_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/tls_params.h"

/** One end of a session. */
struct wi_psk_end {
    uint32_t turn; /* connecting: which key it offers */
    bool offered;  /* accepting: the peer has offered one */
};

/** Let sessions have these keys, and neither certificates nor tickets. False:
 *  OpenSSL has none of the ciphers. */
bool wi_psk_set_up(SSL_CTX *ctx, const struct wi_psks *psks);

/** Before the handshake. `end` lives as long as the session. */
void wi_psk_begin(SSL *ssl, struct wi_psk_end *end);

/** What an error of the handshake means here. NULL: nothing more than OpenSSL
 *  says of it. */
const char *wi_psk_why(const SSL *ssl, unsigned long error);

/** Connecting: is it that the peer does not have the key? */
bool wi_psk_unknown(const SSL *ssl, unsigned long error);

#endif /* WI_TCP_PSK_H */
