/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/prove.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/inet.h"
#include "core/identity/psk.h"
#include "core/transport.h"

/* Is it one of these texts? */
static bool is_among(const char *texts, const char *text)
{
    const char *t = texts != NULL ? texts : "";
    while (*t != '\0' && strcmp(t, text) != 0) {
        t += strlen(t) + 1;
    }
    return *t != '\0';
}

weir_err wi_prove_name(const struct wi_ep *ep, const char *name,
                       struct weir_error *err)
{
    return ep->names == NULL || is_among(ep->names, name)
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_PEER_REFUSED,
                         "the peer calls itself %s, and has a certificate of "
                         "\"%.63s\" (its first name)",
                         name, ep->names);
}

weir_err wi_prove_may_expect(const struct wi_engine *e, const char *server_name,
                             struct weir_error *err)
{
    if (server_name == NULL) {
        return WEIR_OK;
    }
    if (!e->certified) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "server_name is for nodes with a certificate "
                       "(tls_cert_file), which %s has not: nobody would show "
                       "it one",
                       e->name);
    }
    return server_name[0] != '\0' && strlen(server_name) < WI_ADDRESS_BYTES
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_ARG,
                         "server_name must have 1 to %u bytes",
                         WI_ADDRESS_BYTES - 1);
}

weir_err wi_prove_server(const struct wi_ep *ep, const char *server_name,
                         struct weir_error *err)
{
    char number[INET6_ADDRSTRLEN];
    const char *who = server_name != NULL ? server_name : ep->host;
    if (ep->names == NULL) {
        return WEIR_OK;
    }
    if (who == NULL) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "who is expected there? Its address has no host: give "
                       "the name in its certificate (server_name)");
    }
    bool known = wi_inet_number(who, number) ? is_among(ep->ips, number)
                                             : is_among(ep->names, who);
    return known ? WEIR_OK
                 : wi_fail(err, WEIR_ERR_PEER_REFUSED,
                           "%.120s is expected there, the certificate is of "
                           "\"%.63s\" (its first name): if that is right give "
                           "it as server_name",
                           who, ep->names);
}

/* ---- beginning ----------------------------------------------------------- */

static weir_err open_proof(struct wi_engine *e, struct wi_ep *ep,
                           uint8_t nonce[WI_NONCE_BYTES],
                           struct weir_error *err)
{
    if (!e->draw_fn(nonce, WI_NONCE_BYTES)) {
        return wi_fail(err, WEIR_ERR_SYSTEM, "%s has no random bytes", e->name);
    }
    ep->proof = calloc(1, sizeof(struct wi_proof));
    return ep->proof != NULL
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a proof");
}

weir_err wi_prove_begin(struct wi_engine *e, struct wi_ep *ep,
                        union wi_msg *knock_out, struct weir_error *err)
{
    uint8_t nonce[WI_NONCE_BYTES];
    weir_err rc = open_proof(e, ep, nonce, err);
    if (rc == WEIR_OK) {
        wi_proof_knock(ep->proof, nonce, knock_out);
    }
    return rc;
}

weir_err wi_prove_first(struct wi_engine *e, struct wi_ep *ep,
                        const union wi_msg *m, union wi_msg *out,
                        struct weir_error *err)
{
    uint8_t nonce[WI_NONCE_BYTES];
    bool knocks = m->head.type == WI_MSG_KNOCK;
    out->head.type = 0;
    if (!wi_prove_wanted(e)) {
        return !knocks ? WEIR_OK
                       : wi_fail(err, WEIR_ERR_PEER_REFUSED,
                                 "who connects has a secret, who is asked has "
                                 "none: give all nodes the same secret_file");
    }
    if (!knocks) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "only peers that prove by wire version %u to %u that "
                       "they know the secret are taken here (secret_file)",
                       WI_WIRE_VERSION_PROOF, WI_WIRE_VERSION_MAX);
    }
    weir_err rc = open_proof(e, ep, nonce, err);
    if (rc == WEIR_OK) {
        rc = wi_proof_ask(ep->proof, &m->knock, nonce, out, err);
    }
    return rc == WEIR_OK ? WEIR_AGAIN : rc;
}

void wi_prove_end(struct wi_ep *ep)
{
    if (ep->proof != NULL) {
        wi_wipe(ep->proof, sizeof(struct wi_proof));
        free(ep->proof);
        ep->proof = NULL;
    }
}

/* ---- going on ------------------------------------------------------------ */

weir_err wi_prove_hear(struct wi_engine *e, struct wi_ep *ep,
                       const union wi_msg *m, const void *bytes,
                       union wi_msg *out, struct weir_error *err)
{
    struct wi_proof *p = ep->proof;
    weir_err rc = WEIR_OK;
    out->head.type = 0;
    if (p->state != WI_PROOF_DONE) {
        bool connecting = p->state != WI_PROOF_ASKED;
        if (connecting && m->head.type == WI_MSG_REFUSE) {
            return WEIR_OK; /* whoever says so: no link comes of it */
        }
        rc = wi_proof_take(p, &e->keys->secrets, m, out, err);
    } else if (m->head.type != WI_MSG_SEAL) {
        return wi_proof_check(p, bytes, m->head.len, err);
    } else {
        rc = wi_proof_keep(p, &m->seal, err);
    }
    return rc == WEIR_OK ? WEIR_AGAIN : rc;
}

weir_err wi_prove_refusal(const struct wi_msg_refuse *m, struct weir_error *err)
{
    switch (m->code) {
    case WEIR_ERR_PEER_PROTOCOL: /* it does not know KNOCK */
        return wi_fail(err, WEIR_ERR_PEER_VERSION,
                       "this node has a secret, and proves it by wire version "
                       "%u to %u; the peer speaks version 1 only, as it "
                       "answers: %s",
                       WI_WIRE_VERSION_PROOF, WI_WIRE_VERSION_MAX, m->text);
    case WEIR_ERR_PEER_VERSION:
        return wi_fail(err, WEIR_ERR_PEER_VERSION, "%s", m->text);
    default:
        return wi_fail(err, WEIR_ERR_PEER_REFUSED, "%s", m->text);
    }
}

bool wi_prove_seal(struct wi_ep *ep, const union wi_msg *m,
                   union wi_msg *seal_out)
{
    const struct wi_proof *p = ep->proof;
    bool own = m->head.type >= WI_MSG_KNOCK && m->head.type <= WI_MSG_SEAL;
    if (p == NULL || p->state != WI_PROOF_DONE || own) {
        seal_out->head.len = 0;
        return true;
    }
    return wi_proof_seal(p, m, seal_out);
}
