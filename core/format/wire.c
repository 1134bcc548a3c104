/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages: sizes, parsing, agreeing. Layout in docs/wire.md. */
#include "core/format/wire.h"

#include <string.h>

#include "core/base/err.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the wire is little endian; a big-endian host needs conversions here"
#endif

#define SIZE(TYPE, NUMBER, BODY, FROM, TO, TAKE)                               \
    [WI_MSG_##TYPE] = sizeof(((union wi_msg *)0)->BODY),

static const uint16_t sizes[WI_MSG_TYPES] = {WI_MESSAGES(SIZE)};

uint16_t wi_msg_bytes(uint16_t type)
{
    return type < WI_MSG_TYPES ? sizes[type] : 0;
}

void wi_msg_init(union wi_msg *m, enum wi_msg_type type)
{
    memset(m, 0, sizeof(*m));
    m->head.type = (uint16_t)type;
    m->head.len = wi_msg_bytes((uint16_t)type);
}

void wi_text_put(char *field, uint32_t bytes, const char *text)
{
    size_t n = strnlen(text, bytes - 1);
    memcpy(field, text, n);
    memset(field + n, 0, bytes - n);
}

/* Texts come from outside: keep each in its field and on one line. */
static void seal_text(char *text, uint32_t bytes)
{
    text[bytes - 1] = '\0';
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = '?';
        }
    }
}

/* An answer that is an error has no more than a text, without its end. */
static void seal_answer(struct wi_msg_answer *m)
{
    uint32_t len = m->code != 0 ? wi_min_u32(m->len, WI_ASK_BYTES) : 0;
    for (uint32_t i = 0; i < len; i++) {
        if (m->bytes[i] < ' ' || m->bytes[i] == 127) {
            m->bytes[i] = '?';
        }
    }
}

static void seal_texts(union wi_msg *m)
{
    switch (m->head.type) {
    case WI_MSG_HELLO:
    case WI_MSG_ACCEPT:
    case WI_MSG_READY:
        seal_text(m->hello.name, WI_NAME_BYTES);
        break;
    case WI_MSG_REFUSE:
        seal_text(m->refuse.text, WI_TEXT_BYTES);
        break;
    case WI_MSG_FAIL:
        seal_text(m->fail.text, WI_TEXT_BYTES);
        break;
    case WI_MSG_FOUND:
        seal_text(m->found.text, WI_FOUND_TEXT_BYTES);
        break;
    case WI_MSG_ANSWER:
        seal_answer(&m->answer);
        break;
    case WI_MSG_DIFFER:
        seal_text(m->differ.text, WI_SIDE_BYTES);
        break;
    case WI_MSG_JOIN:
    case WI_MSG_MEMBER:
        seal_text(m->member.name, WI_NAME_BYTES);
        seal_text(m->member.address, WI_ADDR_BYTES);
        break;
    default:
        break;
    }
}

weir_err wi_msg_next(const uint8_t *packet, uint32_t len, uint32_t *at,
                     union wi_msg *m, struct weir_error *err)
{
    uint32_t left = len - *at;
    if (left == 0) {
        return WEIR_DONE;
    }
    if (left < sizeof(struct wi_msg_head)) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "%u bytes after the last control message", left);
    }
    memcpy(&m->head, packet + *at, sizeof(m->head));
    uint16_t want = wi_msg_bytes(m->head.type);
    if (want == 0 || m->head.len != want || want > left) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "control message of type %u and %u bytes (expected %u, "
                       "%u left)",
                       m->head.type, m->head.len, want, left);
    }
    memcpy(m, packet + *at, want);
    seal_texts(m);
    *at += want;
    return WEIR_OK;
}

weir_err wi_hello_agree(const struct wi_msg_hello *peer, uint32_t our_caps,
                        uint32_t *version_out, uint32_t *caps_out,
                        struct weir_error *err)
{
    if (peer->magic != WI_WIRE_MAGIC) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "handshake begins with 0x%08x, not with 0x%08x",
                       peer->magic, WI_WIRE_MAGIC);
    }
    uint32_t low = peer->version_min > WI_WIRE_VERSION_MIN
                       ? peer->version_min
                       : WI_WIRE_VERSION_MIN;
    uint32_t high = wi_min_u32(peer->version_max, WI_WIRE_VERSION_MAX);
    if (low > high) {
        return wi_fail(err, WEIR_ERR_PEER_VERSION,
                       "peer %s speaks wire versions %u to %u, this node %u to "
                       "%u: upgrade the older one",
                       peer->name, peer->version_min, peer->version_max,
                       WI_WIRE_VERSION_MIN, WI_WIRE_VERSION_MAX);
    }
    *version_out = high;
    *caps_out = peer->caps & our_caps;
    return WEIR_OK;
}
