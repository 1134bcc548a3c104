/* SPDX-License-Identifier: Apache-2.0 */
#include "core/identity/mac.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
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

bool wi_mac_same(const uint8_t a[WI_MAC_BYTES], const uint8_t b[WI_MAC_BYTES])
{
    return CRYPTO_memcmp(a, b, WI_MAC_BYTES) == 0;
}

void wi_wipe(void *at, size_t bytes)
{
    OPENSSL_cleanse(at, bytes);
}
