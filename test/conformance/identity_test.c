/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters whose nodes prove who they are: one secret, several, none; on shm,
 * tcp and auto by threads, on the simulator as a cluster of its own. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/support/flow.h"
#include "test/support/lacks.h"
#include "test/support/mitm.h"

#include <criterion/criterion.h>

#define NEW "new-new-new-new-new-new-new-new-new"
#define OLD "old-old-old-old-old-old-old-old-old"

static const uint64_t second = 1000000000u;

/* ---- nodes --------------------------------------------------------------- */

/* What one node knows and says. */
struct own {
    const char *secret[2]; /* NULL: none (any more) */
    struct weir_identity identity;
    pthread_mutex_t lock;
    char log[8192];
    size_t len;
};

static struct own own[WT_NODES];
static struct weir_identity kind; /* of TLS by the secret, or plain */

static uint32_t tell(void *arg, uint32_t which, void *bytes, uint32_t room)
{
    const struct own *o = arg;
    const char *text = which < 2 ? o->secret[which] : NULL;
    size_t len = text != NULL ? strlen(text) : 0;
    cr_assert(len <= room);
    memcpy(bytes, text != NULL ? text : "", len);
    return (uint32_t)len;
}

static void hear(void *arg, weir_log_level level, const char *line)
{
    struct own *o = arg;
    (void)level;
    (void)pthread_mutex_lock(&o->lock);
    int n = snprintf(o->log + o->len, sizeof(o->log) - o->len, "%s\n", line);
    o->len += (size_t)n;
    cr_assert_lt(o->len, sizeof(o->log));
    (void)pthread_mutex_unlock(&o->lock);
}

/* How often it was logged. */
static uint32_t said(const struct own *o, const char *text)
{
    uint32_t n = 0;
    for (const char *at = o->log; (at = strstr(at, text)) != NULL; at++) {
        n++;
    }
    return n;
}

static void open_node(struct wt_cluster *c, uint32_t i, const char *current,
                      const char *previous)
{
    char name[WT_NAME_BYTES]; /* a member that comes back keeps its own */
    memcpy(name, c->name[i], sizeof(name));
    struct weir_node_params p = wt_node_params(c, i);
    memcpy(c->name[i], name, sizeof(name));
    struct weir_error err = {0};
    struct own *o = &own[i];
    *o = (struct own){.secret = {current, previous},
                      .identity = kind,
                      .lock = PTHREAD_MUTEX_INITIALIZER};
    o->identity.secret = tell;
    o->identity.secret_arg = o;
    p.identity = current != NULL ? &o->identity : NULL;
    p.log = hear;
    p.log_arg = o;
    p.log_level = WEIR_LOG_WARN;
    p.connect_ns = 20 * second;
    p.detect_ns = 20 * second;
    weir_node_close(c->node[i]);
    weir_err rc = weir_node_open(&p, &c->node[i], &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
}

static void open_apart(struct wt_cluster *c, const struct wt_place *place,
                       uint32_t n)
{
    const struct wt_cluster_params apart = {.nodes = n, .apart = true};
    wt_cluster_open(c, place, &apart);
}

/* Nothing that was logged has a secret in it. */
static void close_all(struct wt_cluster *c)
{
    wt_cluster_close(c);
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        cr_assert_eq(said(&own[i], "new-new"), 0, "%s", own[i].log);
        cr_assert_eq(said(&own[i], "old-old"), 0, "%s", own[i].log);
    }
}

static bool has_failed(void *arg)
{
    return weir_query_status(arg, NULL) != WEIR_OK;
}

/* Node 0 needs a link to node 1, and is told why there is none. */
static void expect_no_link(struct wt_cluster *c, const char *text)
{
    const uint32_t members[] = {1, 0}; /* a link to the first one is opened */
    const struct weir_query_params params = {
        .id = 7, .members = members, .n_members = 2};
    struct weir_error err = {0};
    weir_query *q = NULL;
    weir_err rc = weir_query_open(c->node[0], &params, &q, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    bool ended = wt_until(c, has_failed, q);
    cr_assert(ended);
    rc = weir_query_status(q, &err);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "%s: %s", weir_err_name(rc),
                 err.message);
    cr_assert_not_null(strstr(err.message, text), "no \"%s\" in: %s", text,
                       err.message);
    weir_query_close(q);
}

/* ---- members ------------------------------------------------------------- */

static void one_secret_is_enough(const struct wt_place *place)
{
    struct wt_cluster c;
    open_apart(&c, place, 3);
    for (uint32_t i = 0; i < 3; i++) {
        open_node(&c, i, NEW, NULL);
    }
    wt_cluster_join(&c);
    wt_flow_run(&c, 1, NULL);
    wt_flow_run(&c, 2, NULL);
    close_all(&c);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_str_eq(own[i].log, "");
    }
}

static void refused(const struct wt_place *place, const char *here,
                    const char *there, const char *text)
{
    struct wt_cluster c;
    open_apart(&c, place, 2);
    open_node(&c, 0, here, NULL);
    open_node(&c, 1, there, NULL);
    wt_cluster_join(&c);
    expect_no_link(&c, text);
    close_all(&c);
    cr_assert_eq(said(&own[0], "link lost"), 1, "%s", own[0].log);
    cr_assert_eq(said(&own[1], "refused a link"), 1, "%s", own[1].log);
    cr_assert_eq(said(&own[1], text), 1, "%s", own[1].log);
}

static void another_secret_is_refused(const struct wt_place *place)
{
    refused(place, OLD, NEW, "does not know the secret");
}

static void secret_against_none_is_refused(const struct wt_place *place)
{
    refused(place, NEW, NULL, "who is asked has none");
}

static void none_against_a_secret_is_refused(const struct wt_place *place)
{
    refused(place, NULL, NEW, "prove by wire version 2 to 2");
}

/* Every link of both directions, at each stage of a change. */
static void secrets_change_while_queries_run(const struct wt_place *place)
{
    struct wt_cluster c;
    uint64_t id = 0;
    open_apart(&c, place, 3);
    for (uint32_t i = 0; i < 3; i++) {
        open_node(&c, i, OLD, NULL);
    }
    wt_cluster_join(&c);
    wt_flow_run(&c, ++id, NULL);
    for (uint32_t stage = 0; stage < 2; stage++) {
        for (uint32_t i = 0; i < 3; i++) {
            struct weir_error err = {0};
            own[i].secret[0] = NEW;
            own[i].secret[1] = stage == 0 ? OLD : NULL;
            weir_err rc = weir_node_renew_secret(c.node[i], &err);
            cr_assert_eq(rc, WEIR_OK, "%s", err.message);
            wt_flow_run(&c, ++id, NULL);
            /* A node that is started again has new links to all. */
            uint32_t k = (i + 1) % 3;
            open_node(&c, k, own[k].secret[0], own[k].secret[1]);
            struct weir_member members[WT_NODES];
            wt_cluster_members(&c, members);
            for (uint32_t m = 0; m < 3; m++) {
                (void)weir_node_join(c.node[m], members, 3, &err);
                rc = weir_node_add_member(c.node[m], k, &members[k], &err);
                cr_assert(m == k || rc == WEIR_OK, "%s", err.message);
            }
            wt_flow_run(&c, ++id, NULL);
        }
    }
    close_all(&c);
}

/* ---- seeds --------------------------------------------------------------- */

struct joiner {
    weir_node *node;
    const char *seed;
    weir_err rc;
    struct weir_error err;
};

static void *join(void *arg)
{
    struct joiner *j = arg;
    j->rc = weir_node_join_seed(j->node, j->seed, 2, 60 * second, &j->err);
    return NULL;
}

static void join_both(struct wt_cluster *c, struct joiner j[2])
{
    pthread_t thread;
    j[0] = (struct joiner){.node = c->node[0]};
    j[1] = (struct joiner){.node = c->node[1],
                           .seed = weir_node_address(c->node[0])};
    cr_assert_eq(pthread_create(&thread, NULL, join, &j[0]), 0);
    (void)join(&j[1]);
    if (j[1].rc != WEIR_OK) { /* one that knows it ends the seed's wait */
        open_node(c, 1, own[0].secret[0], NULL);
        struct joiner other = {.node = c->node[1], .seed = j[1].seed};
        (void)join(&other);
        cr_assert_eq(other.rc, WEIR_OK, "%s", other.err.message);
    }
    (void)pthread_join(thread, NULL);
    cr_assert_eq(j[0].rc, WEIR_OK, "%s", j[0].err.message);
}

static void seeds_gather_who_knows_the_secret(const struct wt_place *place)
{
    struct wt_cluster c;
    struct joiner j[2];
    open_apart(&c, place, 2);
    open_node(&c, 0, NEW, NULL);
    open_node(&c, 1, NEW, NULL);
    join_both(&c, j);
    cr_assert_eq(j[1].rc, WEIR_OK, "%s", j[1].err.message);
    wt_flow_run(&c, 1, NULL);
    close_all(&c);
}

static void seeds_refuse_who_does_not(const struct wt_place *place)
{
    static const char *const texts[] = {"does not know the secret",
                                        "prove by wire version 2 to 2"};
    for (uint32_t i = 0; i < 2; i++) {
        struct wt_cluster c;
        struct joiner j[2];
        open_apart(&c, place, 2);
        open_node(&c, 0, NEW, NULL);
        open_node(&c, 1, i == 0 ? OLD : NULL, NULL);
        join_both(&c, j);
        cr_assert_eq(j[1].rc, WEIR_ERR_PEER_REFUSED);
        cr_assert_not_null(strstr(j[1].err.message, texts[i]), "%s",
                           j[1].err.message);
        wt_flow_run(&c, 1, NULL);
        close_all(&c);
        cr_assert_eq(said(&own[0], texts[i]), 1, "%s", own[0].log);
    }
}

/* ---- no members ---------------------------------------------------------- */

static weir_err get_from(struct wt_cluster *c, const char *address, char *bytes,
                         uint32_t len)
{
    struct weir_error err = {0};
    weir_fetch *f = NULL;
    weir_peer *peer = NULL;
    uint32_t taken;
    struct weir_got got;
    const struct weir_get want = {.name = {7, 1}, .bytes = len, .dst = bytes};
    weir_err rc = weir_fetch_open(c->node[0], NULL, &f, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    rc = weir_peer_open(c->node[0], address, &peer, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    rc = weir_fetch_get(f, peer, &want, 1, &taken);
    cr_assert(rc == WEIR_OK && taken == 1);
    while ((rc = weir_fetch_next(f, &got)) == WEIR_AGAIN) {
        (void)weir_worker_wait(c->node[0], 0, second);
    }
    cr_assert_eq(rc, WEIR_OK);
    weir_fetch_release(f, &got);
    weir_fetch_close(f);
    weir_peer_close(peer);
    return got.code;
}

static weir_err get(struct wt_cluster *c, char *bytes, uint32_t len)
{
    return get_from(c, weir_node_address(c->node[1]), bytes, len);
}

static weir_region *publish(weir_node *node, const char *text)
{
    const struct weir_region_params params = {.bytes = strlen(text)};
    const struct weir_name name = {7, 1};
    struct weir_error err = {0};
    weir_region *r = NULL;
    weir_err rc = weir_region_open(node, &params, &r, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    memcpy(weir_region_base(r), text, strlen(text));
    rc = weir_region_publish(r, &name, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    return r;
}

/* They are no members of one another: regions, asks, and so scans. */
static void guests_prove_it_too(const struct wt_place *place)
{
    static const char *const theirs[] = {NEW, OLD, NULL};
    for (uint32_t i = 0; i < 3; i++) {
        struct wt_cluster c;
        char bytes[6] = "";
        open_apart(&c, place, 2);
        open_node(&c, 0, theirs[i], NULL);
        open_node(&c, 1, NEW, NULL);
        weir_region *r = publish(c.node[1], "bytes");
        weir_err rc = get(&c, bytes, 5);
        cr_assert_eq(rc, i == 0 ? WEIR_OK : WEIR_ERR_PEER_REFUSED, "%u: %s", i,
                     weir_err_name(rc));
        cr_assert_str_eq(bytes, i == 0 ? "bytes" : "");
        weir_region_close(r);
        close_all(&c); /* what it logs has been logged then */
        cr_assert_eq(said(&own[1], "refused a link"), i == 0 ? 0 : 1, "%s",
                     own[1].log);
    }
}

/* ---- where --------------------------------------------------------------- */

#define EVERYWHERE(X)                                                          \
    X(one_secret_is_enough)                                                    \
    X(another_secret_is_refused)                                               \
    X(secret_against_none_is_refused)                                          \
    X(none_against_a_secret_is_refused)                                        \
    X(secrets_change_while_queries_run)                                        \
    X(seeds_gather_who_knows_the_secret)                                       \
    X(seeds_refuse_who_does_not)                                               \
    X(guests_prove_it_too)

static const struct wt_place shm = {.transport = "shm"};
static const struct wt_place tcp = {.transport = "tcp"};
static const struct wt_place best = {.transport = "auto"};

#define ON(suite, place, name, ...)                                            \
    Test(suite, name, .timeout = 300)                                          \
    {                                                                          \
        kind = (struct weir_identity){__VA_ARGS__};                            \
        name(&(place));                                                        \
    }
#define ON_SHM(name) ON(identity_shm, shm, name, .plain = 0)
#define ON_TCP(name) ON(identity_tcp_plain, tcp, name, .plain = 1)
#define ON_AUTO(name) ON(identity_auto, best, name, .plain = 0)
EVERYWHERE(ON_SHM)
EVERYWHERE(ON_TCP)
EVERYWHERE(ON_AUTO)

/* What is good is good with TLS by the secret; who is refused is told so before
 * the proof, in test/conformance/tls_test.c. */
#define GOOD(X)                                                                \
    X(one_secret_is_enough)                                                    \
    X(secrets_change_while_queries_run)                                        \
    X(seeds_gather_who_knows_the_secret)

#define ON_TCP_TLS(name) ON(identity_tcp, tcp, name, .plain = 0)
#define ON_AUTO_PSK(name) ON(identity_auto_psk, best, name, .tls_psk = 1)
GOOD(ON_TCP_TLS)
GOOD(ON_AUTO_PSK)

/* ---- somebody on the way ------------------------------------------------- */

/* What node 0 gets from node 1 by somebody who does not know the secret, and
 * exchanges bytes when the proofs are done. */
static weir_err get_by_relay(char bytes[6], uint64_t *swapped_out)
{
    static struct wt_mitm mitm;
    struct wt_cluster c;
    open_apart(&c, &tcp, 2);
    open_node(&c, 0, NEW, NULL);
    open_node(&c, 1, NEW, NULL);
    weir_region *r = publish(c.node[1], "truth");
    mitm.swaps[0] = (struct wt_swap){"truth", "false"};
    wt_mitm_start(&mitm, weir_node_address(c.node[1]), NULL);
    weir_err rc = get_from(&c, mitm.address, bytes, 5);
    wt_mitm_stop(&mitm);
    weir_region_close(r);
    close_all(&c);
    *swapped_out = mitm.swapped;
    return rc;
}

Test(identity_way, nobody_alters_what_is_said_with_a_secret, .timeout = 60)
{
    char bytes[6] = "";
    uint64_t swapped = 0;
    weir_err rc = get_by_relay(bytes, &swapped);
    cr_assert_eq(rc, WEIR_OK, "%s", weir_err_name(rc));
    cr_assert_str_eq(bytes, "truth");
    cr_assert_eq(swapped, 0u);
}

/* What docs/security.md says of it. */
Test(identity_way, plain_is_a_proof_and_no_more, .timeout = 60)
{
    char bytes[6] = "";
    uint64_t swapped = 0;
    kind.plain = 1;
    weir_err rc = get_by_relay(bytes, &swapped);
    cr_assert_eq(rc, WEIR_OK, "%s", weir_err_name(rc));
    cr_assert_str_eq(bytes, "false");
    cr_assert_eq(swapped, 1u);
}

/* Nodes of one secret that are opened in different ways: node 0 connects. */
static void expect_other_kind(struct weir_identity here,
                              struct weir_identity there, const char *text,
                              const char *log)
{
    struct wt_cluster c;
    open_apart(&c, &tcp, 2);
    kind = here;
    open_node(&c, 0, NEW, NULL);
    kind = there;
    open_node(&c, 1, NEW, NULL);
    wt_cluster_join(&c);
    expect_no_link(&c, text);
    close_all(&c);
    cr_assert_eq(said(&own[1], log), 1, "%s", own[1].log);
}

Test(identity_way, plain_and_not_plain_refuse_each_other, .timeout = 60)
{
    const struct weir_identity plain = {.plain = 1};
    const struct weir_identity usual = {.plain = 0};
    expect_other_kind(plain, usual, "the peer wants TLS",
                      "it does not speak TLS: perhaps it has no secret, was "
                      "told to be plain, or is of an older release");
    expect_other_kind(usual, plain, "told to be plain, or is of an older",
                      "the peer wants TLS");
}

/* It waits neither for the end of its time nor for the next way. */
Test(identity_way, joins_of_another_kind_end_at_once, .timeout = 60)
{
    struct weir_error err = {0};
    struct wt_cluster c;
    open_apart(&c, &tcp, 2);
    open_node(&c, 0, NEW, NULL);
    kind.plain = 1;
    open_node(&c, 1, NEW, NULL);
    weir_err rc = weir_node_join_seed(c.node[1], weir_node_address(c.node[0]),
                                      2, WEIR_FOREVER, &err);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "%s", err.message);
    cr_assert_not_null(strstr(err.message, "the peer wants TLS"), "%s",
                       err.message);
    kind.plain = 0;
    open_node(&c, 1, OLD, NULL);
    rc = weir_node_join_seed(c.node[1], weir_node_address(c.node[0]), 2,
                             WEIR_FOREVER, &err);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "%s", err.message);
    cr_assert_not_null(strstr(err.message, "does not know the secret"), "%s",
                       err.message);
    close_all(&c);
}

/* To ask for it is no other kind, but for auto, which has no other way then. */
Test(identity_way, tls_psk_is_the_same_over_tcp, .timeout = 60)
{
    struct wt_cluster c;
    open_apart(&c, &tcp, 2);
    open_node(&c, 0, NEW, NULL);
    kind.tls_psk = 1;
    open_node(&c, 1, NEW, NULL);
    wt_cluster_join(&c);
    wt_flow_run(&c, 1, NULL);
    close_all(&c);
}

Test(identity_way, only_what_is_strict_leaves_verbs_out, .timeout = 60)
{
    static const struct weir_identity ways[] = {
        {.plain = 1}, {.plain = 0}, {.tls_psk = 1}};
    for (uint32_t i = 0; i < 3; i++) {
        struct wt_cluster c;
        char why[256];
        open_apart(&c, &best, 1);
        kind = ways[i];
        open_node(&c, 0, NEW, NULL);
        (void)weir_node_why(c.node[0], NULL, why, sizeof(why));
        bool out = strstr(why, "no verbs: left out: no TLS") != NULL;
        cr_assert_eq(out, i == 2, "%u: %s", i, why);
        close_all(&c);
    }
}

Test(identity_sim, one_secret_is_enough, .timeout = 60)
{
    const struct wt_place sim = {.transport = "sim", .sim = true};
    own[0] = (struct own){.secret = {NEW, NULL}};
    const struct weir_identity id = {.secret = tell, .secret_arg = &own[0]};
    const struct wt_cluster_params params = {.nodes = 4,
                                             .node = {.identity = &id}};
    wt_flow_once(&sim, &params, NULL);
}

/* ---- files --------------------------------------------------------------- */

static char file[] = "/tmp/weir-secret-XXXXXX";

static void write_file(const char *text, mode_t mode)
{
    (void)chmod(file, 0600); /* as it was before; only root does not mind */
    FILE *f = fopen(file, "w");
    cr_assert_not_null(f);
    (void)fputs(text, f);
    cr_assert_eq(fclose(f), 0);
    cr_assert_eq(chmod(file, mode), 0);
}

static weir_err open_with_file(weir_node **node, struct weir_error *err)
{
    const struct weir_node_params p = {.secret_file = file};
    *err = (struct weir_error){0};
    return weir_node_open(&p, node, err);
}

static void expect_bad_file(weir_err code, const char *text)
{
    struct weir_error err;
    weir_node *node = NULL;
    weir_err rc = open_with_file(&node, &err);
    cr_assert_eq(rc, code, "%s", err.message);
    cr_assert_not_null(strstr(err.message, text), "%s", err.message);
    cr_assert_null(strstr(err.message, "new-new"), "%s", err.message);
}

Test(identity_file, others_may_not_read_it)
{
    struct weir_error err;
    weir_node *node = NULL;
    cr_assert_geq(mkstemp(file), 0);
    static const mode_t bad[] = {0644, 0604, 0602, 0620, 0601};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_file(NEW "\n", bad[i]);
        expect_bad_file(WEIR_ERR_SYSTEM, "chmod 600");
    }
    static const mode_t good[] = {0600, 0400, 0640};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        write_file(NEW "\n", 0600);
        cr_assert_eq(chmod(file, good[i]), 0);
        weir_err rc = open_with_file(&node, &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
        weir_node_close(node);
    }
    write_file("new-new\n", 0600);
    expect_bad_file(WEIR_ERR_ARG, "7 bytes");
    write_file("", 0600);
    expect_bad_file(WEIR_ERR_ARG, "no secret");
    (void)unlink(file);
    expect_bad_file(WEIR_ERR_SYSTEM, "No such file");
    cr_assert_eq(mkfifo(file, 0600), 0);
    expect_bad_file(WEIR_ERR_SYSTEM, "not a regular file");
    (void)unlink(file);
}

/* Whoever has it can change it, whatever its mode. */
Test(identity_file, it_is_the_users_or_roots)
{
    struct weir_error err;
    weir_node *node = NULL;
    if (geteuid() != 0) {
        WT_LACKS("only root can give files to others");
    }
    cr_assert_geq(mkstemp(file), 0);
    write_file(NEW "\n", 0600);
    cr_assert_eq(chown(file, 12345, 0), 0);
    expect_bad_file(WEIR_ERR_SYSTEM, "belongs to uid 12345");
    cr_assert_eq(chown(file, 0, 12345), 0);
    weir_err rc = open_with_file(&node, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    weir_node_close(node);
    /* root's, which the user of the process can read */
    cr_assert_eq(chmod(file, 0640), 0);
    cr_assert_eq(setegid(12345), 0);
    cr_assert_eq(seteuid(12345), 0);
    rc = open_with_file(&node, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    weir_node_close(node);
    cr_assert_eq(seteuid(0), 0);
    (void)unlink(file);
}

Test(identity_file, it_is_read_again)
{
    struct weir_error err;
    weir_node *node = NULL;
    cr_assert_geq(mkstemp(file), 0);
    write_file(OLD "\n", 0600);
    weir_err rc = open_with_file(&node, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    write_file(NEW "\n" OLD "\n", 0600);
    rc = weir_node_renew_secret(node, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    write_file("short\n", 0600);
    rc = weir_node_renew_secret(node, &err);
    cr_assert_eq(rc, WEIR_ERR_ARG);
    weir_node_close(node);
    (void)unlink(file);
}

Test(identity_file, one_source_is_enough)
{
    const struct weir_identity id = {.secret = tell, .secret_arg = &own[0]};
    const struct weir_identity odd = {.reserved = {0, 1}};
    struct weir_node_params p = {.secret_file = "x", .identity = &id};
    struct weir_error err = {0};
    weir_node *node = NULL;
    weir_err rc = weir_node_open(&p, &node, &err);
    cr_assert_eq(rc, WEIR_ERR_ARG);
    p = (struct weir_node_params){.identity = &odd};
    rc = weir_node_open(&p, &node, &err);
    cr_assert_eq(rc, WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "reserved[1]"));
    own[0] = (struct own){0}; /* a program that gives none */
    p = (struct weir_node_params){.identity = &id};
    rc = weir_node_open(&p, &node, &err);
    cr_assert_eq(rc, WEIR_ERR_ARG);
    rc = weir_node_open(NULL, &node, &err);
    cr_assert_eq(rc, WEIR_OK);
    rc = weir_node_renew_secret(node, &err);
    cr_assert_eq(rc, WEIR_ERR_STATE);
    weir_node_close(node);
}

/* ---- who is warned ------------------------------------------------------- */

Test(identity_warning, open_doors_are_named_once)
{
    static const struct {
        const char *transport;
        const char *listen;
        bool secret;
        uint32_t lines;
    } cases[] = {
        {"shm", NULL, false, 0},         {"tcp", NULL, false, 0},
        {"tcp", "[::1]:0", false, 0},    {"tcp", "127.1.2.3:0", false, 0},
        {"tcp", "0.0.0.0:0", false, 1},  {"tcp", "0.0.0.0:0", true, 0},
        {"auto", "0.0.0.0:0", false, 1}, {"auto", "tcp=127.0.0.1:0", false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct own *o = &own[0];
        *o = (struct own){.secret = {NEW, NULL},
                          .identity = {.secret = tell, .secret_arg = o},
                          .lock = PTHREAD_MUTEX_INITIALIZER};
        const struct weir_node_params p = {
            .transport = cases[i].transport,
            .listen = cases[i].listen,
            .identity = cases[i].secret ? &o->identity : NULL,
            .log = hear,
            .log_arg = o,
            .log_level = WEIR_LOG_WARN};
        struct weir_error err = {0};
        weir_node *node = NULL;
        weir_err rc = weir_node_open(&p, &node, &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
        weir_node_close(node);
        cr_assert_eq(said(o, "without asking who they are"), cases[i].lines,
                     "case %zu: %s", i, o->log);
    }
}
