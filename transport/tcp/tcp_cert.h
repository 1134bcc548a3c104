/* SPDX-License-Identifier: Apache-2.0 */
/** Certificates: a node's own files, and the names in one. */
#ifndef WI_TCP_CERT_H
#define WI_TCP_CERT_H

#include <openssl/ssl.h>

#include <weir/error.h>

#include "core/base/tls_params.h"

enum {
    WI_CERT_DNS_BYTES = 1024, /* those beyond are not looked at */
    WI_CERT_IPS_BYTES = 256,
};

/** subjectAltName: texts one after another, each with its NUL, and an empty
 *  one. */
struct wi_cert_names {
    char dns[WI_CERT_DNS_BYTES];
    char ips[WI_CERT_IPS_BYTES]; /* as inet_ntop(3) writes them */
};

void wi_cert_names(X509 *cert, struct wi_cert_names *out);

/**
 * Take a node's certificate, its key, and the authorities of peers.
 *
 * @param name  of the node: it is in the certificate
 *
 * Errors:     WEIR_ERR_ARG (it is not, or it may issue others),
 *             WEIR_ERR_SYSTEM: which file, and what is wrong with it
 */
weir_err wi_cert_load(SSL_CTX *ctx, const struct wi_tls_params *files,
                      const char *name, struct weir_error *err);

#endif /* WI_TCP_CERT_H */
