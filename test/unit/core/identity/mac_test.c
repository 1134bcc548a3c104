/* SPDX-License-Identifier: Apache-2.0 */
/* Known answers of RFC 4231, section 4, and of RFC 5869, appendix A.3. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/identity/mac.h"

struct known {
    const char *key; /* NULL: bytes of fill */
    size_t key_bytes;
    uint8_t key_fill;
    const char *data; /* likewise */
    size_t data_bytes;
    uint8_t data_fill;
    uint8_t mac[WI_MAC_BYTES];
};

/* The key of case 4 is 01 02 .. 19. */
static const char count[] = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"
                            "\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18"
                            "\x19";
static const char longer[] =
    "Test Using Larger Than Block-Size Key - Hash Key First";
static const char longest[] =
    "This is a test using a larger than block-size key and a larger than "
    "block-size data. The key needs to be hashed before being used by the HMAC "
    "algorithm.";

static const struct known cases[] = {
    {NULL, 20, 0x0b, "Hi There", 8, 0, {0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb,
                                        0x38, 0x53, 0x5c, 0xa8, 0xaf, 0xce,
                                        0xaf, 0x0b, 0xf1, 0x2b, 0x88, 0x1d,
                                        0xc2, 0x00, 0xc9, 0x83, 0x3d, 0xa7,
                                        0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32,
                                        0xcf, 0xf7}},
    {"Jefe",
     4,
     0,
     "what do ya want for nothing?",
     28,
     0,
     {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24,
      0x26, 0x08, 0x95, 0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27,
      0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43}},
    {NULL, 20, 0xaa, NULL, 50, 0xdd, {0x77, 0x3e, 0xa9, 0x1e, 0x36, 0x80, 0x0e,
                                      0x46, 0x85, 0x4d, 0xb8, 0xeb, 0xd0, 0x91,
                                      0x81, 0xa7, 0x29, 0x59, 0x09, 0x8b, 0x3e,
                                      0xf8, 0xc1, 0x22, 0xd9, 0x63, 0x55, 0x14,
                                      0xce, 0xd5, 0x65, 0xfe}},
    {count, 25, 0, NULL, 50, 0xcd, {0x82, 0x55, 0x8a, 0x38, 0x9a, 0x44, 0x3c,
                                    0x0e, 0xa4, 0xcc, 0x81, 0x98, 0x99, 0xf2,
                                    0x08, 0x3a, 0x85, 0xf0, 0xfa, 0xa3, 0xe5,
                                    0x78, 0xf8, 0x07, 0x7a, 0x2e, 0x3f, 0xf4,
                                    0x67, 0x29, 0x66, 0x5b}},
    {NULL,
     131,
     0xaa,
     longer,
     sizeof(longer) - 1,
     0,
     {0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a, 0x26,
      0xaa, 0xcb, 0xf5, 0xb7, 0x7f, 0x8e, 0x0b, 0xc6, 0x21, 0x37, 0x28,
      0xc5, 0x14, 0x05, 0x46, 0x04, 0x0f, 0x0e, 0xe3, 0x7f, 0x54}},
    {NULL,
     131,
     0xaa,
     longest,
     sizeof(longest) - 1,
     0,
     {0x9b, 0x09, 0xff, 0xa7, 0x1b, 0x94, 0x2f, 0xcb, 0x27, 0x63, 0x5f,
      0xbc, 0xd5, 0xb0, 0xe9, 0x44, 0xbf, 0xdc, 0x63, 0x64, 0x4f, 0x07,
      0x13, 0x93, 0x8a, 0x7f, 0x51, 0x53, 0x5c, 0x3a, 0x35, 0xe2}},
};

static void put(char *at, const char *text, size_t bytes, uint8_t fill)
{
    if (text != NULL) {
        memcpy(at, text, bytes);
    } else {
        memset(at, fill, bytes);
    }
}

Test(mac, known_answers)
{
    for (size_t i = 0; i < WI_ARRAY_LEN(cases); i++) {
        const struct known *c = &cases[i];
        char key[256];
        char data[256];
        uint8_t mac[WI_MAC_BYTES];
        put(key, c->key, c->key_bytes, c->key_fill);
        put(data, c->data, c->data_bytes, c->data_fill);
        bool ok = wi_mac((struct wi_mac_key){key, c->key_bytes}, data,
                         c->data_bytes, mac);
        cr_assert(ok);
        cr_assert_arr_eq(mac, c->mac, WI_MAC_BYTES, "case %zu", i);
        cr_assert(wi_mac_same(mac, c->mac));
    }
}

Test(mac, any_bit_makes_another)
{
    uint8_t a[WI_MAC_BYTES] = {1};
    uint8_t b[WI_MAC_BYTES];
    for (uint32_t bit = 0; bit < 8 * WI_MAC_BYTES; bit++) {
        memcpy(b, a, sizeof(b));
        b[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        cr_assert_not(wi_mac_same(a, b), "bit %u", bit);
    }
}

/* The one of them that has neither a salt nor a label. */
Test(mac, known_keys)
{
    static const uint8_t want[42] = {
        0x8d, 0xa4, 0xe7, 0x75, 0xa5, 0x63, 0xc1, 0x8f, 0x71, 0x5f, 0x80,
        0x2a, 0x06, 0x3c, 0x5a, 0x31, 0xb8, 0xa1, 0x1f, 0x5c, 0x5e, 0xe1,
        0x87, 0x9e, 0xc3, 0x45, 0x4e, 0x5f, 0x3c, 0x73, 0x8d, 0x2d, 0x9d,
        0x20, 0x13, 0x95, 0xfa, 0xa4, 0xb6, 0x1a, 0x96, 0xc8};
    char key[22];
    uint8_t got[sizeof(want)];
    put(key, NULL, sizeof(key), 0x0b);
    bool ok =
        wi_hkdf((struct wi_mac_key){key, sizeof(key)}, "", got, sizeof(got));
    cr_assert(ok);
    cr_assert_arr_eq(got, want, sizeof(want));
}
