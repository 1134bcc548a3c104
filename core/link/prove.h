/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Who is at the other end of an endpoint: the proof of core/identity/proof.h,
 * over endpoints of links, guests, joiners and seeds. It is kept with the
 * endpoint (wi_ep.proof), from its first message until its link is open. Engine
 * only, under the node's lock.
 *
 *   node        first message     it asks for
 *   no secret   HELLO, JOIN       nothing
 *   a secret    KNOCK             PROOF, then seals
 */
#ifndef WI_PROVE_H
#define WI_PROVE_H

#include "core/identity/proof.h"
#include "core/link/engine.h"

/** Is an endpoint that this node has connected to begin with KNOCK? */
static inline bool wi_prove_wanted(const struct wi_engine *e)
{
    return e->keys != NULL;
}

/** Nothing is to be proved over this endpoint (any more). */
static inline bool wi_prove_done(const struct wi_ep *ep)
{
    const struct wi_proof *p = ep->proof;
    return p == NULL || p->state == WI_PROOF_DONE;
}

/** May the peer have this name? Where the transport knows its names, it is one
 *  of them. Errors: WEIR_ERR_PEER_REFUSED */
weir_err wi_prove_name(const struct wi_ep *ep, const char *name,
                       struct weir_error *err);

/** May a program say whom it expects at an address? Errors: WEIR_ERR_ARG (this
 *  node has no certificate, so nobody is looked at, or it is no name) */
weir_err wi_prove_may_expect(const struct wi_engine *e, const char *server_name,
                             struct weir_error *err);

/**
 * Is it whom a guest means to talk to? Where the transport knows its names,
 * `server_name` is one of them, or one of its IP addresses.
 *
 * @param server_name  NULL: the host of the address that was connected to
 *
 * Errors:     WEIR_ERR_PEER_REFUSED
 */
weir_err wi_prove_server(const struct wi_ep *ep, const char *server_name,
                         struct weir_error *err);

/** Connecting: what to say first. Errors: WEIR_ERR_NO_MEMORY,
 *  WEIR_ERR_SYSTEM */
weir_err wi_prove_begin(struct wi_engine *e, struct wi_ep *ep,
                        union wi_msg *knock_out, struct weir_error *err);

/**
 * A message has come over an endpoint without a proof: KNOCK begins one, and
 * nothing else will do if this node has a secret.
 *
 * Returns:    as wi_prove_hear()
 * Errors:     WEIR_ERR_PEER_REFUSED, WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM and
 *             those of wi_proof_ask()
 */
weir_err wi_prove_first(struct wi_engine *e, struct wi_ep *ep,
                        const union wi_msg *m, union wi_msg *out,
                        struct weir_error *err);

/**
 * A message has come over an endpoint that has a proof.
 *
 * @param bytes  the message as it came
 * @param out    [out] what to answer; type 0: nothing
 *
 * Returns:    WEIR_OK (take it: it is the peer's own) | WEIR_AGAIN (it was
 *             about identity)
 * Errors:     as wi_proof_take() and wi_proof_check(): the peer is refused
 */
weir_err wi_prove_hear(struct wi_engine *e, struct wi_ep *ep,
                       const union wi_msg *m, const void *bytes,
                       union wi_msg *out, struct weir_error *err);

/** Forget the proof: the link is open, or the endpoint is let go. */
void wi_prove_end(struct wi_ep *ep);

/** Why an endpoint that this node connects was refused before its proof; a code
 *  that a link may end with. */
weir_err wi_prove_refusal(const struct wi_msg_refuse *m,
                          struct weir_error *err);

/** Make the SEAL that goes before a message over this endpoint; len 0: it needs
 *  none. False: it cannot be made. wi_proof_sealed() when it was sent. */
bool wi_prove_seal(struct wi_ep *ep, const union wi_msg *m,
                   union wi_msg *seal_out);

#endif /* WI_PROVE_H */
