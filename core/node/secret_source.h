/* SPDX-License-Identifier: Apache-2.0 */
/** Where a node's secret comes from: a file, or the program. */
#ifndef WI_SECRET_SOURCE_H
#define WI_SECRET_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/identity.h>

struct wi_keys;

struct wi_secret_source {
    char *file; /* a copy; NULL: none */
    weir_secret_fn fn;
    void *arg;
};

/** Copy what the params say. Errors: WEIR_ERR_ARG (both), WEIR_ERR_NO_MEMORY */
weir_err wi_secret_source_open(struct wi_secret_source *s,
                               const struct weir_node_params *p,
                               struct weir_error *err);
void wi_secret_source_close(struct wi_secret_source *s);

/** Check what the params say of TLS, as far as this needs no file. Errors:
 *  WEIR_ERR_ARG (one of three files or the secret is missing, several ways are
 *  wanted, or the transport has no TLS) */
weir_err wi_tls_check(const struct weir_node_params *p, struct weir_error *err);

/** Are there files of certificates? */
bool wi_tls_files(const struct weir_node_params *p);

/** Is it TLS by the secret? */
bool wi_tls_by_secret(const struct weir_node_params *p);

/** Is there one? */
bool wi_secret_source_any(const struct wi_secret_source *s);

/** Get the secrets. Errors: as weir_node_renew_secret. Ownership:
 *  wi_keys_close */
weir_err wi_secret_source_read(const struct wi_secret_source *s,
                               struct wi_keys **out, struct weir_error *err);

/** Random bytes of the system; false: it has none. */
bool wi_secret_draw(void *bytes, size_t n);

#endif /* WI_SECRET_SOURCE_H */
