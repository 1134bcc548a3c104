/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Certificates for benches and tests: an authority that lives as long as the
 * program, and what it issues, as PEM files. Keys are of P-256.
 *
 *   DIR/NAME.ca    DIR/NAME.crt, DIR/NAME.key of each that is issued
 */
#ifndef WL_CERTS_H
#define WL_CERTS_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

enum { WL_PATH_BYTES = 256 };

struct wl_authority;

struct wl_cert {
    const char *file;  /* DIR/NAME */
    const char *names; /* "DNS:a,DNS:b": as OpenSSL's subjectAltName */
    int64_t begin_s;   /* from now on; may be in the past */
    int64_t end_s;
    bool issues; /* it may issue others: CA:TRUE */
};

/** Make an authority and write FILE.ca. NULL: it could not. Ownership:
 *  wl_authority_close */
struct wl_authority *wl_authority_open(const char *file, const char *name);
void wl_authority_close(struct wl_authority *a);

/** Write FILE.crt and FILE.key. Errors: WEIR_ERR_SYSTEM */
weir_err wl_authority_issue(const struct wl_authority *a,
                            const struct wl_cert *cert);

#endif /* WL_CERTS_H */
