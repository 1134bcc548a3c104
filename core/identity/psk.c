/* SPDX-License-Identifier: Apache-2.0 */
#include "core/identity/psk.h"

#include "core/base/err.h"
#include "core/identity/mac.h"

static bool make(const struct wi_secret *secret, struct wi_psk *out)
{
    const struct wi_mac_key key = {secret->at, secret->bytes};
    return wi_hkdf(key, "weir tls psk: id", out->id, sizeof(out->id)) &&
           wi_hkdf(key, "weir tls psk: key", out->key, sizeof(out->key));
}

weir_err wi_psks_make(const struct wi_secrets *secrets, struct wi_psks *out,
                      struct weir_error *err)
{
    struct wi_psks new = {.n = secrets->n};
    bool ok = true;
    for (uint32_t i = 0; i < secrets->n; i++) {
        ok = make(&secrets->of[i], &new.of[i]) && ok;
    }
    if (ok) {
        *out = new;
    }
    wi_wipe(&new, sizeof(new));
    return ok ? WEIR_OK
              : wi_fail(err, WEIR_ERR_SYSTEM,
                        "libcrypto makes no HKDF-SHA-256: look at openssl.cnf");
}
