/* SPDX-License-Identifier: Apache-2.0 */
#include "core/identity/proof.h"

#include <string.h>

#include "core/base/err.h"

enum side { CONNECTING, ACCEPTING };

/* What a MAC under the secret is for. */
static const char labels[2][2][24] = {
    {"weir proof: connecting", "weir proof: accepting"},
    {"weir seal: connecting", "weir seal: accepting"},
};
enum purpose { PROOF, SEAL };

/* ---- both ---------------------------------------------------------------- */

static weir_err no_mac(struct weir_error *err)
{
    return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                   "libcrypto of this node makes no HMAC-SHA-256");
}

static weir_err altered(struct weir_error *err)
{
    return wi_fail(
        err, WEIR_ERR_PEER_REFUSED,
        "a proof was altered on its way: what has to be zero is not");
}

/* MAC of what was said, under one of the secrets. */
static bool make(const struct wi_proof *p, const struct wi_secret *secret,
                 enum purpose purpose, enum side side,
                 uint8_t out[WI_MAC_BYTES])
{
    struct {
        char label[24];
        struct wi_msg_knock said[2];
    } text;
    _Static_assert(sizeof(text) == 24 + 2 * sizeof(struct wi_msg_knock),
                   "without gaps");
    memcpy(text.label, labels[purpose][side], sizeof(text.label));
    memcpy(text.said, p->said, sizeof(text.said));
    return wi_mac((struct wi_mac_key){secret->at, secret->bytes}, &text,
                  sizeof(text), out);
}

static weir_err make_keys(struct wi_proof *p, const struct wi_secret *secret,
                          enum side own, struct weir_error *err)
{
    enum side other = own == CONNECTING ? ACCEPTING : CONNECTING;
    if (!make(p, secret, SEAL, own, p->key_out) ||
        !make(p, secret, SEAL, other, p->key_in)) {
        return no_mac(err);
    }
    p->state = WI_PROOF_DONE;
    return WEIR_OK;
}

static weir_err check_version(const struct wi_msg_knock *m,
                              struct weir_error *err)
{
    if (m->magic != WI_WIRE_MAGIC) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "proof begins with 0x%08x, not with 0x%08x", m->magic,
                       WI_WIRE_MAGIC);
    }
    if (m->version_min > WI_WIRE_VERSION_MAX ||
        m->version_max < WI_WIRE_VERSION_PROOF) {
        return wi_fail(err, WEIR_ERR_PEER_VERSION,
                       "wire versions %u to %u were offered for a proof, %u "
                       "to %u are known here: upgrade the older one",
                       m->version_min, m->version_max, WI_WIRE_VERSION_PROOF,
                       WI_WIRE_VERSION_MAX);
    }
    return WEIR_OK;
}

static void fill(union wi_msg *m, enum wi_msg_type type,
                 const uint8_t nonce[WI_NONCE_BYTES])
{
    wi_msg_init(m, type);
    m->knock.magic = WI_WIRE_MAGIC;
    m->knock.version_min = WI_WIRE_VERSION_PROOF;
    m->knock.version_max = WI_WIRE_VERSION_MAX;
    memcpy(m->knock.nonce, nonce, WI_NONCE_BYTES);
}

/* ---- KNOCK, CHALLENGE ---------------------------------------------------- */

void wi_proof_knock(struct wi_proof *p, const uint8_t nonce[WI_NONCE_BYTES],
                    union wi_msg *knock_out)
{
    memset(p, 0, sizeof(*p));
    fill(knock_out, WI_MSG_KNOCK, nonce);
    p->said[0] = knock_out->knock;
    p->state = WI_PROOF_KNOCKED;
}

weir_err wi_proof_ask(struct wi_proof *p, const struct wi_msg_knock *knock,
                      const uint8_t nonce[WI_NONCE_BYTES],
                      union wi_msg *challenge_out, struct weir_error *err)
{
    weir_err rc = check_version(knock, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    memset(p, 0, sizeof(*p));
    fill(challenge_out, WI_MSG_CHALLENGE, nonce);
    p->said[0] = *knock;
    p->said[1] = challenge_out->knock;
    p->state = WI_PROOF_ASKED;
    return WEIR_OK;
}

/* ---- PROOF --------------------------------------------------------------- */

/* Answer a CHALLENGE. The other side may know the previous secret only. */
static weir_err answer(struct wi_proof *p, const struct wi_secrets *secrets,
                       const struct wi_msg_knock *challenge, union wi_msg *out,
                       struct weir_error *err)
{
    weir_err rc = check_version(challenge, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (memcmp(challenge->nonce, p->said[0].nonce, WI_NONCE_BYTES) == 0) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "the peer sends back what this node sent to it");
    }
    p->said[1] = *challenge;
    p->state = WI_PROOF_ANSWERED;
    wi_msg_init(out, WI_MSG_PROOF);
    bool ok = true;
    for (uint32_t i = 0; i < WI_SECRETS; i++) {
        ok = make(p, &secrets->of[i], PROOF, CONNECTING, out->proof.mac[i]) &&
             ok;
    }
    return ok ? WEIR_OK : no_mac(err);
}

/* The secret under which one of the MACs was made. All are compared, whichever
 * fits. NULL: none. */
static const struct wi_secret *secret_of(const struct wi_proof *p,
                                         const struct wi_secrets *secrets,
                                         const struct wi_msg_proof *proof,
                                         enum side side)
{
    const struct wi_secret *found = NULL;
    for (uint32_t i = WI_SECRETS; i-- > 0;) {
        uint8_t want[WI_MAC_BYTES];
        bool ok = make(p, &secrets->of[i], PROOF, side, want);
        for (uint32_t k = 0; k < WI_SECRETS; k++) {
            if (wi_mac_same(want, proof->mac[k]) && ok) {
                found = &secrets->of[i];
            }
        }
        wi_wipe(want, sizeof(want));
    }
    return found;
}

/* What a proof has beside MACs that are right: zeros. (The second one of who
 * connects is under a secret that may be unknown here, and so may be anything.)
 */
static bool has_zeros(const struct wi_msg_proof *proof, enum side side)
{
    static const uint8_t none[WI_MAC_BYTES];
    return proof->reserved == 0 &&
           (side == CONNECTING || wi_mac_same(proof->mac[1], none));
}

/* Accepting: the first that is said under a secret. */
static weir_err meet(struct wi_proof *p, const struct wi_secrets *secrets,
                     const struct wi_msg_proof *proof, union wi_msg *out,
                     struct weir_error *err)
{
    const struct wi_secret *s = secret_of(p, secrets, proof, CONNECTING);
    if (s != NULL && !has_zeros(proof, CONNECTING)) {
        return altered(err);
    }
    if (s == NULL) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "who connects does not know the secret: give all nodes "
                       "the same secret_file");
    }
    wi_msg_init(out, WI_MSG_PROOF);
    if (!make(p, s, PROOF, ACCEPTING, out->proof.mac[0])) {
        return no_mac(err);
    }
    return make_keys(p, s, ACCEPTING, err);
}

static weir_err finish(struct wi_proof *p, const struct wi_secrets *secrets,
                       const struct wi_msg_proof *proof, struct weir_error *err)
{
    const struct wi_secret *s = secret_of(p, secrets, proof, ACCEPTING);
    if (s != NULL && !has_zeros(proof, ACCEPTING)) {
        return altered(err);
    }
    if (s == NULL) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "who answers there does not know the secret");
    }
    return make_keys(p, s, CONNECTING, err);
}

weir_err wi_proof_take(struct wi_proof *p, const struct wi_secrets *secrets,
                       const union wi_msg *m, union wi_msg *out,
                       struct weir_error *err)
{
    out->head.type = 0;
    if (m->head.type == WI_MSG_CHALLENGE && p->state == WI_PROOF_KNOCKED) {
        return answer(p, secrets, &m->knock, out, err);
    }
    if (m->head.type == WI_MSG_PROOF && p->state == WI_PROOF_ASKED) {
        return meet(p, secrets, &m->proof, out, err);
    }
    if (m->head.type == WI_MSG_PROOF && p->state == WI_PROOF_ANSWERED) {
        return finish(p, secrets, &m->proof, err);
    }
    return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                   "control message %u of a peer that has not proved yet that "
                   "it knows the secret",
                   m->head.type);
}

/* ---- seals --------------------------------------------------------------- */

static bool seal(const uint8_t key[WI_MAC_BYTES], uint64_t n,
                 const void *message, uint32_t len, uint8_t out[WI_MAC_BYTES])
{
    uint8_t text[sizeof(n) + sizeof(union wi_msg)];
    if (len > sizeof(union wi_msg)) {
        return false;
    }
    memcpy(text, &n, sizeof(n));
    memcpy(text + sizeof(n), message, len);
    return wi_mac((struct wi_mac_key){key, WI_MAC_BYTES}, text, sizeof(n) + len,
                  out);
}

bool wi_proof_seal(const struct wi_proof *p, const union wi_msg *m,
                   union wi_msg *seal_out)
{
    wi_msg_init(seal_out, WI_MSG_SEAL);
    return seal(p->key_out, p->n_out, m, m->head.len, seal_out->seal.mac);
}

void wi_proof_sealed(struct wi_proof *p)
{
    p->n_out++;
}

weir_err wi_proof_keep(struct wi_proof *p, const struct wi_msg_seal *seal,
                       struct weir_error *err)
{
    if (p->has_seal) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED, "two seals in a row");
    }
    memcpy(p->seal, seal->mac, WI_MAC_BYTES);
    p->has_seal = true;
    return WEIR_OK;
}

weir_err wi_proof_check(struct wi_proof *p, const void *message, uint32_t len,
                        struct weir_error *err)
{
    uint8_t want[WI_MAC_BYTES];
    bool ok = seal(p->key_in, p->n_in, message, len, want) && p->has_seal &&
              wi_mac_same(want, p->seal);
    wi_wipe(want, sizeof(want));
    p->has_seal = false;
    p->n_in++;
    return ok ? WEIR_OK
              : wi_fail(err, WEIR_ERR_PEER_REFUSED,
                        "a message of the handshake was altered on its way, "
                        "or is not the peer's: its seal is wrong");
}
