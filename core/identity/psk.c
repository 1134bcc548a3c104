/* SPDX-License-Identifier: Apache-2.0 */
#include "core/identity/psk.h"

#include "core/base/err.h"
#include "core/base/pages.h"
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
    bool ok = true;
    wi_wipe(out, sizeof(*out));
    for (uint32_t i = 0; i < secrets->n; i++) {
        ok = make(&secrets->of[i], &out->of[i]) && ok;
    }
    if (ok) {
        out->n = secrets->n;
        return WEIR_OK;
    }
    wi_wipe(out, sizeof(*out));
    return wi_fail(err, WEIR_ERR_SYSTEM,
                   "libcrypto makes no HKDF-SHA-256: look at openssl.cnf");
}

weir_err wi_keys_open(struct wi_keys **out, struct weir_error *err)
{
    void *base = NULL;
    weir_err rc = wi_pages_secret_open(sizeof(struct wi_keys), &base, err);
    if (rc == WEIR_OK) {
        *out = base;
    }
    return rc;
}

void wi_keys_close(struct wi_keys *keys)
{
    if (keys != NULL) {
        wi_wipe(keys, sizeof(*keys));
        wi_pages_close(keys, sizeof(*keys));
    }
}
