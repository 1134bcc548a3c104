/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Keys of TLS made from the secrets of a cluster (RFC 8446, section 4.2.11:
 * external pre-shared keys), by HKDF-SHA-256 without a salt:
 *
 *   id  = HKDF(secret, "weir tls psk: id", 16)     sent in the clear
 *   key = HKDF(secret, "weir tls psk: key", 32)
 *
 * The id says which of two secrets a peer means. It tells nothing of either,
 * but that who sends the same id has the same secret.
 */
#ifndef WI_PSK_H
#define WI_PSK_H

#include "core/base/tls_params.h"
#include "core/identity/secret.h"

/** What a node has of its secret, on pages of its own; none of it lies
 *  elsewhere. */
struct wi_keys {
    struct wi_secrets secrets;
    struct wi_psks psks;           /* of them; n 0: not wanted */
    char text[WI_SECRET_TEXT + 1]; /* while they are read */
};

/** Zeroed. Errors: as wi_pages_secret_open. Ownership: wi_keys_close */
weir_err wi_keys_open(struct wi_keys **out, struct weir_error *err);

/** Wipe and free them; NULL is allowed. */
void wi_keys_close(struct wi_keys *keys);

/** One for each secret. Errors: WEIR_ERR_SYSTEM (libcrypto could not): out is
 *  wiped then */
weir_err wi_psks_make(const struct wi_secrets *secrets, struct wi_psks *out,
                      struct weir_error *err);

#endif /* WI_PSK_H */
