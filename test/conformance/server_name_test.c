/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a node with a certificate expects at an address: the host of the address
 * or the name that it is given, and nobody else who has a certificate of the
 * same authority. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

#include "launch/certs.h"
#include "test/support/mitm.h"

#include <criterion/criterion.h>

enum { DAY_S = 86400, SERVER = 0, GUEST = 1, NODES = 2 };

static const uint64_t second = 1000000000u;

/* ---- certificates -------------------------------------------------------- */

static char dir[] = "/tmp/weir-names-XXXXXX";
static struct wl_authority *ours;

static const char *path(const char *name, const char *end)
{
    static char text[8][WL_PATH_BYTES];
    static unsigned at;
    char *it = text[at++ % 8];
    (void)snprintf(it, WL_PATH_BYTES, "%s/%s%s", dir, name, end);
    return it;
}

static void issue(const char *file, const char *names)
{
    const struct wl_cert cert = {path(file, ""), names, -DAY_S, DAY_S, false};
    weir_err rc = wl_authority_issue(ours, &cert);
    cr_assert_eq(rc, WEIR_OK, "%s", file);
}

static void make_certs(void)
{
    cr_assert_not_null(mkdtemp(dir));
    ours = wl_authority_open(path("ours", ""), "one");
    cr_assert_not_null(ours);
    issue("server", "DNS:server");
    issue("placed", "DNS:server,IP:127.0.0.1,IP:::1,DNS:localhost");
    issue("guest0", "DNS:guest0");
    issue("mallor", "DNS:mallor"); /* of somebody else's client */
}

static void drop_certs(void)
{
    char command[64];
    wl_authority_close(ours);
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    cr_assert_eq(system(command), 0);
}

/* ---- nodes --------------------------------------------------------------- */

static weir_node *node[NODES];

static void open_node(uint32_t i, const char *name, const char *cert)
{
    const struct weir_identity id = {.tls_cert_file = path(cert, ".crt"),
                                     .tls_key_file = path(cert, ".key"),
                                     .tls_ca_file = path("ours", ".ca")};
    const struct weir_node_params p = {.name = name,
                                       .transport = "tcp",
                                       .max_members = NODES,
                                       .identity = cert[0] != '\0' ? &id : NULL,
                                       .connect_ns = 20 * second,
                                       .detect_ns = 20 * second};
    struct weir_error err = {0};
    weir_err rc = weir_node_open(&p, &node[i], &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
}

static void close_nodes(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        weir_node_close(node[i]);
    }
}

static weir_region *publish(const char *text)
{
    const struct weir_region_params params = {.bytes = strlen(text)};
    const struct weir_name name = {7, 1};
    struct weir_error err = {0};
    weir_region *r = NULL;
    weir_err rc = weir_region_open(node[SERVER], &params, &r, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    memcpy(weir_region_base(r), text, strlen(text));
    rc = weir_region_publish(r, &name, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    return r;
}

/* The first five bytes of the region, from whoever has the address; or why
 * not. */
static weir_err get(const char *address, const char *server_name, char bytes[6],
                    char why[256])
{
    struct weir_error err = {0};
    weir_fetch *f = NULL;
    weir_peer *peer = NULL;
    uint32_t taken;
    struct weir_got got;
    const struct weir_get want = {.name = {7, 1}, .bytes = 5, .dst = bytes};
    memset(bytes, 0, 6);
    weir_err rc = weir_fetch_open(node[GUEST], NULL, &f, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    rc = weir_peer_open_named(node[GUEST], address, server_name, &peer, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    rc = weir_fetch_get(f, peer, &want, 1, &taken);
    cr_assert(rc == WEIR_OK && taken == 1);
    while ((rc = weir_fetch_next(f, &got)) == WEIR_AGAIN) {
        (void)weir_worker_wait(node[GUEST], 0, second);
    }
    cr_assert_eq(rc, WEIR_OK);
    (void)snprintf(why, 256, "%s",
                   got.code != WEIR_OK ? weir_fetch_error(f) : "");
    weir_fetch_release(f, &got);
    weir_fetch_close(f);
    weir_peer_close(peer);
    return got.code;
}

/* "HOST:PORT" of the server, by another name of the host. */
static const char *at_host(const char *host)
{
    static char text[64];
    (void)snprintf(text, sizeof(text), "tcp:%s%s", host,
                   strrchr(weir_node_address(node[SERVER]), ':'));
    return text;
}

static void expect(const char *host, const char *server_name, weir_err code,
                   const char *text)
{
    char bytes[6];
    char why[256];
    weir_err rc = get(at_host(host), server_name, bytes, why);
    cr_assert_eq(rc, code, "%s, %s: %s: %s", host,
                 server_name != NULL ? server_name : "-", weir_err_name(rc),
                 why);
    cr_assert_str_eq(bytes, code == WEIR_OK ? "truth" : "");
    cr_assert_not_null(strstr(why, text), "no \"%s\" in: %s", text, why);
}

/* ---- who is meant -------------------------------------------------------- */

Test(server_name, is_the_host_of_the_address_if_none_is_given, .timeout = 60,
     .init = make_certs, .fini = drop_certs)
{
    open_node(SERVER, "server", "placed");
    open_node(GUEST, "guest0", "guest0");
    weir_region *r = publish("truth");
    expect("127.0.0.1", NULL, WEIR_OK, "");
    expect("localhost", NULL, WEIR_OK, "");
    weir_region_close(r);
    close_nodes();
}

Test(server_name, is_one_of_those_in_the_certificate, .timeout = 60,
     .init = make_certs, .fini = drop_certs)
{
    open_node(SERVER, "server", "placed");
    open_node(GUEST, "guest0", "guest0");
    weir_region *r = publish("truth");
    expect("127.0.0.1", "server", WEIR_OK, "");
    expect("127.0.0.1", "localhost", WEIR_OK, "");
    expect("localhost", "127.0.0.1", WEIR_OK, "");
    expect("localhost", "0:0:0:0::1", WEIR_OK, ""); /* as it writes itself */
    expect("127.0.0.1", "other", WEIR_ERR_PEER_REFUSED,
           "other is expected there");
    expect("127.0.0.1", "127.0.0.2", WEIR_ERR_PEER_REFUSED,
           "127.0.0.2 is expected there");
    weir_region_close(r);
    close_nodes();
}

Test(server_name, is_asked_for_where_the_host_is_in_no_certificate,
     .timeout = 60, .init = make_certs, .fini = drop_certs)
{
    open_node(SERVER, "server", "server");
    open_node(GUEST, "guest0", "guest0");
    weir_region *r = publish("truth");
    expect("127.0.0.1", NULL, WEIR_ERR_PEER_REFUSED,
           "127.0.0.1 is expected there, the certificate is of \"server\" (its "
           "first name): if that is right give it as server_name");
    expect("localhost", NULL, WEIR_ERR_PEER_REFUSED, "localhost is expected");
    expect("127.0.0.1", "server", WEIR_OK, "");
    weir_region_close(r);
    close_nodes();
}

/* A DNS name that looks like an address is not one. */
Test(server_name, numbers_are_looked_for_among_numbers, .timeout = 60,
     .init = make_certs, .fini = drop_certs)
{
    issue("number", "DNS:server,DNS:127.0.0.1");
    open_node(SERVER, "server", "number");
    open_node(GUEST, "guest0", "guest0");
    weir_region *r = publish("truth");
    expect("127.0.0.1", NULL, WEIR_ERR_PEER_REFUSED, "127.0.0.1 is expected");
    weir_region_close(r);
    close_nodes();
}

Test(server_name, is_for_nodes_with_certificates, .timeout = 60,
     .init = make_certs, .fini = drop_certs)
{
    struct weir_error err = {0};
    weir_peer *peer = NULL;
    const struct weir_seed seed = {"tcp:127.0.0.1:1", "server"};
    open_node(GUEST, "guest0", "");
    weir_err rc =
        weir_peer_open_named(node[GUEST], seed.address, "server", &peer, &err);
    cr_assert_eq(rc, WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "certificate"), "%s", err.message);
    rc = weir_node_join_seed_named(node[GUEST], &seed, NODES, second, &err);
    cr_assert_eq(rc, WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "certificate"), "%s", err.message);
    close_nodes();
}

/* ---- somebody on the way ------------------------------------------------- */

static struct wt_mitm mallory;

/* He calls himself by the name in his certificate, to both, and lies. */
static void put_in_between(void)
{
    static const struct wt_swap swaps[] = {
        {"guest0", "mallor"}, {"server", "mallor"}, {"truth", "false"}};
    memcpy(mallory.swaps, swaps, sizeof(swaps));
    wt_mitm_start(&mallory, weir_node_address(node[SERVER]),
                  path("mallor", ""));
}

/* The greeting of the transport, both ways: no name, no address, no word. */
static void expect_nothing_was_said(void)
{
    wt_mitm_stop(&mallory);
    cr_assert_eq(mallory.swapped, 0u);
    cr_assert_leq(mallory.bytes, 32u);
}

Test(server_name, somebody_elses_certificate_is_no_use_on_the_way,
     .timeout = 60, .init = make_certs, .fini = drop_certs)
{
    char bytes[6];
    char why[256];
    open_node(SERVER, "server", "placed");
    open_node(GUEST, "guest0", "guest0");
    weir_region *r = publish("truth");
    put_in_between();
    weir_err rc = get(mallory.address, NULL, bytes, why);
    cr_assert_eq(rc, WEIR_ERR_PEER_REFUSED, "%s: \"%s\" %s", weir_err_name(rc),
                 bytes, why);
    cr_assert_not_null(strstr(why, "of \"mallor\""), "%s", why);
    expect_nothing_was_said();
    weir_region_close(r);
    close_nodes();
}

struct joiner {
    weir_node *node;
    struct weir_seed seed;
    weir_err rc;
    struct weir_error err;
};

static void *join(void *arg)
{
    struct joiner *j = arg;
    j->rc = weir_node_join_seed_named(j->node,
                                      j->seed.address != NULL ? &j->seed : NULL,
                                      NODES, 20 * second, &j->err);
    return NULL;
}

static void gather(struct joiner *j)
{
    pthread_t thread;
    struct joiner seed = {.node = node[SERVER]};
    cr_assert_eq(pthread_create(&thread, NULL, join, &seed), 0);
    j->node = node[GUEST];
    (void)join(j);
    if (j->rc != WEIR_OK) { /* else it waits for all of its time */
        struct joiner other = {
            node[GUEST], {weir_node_address(node[SERVER]), "server"}, 0, {0}};
        (void)join(&other);
        cr_assert_eq(other.rc, WEIR_OK, "%s", other.err.message);
    }
    (void)pthread_join(thread, NULL);
    cr_assert_eq(seed.rc, WEIR_OK, "%s", seed.err.message);
}

Test(server_name, of_a_seed_is_asked_for_as_well, .timeout = 60,
     .init = make_certs, .fini = drop_certs)
{
    open_node(SERVER, "server", "placed");
    open_node(GUEST, "guest0", "guest0");
    put_in_between();
    struct joiner j = {.seed = {mallory.address, NULL}};
    gather(&j);
    cr_assert_eq(j.rc, WEIR_ERR_PEER_REFUSED, "%s", j.err.message);
    cr_assert_not_null(strstr(j.err.message, "of \"mallor\""), "%s",
                       j.err.message);
    expect_nothing_was_said();
    close_nodes();
}

Test(server_name, of_a_seed_may_be_given, .timeout = 60, .init = make_certs,
     .fini = drop_certs)
{
    open_node(SERVER, "server", "server");
    open_node(GUEST, "guest0", "guest0");
    struct joiner j = {.seed = {weir_node_address(node[SERVER]), "server"}};
    gather(&j);
    cr_assert_eq(j.rc, WEIR_OK, "%s", j.err.message);
    close_nodes();
}
