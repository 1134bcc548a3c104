/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that come late, do not fit together, or are not nodes at all. */
#include "test/conformance/api.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/format/wire.h"
#include "core/transport.h"

static bool failed(void *arg)
{
    return weir_query_status(arg, NULL) != WEIR_OK;
}

/* Open a query over members 0 and 1 on one node, with a writer and a reader,
 * so that a link is needed. */
static weir_query *need_link(weir_node *node, uint64_t id,
                             struct ArrowSchema *schema)
{
    static const struct weir_field fields[] = {{"id", "l", 0}};
    const uint32_t members[] = {0, 1};
    const struct weir_query_params params = {
        .id = id, .members = members, .n_members = 2};
    struct weir_shuffle_params p = {
        .id = 1, .schema = schema, .partitioning = WEIR_ROUND_ROBIN};
    struct weir_error err = {0};
    weir_query *q;
    weir_shuffle *s;
    weir_writer *w;
    cr_assert_eq(weir_schema_build(fields, 1, schema, &err), WEIR_OK);
    cr_assert_eq(weir_query_open(node, &params, &q, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_shuffle_open(q, &p, &s, &err), WEIR_OK, "%s",
                 err.message);
    weir_err rc = weir_writer_open(s, 0, &w, &err);
    cr_assert(rc == WEIR_OK || weir_err_scope(rc) == WEIR_SCOPE_PEER, "%s",
              err.message);
    return q;
}

/* The query of node 0 fails with this code and these texts. */
static void expect_no_link(struct wt_cluster *c, weir_err code,
                           const char *text, const char *also)
{
    struct ArrowSchema schema;
    struct weir_error err = {0};
    weir_query *q = need_link(c->node[0], 1, &schema);
    bool ended = wt_until(c, failed, q);
    cr_assert(ended);
    weir_err rc = weir_query_status(q, &err);
    cr_assert_eq(rc, code, "%s: %s", weir_err_name(rc), err.message);
    cr_assert_not_null(strstr(err.message, text), "no \"%s\" in: %s", text,
                       err.message);
    cr_assert_not_null(strstr(err.message, also), "no \"%s\" in: %s", also,
                       err.message);
    weir_query_close(q);
    schema.release(&schema);
}

/* ---- late, or different -------------------------------------------------- */

void wt_api_late_member_is_waited_for(const struct wt_place *place)
{
    const struct wt_cluster_params apart = {.nodes = 3, .apart = true};
    struct weir_member members[WT_NODES];
    struct weir_error err = {0};
    struct wt_cluster c;
    struct ArrowSchema schema;
    wt_cluster_open(&c, place, &apart);
    wt_cluster_members(&c, members);
    cr_assert_eq(weir_node_join(c.node[0], members, 3, &err), WEIR_OK);
    weir_query *early = need_link(c.node[0], 1, &schema);
    for (uint32_t i = 1; i < 3; i++) {
        cr_assert_eq(weir_node_join(c.node[i], members, 3, &err), WEIR_OK);
        cr_assert_eq(weir_node_join(c.node[i], members, 3, &err),
                     WEIR_ERR_STATE);
    }
    struct wt_query q;
    struct wt_flow f;
    wt_query_open(&q, &c, 2, NULL);
    wt_flow_open(&f, &q, NULL);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f);
    weir_err rc = weir_query_status(early, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    weir_query_close(early);
    wt_query_close(&q);
    wt_flow_close(&f);
    schema.release(&schema);
    wt_cluster_close(&c);
}

/* A member that is up late, and silent soon after: it is lost after detect_ns,
 * however long connect_ns is. */
void wt_api_silence_of_a_late_member_is_found(const struct wt_place *place)
{
    static const uint64_t up_ns = 5000000000u;
    static const uint64_t detect_ns = 100000000u;
    const struct wt_cluster_params cluster = {
        .node = {.detect_ns = detect_ns, .connect_ns = 100000000000u}};
    struct wt_cluster c;
    struct ArrowSchema schema;
    wt_cluster_open(&c, place, &cluster);
    weir_sim_stall(c.sim, 1, 0, up_ns);
    weir_sim_stall(c.sim, 1, up_ns + detect_ns, UINT64_MAX);
    weir_query *q = need_link(c.node[0], 1, &schema);
    bool ended = wt_until(&c, failed, q);
    cr_assert(ended);
    cr_assert_gt(weir_sim_now(c.sim), up_ns);
    cr_assert_lt(weir_sim_now(c.sim), up_ns + 4 * detect_ns);
    weir_query_close(q);
    schema.release(&schema);
    wt_cluster_close(&c);
}

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Node 1 has not joined, so it keeps node 0's HELLO and does not answer: node 0
 * gives up at its close after detect_ns, and uses no CPU meanwhile. */
void wt_api_close_waits_without_spinning(const struct wt_place *place)
{
    const struct wt_cluster_params apart = {.apart = true,
                                            .node = {.detect_ns = 4000000000}};
    struct weir_member members[WT_NODES];
    struct weir_error err = {0};
    struct wt_cluster c;
    struct ArrowSchema schema;
    wt_cluster_open(&c, place, &apart);
    wt_cluster_members(&c, members);
    cr_assert_eq(weir_node_join(c.node[0], members, 2, &err), WEIR_OK);
    weir_query_close(need_link(c.node[0], 1, &schema));
    double before = cpu_seconds();
    weir_node_close(c.node[0]);
    double used = cpu_seconds() - before;
    /* Closing itself takes a quarter of a second on an emulated machine. */
    cr_assert_lt(used, 1, "%.3f s of CPU", used);
    c.node[0] = NULL;
    schema.release(&schema);
    wt_cluster_close(&c);
}

static _Atomic uint32_t gave_up;

static void hear(void *arg, weir_log_level level, const char *line)
{
    (void)arg;
    (void)level;
    gave_up += strstr(line, "closing although") != NULL ||
               strstr(line, "no link within") != NULL;
}

/* Each node has begun a link to each other one, and has a failure to tell over
 * it, when all close. */
void wt_api_nodes_that_close_together_do_not_wait(const struct wt_place *place)
{
    for (uint32_t nodes = 2; nodes <= 4; nodes++) {
        const struct wt_cluster_params cluster = {
            .nodes = nodes, .node = {.log_level = WEIR_LOG_WARN, .log = hear}};
        struct wt_cluster c;
        struct wt_query q;
        struct wt_flow f;
        wt_cluster_open(&c, place, &cluster);
        wt_query_open(&q, &c, 1, NULL);
        wt_flow_open(&f, &q, NULL);
        wt_query_close(&q);
        wt_flow_close(&f);
        wt_cluster_close(&c);
        cr_assert_eq(gave_up, 0, "%u of %u nodes gave up", gave_up, nodes);
    }
}

static bool has_link(void *arg)
{
    struct weir_node_stats st;
    weir_node_stats_get(arg, &st);
    return st.links_open != 0;
}

/* Node 0 only consumes, and node 1 leaves in good order before it has opened
 * the query: that is a loss like any other. */
void wt_api_producer_that_leaves_before_it_opens_is_lost(
    const struct wt_place *place)
{
    static const struct weir_field fields[] = {{"id", "l", 0}};
    static const uint32_t producer = 1;
    static const uint32_t consumer = 0;
    const struct weir_query_params query = {.id = 1};
    struct ArrowSchema schema = {0};
    const struct weir_shuffle_params params =
        wt_way(1, &schema, &producer, &consumer);
    struct weir_error err = {0};
    struct wt_cluster c;
    weir_query *q;
    weir_shuffle *s;
    weir_reader *r;
    wt_cluster_open(&c, place, NULL);
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    cr_assert_eq(weir_query_open(c.node[0], &query, &q, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(q, &params, &s, &err), WEIR_OK);
    cr_assert_eq(weir_reader_open(s, 0, &r, &err), WEIR_OK);
    bool up = wt_until(&c, has_link, c.node[0]);
    cr_assert(up);
    weir_node_close(c.node[1]);
    c.node[1] = NULL;
    bool ended = wt_until(&c, failed, q);
    cr_assert(ended, "nobody notices");
    cr_assert_eq(weir_query_status(q, &err), WEIR_ERR_PEER_LOST, "%s",
                 err.message);
    weir_query_close(q);
    schema.release(&schema);
    wt_cluster_close(&c);
}

void wt_api_other_member_list_is_refused(const struct wt_place *place)
{
    const struct wt_cluster_params apart = {
        .nodes = 2, .apart = true, .node = {.max_members = 3}};
    struct weir_member members[WT_NODES];
    struct weir_error err = {0};
    struct wt_cluster c;
    wt_cluster_open(&c, place, &apart);
    wt_cluster_members(&c, members);
    cr_assert_eq(weir_node_join(c.node[0], members, 2, &err), WEIR_OK);
    members[2] = members[0];
    members[0] = (struct weir_member){"stranger", members[2].address, 1};
    cr_assert_eq(weir_node_join(c.node[1], members, 3, &err), WEIR_OK);
    expect_no_link(&c, WEIR_ERR_PEER_REFUSED, "same list", c.name[1]);
    wt_cluster_close(&c);
}

/* Node 0 has a list in which node 1 has three workers. */
void wt_api_other_worker_counts_are_named(const struct wt_place *place)
{
    const struct wt_cluster_params apart = {.nodes = 2, .apart = true};
    struct weir_member members[WT_NODES];
    struct weir_error err = {0};
    struct wt_cluster c;
    wt_cluster_open(&c, place, &apart);
    wt_cluster_members(&c, members);
    cr_assert_eq(weir_node_join(c.node[1], members, 2, &err), WEIR_OK);
    members[1].workers = 3;
    cr_assert_eq(weir_node_join(c.node[0], members, 2, &err), WEIR_OK);
    expect_no_link(&c, WEIR_ERR_PEER_REFUSED, "with 1 workers", "says 3");
    wt_cluster_close(&c);
}

void wt_api_other_frame_bytes_are_refused(const struct wt_place *place)
{
    const struct wt_cluster_params apart = {.nodes = 2, .apart = true};
    struct weir_error err = {0};
    struct wt_cluster c;
    wt_cluster_open(&c, place, &apart);
    weir_node_close(c.node[1]);
    struct weir_node_params p = wt_node_params(&c, 1);
    p.frame_bytes = 32768;
    cr_assert_eq(weir_node_open(&p, &c.node[1], &err), WEIR_OK, "%s",
                 err.message);
    wt_cluster_join(&c);
    expect_no_link(&c, WEIR_ERR_PEER_REFUSED, "frame_bytes", "32768");
    wt_cluster_close(&c);
}

static bool has_ip(const struct wt_place *place)
{
    return strcmp(place->transport, "tcp") == 0 ||
           strcmp(place->transport, "auto") == 0;
}

/* Peers reach it where it says, by addresses of the host at which no node was
 * told to listen; one of them by name. */
void wt_api_advertised_addresses_are_used(const struct wt_place *place)
{
    static const char *const said[] = {"127.0.0.5:0", "localhost:0"};
    const struct wt_cluster_params apart = {.apart = true,
                                            .node = {.listen = "0.0.0.0:0"}};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    if (!has_ip(place)) {
        return;
    }
    wt_cluster_open(&c, place, &apart);
    for (uint32_t i = 0; i < 2; i++) {
        struct weir_node_params p = wt_node_params(&c, i);
        struct weir_error err = {0};
        weir_node_close(c.node[i]);
        p.advertise = said[i];
        cr_assert_eq(weir_node_open(&p, &c.node[i], &err), WEIR_OK, "%s",
                     err.message);
        const char *address = weir_node_address(c.node[i]);
        char host[32];
        (void)snprintf(host, sizeof(host), "%.*s", (int)(strlen(said[i]) - 1),
                       said[i]);
        const char *at = strstr(address, host);
        cr_assert(at != NULL && at[strlen(host)] != '0', "%s", address);
    }
    wt_cluster_join(&c);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, NULL);
    wt_flow_end(&f);
}

void wt_api_bad_advertised_addresses_are_refused(const struct wt_place *place)
{
    static const char *const bad[] = {"", "host", "0.0.0.0:1", "[::]:0",
                                      "1.2.3.4:x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct weir_node_params p = {.transport = place->transport,
                                           .advertise = bad[i]};
        struct weir_error err = {0};
        weir_node *node = NULL;
        cr_assert_eq(weir_node_open(&p, &node, &err), WEIR_ERR_ARG, "\"%s\"",
                     bad[i]);
        cr_assert_not_null(strstr(err.message, "advertise"), "%s", err.message);
        cr_assert_null(node);
    }
}

void wt_api_default_names_do_not_collide(const struct wt_place *place)
{
    struct weir_node_params params = {.transport = place->transport};
    weir_node *nodes[3] = {NULL, NULL, NULL};
    struct weir_error err = {0};
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(weir_node_open(&params, &nodes[i], &err), WEIR_OK, "%s",
                     err.message);
        for (uint32_t k = 0; k < i; k++) {
            cr_assert_str_neq(weir_node_name(nodes[k]),
                              weir_node_name(nodes[i]));
        }
    }
    for (uint32_t i = 0; i < 3; i++) {
        weir_node_close(nodes[i]);
    }
}

/* Each would be found only by the query that needs the link. */
void wt_api_join_names_the_member_with_a_bad_address(
    const struct wt_place *place)
{
    static const char *const bad[] = {"", "nonsense", "%s:", "%s: ", "ipx:1:2"};
    const struct wt_cluster_params apart = {.apart = true};
    struct weir_member members[WT_NODES];
    struct wt_cluster c;
    wt_cluster_open(&c, place, &apart);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct weir_error err = {0};
        char address[64];
        bool named = strchr(bad[i], '%') != NULL;
        (void)snprintf(address, sizeof(address), "%s%s",
                       named ? place->transport : bad[i],
                       named ? bad[i] + 2 : "");
        wt_cluster_members(&c, members);
        members[1].address = address;
        cr_assert_eq(weir_node_join(c.node[0], members, 2, &err), WEIR_ERR_ARG,
                     "'%s'", address);
        cr_assert_not_null(strstr(err.message, c.name[1]), "%s", err.message);
        err = (struct weir_error){0};
        cr_assert_eq(weir_node_join_seed(c.node[0], address, 2, 0, &err),
                     WEIR_ERR_ARG, "'%s'", address);
        cr_assert_not_null(strstr(err.message, "seed"), "%s", err.message);
    }
    cr_assert_eq(weir_node_members(c.node[0]), 0);
    wt_cluster_join(&c);
    wt_cluster_close(&c);
}

/* ---- another version: a peer made of the transport alone ----------------- */

struct stranger {
    const struct wi_transport_ops *ops;
    struct wi_transport *t;
    struct wi_ep *ep;
    char address[WI_ADDRESS_BYTES];
    union wi_msg got; /* last message */
    bool has_message;
    bool closed;
};

static void stranger_open(struct stranger *s, const struct wt_place *place,
                          uint32_t links)
{
    if (place->identity != NULL) {
        cr_skip_test("the stranger knows no secret");
    }
    char name[32]; /* no other run's, where it is an address */
    struct wi_transport_params p = {.name = name, .max_links = links};
    struct weir_error err = {0};
    (void)snprintf(name, sizeof(name), "stranger-%ld", (long)getpid());
    memset(s, 0, sizeof(*s));
    s->ops = wi_transport_find(place->transport);
    cr_assert_not_null(s->ops);
    cr_assert_eq(s->ops->open(&p, &s->t, &err), WEIR_OK, "%s", err.message);
    s->ops->address(s->t, s->address);
}

static void stranger_close(struct stranger *s)
{
    if (s->ep != NULL) {
        s->ops->disconnect(s->ep);
    }
    s->ops->close(s->t);
}

/* Poll until an event of this kind; false after a minute. */
static bool stranger_await(struct stranger *s, enum wi_event_kind kind)
{
    struct pollfd fd = {.fd = s->ops->fd(s->t), .events = POLLIN};
    for (;;) {
        struct wi_event ev;
        struct weir_error err;
        uint32_t at = 0;
        while (s->ops->poll(s->t, 0, &ev, 1) == 1) {
            if (ev.kind == WI_EV_ACCEPTED) {
                s->ep = ev.ep;
            } else if (ev.kind == WI_EV_MESSAGE && !s->has_message) {
                s->has_message = wi_msg_next(ev.bytes, ev.len, &at, &s->got,
                                             &err) == WEIR_OK;
            }
            if (ev.kind == kind) {
                return true;
            }
        }
        if (s->ops->arm(s->t) == WEIR_OK && poll(&fd, 1, 60000) != 1) {
            return false;
        }
    }
}

static void stranger_send(struct stranger *s, const union wi_msg *m)
{
    cr_assert_eq(s->ops->send(s->ep, m, m->head.len), WEIR_OK);
    cr_assert_geq(s->ops->kick(s->ep), 0);
}

/* More of them than there are places for links, on both nodes. */
void wt_api_strangers_that_only_greet_keep_nobody_out(
    const struct wt_place *place)
{
    enum { STRANGERS = 60 };
    struct wt_cluster c;
    struct wi_ep *eps[2 * STRANGERS];
    struct weir_error err = {0};
    struct stranger s;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, place, NULL);
    stranger_open(&s, place, 2 * STRANGERS);
    for (uint32_t i = 0; i < 2 * STRANGERS; i++) {
        cr_assert_eq(s.ops->connect(s.t, weir_node_address(c.node[i % 2]),
                                    &eps[i], &err),
                     WEIR_OK, "%s", err.message);
        cr_assert(stranger_await(&s, WI_EV_CONNECTED), "number %u", i);
    }
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, NULL);
    bool ran = wt_cluster_run(&c);
    cr_assert(ran, "%s", c.why);
    wt_flow_check(&f);
    wt_query_close(&q);
    wt_flow_close(&f);
    for (uint32_t i = 0; i < 2 * STRANGERS; i++) {
        eps[i]->transport->ops->disconnect(eps[i]);
    }
    stranger_close(&s);
    wt_cluster_close(&c);
}

static void from_another_age(union wi_msg *m, enum wi_msg_type type)
{
    wi_msg_init(m, type);
    m->hello.magic = WI_WIRE_MAGIC;
    m->hello.version_min = 7;
    m->hello.version_max = 9;
    m->hello.from = type == WI_MSG_HELLO ? 0 : 1;
    m->hello.to = type == WI_MSG_HELLO ? 1 : 0;
    m->hello.n_members = 2;
    m->hello.workers = 1;
    wi_text_put(m->hello.name, WI_NAME_BYTES, "stranger");
}

void wt_api_other_version_is_refused(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 2, .apart = true};
    struct weir_member members[WT_NODES];
    struct weir_error err = {0};
    struct wt_cluster c;
    struct stranger s;
    union wi_msg m;
    wt_cluster_open(&c, place, &cluster);
    stranger_open(&s, place, 4);
    wt_cluster_members(&c, members);
    cr_assert_eq(weir_node_join(c.node[1], members, 2, &err), WEIR_OK);
    /* The stranger calls: it is told what both speak. */
    cr_assert_eq(s.ops->connect(s.t, members[1].address, &s.ep, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert(stranger_await(&s, WI_EV_CONNECTED));
    from_another_age(&m, WI_MSG_HELLO);
    stranger_send(&s, &m);
    cr_assert(stranger_await(&s, WI_EV_MESSAGE));
    cr_assert_eq(s.got.head.type, WI_MSG_REFUSE);
    cr_assert_eq(s.got.refuse.code, WEIR_ERR_PEER_VERSION);
    cr_assert_not_null(strstr(s.got.refuse.text, "7 to 9"), "%s",
                       s.got.refuse.text);
    s.ops->disconnect(s.ep);
    s.ep = NULL;
    s.has_message = false;
    /* The stranger is called, and answers in its own version. */
    struct ArrowSchema schema;
    members[1] = (struct weir_member){"stranger", s.address, 1};
    cr_assert_eq(weir_node_join(c.node[0], members, 2, &err), WEIR_OK);
    weir_query *q = need_link(c.node[0], 1, &schema);
    cr_assert(stranger_await(&s, WI_EV_MESSAGE));
    cr_assert_eq(s.got.head.type, WI_MSG_HELLO);
    from_another_age(&m, WI_MSG_ACCEPT);
    stranger_send(&s, &m);
    bool ended = wt_until(&c, failed, q);
    cr_assert(ended);
    cr_assert_eq(weir_query_status(q, &err), WEIR_ERR_PEER_VERSION, "%s",
                 err.message);
    cr_assert_not_null(strstr(err.message, "7 to 9"), "%s", err.message);
    weir_query_close(q);
    schema.release(&schema);
    stranger_close(&s);
    wt_cluster_close(&c);
}

/* ---- something that is not a node ---------------------------------------- */

static void *answer_http(void *arg)
{
    static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    int listener = *(int *)arg;
    int fd = accept(listener, NULL, NULL);
    char sink[256];
    if (fd >= 0) {
        (void)!write(fd, text, sizeof(text) - 1);
        (void)!read(fd, sink, sizeof(sink));
        (void)close(fd);
    }
    return NULL;
}

static int listen_anywhere(char *address, size_t room)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, len), 0);
    cr_assert_eq(listen(fd, 4), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    (void)snprintf(address, room, "tcp:127.0.0.1:%u", ntohs(at.sin_port));
    return fd;
}

static void join_with(struct wt_cluster *c, const struct wt_place *place,
                      const char *address)
{
    const struct wt_cluster_params cluster = {
        .nodes = 1,
        .apart = true,
        .node = {.max_members = 2, .connect_ns = 300000000}};
    struct weir_error err = {0};
    struct weir_member members[WT_NODES];
    wt_cluster_open(c, place, &cluster);
    wt_cluster_members(c, members);
    members[1] = (struct weir_member){"other", address, 1};
    cr_assert_eq(weir_node_join(c->node[0], members, 2, &err), WEIR_OK, "%s",
                 err.message);
}

/* Nobody; on tcp also somebody who speaks HTTP, and somebody who is silent. */
void wt_api_something_else_listens(const struct wt_place *place)
{
    struct wt_cluster c;
    char address[WI_ADDRESS_BYTES];
    struct stranger s;
    stranger_open(&s, place, 4);
    (void)snprintf(address, sizeof(address), "%s", s.address);
    stranger_close(&s);
    join_with(&c, place, address);
    expect_no_link(&c, WEIR_ERR_PEER_LOST, "other", address);
    wt_cluster_close(&c);
    if (strcmp(place->transport, "tcp") != 0) {
        return;
    }
    pthread_t thread;
    int fd = listen_anywhere(address, sizeof(address));
    cr_assert_eq(pthread_create(&thread, NULL, answer_http, &fd), 0);
    join_with(&c, place, address);
    expect_no_link(&c, WEIR_ERR_PEER_LOST, "other", address);
    (void)pthread_join(thread, NULL);
    wt_cluster_close(&c);
    join_with(&c, place, address); /* accepted by the system, never answered */
    expect_no_link(&c, WEIR_ERR_PEER_LOST, "connect_ns", "Weir node");
    wt_cluster_close(&c);
    (void)close(fd);
}
