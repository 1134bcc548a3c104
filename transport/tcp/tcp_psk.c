/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/tcp/tcp_psk.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <string.h>

/* Ciphers of one hash, SHA-256: a key is for one. GCM first, which kernels
 * have. */
static const char ciphers[] = "TLS_AES_128_GCM_SHA256:"
                              "TLS_CHACHA20_POLY1305_SHA256";
static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};

/* OpenSSL compares that of a session with that of what it begins with. */
static const unsigned char context[] = "weir";

/* A key as OpenSSL has it: of a cipher, for its hash. */
static SSL_SESSION *session_of(SSL *ssl, const struct wi_psk *psk)
{
    SSL_SESSION *s = SSL_SESSION_new();
    if (s != NULL &&
        SSL_SESSION_set1_master_key(s, psk->key, sizeof(psk->key)) == 1 &&
        SSL_SESSION_set_cipher(s, SSL_CIPHER_find(ssl, aes_128_gcm_sha256)) ==
            1 &&
        SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION) == 1 &&
        SSL_SESSION_set1_id_context(s, context, sizeof(context)) == 1) {
        return s;
    }
    SSL_SESSION_free(s);
    return NULL;
}

static const struct wi_psks *psks_of(const SSL *ssl)
{
    return SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
}

static int offer(SSL *ssl, const EVP_MD *md, const unsigned char **id,
                 size_t *id_bytes, SSL_SESSION **out)
{
    const struct wi_psks *psks = psks_of(ssl);
    const struct wi_psk_end *end = SSL_get_app_data(ssl);
    const struct wi_psk *psk = &psks->of[end->turn < psks->n ? end->turn : 0];
    (void)md; /* ciphers have one */
    *out = session_of(ssl, psk);
    *id = psk->id;
    *id_bytes = sizeof(psk->id);
    return *out != NULL;
}

static int find(SSL *ssl, const unsigned char *id, size_t id_bytes,
                SSL_SESSION **out)
{
    const struct wi_psks *psks = psks_of(ssl);
    struct wi_psk_end *end = SSL_get_app_data(ssl);
    end->offered = true;
    *out = NULL;
    for (uint32_t i = 0; i < psks->n && id_bytes == WI_PSK_ID_BYTES; i++) {
        if (memcmp(id, psks->of[i].id, WI_PSK_ID_BYTES) == 0) {
            *out = session_of(ssl, &psks->of[i]);
            return *out != NULL;
        }
    }
    return 1; /* none; as there is no certificate, that is the end */
}

/* Who answers with a certificate does not use the key. */
static int refuse(X509_STORE_CTX *store, void *arg)
{
    (void)arg;
    X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

bool wi_psk_set_up(SSL_CTX *ctx, const struct wi_psks *psks)
{
    /* OpenSSL does not write to it. */
    SSL_CTX_set_app_data(ctx, (void *)(uintptr_t)psks);
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_clear_options(ctx, SSL_OP_ALLOW_NO_DHE_KEX); /* openssl.cnf */
    SSL_CTX_set_psk_use_session_callback(ctx, offer);
    SSL_CTX_set_psk_find_session_callback(ctx, find);
    SSL_CTX_set_cert_verify_callback(ctx, refuse, NULL);
    return SSL_CTX_set_ciphersuites(ctx, ciphers) == 1 &&
           SSL_CTX_set_session_id_context(ctx, context, sizeof(context)) == 1;
}

void wi_psk_begin(SSL *ssl, struct wi_psk_end *end)
{
    SSL_set_app_data(ssl, end);
}

const char *wi_psk_why(const SSL *ssl, unsigned long error)
{
    const struct wi_psk_end *end = SSL_get_app_data(ssl);
    switch (ERR_GET_REASON(error)) {
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM: /* for want of a certificate */
        return end->offered ? "who connects does not know the secret: give all "
                              "nodes the same secret_file"
                            : "who connects wants a certificate, this node has "
                              "a secret instead";
    case SSL_R_BINDER_DOES_NOT_VERIFY:
        return "who connects does not know the secret";
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        return "who answers there has a certificate, this node has a secret "
               "instead";
    default:
        return wi_psk_unknown(ssl, error)
                   ? "who answers there does not know the secret"
                   : NULL;
    }
}

bool wi_psk_unknown(const SSL *ssl, unsigned long error)
{
    return !SSL_is_server(ssl) &&
           ERR_GET_REASON(error) == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE;
}
