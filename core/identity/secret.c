/* SPDX-License-Identifier: Apache-2.0 */
#include "core/identity/secret.h"

#include <string.h>

#include "core/base/err.h"

weir_err wi_secrets_add(struct wi_secrets *s, const void *at, size_t bytes,
                        struct weir_error *err)
{
    if (s->n == WI_SECRETS) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "more than a current and a previous secret");
    }
    if (bytes < WI_SECRET_MIN || bytes > WI_SECRET_MAX) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "a secret of %zu bytes; allowed are %d to %d, random: "
                       "openssl rand -hex 32",
                       bytes, WI_SECRET_MIN, WI_SECRET_MAX);
    }
    for (uint32_t i = s->n; i < WI_SECRETS; i++) {
        memset(&s->of[i], 0, sizeof(s->of[i]));
        s->of[i].bytes = (uint32_t)bytes;
        memcpy(s->of[i].at, at, bytes);
    }
    s->n++;
    return WEIR_OK;
}

weir_err wi_secrets_parse(struct wi_secrets *s, const char *text, size_t bytes,
                          struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    size_t at = 0;
    *s = (struct wi_secrets){0};
    while (at < bytes && rc == WEIR_OK) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t len = end != NULL ? (size_t)(end - text) - at : bytes - at;
        size_t cr = len > 0 && text[at + len - 1] == '\r' ? 1 : 0;
        if (len > cr) {
            rc = wi_secrets_add(s, text + at, len - cr, err);
        }
        at += len + 1;
    }
    if (rc == WEIR_OK && s->n == 0) {
        rc = wi_fail(err, WEIR_ERR_ARG, "no secret in it");
    }
    return rc;
}
