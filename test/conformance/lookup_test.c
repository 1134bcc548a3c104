/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of hosts that take long to look up. getaddrinfo is this file's: names
 * that end in ".slow" hang until the test lets them go, and then are 127.0.0.1.
 * It does not know "localhost", as where there is no /etc/hosts.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <malloc.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/inet.h"
#include "core/transport.h"
#include "test/support/flow.h"
#include "transport/registry.h"

static const struct wt_place tcp = {.transport = "tcp"};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void __libc_free(void *p);

/* What is used after it was freed is seen to be: nothing of it is left. */
void free(void *p)
{
    if (p != NULL) {
        memset(p, 0x5a, malloc_usable_size(p));
        __asm__ volatile("" ::"r"(p) : "memory"); /* not left out */
    }
    __libc_free(p);
}
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static bool released;
static uint32_t hanging;

static void hang(void)
{
    (void)pthread_mutex_lock(&lock);
    hanging++;
    (void)pthread_cond_broadcast(&moved);
    while (!released) {
        (void)pthread_cond_wait(&moved, &lock);
    }
    hanging--;
    (void)pthread_cond_broadcast(&moved);
    (void)pthread_mutex_unlock(&lock);
}

int getaddrinfo(const char *host, const char *service,
                const struct addrinfo *hints, struct addrinfo **out)
{
    typedef int (*fn)(const char *, const char *, const struct addrinfo *,
                      struct addrinfo **);
    fn real = (fn)dlsym(RTLD_NEXT, "getaddrinfo");
    const char *end = strrchr(host, '.');
    if (strcmp(host, "localhost") == 0) {
        return EAI_AGAIN;
    }
    if (end == NULL || strcmp(end, ".slow") != 0) {
        return real(host, service, hints, out);
    }
    hang();
    return strncmp(host, "no", 2) == 0 ? EAI_NONAME
                                       : real("127.0.0.1", service, hints, out);
}

static void release(void)
{
    (void)pthread_mutex_lock(&lock);
    released = true;
    (void)pthread_cond_broadcast(&moved);
    (void)pthread_mutex_unlock(&lock);
}

/* Until some hang, or none does any more. */
static void wait_for_hanging(bool some)
{
    (void)pthread_mutex_lock(&lock);
    while ((hanging != 0) != some) {
        (void)pthread_cond_wait(&moved, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Two nodes; each knows the other by a name. */
static void open_named(struct wt_cluster *c, const char *name,
                       const struct weir_node_params *node)
{
    const struct wt_cluster_params params = {.apart = true, .node = *node};
    struct weir_member members[WT_NODES];
    char address[WT_NODES][128];
    wt_cluster_open(c, &tcp, &params);
    wt_cluster_members(c, members);
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        (void)snprintf(address[i], sizeof(address[i]), "tcp:%s%u.slow%s", name,
                       i, strrchr(members[i].address, ':'));
        members[i].address = address[i];
    }
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        struct weir_error err = {0};
        cr_assert_eq(weir_node_join(c->node[i], members, c->n_nodes, &err),
                     WEIR_OK, "%s", err.message);
    }
}

static bool failed(void *arg)
{
    return weir_query_status(arg, NULL) != WEIR_OK;
}

/* If anything here waited for the name, nobody would let it go. */
Test(lookup, writers_and_queries_open_while_a_name_hangs, .timeout = 60)
{
    const struct weir_node_params node = {.connect_ns = 30000000000,
                                          .detect_ns = 30000000000};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    open_named(&c, "host", &node);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, NULL);
    wait_for_hanging(true);
    struct wt_query other;
    wt_query_open(&other, &c, 2, NULL);
    wt_query_close(&other);
    release();
    wt_flow_end(&f);
}

/* A query of both, which opens a link of node 1 to its first member. */
static weir_query *open_query(const struct wt_cluster *c)
{
    static const uint32_t both[] = {0, 1};
    const struct weir_query_params params = {
        .id = 1, .members = both, .n_members = 2};
    struct weir_error err = {0};
    weir_query *q = NULL;
    cr_assert_eq(weir_query_open(c->node[1], &params, &q, &err), WEIR_OK, "%s",
                 err.message);
    return q;
}

/* The thread that looks up outlives the node, and cleans up after itself. */
Test(lookup, node_closes_while_a_name_hangs, .timeout = 60)
{
    const struct weir_node_params node = {.detect_ns = 1000000};
    struct wt_cluster c;
    open_named(&c, "host", &node);
    weir_query *q = open_query(&c);
    wait_for_hanging(true);
    weir_query_close(q);
    wt_cluster_close(&c);
    release();
    wait_for_hanging(false);
}

Test(lookup, name_that_is_not_found_fails_the_query, .timeout = 60)
{
    const struct weir_node_params node = {0};
    struct weir_error err = {0};
    struct wt_cluster c;
    release();
    open_named(&c, "no", &node);
    weir_query *q = open_query(&c);
    bool ended = wt_until(&c, failed, q);
    cr_assert(ended);
    cr_assert_eq(weir_query_status(q, &err), WEIR_ERR_PEER_LOST, "%s",
                 err.message);
    cr_assert_not_null(strstr(err.message, "no0.slow"), "%s", err.message);
    weir_query_close(q);
    wt_cluster_close(&c);
}

/* The endpoint goes while a thread is at work for it; the node stays, and hears
 * of it when that thread is done. */
Test(lookup, link_is_given_up_while_a_name_hangs, .timeout = 60)
{
    const struct weir_node_params node = {.connect_ns = 2000000000,
                                          .detect_ns = 30000000000};
    struct weir_error err = {0};
    struct wt_cluster c;
    open_named(&c, "host", &node);
    weir_query *q = open_query(&c);
    wait_for_hanging(true);
    bool ended = wt_until(&c, failed, q);
    cr_assert(ended);
    cr_assert_eq(weir_query_status(q, &err), WEIR_ERR_PEER_LOST, "%s",
                 err.message);
    weir_query_close(q);
    release();
    wait_for_hanging(false);
    wt_flow_run(&c, 2, NULL);
    wt_cluster_close(&c);
}

/* Four threads: three that hang do not keep the next one. */
Test(lookup, four_names_may_hang_at_a_time, .timeout = 20)
{
    enum { NAMES = 4 };
    static const char *const names[NAMES] = {"tcp:a.slow:9", "tcp:b.slow:9",
                                             "tcp:c.slow:9", "tcp:d.slow:9"};
    const struct wi_transport_params params = {.name = "any"};
    struct weir_error err = {0};
    struct wi_transport *t = NULL;
    struct wi_ep *ep[NAMES] = {NULL};
    cr_assert_eq(wi_tcp_ops.open(&params, &t, &err), WEIR_OK, "%s",
                 err.message);
    for (uint32_t i = 0; i < NAMES; i++) {
        cr_assert_eq(wi_tcp_ops.connect(t, names[i], &ep[i], &err), WEIR_OK,
                     "%s", err.message);
    }
    (void)pthread_mutex_lock(&lock);
    while (hanging != NAMES) {
        (void)pthread_cond_wait(&moved, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
    for (uint32_t i = 0; i < NAMES; i++) {
        wi_tcp_ops.disconnect(ep[i]);
    }
    wi_tcp_ops.close(t);
    release();
    wait_for_hanging(false);
}

/* RFC 6761, section 6.3. */
Test(lookup, localhost_is_known_without_the_system, .timeout = 20)
{
    union wi_inet addr;
    struct weir_error err = {0};
    cr_assert_eq(wi_inet_decode("localhost:80", WI_INET_NAMES, &addr, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(ntohl(addr.v4.sin_addr.s_addr), INADDR_LOOPBACK);
    cr_assert_eq(ntohs(addr.v4.sin_port), 80);
}
