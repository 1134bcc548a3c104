/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand connections of strangers while queries run: none of the queries
 * is lost, and nothing of the strangers stays. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/format/wire.h"
#include "core/link/guest.h"
#include "core/link/lock.h"
#include "test/support/flow.h"
#include "test/support/lab.h"

#include <criterion/criterion.h>

enum { STRANGERS = 10000, HELD = 64 };

static const uint64_t second = 1000000000u;

/* ---- strangers ----------------------------------------------------------- */

struct crowd {
    const char *address[2]; /* of the nodes */
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

static void *come(void *arg)
{
    struct crowd *c = arg;
    int held[HELD];
    memset(held, -1, sizeof(held));
    /* rlx: no more than a wish */
    for (uint32_t i = 0; i < STRANGERS || wi_load_rlx(&c->seen) == 0; i++) {
        uint8_t bytes[4096];
        int fd = dial(c->address[i % 2]);
        size_t n = speech(bytes, i);
        if (fd >= 0 && n > 0) {
            (void)send(fd, bytes, n, MSG_NOSIGNAL);
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

/* The link of the members is closed between queries and opened again, so that
 * members come to a door at which strangers crowd. */
Test(strangers_tcp, ten_thousand_lose_no_query, .timeout = 300)
{
    static const struct wt_place tcp = {.transport = "tcp"};
    static const struct weir_identity id = {.secret = tell};
    const struct wt_cluster_params params = {
        .nodes = 2,
        .node = {.identity = &id,
                 .idle_close_ns = 1000000,
                 .connect_ns = 60 * second,
                 .detect_ns = 60 * second,
                 .log = hear,
                 .log_level = WEIR_LOG_WARN}};
    struct wt_cluster c;
    struct crowd crowd = {0};
    uint64_t queries = 0;
    uint32_t came = 0;
    wt_cluster_open(&c, &tcp, &params);
    wt_flow_run(&c, ++queries, NULL);
    uint64_t before = wt_heap_bytes();
    for (uint32_t i = 0; i < 2; i++) {
        crowd.address[i] = weir_node_address(c.node[i]);
    }
    cr_assert_eq(pthread_create(&crowd.thread, NULL, come, &crowd), 0);
    do {
        wt_flow_run(&c, ++queries, NULL);
        came = wi_load_rlx(&crowd.came); /* rlx: a count */
        if (queries > 10) {
            wi_store_rlx(&crowd.seen, 1); /* rlx: no more than a wish */
        }
    } while (queries <= 10 ||
             (came < STRANGERS * 99 / 100 && queries < 100000));
    (void)pthread_join(crowd.thread, NULL);
    wt_flow_run(&c, ++queries, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        bool gone = wt_until(&c, guests_are_gone, c.node[i]);
        cr_assert(gone);
    }
    bool flat = wt_until(&c, heap_is_flat, &before);
    cr_assert(flat, "%llu bytes stay",
              (unsigned long long)(wt_heap_bytes() - before));
    cr_assert_gt(queries, 10, "%llu", (unsigned long long)queries);
    came = wi_load_rlx(&crowd.came); /* rlx: its thread has ended */
    cr_assert_geq(came, STRANGERS * 9 / 10);
    (void)fprintf(stderr, "%u strangers, %llu queries, %u lines logged\n", came,
                  (unsigned long long)queries,
                  wi_load_rlx(&lines)); /* rlx: a count */
    wt_cluster_close(&c);
}
