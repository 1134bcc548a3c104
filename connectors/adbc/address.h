/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a uri says.
 *
 *   weir://HOST:PORT             auto:HOST:PORT, or TRANSPORT:HOST:PORT
 *   weir://HOST:PORT/DATASET     the same, and a data set (%XX are bytes)
 *   weir://NAME                  with the transport shm: its name
 *   tcp:HOST:PORT, auto:..., ... an address as a server's node says it
 */
#ifndef WI_ADBC_ADDRESS_H
#define WI_ADBC_ADDRESS_H

#include <arrow-adbc/adbc.h>

struct wi_adbc_address {
    char *address;   /* of a node */
    char *transport; /* for a node that reaches it */
    char *dataset;   /* NULL: the uri has none */
};

/**
 * Take a uri apart.
 *
 * @param transport  NULL: what the address begins with, or "auto"
 *
 * Errors:     ADBC_STATUS_INVALID_ARGUMENT (says what is expected),
 *             ADBC_STATUS_INTERNAL (no memory)
 * Blocks:     never
 * Threads:    any
 * Ownership:  wi_adbc_address_fini
 */
AdbcStatusCode wi_adbc_address_init(struct wi_adbc_address *a, const char *uri,
                                    const char *transport,
                                    struct AdbcError *error);

/** Allowed on one that is zeroed. */
void wi_adbc_address_fini(struct wi_adbc_address *a);

#endif /* WI_ADBC_ADDRESS_H */
