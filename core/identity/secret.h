/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The secret of a cluster, and the one before it while the nodes change from
 * one to the other. As text, a line for each, the current one first:
 *
 *     9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
 *     60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752
 *
 * The bytes of a line are the key, whatever they stand for.
 */
#ifndef WI_SECRET_H
#define WI_SECRET_H

#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

enum {
    WI_SECRET_MIN = 32, /* bytes: 128 bits in hexadecimal digits */
    WI_SECRET_MAX = 256,
    WI_SECRETS = 2,
    WI_SECRET_TEXT = 2 * WI_SECRET_MAX + 4, /* longest text, with line ends */
};

struct wi_secret {
    uint32_t bytes;
    uint8_t at[WI_SECRET_MAX];
};

/** All zero: none, and nobody is asked for proof. */
struct wi_secrets {
    uint32_t n;
    struct wi_secret of[WI_SECRETS]; /* of[1] is of[0] if n is 1 */
};

/** Add one, the current one first. Errors: WEIR_ERR_ARG (too short, too long,
 *  one too many); no message tells anything of it but its length */
weir_err wi_secrets_add(struct wi_secrets *s, const void *at, size_t bytes,
                        struct weir_error *err);

/** Take them from a text. Errors: as wi_secrets_add, also for none at all */
weir_err wi_secrets_parse(struct wi_secrets *s, const char *text, size_t bytes,
                          struct weir_error *err);

#endif /* WI_SECRET_H */
