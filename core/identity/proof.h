/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Proof that two ends of a connection know the same secret, and seals on what
 * they say to each other from then on until their link is open.
 *
 *   connecting                    accepting
 *   KNOCK      ------------->               versions, nonce
 *              <-------------  CHALLENGE    versions, nonce
 *   PROOF      ------------->               checked first: a stranger learns
 *              <-------------  PROOF        no more than the versions
 *   SEAL HELLO ------------->               and JOIN, ACCEPT, READY, MEMBER,
 *              <-------------  SEAL ACCEPT  REFUSE
 *
 *   said     = KNOCK, CHALLENGE as they were sent
 *   PROOF    = MAC(secret, "weir proof: SIDE", said), for each secret
 *   key      = MAC(secret, "weir seal: SIDE", said)
 *   SEAL     = MAC(key of the side that sends, number of the seal, message)
 *
 * SIDE is the one that sends: what one side has said is no use to the other
 * one, so nothing can be reflected. Both nonces are new, so nothing can be
 * replayed. Versions are under the proof, and all that is agreed upon later is
 * under the seals, so nothing can be altered.
 *
 * A state machine without system calls: messages come in, messages go out, and
 * nonces are handed in.
 */
#ifndef WI_PROOF_H
#define WI_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/format/wire.h"
#include "core/identity/mac.h"
#include "core/identity/secret.h"

enum wi_proof_state {
    WI_PROOF_KNOCKED,  /* connecting: waits for CHALLENGE */
    WI_PROOF_ANSWERED, /* connecting: waits for PROOF */
    WI_PROOF_ASKED,    /* accepting: waits for PROOF */
    WI_PROOF_DONE,     /* the other end knows the secret */
};

struct wi_proof {
    enum wi_proof_state state;
    struct wi_msg_knock said[2]; /* KNOCK, CHALLENGE */
    uint8_t key_out[WI_MAC_BYTES];
    uint8_t key_in[WI_MAC_BYTES];
    uint64_t n_out; /* seals so far */
    uint64_t n_in;
    bool has_seal; /* of the message that follows */
    uint8_t seal[WI_MAC_BYTES];
};

/** Connecting: begin with KNOCK. */
void wi_proof_knock(struct wi_proof *p, const uint8_t nonce[WI_NONCE_BYTES],
                    union wi_msg *knock_out);

/** Accepting: answer KNOCK with CHALLENGE. Errors: WEIR_ERR_PEER_VERSION,
 *  WEIR_ERR_PEER_PROTOCOL */
weir_err wi_proof_ask(struct wi_proof *p, const struct wi_msg_knock *knock,
                      const uint8_t nonce[WI_NONCE_BYTES],
                      union wi_msg *challenge_out, struct weir_error *err);

/**
 * Take a CHALLENGE or PROOF.
 *
 * @param out  [out] what to answer; type 0: nothing
 *
 * Errors:     WEIR_ERR_PEER_VERSION, WEIR_ERR_PEER_PROTOCOL,
 *             WEIR_ERR_PEER_REFUSED (it does not know the secret)
 */
weir_err wi_proof_take(struct wi_proof *p, const struct wi_secrets *secrets,
                       const union wi_msg *m, union wi_msg *out,
                       struct weir_error *err);

/** Make the SEAL that goes before a message. False: libcrypto could not. */
bool wi_proof_seal(const struct wi_proof *p, const union wi_msg *m,
                   union wi_msg *seal_out);
/** It was sent. */
void wi_proof_sealed(struct wi_proof *p);

/** Take a SEAL, and then the message that it is for, as it came: `len` bytes.
 *  Errors: WEIR_ERR_PEER_REFUSED */
weir_err wi_proof_keep(struct wi_proof *p, const struct wi_msg_seal *seal,
                       struct weir_error *err);
weir_err wi_proof_check(struct wi_proof *p, const void *message, uint32_t len,
                        struct weir_error *err);

#endif /* WI_PROOF_H */
