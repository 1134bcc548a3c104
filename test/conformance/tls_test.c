/* SPDX-License-Identifier: Apache-2.0 */
/* TLS over tcp: certificates that are good, and all kinds that are not; and the
 * secret of the cluster instead of them. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/identity/psk.h"
#include "launch/certs.h"
#include "test/support/flow.h"
#include "test/support/lacks.h"
#include "test/support/tap.h"

#include <criterion/criterion.h>

enum { NODES = 2, DAY_S = 86400 };

#define NEW "new-new-new-new-new-new-new-new-new"
#define OLD "old-old-old-old-old-old-old-old-old"

static const uint64_t second = 1000000000u;

/* ---- certificates -------------------------------------------------------- */

static char dir[] = "/tmp/weir-tls-XXXXXX";
static struct wl_authority *ours;

static const char *path(const char *name)
{
    static char text[8][WL_PATH_BYTES];
    static unsigned at;
    char *it = text[at++ % 8];
    (void)snprintf(it, WL_PATH_BYTES, "%s/%s", dir, name);
    return it;
}

static void issue(const struct wl_authority *a, const char *file,
                  const char *names, int64_t begin_s, int64_t end_s)
{
    const struct wl_cert cert = {path(file), names, begin_s, end_s, false};
    weir_err rc = wl_authority_issue(a, &cert);
    cr_assert_eq(rc, WEIR_OK, "%s", file);
}

static void make_certs(void)
{
    cr_assert_not_null(mkdtemp(dir));
    ours = wl_authority_open(path("ours"), "one");
    cr_assert_not_null(ours);
    issue(ours, "n0", "DNS:n0,IP:127.0.0.1", -DAY_S, DAY_S);
    issue(ours, "n1", "DNS:other,DNS:n1", -DAY_S, DAY_S);
}

static void drop_certs(void)
{
    char command[64];
    wl_authority_close(ours);
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    cr_assert_eq(system(command), 0);
}

/* ---- nodes --------------------------------------------------------------- */

struct end {
    weir_node *node;
    struct weir_identity identity;
    char text[3][WL_PATH_BYTES];
    const char *secret[2]; /* NULL: none */
    pthread_mutex_t lock;
    char log[8192];
    size_t len;
};

static struct end ends[NODES];

static void hear(void *arg, weir_log_level level, const char *line)
{
    struct end *e = arg;
    (void)level;
    (void)pthread_mutex_lock(&e->lock);
    int n = snprintf(e->log + e->len, sizeof(e->log) - e->len, "%s\n", line);
    e->len += (size_t)n;
    cr_assert_lt(e->len, sizeof(e->log));
    (void)pthread_mutex_unlock(&e->lock);
}

static uint32_t said(struct end *e, const char *text)
{
    uint32_t n = 0;
    (void)pthread_mutex_lock(&e->lock);
    for (const char *at = e->log; (at = strstr(at, text)) != NULL; at++) {
        n++;
    }
    (void)pthread_mutex_unlock(&e->lock);
    return n;
}

/* cert NULL: plain. */
static struct weir_node_params node_params(struct end *e, const char *name,
                                           const char *cert, const char *ca)
{
    *e = (struct end){.lock = PTHREAD_MUTEX_INITIALIZER};
    (void)snprintf(e->text[0], WL_PATH_BYTES, "%s/%s.crt", dir, cert);
    (void)snprintf(e->text[1], WL_PATH_BYTES, "%s/%s.key", dir, cert);
    (void)snprintf(e->text[2], WL_PATH_BYTES, "%s/%s.ca", dir, ca);
    e->identity = (struct weir_identity){.tls_cert_file = e->text[0],
                                         .tls_key_file = e->text[1],
                                         .tls_ca_file = e->text[2]};
    return (struct weir_node_params){.name = name,
                                     .transport = "tcp",
                                     .max_members = NODES,
                                     .identity = &e->identity,
                                     .connect_ns = 2 * second,
                                     .log = hear,
                                     .log_arg = e,
                                     .log_level = WEIR_LOG_WARN};
}

static void open_node(struct end *e, const struct weir_node_params *p)
{
    struct weir_error err = {0};
    weir_err rc = weir_node_open(p, &e->node, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
}

static void open_end(struct end *e, const char *name, const char *cert,
                     const char *ca)
{
    struct weir_node_params p =
        node_params(e, name, cert != NULL ? cert : "-", ca);
    p.identity = cert != NULL ? p.identity : NULL;
    open_node(e, &p);
}

static uint32_t tell(void *arg, uint32_t which, void *bytes, uint32_t room)
{
    const struct end *e = arg;
    const char *text = which < 2 ? e->secret[which] : NULL;
    size_t len = text != NULL ? strlen(text) : 0;
    cr_assert_leq(len, room);
    memcpy(bytes, text != NULL ? text : "", len);
    return (uint32_t)len;
}

/* A node that has the secret; with TLS by it, or plain. */
static struct weir_node_params secret_params(struct end *e, const char *name,
                                             const char *secret, bool psk)
{
    struct weir_node_params p = node_params(e, name, "-", "ours");
    e->secret[0] = secret;
    e->identity = (struct weir_identity){
        .secret = tell, .secret_arg = e, .tls_psk = psk, .plain = !psk};
    return p;
}

static void open_psk(uint32_t i, const char *name, const char *current,
                     const char *previous)
{
    struct weir_node_params p = secret_params(&ends[i], name, current, true);
    ends[i].secret[1] = previous;
    open_node(&ends[i], &p);
}

static void open_secret(uint32_t i, const char *name)
{
    struct weir_node_params p = secret_params(&ends[i], name, NEW, false);
    open_node(&ends[i], &p);
}

static void join_ends(const char *name1)
{
    const struct weir_member members[NODES] = {
        {"n0", weir_node_address(ends[0].node), 1},
        {name1, weir_node_address(ends[1].node), 1}};
    struct weir_error err = {0};
    for (uint32_t i = 0; i < NODES; i++) {
        weir_err rc = weir_node_join(ends[i].node, members, NODES, &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    }
}

static void close_ends(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        weir_node_close(ends[i].node);
    }
}

/* A query over both, opened by node 0, which connects to node 1. */
static weir_query *query(void)
{
    const uint32_t both[] = {1, 0};
    const struct weir_query_params params = {
        .id = 1, .members = both, .n_members = NODES};
    struct weir_error err = {0};
    weir_query *q = NULL;
    weir_err rc = weir_query_open(ends[0].node, &params, &q, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    return q;
}

static void expect_refusal(const char *here, const char *there)
{
    struct weir_error err = {0};
    weir_query *q = query();
    uint64_t waits = 0;
    while (weir_query_status(q, NULL) == WEIR_OK && waits++ < 60) {
        (void)weir_worker_wait(ends[0].node, 0, second);
    }
    weir_err rc = weir_query_status(q, &err);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "%s: %s", weir_err_name(rc),
                 err.message);
    cr_assert_not_null(strstr(err.message, here), "no \"%s\" in: %s", here,
                       err.message);
    weir_query_close(q);
    close_ends();
    cr_assert_eq(said(&ends[0], "link lost"), 1, "%s", ends[0].log);
    cr_assert_eq(said(&ends[1], "refused"), 1, "%s", ends[1].log);
    cr_assert_eq(said(&ends[1], there), 1, "no \"%s\" in: %s", there,
                 ends[1].log);
}

/* ---- good ones ----------------------------------------------------------- */

/* All types of rows, large rows and small rings, as over plain tcp. */
Test(tls, rows_travel, .timeout = 300, .init = make_certs, .fini = drop_certs)
{
    static const struct wt_place tcp = {.transport = "tcp"};
    const struct wt_cluster_params apart = {.nodes = NODES, .apart = true};
    static struct wt_cluster c;
    wt_cluster_open(&c, &tcp, &apart);
    for (uint32_t i = 0; i < NODES; i++) {
        char names[WT_NAME_BYTES + 8];
        char file[16];
        struct weir_error err = {0};
        struct weir_node_params p = wt_node_params(&c, i);
        (void)snprintf(names, sizeof(names), "DNS:%s", p.name);
        (void)snprintf(file, sizeof(file), "own%u", i);
        issue(ours, file, names, -DAY_S, DAY_S);
        struct weir_node_params tls =
            node_params(&ends[i], p.name, file, "ours");
        p.identity = tls.identity;
        p.memory_bytes = 8 << 20;
        weir_node_close(c.node[i]);
        weir_err rc = weir_node_open(&p, &c.node[i], &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    }
    wt_cluster_join(&c);
    for (uint64_t id = 1; id <= 3; id++) {
        const struct wt_flow_params flow = {.n_rows = id == 1 ? 10 : 20000,
                                            .batch_rows = 500};
        struct wt_query q;
        struct wt_flow f;
        wt_query_open(&q, &c, id, NULL);
        wt_flow_open(&f, &q, &flow);
        bool ran = wt_cluster_run(&c);
        cr_assert(ran, "%s", c.why);
        wt_flow_check(&f);
        wt_query_close(&q);
        wt_flow_close(&f);
    }
    wt_cluster_close(&c);
}

struct joiner {
    struct end *e;
    const char *seed;
    weir_err rc;
    struct weir_error err;
};

static void *join(void *arg)
{
    struct joiner *j = arg;
    j->rc =
        weir_node_join_seed(j->e->node, j->seed, NODES, 10 * second, &j->err);
    return NULL;
}

/* Node 1 joins the cluster whose seed is node 0. */
static void gather_ends(void)
{
    pthread_t thread;
    struct joiner seed = {.e = &ends[0]};
    cr_assert_eq(pthread_create(&thread, NULL, join, &seed), 0);
    struct joiner j = {.e = &ends[1], .seed = weir_node_address(ends[0].node)};
    (void)join(&j);
    (void)pthread_join(thread, NULL);
    cr_assert_eq(j.rc, WEIR_OK, "%s", j.err.message);
    cr_assert_eq(seed.rc, WEIR_OK, "%s", seed.err.message);
    close_ends();
}

Test(tls, seeds_look_at_names, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    open_end(&ends[0], "n0", "n0", "ours");
    open_end(&ends[1], "n1", "n1", "ours");
    gather_ends();
}

/* ---- bad ones ------------------------------------------------------------ */

static void expect_bad_cert(const char *cert1, const char *ca1,
                            const char *here, const char *there)
{
    open_end(&ends[0], "n0", "n0", "ours");
    open_end(&ends[1], "n1", cert1, ca1);
    join_ends("n1");
    expect_refusal(here, there);
}

Test(tls, expired_certificates_are_refused, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    issue(ours, "late", "DNS:n1", -2 * DAY_S, -DAY_S);
    expect_bad_cert("late", "ours", "certificate has expired",
                    "certificate expired");
}

Test(tls, certificates_to_come_are_refused, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    issue(ours, "early", "DNS:n1", DAY_S, 2 * DAY_S);
    expect_bad_cert("early", "ours", "certificate is not yet valid",
                    "bad certificate");
}

/* A certificate of n1 by an authority that is not ours. */
static void issue_by_another(const char *file, const char *name,
                             const char *cert)
{
    struct wl_authority *another = wl_authority_open(path(file), name);
    cr_assert_not_null(another);
    issue(another, cert, "DNS:n1", -DAY_S, DAY_S);
    wl_authority_close(another);
}

Test(tls, unknown_authorities_are_refused, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    issue_by_another("theirs", "two", "n1");
    expect_bad_cert("n1", "theirs",
                    "its certificate: self-signed certificate in",
                    "unknown ca");
}

/* All as it has to be, the authority's name included, but the signature: it is
 * not the authority's. */
Test(tls, altered_certificates_are_refused, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    issue_by_another("same", "one", "forged");
    expect_bad_cert("forged", "ours", "certificate signature failure",
                    "decrypt error");
}

/* Both are of the cluster; one says that it is another one. */
Test(tls, another_name_is_refused, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    open_end(&ends[0], "n0", "n0", "ours");
    open_end(&ends[1], "other", "n1", "ours");
    /* Node 0 looks for n2 where another one of the cluster answers. */
    const struct weir_member members[NODES] = {
        {"n0", weir_node_address(ends[0].node), 1},
        {"n2", weir_node_address(ends[1].node), 1}};
    struct weir_error err = {0};
    weir_err rc = weir_node_join(ends[0].node, members, NODES, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    const struct weir_member theirs[NODES] = {
        {"n0", weir_node_address(ends[0].node), 1},
        {"other", weir_node_address(ends[1].node), 1}};
    rc = weir_node_join(ends[1].node, theirs, NODES, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    weir_query *q = query();
    while (weir_query_status(q, NULL) == WEIR_OK) {
        (void)weir_worker_wait(ends[0].node, 0, second);
    }
    rc = weir_query_status(q, &err);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "%s", err.message);
    cr_assert_not_null(strstr(err.message, "calls itself n2, and has a "
                                           "certificate of \"other\""),
                       "%s", err.message);
    weir_query_close(q);
    close_ends();
}

Test(tls, plain_peers_are_refused, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    open_end(&ends[0], "n0", NULL, "ours");
    open_end(&ends[1], "n1", "n1", "ours");
    join_ends("n1");
    expect_refusal("the peer wants TLS", "it does not speak TLS");
}

Test(tls, peers_with_tls_are_refused_by_plain_ones, .timeout = 60,
     .init = make_certs, .fini = drop_certs)
{
    open_end(&ends[0], "n0", "n0", "ours");
    open_end(&ends[1], "n1", NULL, "ours");
    join_ends("n1");
    expect_refusal("it does not speak TLS",
                   "this node has neither a certificate");
}

/* Somebody that is no node connects to node 1. */
static int dial(void)
{
    const char *port = strrchr(weir_node_address(ends[1].node), ':') + 1;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(port)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* It is encrypted, but nobody knows who is there. */
Test(tls, peers_without_a_certificate_are_refused, .timeout = 60,
     .init = make_certs, .fini = drop_certs)
{
    open_end(&ends[1], "n1", "n1", "ours");
    int fd = dial();
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(ctx);
    char byte;
    cr_assert_eq(SSL_set_fd(ssl, fd), 1);
    (void)SSL_connect(ssl); /* TLS 1.3: it is told with the first read */
    cr_assert_leq(SSL_read(ssl, &byte, 1), 0);
    weir_node_close(ends[1].node);
    cr_assert_eq(said(&ends[1], "refused"), 1, "%s", ends[1].log);
    cr_assert_eq(said(&ends[1], "peer did not return a certificate"), 1, "%s",
                 ends[1].log);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    (void)close(fd);
}

/* Where two nodes connect to each other at a time, one of the two connections
 * is given up, perhaps before TLS has said who is there. */
Test(tls, who_hangs_up_is_not_refused, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    static const uint8_t begin[] = {0x16, 3, 1, 2};
    open_end(&ends[1], "n1", "n1", "ours");
    for (size_t n = 0; n <= sizeof(begin); n += sizeof(begin)) {
        char byte;
        int fd = dial();
        cr_assert_eq(send(fd, begin, n, 0), (ssize_t)n);
        cr_assert_eq(shutdown(fd, SHUT_WR), 0);
        cr_assert_leq(recv(fd, &byte, 1, 0), 0);
        (void)close(fd);
    }
    weir_node_close(ends[1].node);
    cr_assert_str_eq(ends[1].log, "");
}

/* Older protocols are none. */
Test(tls, older_versions_are_refused, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    open_end(&ends[1], "n1", "n1", "ours");
    int fd = dial();
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    cr_assert_eq(SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION), 1);
    SSL *ssl = SSL_new(ctx);
    cr_assert_eq(SSL_set_fd(ssl, fd), 1);
    cr_assert_leq(SSL_connect(ssl), 0);
    weir_node_close(ends[1].node);
    cr_assert_eq(said(&ends[1], "unsupported protocol"), 1, "%s", ends[1].log);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    (void)close(fd);
}

/* ---- files --------------------------------------------------------------- */

static void expect_no_node(const struct weir_node_params *p, weir_err code,
                           const char *text)
{
    struct weir_error err = {0};
    weir_node *node = NULL;
    weir_err rc = weir_node_open(p, &node, &err);
    cr_assert_eq(rc, code, "%s: %s", weir_err_name(rc), err.message);
    cr_assert_not_null(strstr(err.message, text), "%s", err.message);
}

Test(tls, files_that_do_not_fit_are_named, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    struct weir_node_params p = node_params(&ends[0], "n1", "n0", "ours");
    expect_no_node(&p, WEIR_ERR_ARG, "is not of n1");
    p = node_params(&ends[0], "n0", "n0", "ours");
    p.transport = "shm";
    expect_no_node(&p, WEIR_ERR_ARG, "for transports tcp and auto");
    p = node_params(&ends[0], "n0", "n0", "none");
    expect_no_node(&p, WEIR_ERR_SYSTEM, "tls_ca_file");
    p = node_params(&ends[0], "n0", "n0", "ours");
    ends[0].identity.tls_key_file = NULL;
    expect_no_node(&p, WEIR_ERR_ARG, "TLS needs");
    ends[0].identity.tls_key_file = path("n1.key");
    expect_no_node(&p, WEIR_ERR_SYSTEM, "tls_key_file");
    ends[0].identity.tls_key_file = path("n0.key");
    cr_assert_eq(chmod(path("n0.key"), 0644), 0);
    expect_no_node(&p, WEIR_ERR_SYSTEM, "has mode 644");
    cr_assert_eq(unlink(path("n0.key")), 0);
    cr_assert_eq(mkfifo(path("n0.key"), 0600), 0);
    expect_no_node(&p, WEIR_ERR_SYSTEM, "is not a regular file");
}

Test(tls, keys_of_other_users_are_refused, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    if (geteuid() != 0) {
        WT_LACKS("only root can give files to others");
    }
    struct weir_node_params p = node_params(&ends[0], "n0", "n0", "ours");
    cr_assert_eq(chown(path("n0.key"), 12345, 0), 0);
    expect_no_node(&p, WEIR_ERR_SYSTEM, "tls_key_file");
    expect_no_node(&p, WEIR_ERR_SYSTEM, "belongs to uid 12345");
}

/* Whoever has the key of such a one can make certificates of all names. */
Test(tls, certificates_that_issue_others_are_refused, .timeout = 60,
     .init = make_certs, .fini = drop_certs)
{
    const struct wl_cert cert = {path("ca0"), "DNS:n0", -DAY_S, DAY_S,
                                 .issues = true};
    weir_err rc = wl_authority_issue(ours, &cert);
    cr_assert_eq(rc, WEIR_OK);
    struct weir_node_params p = node_params(&ends[0], "n0", "ca0", "ours");
    expect_no_node(&p, WEIR_ERR_ARG, "may issue others");
}

/* ---- the secret instead of certificates ---------------------------------- */

/* Where node i finds the others: at their taps. */
static void join_by_taps(struct wt_cluster *c, struct wt_tap *tap)
{
    struct weir_error err = {0};
    for (uint32_t i = 0; i < NODES; i++) {
        wt_tap_start(&tap[i], weir_node_address(c->node[i]));
    }
    for (uint32_t i = 0; i < NODES; i++) {
        struct weir_member members[WT_NODES];
        wt_cluster_members(c, members);
        members[1 - i].address = tap[1 - i].address;
        weir_err rc = weir_node_join(c->node[i], members, NODES, &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    }
}

/* Of the first hundred rows, how many texts passed a tap as they are. */
static uint32_t plain_texts(const struct wt_rows *rows,
                            const struct wt_tap *tap)
{
    uint32_t n = 0;
    for (uint64_t id = 0; id < 100; id++) {
        struct ArrowArray row;
        wt_rows_make(rows, id, 1, &row);
        const struct ArrowArray *text = row.children[2];
        const int32_t *ends_of = text->buffers[1];
        const char *at = text->buffers[2];
        size_t len = (size_t)(ends_of[1] - ends_of[0]);
        for (uint32_t i = 0; i < NODES && len >= 12; i++) {
            n += memmem(tap[i].bytes, tap[i].len, at + ends_of[0], len) != NULL;
        }
        row.release(&row);
    }
    return n;
}

/* Rows arrive as they were sent; how many were to be read on the way? */
static uint32_t rows_on_the_wire(bool psk)
{
    static const struct wt_place tcp = {.transport = "tcp"};
    static struct wt_tap tap[NODES];
    const struct wt_cluster_params apart = {.nodes = NODES, .apart = true};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, &tcp, &apart);
    for (uint32_t i = 0; i < NODES; i++) {
        struct weir_error err = {0};
        struct weir_node_params p = wt_node_params(&c, i);
        p.identity = secret_params(&ends[i], p.name, NEW, psk).identity;
        weir_node_close(c.node[i]);
        weir_err rc = weir_node_open(&p, &c.node[i], &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    }
    join_by_taps(&c, tap);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, &(struct wt_flow_params){.n_rows = 5000});
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f);
    struct wt_rows rows = f.rows;
    wt_query_close(&q);
    wt_flow_close(&f);
    wt_cluster_close(&c);
    for (uint32_t i = 0; i < NODES; i++) {
        wt_tap_stop(&tap[i]);
    }
    cr_assert_gt(tap[0].len + tap[1].len, 100000u);
    return plain_texts(&rows, tap);
}

Test(tls_psk, rows_are_not_on_the_wire, .timeout = 60)
{
    uint32_t plain = rows_on_the_wire(false);
    cr_assert_gt(plain, 10u); /* so the tap sees what there is */
    cr_assert_eq(rows_on_the_wire(true), 0u);
}

/* Whoever has one of its secrets in common with the seed. */
Test(tls_psk, two_secrets_are_good_in_any_order, .timeout = 60)
{
    static const char *const pairs[][4] = {
        {NEW, NULL, NEW, NULL}, {NEW, OLD, OLD, NULL}, {OLD, NULL, NEW, OLD},
        {NEW, OLD, NEW, NULL},  {NEW, NULL, NEW, OLD}, {OLD, NEW, NEW, NULL},
        {NEW, NULL, OLD, NEW},  {NEW, OLD, OLD, NEW},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        open_psk(0, "n0", pairs[i][0], pairs[i][1]);
        open_psk(1, "n1", pairs[i][2], pairs[i][3]);
        gather_ends();
        cr_assert_eq(said(&ends[0], "link lost"), 0, "%s", ends[0].log);
        cr_assert_eq(said(&ends[1], "link lost"), 0, "%s", ends[1].log);
    }
}

Test(tls_psk, another_secret_is_refused, .timeout = 60)
{
    open_psk(0, "n0", OLD, NULL);
    open_psk(1, "n1", NEW, NULL);
    join_ends("n1");
    expect_refusal("who answers there does not know the secret",
                   "who connects does not know the secret");
}

/* The one that was good until the others forgot it. */
Test(tls_psk, the_old_secret_is_refused_after_a_change, .timeout = 60)
{
    struct weir_error err = {0};
    open_psk(0, "n0", OLD, NULL);
    open_psk(1, "n1", NEW, OLD);
    ends[1].secret[1] = NULL;
    weir_err rc = weir_node_renew_secret(ends[1].node, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    join_ends("n1");
    expect_refusal("who answers there does not know the secret",
                   "who connects does not know the secret");
}

/* Plain ones of the same secret: nobody talks in the clear by mistake. */
Test(tls_psk, plain_peers_are_refused, .timeout = 60)
{
    open_secret(0, "n0");
    open_psk(1, "n1", NEW, NULL);
    join_ends("n1");
    expect_refusal("the peer wants TLS", "it does not speak TLS");
}

Test(tls_psk, plain_peers_refuse, .timeout = 60)
{
    open_psk(0, "n0", NEW, NULL);
    open_secret(1, "n1");
    join_ends("n1");
    expect_refusal("told to be plain", "neither a certificate nor a secret");
}

Test(tls_psk, peers_with_certificates_are_refused, .timeout = 60,
     .init = make_certs, .fini = drop_certs)
{
    open_end(&ends[0], "n0", "n0", "ours");
    open_psk(1, "n1", NEW, NULL);
    join_ends("n1");
    expect_refusal("perhaps it has a secret instead",
                   "who connects wants a certificate");
}

Test(tls_psk, peers_with_certificates_refuse, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    open_psk(0, "n0", NEW, NULL);
    open_end(&ends[1], "n1", "n1", "ours");
    join_ends("n1");
    expect_refusal("who answers there has a certificate",
                   "perhaps it has a secret instead");
}

/* ---- strangers, and who is none ------------------------------------------ */

static struct wi_psk shown; /* what a client of the test has */
static uint32_t early;      /* bytes that it may send before it is known */

static int show(SSL *ssl, const EVP_MD *md, const unsigned char **id,
                size_t *bytes, SSL_SESSION **out)
{
    static const unsigned char cipher[] = {0x13, 0x01};
    (void)md;
    *out = SSL_SESSION_new();
    (void)SSL_SESSION_set1_master_key(*out, shown.key, sizeof(shown.key));
    (void)SSL_SESSION_set_cipher(*out, SSL_CIPHER_find(ssl, cipher));
    (void)SSL_SESSION_set_protocol_version(*out, TLS1_3_VERSION);
    (void)SSL_SESSION_set_max_early_data(*out, early);
    *id = shown.id;
    *bytes = sizeof(shown.id);
    return 1;
}

static void make_shown(void)
{
    struct wi_secrets secrets = {0};
    struct wi_psks psks = {0};
    (void)wi_secrets_add(&secrets, NEW, strlen(NEW), NULL);
    cr_assert_eq(wi_psks_make(&secrets, &psks, NULL), WEIR_OK);
    shown = psks.of[0];
}

/* Connect to node 1 as somebody that has what is shown. */
static SSL *dial_psk(SSL_CTX *ctx, int *rc_out)
{
    SSL *ssl = SSL_new(ctx);
    SSL_set_psk_use_session_callback(ssl, show);
    cr_assert_eq(SSL_set_fd(ssl, dial()), 1);
    *rc_out = SSL_connect(ssl);
    return ssl;
}

static void hang_up(SSL *ssl)
{
    (void)close(SSL_get_fd(ssl));
    SSL_free(ssl);
}

static void expect_stranger(const char *text)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    int rc = 0;
    open_psk(1, "n1", NEW, NULL);
    SSL *ssl = dial_psk(ctx, &rc);
    cr_assert_leq(rc, 0);
    weir_node_close(ends[1].node);
    cr_assert_eq(said(&ends[1], "refused"), 1, "%s", ends[1].log);
    cr_assert_eq(said(&ends[1], text), 1, "%s", ends[1].log);
    hang_up(ssl);
    SSL_CTX_free(ctx);
}

/* Everybody on the way can see an id; it is no use without its key. */
Test(tls_psk, an_id_without_its_key_is_refused, .timeout = 60)
{
    make_shown();
    shown.key[0] ^= 1;
    expect_stranger("who connects does not know the secret");
}

Test(tls_psk, a_key_of_another_id_is_refused, .timeout = 60)
{
    make_shown();
    shown.id[WI_PSK_ID_BYTES - 1] ^= 1;
    expect_stranger("who connects does not know the secret");
}

/* One that knows the secret, and would do without what is to be had. */
Test(tls_psk, there_is_forward_secrecy_and_no_ticket, .timeout = 60)
{
    char byte;
    int rc = 0;
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    (void)SSL_CTX_set_options(ctx, SSL_OP_ALLOW_NO_DHE_KEX);
    make_shown();
    open_psk(1, "n1", NEW, NULL);
    SSL *ssl = dial_psk(ctx, &rc);
    cr_assert_eq(rc, 1);
    cr_assert_eq(SSL_session_reused(ssl), 1);
    cr_assert_neq(SSL_get_negotiated_group(ssl), NID_undef);
    cr_assert_eq(SSL_write(ssl, "WEIR\r\n\r\n\1\0\0\0\0\0\0\0", 16), 16);
    cr_assert_eq(SSL_read(ssl, &byte, 1), 1); /* tickets come before */
    cr_assert_not(SSL_SESSION_has_ticket(SSL_get_session(ssl)));
    hang_up(ssl);
    weir_node_close(ends[1].node);
    SSL_CTX_free(ctx);
}

/* It could be replayed. */
Test(tls_psk, early_data_is_not_taken, .timeout = 60)
{
    size_t n = 0;
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    make_shown();
    early = 100;
    open_psk(1, "n1", NEW, NULL);
    SSL *ssl = SSL_new(ctx);
    SSL_set_psk_use_session_callback(ssl, show);
    cr_assert_eq(SSL_set_fd(ssl, dial()), 1);
    int rc = SSL_write_early_data(ssl, "WEIR", 4, &n);
    cr_assert(rc == 1 && n == 4);
    rc = SSL_connect(ssl);
    cr_assert_eq(rc, 1);
    cr_assert_eq(SSL_get_early_data_status(ssl), SSL_EARLY_DATA_REJECTED);
    hang_up(ssl);
    weir_node_close(ends[1].node);
    SSL_CTX_free(ctx);
}

Test(tls_psk, params_that_do_not_fit_are_named, .timeout = 60,
     .init = make_certs, .fini = drop_certs)
{
    struct weir_node_params p = secret_params(&ends[0], "n0", NEW, true);
    ends[0].identity.secret = NULL;
    expect_no_node(&p, WEIR_ERR_ARG, "tls_psk needs a secret");
    p = secret_params(&ends[0], "n0", NEW, true);
    ends[0].identity.tls_ca_file = path("ours.ca");
    expect_no_node(&p, WEIR_ERR_ARG, "give one of them");
    p = secret_params(&ends[0], "n0", NEW, true);
    ends[0].identity.plain = 1;
    expect_no_node(&p, WEIR_ERR_ARG, "give one of them");
    p = secret_params(&ends[0], "n0", NEW, true);
    p.transport = "shm";
    expect_no_node(&p, WEIR_ERR_ARG, "for transports tcp and auto");
    p = secret_params(&ends[0], "n0", "short", true);
    expect_no_node(&p, WEIR_ERR_ARG, "5 bytes");
}
