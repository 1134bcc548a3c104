/* SPDX-License-Identifier: Apache-2.0 */
/* A client that is killed: what the server had for it is freed. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

#include "test/conformance/scan_raw.h"
#include "test/support/proc.h"

/* What parent and child both see. */
struct shared {
    char transport[8];
    char address[256];
};

static const uint64_t second = 1000000000;

/* ---- the client ---------------------------------------------------------- */

static void post(weir_fetch *fetch, weir_peer *peer, struct wi_scan_ask *a,
                 const char *text, uint64_t tag)
{
    const struct weir_scan_request request = {.dataset = "raw", .text = text};
    const struct weir_name name = {WEIR_SCAN_SPACE, WI_SCAN_ASKS};
    struct wi_scan_buf buf = {0};
    uint8_t all[WEIR_ASK_BYTES];
    if (text != NULL) {
        (void)wi_scan_request_encode(&request, &buf, NULL);
        memcpy(all + sizeof(*a), buf.bytes, buf.len);
    }
    a->n_bytes = buf.len;
    memcpy(all, a, sizeof(*a));
    (void)weir_fetch_ask(fetch, peer, &name, all,
                         (uint32_t)(sizeof(*a) + buf.len), tag);
    free(buf.bytes);
}

/* Opens a node, says HOLD, opens one request that has an answer and one that
 * has none, and waits to be killed. */
static void run_client(struct wt_proc *p)
{
    wt_proc_await(p);
    const struct shared *sh = p->shared;
    const struct weir_node_params np = {.transport = sh->transport};
    const struct weir_fetch_params fp = {.timeout_ns = WEIR_FOREVER};
    weir_node *node = NULL;
    weir_peer *peer = NULL;
    weir_fetch *fetch = NULL;
    struct weir_got got;
    wt_proc_check(p, weir_node_open(&np, &node, NULL) == WEIR_OK, "node");
    wt_proc_check(p, weir_peer_open(node, sh->address, &peer, NULL) == WEIR_OK,
                  "peer");
    wt_proc_check(p, weir_fetch_open(node, &fp, &fetch, NULL) == WEIR_OK,
                  "fetch");
    struct wi_scan_ask a = {
        .version = WI_SCAN_VERSION, .kind = WI_SCAN_ASK_HOLD, .client = {8, 8}};
    post(fetch, peer, &a, NULL, 0);
    a.kind = WI_SCAN_ASK_OPEN;
    a.call = 1;
    post(fetch, peer, &a, "numbers 3 300000", 1);
    a.call = 2;
    post(fetch, peer, &a, "block", 2);
    while (weir_fetch_next(fetch, &got) == WEIR_AGAIN) {
        (void)weir_worker_wait(node, 0, second);
    }
    wt_proc_check(p, got.tag == 1 && got.code == WEIR_OK, "OPEN");
    wt_proc_say(p, 'o');
    wt_proc_await(p);
}

/* ---- the server ---------------------------------------------------------- */

struct served {
    weir_node *node;
    weir_scan_server *server;
    struct wt_scan_engine engine;
    struct weir_scan_stats stats;
};

static void serve(struct served *s, const char *transport)
{
    struct weir_scan_source source = {.name = "raw"};
    const struct weir_node_params np = {
        .transport = transport, .workers = 2, .detect_ns = second};
    const struct weir_scan_server_params sp = {
        .sources = &source, .n_sources = 1, .worker = 1};
    struct weir_error err;
    wt_scan_engine_init(&s->engine, &source.engine);
    cr_assert_eq(weir_node_open(&np, &s->node, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_scan_server_open(s->node, &sp, &s->server, &err), WEIR_OK,
                 "%s", err.message);
}

/* Wait until the server has as many readers; false after a minute. */
static bool until_readers(struct served *s, uint64_t readers)
{
    for (uint32_t i = 0; i < 60000; i++) {
        weir_scan_server_stats(s->server, &s->stats);
        if (s->stats.readers == readers) {
            return true;
        }
        (void)weir_worker_wait(s->node, 0, second / 1000);
    }
    return false;
}

static void kill_client(const char *transport)
{
    struct served s = {0};
    struct wt_procs *ps =
        wt_procs_open(1, sizeof(struct shared), run_client, NULL);
    struct shared *sh = wt_procs_shared(ps);
    serve(&s, transport);
    (void)snprintf(sh->transport, sizeof(sh->transport), "%s", transport);
    (void)snprintf(sh->address, sizeof(sh->address), "%s",
                   weir_node_address(s.node));
    wt_procs_go(ps, 0);
    wt_procs_expect(ps, 0, 'o');
    cr_assert(until_readers(&s, 2));
    cr_assert_eq(s.stats.clients, 1);
    cr_assert_gt(s.stats.bytes, 2000000);
    wt_procs_signal(ps, 0, SIGKILL);
    (void)wt_procs_end(ps, 0);
    cr_assert(until_readers(&s, 0));
    weir_scan_server_stats(s.server, &s.stats);
    cr_assert(s.stats.clients == 0 && s.stats.bytes == 0);
    cr_assert_eq(s.engine.cancelled, 1);
    weir_scan_server_close(s.server);
    cr_assert_eq(s.engine.streams, 0);
    weir_node_close(s.node);
    wt_scan_engine_fini(&s.engine);
    wt_procs_close(ps);
}

Test(scan_killed, client_on_tcp_leaves_nothing, .timeout = 120)
{
    kill_client("tcp");
}

Test(scan_killed, client_on_shm_leaves_nothing, .timeout = 120)
{
    kill_client("shm");
}
