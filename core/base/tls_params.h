/* SPDX-License-Identifier: Apache-2.0 */
/** How a node is known to others where a transport encrypts: by the files of a
 *  certificate, or by keys that were made from the secret of the cluster. */
#ifndef WI_TLS_PARAMS_H
#define WI_TLS_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

enum { WI_PSK_ID_BYTES = 16, WI_PSK_KEY_BYTES = 32, WI_PSKS = 2 };

/** A pre-shared key of TLS, and the name by which peers speak of it. */
struct wi_psk {
    uint8_t id[WI_PSK_ID_BYTES];
    uint8_t key[WI_PSK_KEY_BYTES];
};

/** The current one first, and the one before it. */
struct wi_psks {
    uint32_t n;
    struct wi_psk of[WI_PSKS];
};

struct wi_tls_params {
    const char *cert; /* PEM: the node's certificate, and those above it */
    const char *key;  /* PEM */
    const char *ca;   /* PEM: authorities whose certificates are taken */

    /** Instead of files: outlives the transport, and changes under the node's
     *  lock, which is held when the transport polls. NULL: files. */
    const struct wi_psks *psks;

    bool strict; /* what cannot be encrypted is not used to other hosts */
};

#endif /* WI_TLS_PARAMS_H */
