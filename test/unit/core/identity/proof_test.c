/* SPDX-License-Identifier: Apache-2.0 */
/* The proof between two ends, and what somebody between them, or in place of
 * one, may try. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/identity/proof.h"

static const uint8_t nonce_c[WI_NONCE_BYTES] = {1, 2, 3};
static const uint8_t nonce_a[WI_NONCE_BYTES] = {4, 5, 6};

/* Who connects, who accepts, and what was said between them. */
struct pair {
    struct wi_proof c;
    struct wi_proof a;
    struct wi_secrets of_c;
    struct wi_secrets of_a;
    union wi_msg knock;
    union wi_msg challenge;
    union wi_msg proof_c;
    union wi_msg proof_a;
    struct weir_error err;
};

static struct wi_secrets secrets(char current, char previous)
{
    struct wi_secrets s = {0};
    char text[WI_SECRET_MIN];
    memset(text, current, sizeof(text));
    weir_err rc = wi_secrets_add(&s, text, sizeof(text), NULL);
    memset(text, previous, sizeof(text));
    if (rc == WEIR_OK && previous != '\0') {
        rc = wi_secrets_add(&s, text, sizeof(text), NULL);
    }
    cr_assert_eq(rc, WEIR_OK);
    return s;
}

static struct pair make(struct wi_secrets of_c, struct wi_secrets of_a)
{
    return (struct pair){.of_c = of_c, .of_a = of_a};
}

static weir_err knock(struct pair *p)
{
    wi_proof_knock(&p->c, nonce_c, &p->knock);
    return wi_proof_ask(&p->a, &p->knock.knock, nonce_a, &p->challenge,
                        &p->err);
}

static weir_err answer(struct pair *p)
{
    return wi_proof_take(&p->c, &p->of_c, &p->challenge, &p->proof_c, &p->err);
}

static weir_err meet(struct pair *p)
{
    return wi_proof_take(&p->a, &p->of_a, &p->proof_c, &p->proof_a, &p->err);
}

static weir_err finish(struct pair *p)
{
    union wi_msg none;
    weir_err rc = wi_proof_take(&p->c, &p->of_c, &p->proof_a, &none, &p->err);
    cr_assert(rc != WEIR_OK || none.head.type == 0);
    return rc;
}

static weir_err run(struct pair *p)
{
    weir_err rc = knock(p);
    rc = rc == WEIR_OK ? answer(p) : rc;
    rc = rc == WEIR_OK ? meet(p) : rc;
    return rc == WEIR_OK ? finish(p) : rc;
}

/* One that both ends have come through. */
static struct pair proved(void)
{
    struct pair p = make(secrets('s', 0), secrets('s', 0));
    weir_err rc = run(&p);
    cr_assert_eq(rc, WEIR_OK, "%s", p.err.message);
    return p;
}

/* ---- secrets ------------------------------------------------------------- */

Test(proof, one_secret_is_enough)
{
    struct pair p = proved();
    cr_assert_eq(p.c.state, WI_PROOF_DONE);
    cr_assert_eq(p.a.state, WI_PROOF_DONE);
    cr_assert_arr_eq(p.c.key_out, p.a.key_in, WI_MAC_BYTES);
    cr_assert_arr_eq(p.c.key_in, p.a.key_out, WI_MAC_BYTES);
    cr_assert_arr_neq(p.c.key_in, p.c.key_out, WI_MAC_BYTES);
}

Test(proof, another_secret_is_refused_before_the_node_proves_anything)
{
    struct pair p = make(secrets('x', 0), secrets('s', 0));
    weir_err rc = run(&p);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED);
    cr_assert_eq(p.proof_a.head.type, 0);
    cr_assert_eq(p.a.state, WI_PROOF_ASKED);
}

/* n: new, o: old; all that can meet while nodes change from one to other. */
Test(proof, secrets_that_are_exchanged_fit_in_both_directions)
{
    static const char sets[][2] = {{'o', 0}, {'n', 'o'}, {'o', 'n'}, {'n', 0}};
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < 4; k++) {
            bool far = (i == 0 && k == 3) || (i == 3 && k == 0);
            struct pair p = make(secrets(sets[i][0], sets[i][1]),
                                 secrets(sets[k][0], sets[k][1]));
            weir_err rc = run(&p);
            cr_assert_eq(rc, far ? WEIR_ERR_PEER_REFUSED : WEIR_OK, "%u, %u", i,
                         k);
        }
    }
}

/* ---- somebody in between ------------------------------------------------- */

static void flip(union wi_msg *m, uint32_t byte)
{
    ((uint8_t *)m)[byte] ^= 1;
}

/* Each byte of KNOCK and CHALLENGE is under the proof: versions as well. */
Test(proof, altered_words_are_found)
{
    for (uint32_t byte = 4; byte < sizeof(struct wi_msg_knock); byte++) {
        for (int which = 0; which < 2; which++) {
            struct pair p = make(secrets('s', 0), secrets('s', 0));
            wi_proof_knock(&p.c, nonce_c, &p.knock);
            if (which == 0) {
                flip(&p.knock, byte);
            }
            weir_err rc = wi_proof_ask(&p.a, &p.knock.knock, nonce_a,
                                       &p.challenge, &p.err);
            if (rc == WEIR_OK && which == 1) {
                flip(&p.challenge, byte);
            }
            rc = rc == WEIR_OK ? answer(&p) : rc;
            rc = rc == WEIR_OK ? meet(&p) : rc;
            cr_assert_lt((int)rc, 0, "byte %u of %d", byte, which);
            cr_assert_neq(p.a.state, WI_PROOF_DONE);
        }
    }
}

/* What no MAC is made of: zeros, and of who accepts the place of a second. */
Test(proof, altered_zeros_of_a_proof_are_found)
{
    for (uint32_t byte = 4; byte < sizeof(struct wi_msg_proof); byte++) {
        struct pair p = make(secrets('s', 0), secrets('s', 0));
        weir_err rc = knock(&p);
        rc = rc == WEIR_OK ? answer(&p) : rc;
        cr_assert_eq(rc, WEIR_OK);
        if (byte < 8) {
            struct pair q = p;
            flip(&q.proof_c, byte);
            rc = meet(&q);
            cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "byte %u there", byte);
            cr_assert_eq(q.proof_a.head.type, 0);
        }
        rc = meet(&p);
        cr_assert_eq(rc, WEIR_OK);
        flip(&p.proof_a, byte);
        rc = finish(&p);
        cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "byte %u back", byte);
        cr_assert_neq(p.c.state, WI_PROOF_DONE);
    }
}

Test(proof, versions_that_do_not_meet_are_both_named)
{
    struct pair p = make(secrets('s', 0), secrets('s', 0));
    wi_proof_knock(&p.c, nonce_c, &p.knock);
    p.knock.knock.version_min = 77;
    p.knock.knock.version_max = 79;
    weir_err rc =
        wi_proof_ask(&p.a, &p.knock.knock, nonce_a, &p.challenge, &p.err);
    cr_assert_eq(rc, WEIR_ERR_PEER_VERSION);
    cr_assert_not_null(strstr(p.err.message, "versions 77 to 79 were"), "%s",
                       p.err.message);
    cr_assert_not_null(strstr(p.err.message, "2 to 2 are known"), "%s",
                       p.err.message);
}

/* Everything that was said once, said again to the same node. */
Test(proof, a_recorded_proof_is_worth_nothing)
{
    static const uint8_t later[WI_NONCE_BYTES] = {9};
    struct pair old = proved();
    struct pair p = make(secrets('s', 0), secrets('s', 0));
    weir_err rc =
        wi_proof_ask(&p.a, &old.knock.knock, later, &p.challenge, &p.err);
    cr_assert_eq(rc, WEIR_OK);
    p.proof_c = old.proof_c;
    rc = meet(&p);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED);
    /* and by one that answers in a member's place */
    wi_proof_knock(&p.c, later, &p.knock);
    p.challenge = old.challenge;
    rc = answer(&p);
    cr_assert_eq(rc, WEIR_OK);
    p.proof_a = old.proof_a;
    rc = finish(&p);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED);
}

/* ---- a peer that gives back what it gets --------------------------------- */

Test(proof, own_nonce_as_a_challenge_is_refused)
{
    struct pair p = make(secrets('s', 0), secrets('s', 0));
    wi_proof_knock(&p.c, nonce_c, &p.knock);
    p.challenge = p.knock;
    p.challenge.head.type = WI_MSG_CHALLENGE;
    weir_err rc = answer(&p);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED);
    cr_assert_not_null(strstr(p.err.message, "sends back"), "%s",
                       p.err.message);
    cr_assert_eq(p.proof_c.head.type, 0);
}

/* It asks another nonce, and takes the proof that comes for its own. */
Test(proof, own_proof_is_not_taken_for_the_peers)
{
    struct pair p = make(secrets('s', 0), secrets('s', 0));
    weir_err rc = knock(&p);
    rc = rc == WEIR_OK ? answer(&p) : rc;
    cr_assert_eq(rc, WEIR_OK);
    p.proof_a = p.proof_c;
    rc = finish(&p);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED);
}

Test(proof, own_seal_is_not_taken_for_the_peers)
{
    union wi_msg m;
    union wi_msg seal;
    struct pair p = proved();
    wi_msg_init(&m, WI_MSG_HELLO);
    bool ok = wi_proof_seal(&p.c, &m, &seal);
    cr_assert(ok);
    weir_err rc = wi_proof_keep(&p.c, &seal.seal, &p.err);
    cr_assert_eq(rc, WEIR_OK);
    rc = wi_proof_check(&p.c, &m, m.head.len, &p.err);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED);
}

/* ---- seals --------------------------------------------------------------- */

static weir_err pass(struct pair *p, const union wi_msg *seal,
                     const union wi_msg *m)
{
    weir_err rc = wi_proof_keep(&p->a, &seal->seal, &p->err);
    return rc == WEIR_OK ? wi_proof_check(&p->a, m, m->head.len, &p->err) : rc;
}

static void send(struct pair *p, const union wi_msg *m, union wi_msg *seal)
{
    bool ok = wi_proof_seal(&p->c, m, seal);
    cr_assert(ok);
    wi_proof_sealed(&p->c);
}

Test(proof, sealed_messages_pass_in_their_order)
{
    struct pair p = proved();
    union wi_msg m[3];
    union wi_msg seal[3];
    wi_msg_init(&m[0], WI_MSG_HELLO);
    wi_msg_init(&m[1], WI_MSG_HELLO);
    wi_msg_init(&m[2], WI_MSG_ASK); /* the longest */
    for (int i = 0; i < 3; i++) {
        send(&p, &m[i], &seal[i]);
    }
    struct pair q = p;
    for (int i = 0; i < 3; i++) {
        weir_err rc = pass(&p, &seal[i], &m[i]);
        cr_assert_eq(rc, WEIR_OK, "%d: %s", i, p.err.message);
    }
    weir_err rc = pass(&q, &seal[1], &m[1]);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "one was left out");
}

Test(proof, any_byte_of_a_hello_is_under_its_seal)
{
    for (uint32_t byte = 0; byte < sizeof(struct wi_msg_hello); byte++) {
        struct pair p = proved();
        union wi_msg m;
        union wi_msg seal;
        wi_msg_init(&m, WI_MSG_HELLO);
        m.hello.incarnation = 7;
        send(&p, &m, &seal);
        uint32_t len = m.head.len;
        flip(&m, byte);
        weir_err rc = wi_proof_keep(&p.a, &seal.seal, &p.err);
        cr_assert_eq(rc, WEIR_OK);
        rc = wi_proof_check(&p.a, &m, len, &p.err);
        cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "byte %u", byte);
    }
}

Test(proof, what_has_no_seal_is_refused)
{
    struct pair p = proved();
    union wi_msg m;
    union wi_msg seal;
    wi_msg_init(&m, WI_MSG_HELLO);
    weir_err rc = wi_proof_check(&p.a, &m, m.head.len, &p.err);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED);
    send(&p, &m, &seal);
    rc = wi_proof_keep(&p.a, &seal.seal, &p.err);
    cr_assert_eq(rc, WEIR_OK);
    rc = wi_proof_keep(&p.a, &seal.seal, &p.err);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "twice");
}

/* ---- order --------------------------------------------------------------- */

Test(proof, nothing_else_is_taken_before_the_proof)
{
    for (uint16_t type = 1; type < WI_MSG_TYPES; type++) {
        struct pair p = make(secrets('s', 0), secrets('s', 0));
        union wi_msg m;
        union wi_msg out;
        weir_err rc = knock(&p);
        cr_assert_eq(rc, WEIR_OK);
        wi_msg_init(&m, type);
        rc = wi_proof_take(&p.a, &p.of_a, &m, &out, &p.err);
        cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "%u", type);
        cr_assert_eq(out.head.type, 0);
        if (type != WI_MSG_CHALLENGE) {
            rc = wi_proof_take(&p.c, &p.of_c, &m, &out, &p.err);
            cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "%u", type);
        }
    }
}
