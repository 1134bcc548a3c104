/* SPDX-License-Identifier: Apache-2.0 */
#include "core/identity/mac.h"

#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <string.h>

bool wi_mac(struct wi_mac_key key, const void *at, size_t bytes,
            uint8_t out[WI_MAC_BYTES])
{
    unsigned len = 0;
    bool ok = key.bytes <= INT_MAX &&
              HMAC(EVP_sha256(), key.at, (int)key.bytes, at, bytes, out,
                   &len) != NULL &&
              len == WI_MAC_BYTES;
    if (!ok) {
        memset(out, 0, WI_MAC_BYTES);
    }
    return ok;
}

/* libcrypto takes what it only reads as if it might write it. */
static OSSL_PARAM octets(const char *what, const void *at, size_t bytes)
{
    return OSSL_PARAM_construct_octet_string(what, (void *)(uintptr_t)at,
                                             bytes);
}

bool wi_hkdf(struct wi_mac_key key, const char *label, void *out, size_t bytes)
{
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        octets(OSSL_KDF_PARAM_KEY, key.at, key.bytes),
        octets(OSSL_KDF_PARAM_INFO, label, strlen(label)),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
    bool ok = ctx != NULL && EVP_KDF_derive(ctx, out, bytes, params) == 1;
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
    if (!ok) {
        memset(out, 0, bytes);
    }
    return ok;
}

bool wi_mac_same(const uint8_t a[WI_MAC_BYTES], const uint8_t b[WI_MAC_BYTES])
{
    return CRYPTO_memcmp(a, b, WI_MAC_BYTES) == 0;
}

void wi_wipe(void *at, size_t bytes)
{
    OPENSSL_cleanse(at, bytes);
}
