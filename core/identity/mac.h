/* SPDX-License-Identifier: Apache-2.0 */
/**
 * HMAC-SHA-256 (RFC 2104 with FIPS 180-4) and keys made by it (RFC 5869), by
 * libcrypto: the only header through which the core uses it.
 */
#ifndef WI_MAC_H
#define WI_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WI_MAC_BYTES = 32 };

/** A key: of any length, also longer than a block. */
struct wi_mac_key {
    const void *at;
    size_t bytes;
};

/** The MAC of `bytes` at `at`. False: libcrypto could not, and out is zero. */
bool wi_mac(struct wi_mac_key key, const void *at, size_t bytes,
            uint8_t out[WI_MAC_BYTES]);

/** HKDF-SHA-256 of a key, without a salt: `bytes` for what `label` says. False:
 *  libcrypto could not, and out is zero. */
bool wi_hkdf(struct wi_mac_key key, const char *label, void *out, size_t bytes);

/** Are they the same? Takes as long whatever they hold. */
bool wi_mac_same(const uint8_t a[WI_MAC_BYTES], const uint8_t b[WI_MAC_BYTES]);

/** Overwrite what nobody is to find later. */
void wi_wipe(void *at, size_t bytes);

#endif /* WI_MAC_H */
