/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/wire.h"

#include <criterion/criterion.h>
#include <string.h>

static uint32_t put(uint8_t *packet, uint32_t at, const union wi_msg *m)
{
    memcpy(packet + at, m, m->head.len);
    return at + m->head.len;
}

Test(wire, a_packet_holds_several_messages)
{
    uint8_t packet[WI_PACKET_BYTES];
    union wi_msg m;
    struct weir_error err;
    uint32_t len = 0;
    uint32_t at = 0;
    wi_msg_init(&m, WI_MSG_NOTIFY);
    m.pos.edge = 3;
    m.pos.pos = 1ull << 40;
    len = put(packet, len, &m);
    wi_msg_init(&m, WI_MSG_PING);
    m.word.arg = 1;
    len = put(packet, len, &m);
    cr_assert_eq(wi_msg_next(packet, len, &at, &m, &err), WEIR_OK);
    cr_assert_eq(m.pos.edge, 3);
    cr_assert_eq(m.pos.pos, 1ull << 40);
    cr_assert_eq(wi_msg_next(packet, len, &at, &m, &err), WEIR_OK);
    cr_assert_eq(m.head.type, WI_MSG_PING);
    cr_assert_eq(wi_msg_next(packet, len, &at, &m, &err), WEIR_DONE);
}

Test(wire, texts_from_outside_end_and_stay_on_one_line)
{
    uint8_t packet[WI_PACKET_BYTES];
    union wi_msg m;
    struct weir_error err;
    uint32_t at = 0;
    wi_msg_init(&m, WI_MSG_REFUSE);
    memset(m.refuse.text, '\n', WI_TEXT_BYTES);
    uint32_t len = put(packet, 0, &m);
    cr_assert_eq(wi_msg_next(packet, len, &at, &m, &err), WEIR_OK);
    cr_assert_eq(strlen(m.refuse.text), WI_TEXT_BYTES - 1);
    cr_assert_null(strchr(m.refuse.text, '\n'));
}

Test(wire, any_bytes_are_a_message_or_an_error)
{
    uint8_t packet[WI_PACKET_BYTES];
    uint32_t x = 7;
    for (int round = 0; round < 20000; round++) {
        for (uint32_t i = 0; i < 64; i++) {
            x = x * 1664525u + 1013904223u;
            packet[i] = (uint8_t)(x >> 24);
        }
        packet[0] = (uint8_t)(packet[0] % 20);
        packet[1] = 0;
        uint32_t len = 1 + x % 64;
        uint32_t at = 0;
        union wi_msg m;
        struct weir_error err = {0};
        weir_err rc;
        while ((rc = wi_msg_next(packet, len, &at, &m, &err)) == WEIR_OK) {
            cr_assert_leq(at, len);
        }
        cr_assert(rc == WEIR_DONE || rc == WEIR_ERR_PEER_PROTOCOL);
    }
}

Test(wire, versions_are_agreed_or_both_ranges_named)
{
    union wi_msg m;
    uint32_t version = 0;
    uint32_t caps = 0;
    struct weir_error err;
    wi_msg_init(&m, WI_MSG_HELLO);
    m.hello.magic = WI_WIRE_MAGIC;
    m.hello.version_min = 1;
    m.hello.version_max = 9;
    m.hello.caps = ~0u;
    cr_assert_eq(
        wi_hello_agree(&m.hello, WI_WIRE_CAP_CHECKSUM, &version, &caps, &err),
        WEIR_OK);
    cr_assert_eq(version, WI_WIRE_VERSION_MAX);
    cr_assert_eq(caps, WI_WIRE_CAP_CHECKSUM);
    m.hello.version_min = 8;
    cr_assert_eq(wi_hello_agree(&m.hello, 0, &version, &caps, &err),
                 WEIR_ERR_PEER_VERSION);
    cr_assert_not_null(strstr(err.message, "8 to 9"), "%s", err.message);
    m.hello.magic = 0x47455420u;
    cr_assert_eq(wi_hello_agree(&m.hello, 0, &version, &caps, &err),
                 WEIR_ERR_PEER_PROTOCOL);
}
