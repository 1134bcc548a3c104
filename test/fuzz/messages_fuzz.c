/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages: any packet is taken apart, or refused with a reason; what
 * is taken is of a known type, complete, and its texts are of one line. */
#include "core/format/wire.h"
#include "test/fuzz/fuzz.h"

static void check_text(const char *text, size_t bytes)
{
    size_t n = strnlen(text, bytes);
    FZ_CHECK(n < bytes, "a text has no end");
    for (size_t i = 0; i < n; i++) {
        FZ_CHECK((unsigned char)text[i] >= ' ' && text[i] != 127,
                 "control character %d in a text", text[i]);
    }
}

static void check_hello(const struct wi_msg_hello *h)
{
    struct weir_error err;
    uint32_t version = 0;
    uint32_t caps = 0;
    check_text(h->name, sizeof(h->name));
    weir_err rc =
        wi_hello_agree(h, WI_WIRE_CAP_CHECKSUM, &version, &caps, &err);
    FZ_CHECK(rc != WEIR_OK ||
                 (version >= WI_WIRE_VERSION_MIN &&
                  version <= WI_WIRE_VERSION_MAX && (caps & ~h->caps) == 0),
             "agreed on version %u, capabilities %u", version, caps);
    if (rc != WEIR_OK) {
        check_text(err.message, sizeof(err.message));
    }
}

static void check(const union wi_msg *m)
{
    FZ_CHECK(m->head.len == wi_msg_bytes(m->head.type), "type %u, %u bytes",
             m->head.type, m->head.len);
    switch (m->head.type) {
    case WI_MSG_HELLO:
    case WI_MSG_ACCEPT:
    case WI_MSG_READY:
        check_hello(&m->hello);
        break;
    case WI_MSG_REFUSE:
        check_text(m->refuse.text, sizeof(m->refuse.text));
        break;
    case WI_MSG_FAIL:
        check_text(m->fail.text, sizeof(m->fail.text));
        break;
    case WI_MSG_JOIN:
    case WI_MSG_MEMBER:
        check_text(m->member.name, sizeof(m->member.name));
        check_text(m->member.address, sizeof(m->member.address));
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    union wi_msg m;
    struct weir_error err;
    uint32_t at = 0;
    uint32_t last = 0;
    weir_err rc;
    if (n > WI_PACKET_BYTES) {
        return -1;
    }
    while ((rc = wi_msg_next(bytes, (uint32_t)n, &at, &m, &err)) == WEIR_OK) {
        FZ_CHECK(at > last && at <= n, "at %u after %u of %zu", at, last, n);
        last = at;
        check(&m);
    }
    FZ_CHECK(rc == WEIR_ERR_PEER_PROTOCOL || (rc == WEIR_DONE && at == n),
             "%s at %u of %zu", weir_err_name(rc), at, n);
    return 0;
}
