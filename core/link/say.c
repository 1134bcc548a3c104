/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/say.h"

#include <string.h>

#include "core/link/prove.h"
#include "core/transport.h"

weir_err wi_ep_say(struct wi_ep *ep, const union wi_msg *m)
{
    uint8_t packet[sizeof(struct wi_msg_seal) + sizeof(union wi_msg)];
    union wi_msg seal;
    if (!wi_prove_seal(ep, m, &seal)) {
        return WEIR_ERR_PEER_LOST;
    }
    memcpy(packet, &seal, seal.head.len);
    memcpy(packet + seal.head.len, m, m->head.len);
    uint32_t len = (uint32_t)seal.head.len + m->head.len;
    weir_err rc = ep->transport->ops->send(ep, packet, len);
    if (rc == WEIR_OK && seal.head.len != 0) {
        wi_proof_sealed(ep->proof);
    }
    return rc;
}

void wi_ep_refuse(struct wi_engine *e, struct wi_ep *ep, weir_err code,
                  const char *text)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_REFUSE);
    m.refuse.code = (int32_t)code;
    wi_text_put(m.refuse.text, WI_TEXT_BYTES, text);
    if (wi_ep_say(ep, &m) == WEIR_OK) {
        (void)ep->transport->ops->kick(ep);
    }
    wi_engine_disconnect(e, ep);
}

static weir_err prove(struct wi_engine *e, struct wi_ep *ep,
                      const union wi_msg *m, const void *bytes,
                      struct weir_error *err)
{
    union wi_msg out;
    weir_err rc = ep->proof == NULL ? wi_prove_first(e, ep, m, &out, err)
                                    : wi_prove_hear(e, ep, m, bytes, &out, err);
    if (rc == WEIR_AGAIN && out.head.type != 0) {
        rc = wi_ep_say(ep, &out);
        (void)ep->transport->ops->kick(ep);
        rc = rc == WEIR_OK ? WEIR_AGAIN : rc;
    }
    return rc;
}

weir_err wi_ep_hear(struct wi_engine *e, const struct wi_event *ev,
                    uint32_t *at, union wi_msg *m, struct weir_error *err)
{
    weir_err rc = WEIR_AGAIN;
    while (rc == WEIR_AGAIN) {
        uint32_t from = *at;
        rc = wi_msg_next(ev->bytes, ev->len, at, m, err);
        if (rc == WEIR_OK) {
            rc = prove(e, ev->ep, m, ev->bytes + from, err);
        }
    }
    return rc;
}
