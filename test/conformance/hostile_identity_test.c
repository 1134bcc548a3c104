/* SPDX-License-Identifier: Apache-2.0 */
/* A node with a secret among peers that do not know it, or know it and do not
 * keep to the rules. On the simulator, message by message. */
#include <string.h>

#include "core/identity/proof.h"
#include "core/link/engine.h"
#include "core/link/guest.h"
#include "core/link/lock.h"
#include "test/support/lone.h"
#include "transport/registry.h"

static const char secret[] =
    "a secret of this cluster, as long as it has to be";

static struct wt_lone lone;
static struct wi_secrets secrets;

static uint32_t tell(void *arg, uint32_t which, void *bytes, uint32_t room)
{
    (void)arg;
    cr_assert(room > sizeof(secret));
    memcpy(bytes, secret, sizeof(secret) - 1);
    return which == 0 ? (uint32_t)sizeof(secret) - 1 : 0;
}

static void open_lone(void)
{
    static const struct weir_identity id = {.secret = tell};
    const struct weir_node_params params = {
        .identity = &id, .connect_ns = 1000000000, .max_members = 4};
    secrets = (struct wi_secrets){0};
    weir_err rc = wi_secrets_add(&secrets, secret, sizeof(secret) - 1, NULL);
    cr_assert_eq(rc, WEIR_OK);
    wt_lone_open(&lone, &params);
    wt_lone_join(&lone);
}

static void close_lone(void)
{
    cr_assert_null(strstr(lone.log, "a secret of this"), "%s", lone.log);
    wt_lone_close(&lone);
}

static bool logged(const char *text)
{
    return strstr(lone.log, text) != NULL;
}

/* ---- peers that know the secret ------------------------------------------ */

/* What a raw end knows of its proof. */
static struct wi_proof proofs[WT_RAWS];

static struct wi_proof *proof_of(const struct wt_raw *raw)
{
    return &proofs[raw - lone.raws];
}

static void knock(struct wt_raw *raw, uint8_t nonce)
{
    uint8_t nonces[WI_NONCE_BYTES] = {nonce, 77};
    union wi_msg m;
    wi_proof_knock(proof_of(raw), nonces, &m);
    wt_raw_say(raw, &m);
    WT_TURNS(&lone, raw->of_type[WI_MSG_CHALLENGE] == 1 || raw->closed);
}

/* The proof that answers the challenge which has come. */
static union wi_msg answer(struct wt_raw *raw)
{
    union wi_msg m;
    struct weir_error err = {0};
    weir_err rc = wi_proof_take(proof_of(raw), &secrets,
                                &raw->last[WI_MSG_CHALLENGE], &m, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    return m;
}

static struct wt_raw *prove(void)
{
    union wi_msg m;
    struct weir_error err = {0};
    struct wt_raw *raw = wt_lone_dial(&lone);
    knock(raw, 1);
    m = answer(raw);
    wt_raw_say(raw, &m);
    WT_TURNS(&lone, raw->of_type[WI_MSG_PROOF] == 1 || raw->closed);
    weir_err rc = wi_proof_take(proof_of(raw), &secrets,
                                &raw->last[WI_MSG_PROOF], &m, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    return raw;
}

static union wi_msg hello(void)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_HELLO);
    m.hello.magic = WI_WIRE_MAGIC;
    m.hello.version_min = WI_WIRE_VERSION_PROOF;
    m.hello.version_max = WI_WIRE_VERSION_MAX;
    m.hello.from = 1;
    m.hello.n_members = 2;
    m.hello.incarnation = 1;
    m.hello.workers = 1;
    m.hello.frame_bytes = 16384;
    wi_text_put(m.hello.name, WI_NAME_BYTES, "raw");
    return m;
}

static union wi_msg seal(struct wt_raw *raw, const union wi_msg *m)
{
    union wi_msg s;
    bool ok = wi_proof_seal(proof_of(raw), m, &s);
    cr_assert(ok);
    wi_proof_sealed(proof_of(raw));
    return s;
}

static void say_sealed(struct wt_raw *raw, const union wi_msg *m)
{
    union wi_msg s = seal(raw, m);
    wt_raw_say(raw, &s);
    wt_raw_say(raw, m);
}

/* Member 1, as it should be: its link to the node is open. */
static struct wt_raw *member(void)
{
    struct weir_error err = {0};
    struct wt_raw *raw = prove();
    union wi_msg m = hello();
    say_sealed(raw, &m);
    WT_TURNS(&lone, raw->of_type[WI_MSG_ACCEPT] == 1 || raw->closed);
    cr_assert_not(raw->closed, "%s", raw->last[WI_MSG_REFUSE].refuse.text);
    cr_assert_eq(raw->of_type[WI_MSG_SEAL], 1);
    m = raw->last[WI_MSG_ACCEPT];
    m.head.type = WI_MSG_READY;
    m.hello.from = 1;
    m.hello.to = 0;
    weir_err rc =
        wi_sim_ops.mem_open(lone.t, m.hello.ring_bytes, &lone.mem, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    rc = wi_sim_ops.grant(raw->ep, &lone.mem, WI_ACCESS_BOTH, &m.hello.ring_key,
                          &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    say_sealed(raw, &m);
    wt_lone_settle(&lone);
    cr_assert_eq(raw->of_type[WI_MSG_REFUSE], 0);
    return raw;
}

static bool is_up(const struct wt_raw *raw)
{
    union wi_msg m;
    uint64_t before = raw->of_type[WI_MSG_PING];
    wi_msg_init(&m, WI_MSG_PING);
    m.word.arg = 1;
    wt_raw_say((struct wt_raw *)raw, &m);
    wt_lone_settle(&lone);
    return raw->of_type[WI_MSG_PING] == before + 1;
}

/* ---- strangers ----------------------------------------------------------- */

/* It is told why, in words in which nobody is named, and nothing else. */
static void expect_refusal(struct wt_raw *raw, const char *text)
{
    WT_TURNS(&lone, raw->closed);
    cr_assert_eq(raw->of_type[WI_MSG_REFUSE], 1);
    const char *why = raw->last[WI_MSG_REFUSE].refuse.text;
    cr_assert_not_null(strstr(why, text), "no \"%s\" in: %s", text, why);
    cr_assert_null(strstr(why, "lone"), "%s", why);
    cr_assert_eq(raw->messages, 1 + raw->of_type[WI_MSG_CHALLENGE]);
}

/* One line in the log for each, when no other was logged just before. */
static void expect_one_line(uint32_t before)
{
    cr_assert_eq(lone.lines, before + 1, "%s", lone.log);
    wi_simnet_advance(lone.net, wi_simnet_now(lone.net) + 1500000000);
    wt_lone_settle(&lone);
}

Test(hostile_identity, a_member_that_keeps_to_the_rules_gets_its_link,
     .timeout = 60)
{
    open_lone();
    struct wt_raw *raw = member();
    cr_assert(is_up(raw));
    cr_assert_eq(lone.lines, 0, "%s", lone.log);
    close_lone();
}

Test(hostile_identity, nothing_but_a_knock_is_a_first_word, .timeout = 60)
{
    open_lone();
    for (uint16_t type = 1; type < WI_MSG_TYPES; type++) {
        if (type == WI_MSG_KNOCK) {
            continue;
        }
        uint32_t before = lone.lines;
        union wi_msg m = hello();
        if (type != WI_MSG_HELLO) {
            wi_msg_init(&m, type);
        }
        struct wt_raw *raw = wt_lone_dial(&lone);
        wt_raw_say(raw, &m);
        expect_refusal(raw, "only peers that prove");
        wt_raw_drop(raw);
        expect_one_line(before);
    }
    close_lone();
}

Test(hostile_identity, nobody_takes_the_place_of_a_member_that_is_up,
     .timeout = 60)
{
    open_lone();
    struct wt_raw *raw = member();
    union wi_msg m = hello();
    m.hello.incarnation = 2; /* "it was started again" */
    struct wt_raw *other = wt_lone_dial(&lone);
    wt_raw_say(other, &m);
    expect_refusal(other, "prove");
    other = wt_lone_dial(&lone); /* with a proof that is none */
    knock(other, 2);
    union wi_msg p;
    wi_msg_init(&p, WI_MSG_PROOF);
    wt_raw_say(other, &p);
    wt_raw_say(other, &m);
    expect_refusal(other, "does not know the secret");
    cr_assert(is_up(raw));
    cr_assert_not(logged("link lost"), "%s", lone.log);
    close_lone();
}

/* All that a member has sent, once more. */
Test(hostile_identity, a_recorded_handshake_is_refused, .timeout = 60)
{
    open_lone();
    struct wt_raw *raw = wt_lone_dial(&lone);
    knock(raw, 9);
    union wi_msg proof = answer(raw);
    wt_raw_say(raw, &proof);
    WT_TURNS(&lone, raw->of_type[WI_MSG_PROOF] == 1);
    wt_raw_drop(raw);
    wt_lone_settle(&lone);
    uint32_t before = lone.lines;
    raw = wt_lone_dial(&lone);
    knock(raw, 9);
    wt_raw_say(raw, &proof);
    expect_refusal(raw, "does not know the secret");
    expect_one_line(before);
    close_lone();
}

Test(hostile_identity, a_second_knock_is_refused, .timeout = 60)
{
    open_lone();
    struct wt_raw *raw = wt_lone_dial(&lone);
    knock(raw, 1);
    knock(raw, 2);
    expect_refusal(raw, "has not proved yet");
    close_lone();
}

Test(hostile_identity, versions_are_told_and_nothing_else, .timeout = 60)
{
    open_lone();
    union wi_msg m;
    uint8_t nonce[WI_NONCE_BYTES] = {1};
    struct wi_proof p;
    wi_proof_knock(&p, nonce, &m);
    m.knock.version_min = 7;
    m.knock.version_max = 9;
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_say(raw, &m);
    expect_refusal(raw,
                   "wire versions 7 to 9 were offered for a proof, 2 to 2");
    cr_assert_eq(raw->last[WI_MSG_REFUSE].refuse.code, WEIR_ERR_PEER_VERSION);
    close_lone();
}

/* They knock and wait; the node keeps as many of them as of those that say
 * nothing, and a member comes through. */
Test(hostile_identity, strangers_that_knock_are_bounded, .timeout = 60)
{
    enum { STRANGERS = 100 };
    open_lone();
    for (uint32_t i = 0; i < STRANGERS; i++) {
        knock(wt_lone_dial(&lone), 3);
    }
    wt_lone_settle(&lone);
    uint32_t n = 0;
    for (uint32_t i = 0; i < WT_RAWS; i++) {
        n += lone.raws[i].ep != NULL && !lone.raws[i].closed ? 1 : 0;
    }
    cr_assert_eq(n, WI_GUESTS);
    cr_assert_eq(lone.node->engine.n_guests, WI_GUESTS);
    cr_assert_eq(lone.node->engine.n_hellos, 0);
    (void)member();
    close_lone();
}

/* ---- in between ---------------------------------------------------------- */

Test(hostile_identity, an_altered_hello_is_refused, .timeout = 60)
{
    open_lone();
    struct wt_raw *raw = prove();
    uint32_t before = lone.lines;
    union wi_msg m = hello();
    union wi_msg s = seal(raw, &m);
    m.hello.version_min = 1; /* a downgrade */
    wt_raw_say(raw, &s);
    wt_raw_say(raw, &m);
    WT_TURNS(&lone, raw->closed);
    cr_assert_eq(raw->of_type[WI_MSG_ACCEPT], 0);
    cr_assert(logged("its seal is wrong"), "%s", lone.log);
    expect_one_line(before);
    close_lone();
}

Test(hostile_identity, an_altered_ready_ends_the_link, .timeout = 60)
{
    open_lone();
    struct wt_raw *raw = prove();
    union wi_msg m = hello();
    say_sealed(raw, &m);
    WT_TURNS(&lone, raw->of_type[WI_MSG_ACCEPT] == 1);
    m = raw->last[WI_MSG_ACCEPT];
    m.head.type = WI_MSG_READY;
    union wi_msg s = seal(raw, &m);
    m.hello.ring_key++;
    wt_raw_say(raw, &s);
    wt_raw_say(raw, &m);
    WT_TURNS(&lone, raw->closed);
    cr_assert(logged("its seal is wrong"), "%s", lone.log);
    close_lone();
}

Test(hostile_identity, a_hello_without_a_seal_is_refused, .timeout = 60)
{
    open_lone();
    struct wt_raw *raw = prove();
    union wi_msg m = hello();
    wt_raw_say(raw, &m);
    WT_TURNS(&lone, raw->closed);
    cr_assert_eq(raw->of_type[WI_MSG_ACCEPT], 0);
    close_lone();
}

/* ---- those that answer in a member's place ------------------------------- */

/* The node connects and knocks; this is what it gets. Its query ends so. */
static void expect_end(const union wi_msg *m, uint32_t n, weir_err code,
                       const char *text)
{
    struct weir_error err = {0};
    open_lone();
    weir_query *q = wt_lone_query(&lone);
    struct wt_raw *raw = &lone.raws[0];
    WT_TURNS(&lone, raw->of_type[WI_MSG_KNOCK] == 1);
    for (uint32_t i = 0; i < n; i++) {
        union wi_msg it = m[i];
        if (it.head.type == WI_MSG_CHALLENGE && it.knock.nonce[0] == 0) {
            memcpy(it.knock.nonce, raw->last[WI_MSG_KNOCK].knock.nonce,
                   WI_NONCE_BYTES);
        }
        if (it.head.type == WI_MSG_PROOF && it.proof.mac[0][0] == 99) {
            WT_TURNS(&lone, raw->of_type[WI_MSG_PROOF] == 1);
            it = raw->last[WI_MSG_PROOF]; /* its own */
        }
        wt_raw_say(raw, &it);
    }
    WT_TURNS(&lone, weir_query_status(q, NULL) != WEIR_OK);
    weir_err rc = weir_query_status(q, &err);
    cr_assert_eq(rc, code, "%s: %s", weir_err_name(rc), err.message);
    cr_assert_not_null(strstr(err.message, text), "no \"%s\" in: %s", text,
                       err.message);
    cr_assert_eq(lone.lines, 2, "%s", lone.log); /* the link, and the query */
    cr_assert(logged("link lost"), "%s", lone.log);
    cr_assert_eq(raw->of_type[WI_MSG_HELLO], 0, "it told its name");
    weir_query_close(q);
    close_lone();
}

static union wi_msg challenge(uint8_t first)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_CHALLENGE);
    m.knock.magic = WI_WIRE_MAGIC;
    m.knock.version_min = WI_WIRE_VERSION_PROOF;
    m.knock.version_max = WI_WIRE_VERSION_MAX;
    m.knock.nonce[0] = first;
    return m;
}

Test(hostile_identity, who_answers_has_to_know_the_secret, .timeout = 60)
{
    union wi_msg m[2] = {challenge(5)};
    wi_msg_init(&m[1], WI_MSG_PROOF);
    expect_end(m, 2, WEIR_ERR_PEER_REFUSED, "does not know the secret");
}

Test(hostile_identity, reflected_words_are_refused, .timeout = 60)
{
    union wi_msg m[2] = {challenge(0)}; /* the node's own nonce */
    expect_end(m, 1, WEIR_ERR_PEER_REFUSED, "sends back");
    m[0] = challenge(5);
    wi_msg_init(&m[1], WI_MSG_PROOF);
    m[1].proof.mac[0][0] = 99; /* the node's own proof */
    expect_end(m, 2, WEIR_ERR_PEER_REFUSED, "does not know the secret");
}

Test(hostile_identity, an_answer_without_proof_is_refused, .timeout = 60)
{
    union wi_msg m = hello();
    m.head.type = WI_MSG_ACCEPT;
    expect_end(&m, 1, WEIR_ERR_PEER_REFUSED, "has not proved yet");
    wi_msg_init(&m, WI_MSG_FAIL);
    m.fail.query = 1;
    m.fail.code = WEIR_ERR_ABORTED;
    expect_end(&m, 1, WEIR_ERR_PEER_REFUSED, "has not proved yet");
}

Test(hostile_identity, an_older_peer_is_named_with_both_versions, .timeout = 60)
{
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_REFUSE);
    m.refuse.code = WEIR_ERR_PEER_PROTOCOL;
    wi_text_put(m.refuse.text, WI_TEXT_BYTES, "expected HELLO or JOIN");
    expect_end(&m, 1, WEIR_ERR_PEER_VERSION,
               "by wire version 2 to 2; the peer "
               "speaks version 1 only");
    m = challenge(5);
    m.knock.version_min = 7;
    m.knock.version_max = 9;
    expect_end(&m, 1, WEIR_ERR_PEER_VERSION,
               "7 to 9 were offered for a proof, 2 to 2");
}
