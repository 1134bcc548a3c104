/* SPDX-License-Identifier: Apache-2.0 */
/** The files by which a node is known to others where a transport encrypts. */
#ifndef WI_TLS_FILES_H
#define WI_TLS_FILES_H

struct wi_tls_files {
    const char *cert; /* PEM: the node's certificate, and those above it */
    const char *key;  /* PEM */
    const char *ca;   /* PEM: authorities whose certificates are taken */
};

#endif /* WI_TLS_FILES_H */
