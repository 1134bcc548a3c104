/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "launch/certs.h"

#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { YEAR_S = 365 * 86400 };

struct wl_authority {
    EVP_PKEY *key;
    X509 *cert;
};

/* ---- files --------------------------------------------------------------- */

/* Nobody else may read it. */
static FILE *open_file(const char *file, const char *end)
{
    char path[WL_PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s.%s", file, end);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd >= 0 ? fdopen(fd, "w") : NULL;
}

static bool write_cert(const char *file, const char *end, X509 *cert)
{
    FILE *f = open_file(file, end);
    bool ok = f != NULL && PEM_write_X509(f, cert) == 1;
    return (f == NULL || fclose(f) == 0) && ok;
}

static bool write_key(const char *file, EVP_PKEY *key)
{
    FILE *f = open_file(file, "key");
    bool ok = f != NULL &&
              PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1;
    return (f == NULL || fclose(f) == 0) && ok;
}

/* ---- certificates -------------------------------------------------------- */

static bool extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *x = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = x != NULL && X509_add_ext(cert, x, -1) == 1;
    X509_EXTENSION_free(x);
    return ok;
}

static X509 *fill(EVP_PKEY *key, const char *subject, const struct wl_cert *c)
{
    X509 *cert = X509_new();
    if (cert == NULL) {
        return NULL;
    }
    bool ok =
        X509_set_version(cert, 2) == 1 && X509_set_pubkey(cert, key) == 1 &&
        X509_gmtime_adj(X509_getm_notBefore(cert), (long)c->begin_s) != NULL &&
        X509_gmtime_adj(X509_getm_notAfter(cert), (long)c->end_s) != NULL &&
        X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN",
                                   MBSTRING_ASC, (const unsigned char *)subject,
                                   -1, -1, 0) == 1;
    if (!ok) {
        X509_free(cert);
        return NULL;
    }
    return cert;
}

static bool sign(const struct wl_authority *a, X509 *cert, long serial)
{
    return ASN1_INTEGER_set(X509_get_serialNumber(cert), serial) == 1 &&
           X509_set_issuer_name(cert, X509_get_subject_name(a->cert)) == 1 &&
           X509_sign(cert, a->key, EVP_sha256()) > 0;
}

/* ---- authorities --------------------------------------------------------- */

struct wl_authority *wl_authority_open(const char *file, const char *name)
{
    static const struct wl_cert years = {.begin_s = -YEAR_S, .end_s = YEAR_S};
    struct wl_authority *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return NULL;
    }
    a->key = EVP_EC_gen("P-256");
    a->cert = a->key != NULL ? fill(a->key, name, &years) : NULL;
    if (a->cert == NULL ||
        !extend(a->cert, a->cert, NID_basic_constraints, "critical,CA:TRUE") ||
        !sign(a, a->cert, 1) || !write_cert(file, "ca", a->cert)) {
        wl_authority_close(a);
        return NULL;
    }
    return a;
}

void wl_authority_close(struct wl_authority *a)
{
    if (a != NULL) {
        X509_free(a->cert);
        EVP_PKEY_free(a->key);
        free(a);
    }
}

weir_err wl_authority_issue(const struct wl_authority *a,
                            const struct wl_cert *cert)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = key != NULL ? fill(key, "Weir node", cert) : NULL;
    bool ok = x != NULL &&
              extend(x, a->cert, NID_subject_alt_name, cert->names) &&
              (!cert->issues ||
               extend(x, a->cert, NID_basic_constraints, "critical,CA:TRUE")) &&
              sign(a, x, 2) && write_cert(cert->file, "crt", x) &&
              write_key(cert->file, key);
    X509_free(x);
    EVP_PKEY_free(key);
    return ok ? WEIR_OK : WEIR_ERR_SYSTEM;
}
