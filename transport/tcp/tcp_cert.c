/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/tcp/tcp_cert.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/base/private_file.h"

/* ---- names --------------------------------------------------------------- */

/* Behind the texts of a list; how long it is then. */
static size_t add(char *list, size_t room, size_t at, const char *text,
                  size_t len)
{
    if (len == 0 || memchr(text, '\0', len) != NULL || at + len + 2 > room) {
        return at; /* a name with a NUL in it is none */
    }
    memcpy(list + at, text, len);
    list[at + len] = '\0';
    list[at + len + 1] = '\0';
    return at + len + 1;
}

static size_t add_ip(char *list, size_t at, const ASN1_OCTET_STRING *ip)
{
    char text[INET6_ADDRSTRLEN];
    int bytes = ASN1_STRING_length(ip);
    int family = bytes == 4 ? AF_INET : AF_INET6;
    if ((bytes != 4 && bytes != 16) ||
        inet_ntop(family, ASN1_STRING_get0_data(ip), text, sizeof(text)) ==
            NULL) {
        return at;
    }
    return add(list, WI_CERT_IPS_BYTES, at, text, strlen(text));
}

void wi_cert_names(X509 *cert, struct wi_cert_names *out)
{
    GENERAL_NAMES *all =
        X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    size_t dns = 0;
    size_t ips = 0;
    out->dns[0] = out->ips[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
        const GENERAL_NAME *it = sk_GENERAL_NAME_value(all, i);
        if (it->type == GEN_DNS) {
            const ASN1_IA5STRING *text = it->d.dNSName;
            dns = add(out->dns, WI_CERT_DNS_BYTES, dns,
                      (const char *)ASN1_STRING_get0_data(text),
                      (size_t)ASN1_STRING_length(text));
        } else if (it->type == GEN_IPADD) {
            ips = add_ip(out->ips, ips, it->d.iPAddress);
        }
    }
    GENERAL_NAMES_free(all);
}

/* ---- files --------------------------------------------------------------- */

static weir_err check_own(SSL_CTX *ctx, const char *file, const char *name,
                          struct weir_error *err)
{
    struct wi_cert_names names;
    if (X509_check_ca(SSL_CTX_get0_certificate(ctx)) != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "tls_cert_file %.120s may issue others: whoever has its "
                       "key can be each node; make it with "
                       "basicConstraints=critical,CA:FALSE",
                       file);
    }
    wi_cert_names(SSL_CTX_get0_certificate(ctx), &names);
    for (const char *n = names.dns; *n != '\0'; n += strlen(n) + 1) {
        if (strcmp(n, name) == 0) {
            return WEIR_OK;
        }
    }
    return wi_fail(err, WEIR_ERR_ARG,
                   "tls_cert_file %.120s is not of %s: its first name (SAN, "
                   "DNS) is \"%.60s\"",
                   file, name, names.dns);
}

static WI_COLD weir_err bad_file(const char *what, const char *file,
                                 struct weir_error *err)
{
    const char *why = ERR_reason_error_string(ERR_get_error());
    return wi_fail(err, WEIR_ERR_SYSTEM, "%s %.160s: %s", what, file,
                   why != NULL ? why : "cannot be used");
}

/* It is read from the descriptor that was looked at. */
static weir_err load_key(SSL_CTX *ctx, const char *file, struct weir_error *err)
{
    int fd = -1;
    weir_err rc = wi_private_open("tls_key_file", file, &fd, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    BIO *bio = BIO_new_fd(fd, BIO_CLOSE);
    if (bio == NULL) {
        (void)close(fd);
        return bad_file("tls_key_file", file, err);
    }
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    bool ok = key != NULL && SSL_CTX_use_PrivateKey(ctx, key) == 1 &&
              SSL_CTX_check_private_key(ctx) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return ok ? WEIR_OK : bad_file("tls_key_file", file, err);
}

static weir_err load(SSL_CTX *ctx, const struct wi_tls_params *f,
                     struct weir_error *err)
{
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(ctx, f->cert) != 1) {
        return bad_file("tls_cert_file", f->cert, err);
    }
    weir_err rc = load_key(ctx, f->key, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (SSL_CTX_load_verify_locations(ctx, f->ca, NULL) != 1) {
        return bad_file("tls_ca_file", f->ca, err);
    }
    return WEIR_OK;
}

weir_err wi_cert_load(SSL_CTX *ctx, const struct wi_tls_params *files,
                      const char *name, struct weir_error *err)
{
    weir_err rc = load(ctx, files, err);
    return rc == WEIR_OK ? check_own(ctx, files->cert, name, err) : rc;
}
