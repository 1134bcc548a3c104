/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of TLS from secrets. The answers were made by another implementation
 * (hmac and hashlib of Python). */
#include <criterion/criterion.h>
#include <string.h>

#include "core/identity/psk.h"

#define NEW "new-new-new-new-new-new-new-new-new"
#define OLD "old-old-old-old-old-old-old-old-old"

static const struct wi_psk of_new = {
    .id = {0xef, 0x73, 0x0e, 0x65, 0x6d, 0x6d, 0xd9, 0xd4, 0xde, 0x87, 0x5f,
           0x2c, 0x5e, 0x74, 0x87, 0x66},
    .key = {0xcf, 0x1c, 0xc9, 0x14, 0x72, 0xc7, 0x4c, 0xa9, 0xa3, 0xc9, 0x65,
            0xf8, 0xd4, 0x7f, 0x92, 0x23, 0x20, 0x92, 0x5a, 0x36, 0x05, 0x64,
            0x1e, 0x89, 0xbf, 0x08, 0x9e, 0xe9, 0x46, 0xd9, 0x59, 0xc4}};
static const struct wi_psk of_old = {
    .id = {0x77, 0x63, 0x1f, 0xa4, 0xf4, 0xc6, 0x87, 0x9c, 0x6b, 0x42, 0x5b,
           0xf8, 0xa3, 0xae, 0xb2, 0x78},
    .key = {0xce, 0x16, 0x90, 0x7c, 0x89, 0x35, 0xfa, 0xca, 0xf2, 0xcc, 0x91,
            0x01, 0x83, 0x72, 0x73, 0xd7, 0x8c, 0xae, 0x9e, 0xb0, 0xae, 0xab,
            0x0c, 0xb3, 0xeb, 0x04, 0x56, 0xf3, 0xe7, 0xed, 0x4d, 0xae}};

static struct wi_psks make(const char *text)
{
    struct wi_secrets secrets;
    struct wi_psks psks = {0};
    struct weir_error err = {0};
    weir_err rc = wi_secrets_parse(&secrets, text, strlen(text), &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    rc = wi_psks_make(&secrets, &psks, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    return psks;
}

static void expect_same(const struct wi_psk *a, const struct wi_psk *b)
{
    cr_assert_arr_eq(a->id, b->id, WI_PSK_ID_BYTES);
    cr_assert_arr_eq(a->key, b->key, WI_PSK_KEY_BYTES);
}

Test(psk, known_answers)
{
    struct wi_psks psks = make(NEW "\n" OLD "\n");
    cr_assert_eq(psks.n, 2);
    expect_same(&psks.of[0], &of_new);
    expect_same(&psks.of[1], &of_old);
}

/* So that one is known by its id, wherever it stands. */
Test(psk, a_secret_has_one_key_in_any_place)
{
    struct wi_psks psks = make(OLD);
    cr_assert_eq(psks.n, 1);
    expect_same(&psks.of[0], &of_old);
}

/* Neither is a part of the other one, or of the secret. */
Test(psk, the_id_is_not_the_key)
{
    struct wi_psks psks = make(NEW);
    cr_assert_neq(memcmp(psks.of[0].id, psks.of[0].key, WI_PSK_ID_BYTES), 0);
    cr_assert_neq(memcmp(psks.of[0].id, NEW, WI_PSK_ID_BYTES), 0);
    cr_assert_neq(memcmp(psks.of[0].key, NEW, WI_PSK_KEY_BYTES), 0);
}
