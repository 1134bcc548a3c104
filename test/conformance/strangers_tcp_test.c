/* SPDX-License-Identifier: Apache-2.0 */
/* Thousands of connections of strangers while queries run, at nodes with a
 * secret and at nodes with TLS: none of the queries is lost, and nothing of the
 * strangers stays. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/format/wire.h"
#include "core/identity/psk.h"
#include "core/link/guest.h"
#include "core/link/lock.h"
#include "launch/certs.h"
#include "test/support/flow.h"
#include "test/support/lab.h"

#include <criterion/criterion.h>

enum { STRANGERS = 10000, TLS_STRANGERS = 2000, HELD = 64, DAY_S = 86400 };

#define SECOND UINT64_C(1000000000)

/* ---- strangers ----------------------------------------------------------- */

struct crowd {
    const char *address[2]; /* of the nodes */
    uint32_t strangers;
    void (*speak)(int fd, uint32_t i);
    _Atomic uint32_t came;
    _Atomic uint32_t seen; /* queries enough have run beside them */
    pthread_t thread;
};

static int dial(const char *address)
{
    const char *colon = strrchr(address, ':');
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(colon + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    /* Closed at once, so that ports do not run out. */
    const struct linger reset = {.l_onoff = 1};
    const struct timeval patience = {.tv_sec = 5};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static size_t record(uint8_t *at, const union wi_msg *m)
{
    memset(at, 0, 24);
    at[0] = 1; /* MESSAGE */
    uint32_t len = m->head.len;
    memcpy(at + 4, &len, sizeof(len));
    memcpy(at + 24, m, len);
    return 24 + len;
}

static void fill(union wi_msg *m, enum wi_msg_type type, uint32_t i)
{
    wi_msg_init(m, type);
    m->hello.magic = WI_WIRE_MAGIC;
    m->hello.version_min = WI_WIRE_VERSION_PROOF;
    m->hello.version_max = WI_WIRE_VERSION_MAX;
    if (type == WI_MSG_HELLO) {
        m->hello.from = 1 - i % 2; /* in the other member's name */
        m->hello.to = i % 2;
        m->hello.n_members = 2;
        m->hello.incarnation = 1000 + i;
        m->hello.workers = 1;
    } else if (type == WI_MSG_KNOCK) {
        memcpy(m->knock.nonce, &i, sizeof(i));
    }
}

/* What the next one says behind its greeting: nothing, noise, or words that
 * members say. */
static size_t speech(uint8_t *at, uint32_t i)
{
    static const uint8_t greeting[16] = "WEIR\r\n\r\n\x01";
    union wi_msg m;
    memcpy(at, greeting, sizeof(greeting));
    switch (i % 6) {
    case 0:
        return 0;
    case 1:
        return sizeof(greeting);
    case 2:
        memset(at, (int)(i & 0xff), 100);
        return 100;
    case 3:
        fill(&m, WI_MSG_HELLO, i);
        return sizeof(greeting) + record(at + sizeof(greeting), &m);
    case 4:
        fill(&m, WI_MSG_KNOCK, i);
        return sizeof(greeting) + record(at + sizeof(greeting), &m);
    default:
        fill(&m, WI_MSG_KNOCK, i);
        at += sizeof(greeting);
        size_t n = record(at, &m);
        fill(&m, WI_MSG_PROOF, i);
        return sizeof(greeting) + n + record(at + n, &m);
    }
}

static void speak(int fd, uint32_t i)
{
    uint8_t bytes[4096];
    size_t n = speech(bytes, i);
    if (n > 0) {
        (void)send(fd, bytes, n, MSG_NOSIGNAL);
    }
}

static void *come(void *arg)
{
    struct crowd *c = arg;
    int held[HELD];
    memset(held, -1, sizeof(held));
    /* rlx: no more than a wish */
    for (uint32_t i = 0; i < c->strangers || wi_load_rlx(&c->seen) == 0; i++) {
        int fd = dial(c->address[i % 2]);
        if (fd >= 0) {
            c->speak(fd, i);
        }
        if (held[i % HELD] >= 0) {
            (void)close(held[i % HELD]);
        }
        held[i % HELD] = fd;
        (void)wi_add_rlx(&c->came, fd >= 0 ? 1u : 0u); /* rlx: a count */
    }
    for (uint32_t i = 0; i < HELD; i++) {
        if (held[i] >= 0) {
            (void)close(held[i]);
        }
    }
    return NULL;
}

/* ---- members ------------------------------------------------------------- */

static uint32_t tell(void *arg, uint32_t which, void *bytes, uint32_t room)
{
    static const char secret[] = "what the members know and strangers do not";
    (void)arg;
    cr_assert_geq(room, sizeof(secret));
    memcpy(bytes, secret, sizeof(secret));
    return which == 0 ? (uint32_t)sizeof(secret) : 0;
}

static _Atomic uint32_t lines;

static void hear(void *arg, weir_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    cr_assert_null(strstr(line, "what the members"), "%s", line);
    (void)wi_add_rlx(&lines, 1u); /* rlx: a count */
}

static bool guests_are_gone(void *arg)
{
    weir_node *node = arg;
    wi_node_lock(node);
    bool gone = node->engine.n_guests == 0;
    wi_node_unlock(node);
    return gone;
}

/* Sockets of those that were refused live on for a moment (TCP_LINGER_NS). */
static bool heap_is_flat(void *arg)
{
    const uint64_t *before = arg;
    return wt_heap_bytes() < *before + (1u << 20);
}

/* Queries run while the crowd comes. The link of the members is closed between
 * them and opened again, so that members come to a door at which strangers
 * crowd. */
static void run_beside(struct wt_cluster *c, struct crowd *crowd)
{
    uint64_t queries = 0;
    uint32_t came = 0;
    wt_flow_run(c, ++queries, NULL);
    uint64_t before = wt_heap_bytes();
    for (uint32_t i = 0; i < 2; i++) {
        crowd->address[i] = weir_node_address(c->node[i]);
    }
    cr_assert_eq(pthread_create(&crowd->thread, NULL, come, crowd), 0);
    do {
        wt_flow_run(c, ++queries, NULL);
        came = wi_load_rlx(&crowd->came); /* rlx: a count */
        if (queries > 10) {
            wi_store_rlx(&crowd->seen, 1); /* rlx: no more than a wish */
        }
    } while (queries <= 10 ||
             (came < crowd->strangers * 99 / 100 && queries < 100000));
    (void)pthread_join(crowd->thread, NULL);
    wt_flow_run(c, ++queries, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        bool gone = wt_until(c, guests_are_gone, c->node[i]);
        cr_assert(gone);
    }
    bool flat = wt_until(c, heap_is_flat, &before);
    cr_assert(flat, "%llu bytes stay",
              (unsigned long long)(wt_heap_bytes() - before));
    cr_assert_gt(queries, 10, "%llu", (unsigned long long)queries);
    came = wi_load_rlx(&crowd->came); /* rlx: its thread has ended */
    cr_assert_geq(came, crowd->strangers * 9 / 10);
    (void)fprintf(stderr, "%u strangers, %llu queries, %u lines logged\n", came,
                  (unsigned long long)queries,
                  wi_load_rlx(&lines)); /* rlx: a count */
}

static const struct weir_node_params member = {.idle_close_ns = 1000000,
                                               .connect_ns = 60 * SECOND,
                                               .detect_ns = 60 * SECOND,
                                               .log = hear,
                                               .log_level = WEIR_LOG_WARN};
static const struct wt_place tcp = {.transport = "tcp"};

Test(strangers_tcp, ten_thousand_lose_no_query, .timeout = 300)
{
    static const struct weir_identity id = {.secret = tell, .plain = 1};
    struct wt_cluster_params params = {.nodes = 2, .node = member};
    struct wt_cluster c;
    struct crowd crowd = {.strangers = STRANGERS, .speak = speak};
    params.node.identity = &id;
    wt_cluster_open(&c, &tcp, &params);
    run_beside(&c, &crowd);
    wt_cluster_close(&c);
}

/* ---- at nodes with TLS --------------------------------------------------- */

enum { NO_CERT, OTHER_CERT, OLD_VERSION, CLIENTS };

static char dir[] = "/tmp/weir-strangers-XXXXXX";
static SSL_CTX *clients[CLIENTS];
static struct wi_psk overheard;
static uint32_t offered; /* keys that are none */
static uint32_t shook;   /* strangers that came through the handshake, as they
                        * think: TLS 1.3 tells them later that they did not */

static const char *path(const char *name)
{
    static char text[8][WL_PATH_BYTES];
    static unsigned at;
    char *it = text[at++ % 8];
    (void)snprintf(it, WL_PATH_BYTES, "%s/%s", dir, name);
    return it;
}

static void issue(const struct wl_authority *a, const char *file,
                  const char *name)
{
    char names[WT_NAME_BYTES + 8];
    (void)snprintf(names, sizeof(names), "DNS:%s", name);
    const struct wl_cert cert = {path(file), names, -DAY_S, DAY_S, false};
    cr_assert_eq(wl_authority_issue(a, &cert), WEIR_OK, "%s", file);
}

/* What strangers have: nothing, a certificate of an authority of their own in a
 * member's name, or an old protocol. */
static void open_clients(const char *name)
{
    struct wl_authority *theirs = wl_authority_open(path("theirs"), "ours");
    cr_assert_not_null(theirs);
    issue(theirs, "thief", name);
    wl_authority_close(theirs);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        clients[i] = SSL_CTX_new(TLS_client_method());
        cr_assert_not_null(clients[i]);
    }
    cr_assert_eq(SSL_CTX_use_certificate_chain_file(clients[OTHER_CERT],
                                                    path("thief.crt")),
                 1);
    cr_assert_eq(SSL_CTX_use_PrivateKey_file(
                     clients[OTHER_CERT], path("thief.key"), SSL_FILETYPE_PEM),
                 1);
    cr_assert_eq(
        SSL_CTX_set_max_proto_version(clients[OLD_VERSION], TLS1_2_VERSION), 1);
}

/* Shake hands, as far as the node goes along, and say what members say. */
static void speak_as(SSL_CTX *ctx, int fd, uint32_t i)
{
    uint8_t bytes[4096];
    SSL *ssl = SSL_new(ctx);
    cr_assert_not_null(ssl);
    cr_assert_eq(SSL_set_fd(ssl, fd), 1);
    if (SSL_connect(ssl) == 1) {
        size_t n = speech(bytes, i % 2 == 0 ? 3 : 5);
        shook++;
        (void)SSL_write(ssl, bytes, (int)n);
    }
    SSL_free(ssl); /* the socket stays */
}

/* In the clear, as if there were no TLS; the beginning of a handshake, and no
 * more; a whole one, with what a stranger can have. */
static void speak_tls(int fd, uint32_t i)
{
    /* A record of 512 bytes that begins as a ClientHello. */
    uint8_t hello[5 + 512] = {22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3};
    switch (i % 6) {
    case 0:
        speak(fd, i / 6);
        return;
    case 1: /* the rest never comes */
        (void)send(fd, hello, 11, MSG_NOSIGNAL);
        return;
    case 2: /* comes, and is noise */
        memset(hello + 11, (int)(i & 0xff), sizeof(hello) - 11);
        (void)send(fd, hello, sizeof(hello), MSG_NOSIGNAL);
        return;
    default:
        speak_as(clients[i % 6 - 3], fd, i / 6);
    }
}

/* Strangers that have seen a member's id, or made one of their own, offer a key
 * of their own. */
static int offer(SSL *ssl, const EVP_MD *md, const unsigned char **id,
                 size_t *bytes, SSL_SESSION **out)
{
    static const unsigned char cipher[] = {0x13, 0x01};
    static const unsigned char key[32] = "what strangers do not know";
    static const unsigned char other[WI_PSK_ID_BYTES] = "of a stranger";
    (void)md;
    *out = SSL_SESSION_new();
    (void)SSL_SESSION_set1_master_key(*out, key, sizeof(key));
    (void)SSL_SESSION_set_cipher(*out, SSL_CIPHER_find(ssl, cipher));
    (void)SSL_SESSION_set_protocol_version(*out, TLS1_3_VERSION);
    *id = offered++ % 2 == 0 ? overheard.id : other;
    *bytes = WI_PSK_ID_BYTES;
    return 1;
}

/* Members open again, each with TLS by what they all know. */
static void take_keys(struct wt_cluster *c)
{
    const struct weir_identity id = {.secret = tell, .tls_psk = 1};
    struct wi_secrets secrets = {0};
    struct wi_psks psks = {0};
    char secret[64];
    uint32_t bytes = tell(NULL, 0, secret, sizeof(secret));
    (void)wi_secrets_add(&secrets, secret, bytes, NULL);
    cr_assert_eq(wi_psks_make(&secrets, &psks, NULL), WEIR_OK);
    overheard = psks.of[0];
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        struct weir_error err = {0};
        struct weir_node_params p = wt_node_params(c, i);
        p.identity = &id;
        weir_node_close(c->node[i]);
        weir_err rc = weir_node_open(&p, &c->node[i], &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    }
    wt_cluster_join(c);
}

/* Members open again, each with a certificate of its name. */
static void take_certificates(struct wt_cluster *c,
                              const struct wl_authority *ours)
{
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        static const char *const file[2] = {"n0", "n1"};
        char text[3][WL_PATH_BYTES];
        struct weir_error err = {0};
        struct weir_node_params p = wt_node_params(c, i);
        issue(ours, file[i], p.name);
        (void)snprintf(text[0], WL_PATH_BYTES, "%s/%s.crt", dir, file[i]);
        (void)snprintf(text[1], WL_PATH_BYTES, "%s/%s.key", dir, file[i]);
        (void)snprintf(text[2], WL_PATH_BYTES, "%s/ours.ca", dir);
        const struct weir_identity id = {.tls_cert_file = text[0],
                                         .tls_key_file = text[1],
                                         .tls_ca_file = text[2]};
        p.identity = &id;
        weir_node_close(c->node[i]);
        weir_err rc = weir_node_open(&p, &c->node[i], &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    }
    wt_cluster_join(c);
}

static void two_thousand_at_tls(bool psk)
{
    const struct wt_cluster_params params = {
        .nodes = 2, .apart = true, .node = member};
    struct wt_cluster c;
    struct crowd crowd = {.strangers = TLS_STRANGERS, .speak = speak_tls};
    char command[64];
    cr_assert_not_null(mkdtemp(dir));
    (void)signal(SIGPIPE, SIG_IGN); /* SSL_write to whoever has hung up */
    struct wl_authority *ours = wl_authority_open(path("ours"), "ours");
    cr_assert_not_null(ours);
    wt_cluster_open(&c, &tcp, &params);
    open_clients(c.name[1]);
    if (psk) {
        take_keys(&c);
        SSL_CTX_set_psk_use_session_callback(clients[NO_CERT], offer);
    } else {
        take_certificates(&c, ours);
    }
    run_beside(&c, &crowd);
    if (psk) { /* they are told in the midst of it */
        cr_assert(offered > 0 && shook == 0, "%u %u", offered, shook);
    } else {
        cr_assert_gt(shook, 0u, "no stranger got as far as a handshake");
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        SSL_CTX_free(clients[i]);
    }
    wl_authority_close(ours);
    wt_cluster_close(&c);
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    cr_assert_eq(system(command), 0);
}

Test(strangers_tcp, two_thousand_at_tls_lose_no_query, .timeout = 300)
{
    two_thousand_at_tls(false);
}

Test(strangers_tcp, two_thousand_at_keys_lose_no_query, .timeout = 300)
{
    two_thousand_at_tls(true);
}
