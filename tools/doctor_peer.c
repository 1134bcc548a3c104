/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring to a peer: two nodes, one query, two shuffles.
 *
 *   --peer (member 1)                         --listen (member 0, the seed)
 *     pings of one row  -------- there ------>  each goes back
 *     batches of rows   -------- there ------>  counted
 *     end               -------- there ------>
 *     the count of rows <------- back --------
 *
 * Both ends sleep while nothing comes, as a worker does, so that the round trip
 * contains the wake-ups.
 */
#define _GNU_SOURCE 1
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/batch.h"
#include "launch/clock.h"
#include "tools/doctor.h"

enum {
    THERE = 1, /* shuffle from the asking node to the listening one */
    BACK = 2,
    ADDRESS_BYTES = 256,
    PINGS = 1000,
    BATCH_ROWS = 8192,
};

#define SECOND UINT64_C(1000000000)
#define MOST_BYTES (UINT64_C(1) << 32)

/** One end. */
struct end {
    weir_node *node;
    weir_query *query;
    weir_writer *writer;
    weir_reader *reader;
    struct wl_batch batch;
    int64_t values[BATCH_ROWS];
    char heard[256]; /* what the node last logged about the seed */
    bool open_door;  /* it warned that it asks nobody who they are */
};

/* ---- an end -------------------------------------------------------------- */

static void hear(void *arg, weir_log_level level, const char *line)
{
    struct end *e = arg;
    const char *seed = strstr(line, "seed ");
    (void)level;
    if (strstr(line, "without asking who they are") != NULL) {
        e->open_door = true;
    }
    if (seed != NULL) {
        (void)snprintf(e->heard, sizeof(e->heard), "%s", seed);
    }
}

static weir_err open_end(struct end *e, const struct doctor *d,
                         const char *listen, struct weir_error *err)
{
    static unsigned serial;
    char host[40] = "host";
    char name[64];
    struct weir_node_params p = {.name = name,
                                 .transport = d->transport,
                                 .listen = listen,
                                 .advertise = d->advertise,
                                 .max_members = 2,
                                 .max_shuffles = 2,
                                 .log_level = WEIR_LOG_INFO,
                                 .log = hear,
                                 .log_arg = e};
    memset(e, 0, sizeof(*e));
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(name, sizeof(name), "%.30s-%ld-%u", host, (long)getpid(),
                   serial++);
    identity_use(&d->identity, &p);
    return weir_node_open(&p, &e->node, err);
}

static weir_err open_shuffle(struct end *e, uint32_t id,
                             const struct ArrowSchema *schema,
                             struct weir_error *err)
{
    const uint32_t from = id == THERE ? 1 : 0;
    const uint32_t to = 1 - from;
    struct weir_shuffle_params p = {.id = id,
                                    .schema = schema,
                                    .partitioning = WEIR_GATHER,
                                    .producers = &from,
                                    .n_producers = 1,
                                    .consumers = &to,
                                    .n_consumers = 1};
    weir_shuffle *s = NULL;
    weir_err rc = weir_shuffle_open(e->query, &p, &s, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    return weir_node_self(e->node) == from
               ? weir_writer_open(s, 0, &e->writer, err)
               : weir_reader_open(s, 0, &e->reader, err);
}

static weir_err open_query(struct end *e, uint64_t deadline_ns,
                           struct weir_error *err)
{
    const struct weir_field column = {"v", "l", 0};
    const struct weir_query_params q = {.id = 1, .deadline_ns = deadline_ns};
    struct ArrowSchema schema;
    weir_err rc = weir_schema_build(&column, 1, &schema, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = weir_query_open(e->node, &q, &e->query, err);
    rc = rc == WEIR_OK ? open_shuffle(e, THERE, &schema, err) : rc;
    rc = rc == WEIR_OK ? open_shuffle(e, BACK, &schema, err) : rc;
    schema.release(&schema);
    return rc;
}

static void close_end(struct end *e)
{
    weir_query_close(e->query);
    weir_node_close(e->node);
}

static weir_err put(struct end *e, uint32_t rows)
{
    wl_batch_point(&e->batch, e->values, rows);
    return weir_writer_push_wait(e->writer, &e->batch.array);
}

/* One row, at once. */
static weir_err put_value(struct end *e, int64_t value)
{
    e->values[0] = value;
    weir_err rc = put(e, 1);
    return rc == WEIR_OK ? weir_writer_flush(e->writer) : rc;
}

/* Next batch: its rows and its first value. */
static weir_err take(struct end *e, int64_t *rows_out, int64_t *value_out)
{
    struct ArrowArray batch;
    weir_err rc = weir_reader_next_wait(e->reader, &batch);
    if (rc != WEIR_OK) {
        return rc;
    }
    *rows_out = batch.length;
    *value_out = *wl_batch_values(&batch);
    batch.release(&batch);
    return WEIR_OK;
}

/* ---- listening ----------------------------------------------------------- */

/* Rows of 0 are counted; any other is a ping and goes back. */
static weir_err serve(struct end *e)
{
    int64_t all = 0;
    int64_t rows = 0;
    int64_t value = 0;
    weir_err rc;
    while ((rc = take(e, &rows, &value)) == WEIR_OK) {
        all += value == 0 ? rows : 0;
        if (value != 0 && (rc = put_value(e, value)) != WEIR_OK) {
            return rc;
        }
    }
    if (rc == WEIR_DONE) {
        rc = put_value(e, all);
    }
    return rc == WEIR_OK ? weir_writer_finish_wait(e->writer) : rc;
}

static void name_of_peer(const struct end *e, uint32_t idx, char *name)
{
    struct weir_member m;
    (void)snprintf(name, 64, "%s",
                   weir_node_member(e->node, idx, &m) == WEIR_OK ? m.name
                                                                 : "?");
}

/* Wait for one peer and serve it; false: this end does not work. `said` is the
 * address printed last: a port that the system chooses, or a name over shm,
 * differs for each node. */
static bool serve_one(struct doctor *d, const char *listen,
                      char said[ADDRESS_BYTES])
{
    static struct end e;
    struct weir_error err = {.code = WEIR_OK};
    char name[64];
    weir_err rc = open_end(&e, d, listen, &err);
    if (rc != WEIR_OK) {
        doctor_say(d, DOCTOR_PROBLEM, "listen", NULL, "%s", err.message);
        return false;
    }
    if (strcmp(said, weir_node_address(e.node)) != 0) {
        (void)snprintf(said, ADDRESS_BYTES, "%s", weir_node_address(e.node));
        doctor_say(d, DOCTOR_OK, "listen", NULL, "%s", said);
        if (e.open_door) {
            doctor_say(d, DOCTOR_NOTE, "identity", DOCTOR_MAKE_SECRET,
                       "whoever reaches this address is taken for a peer");
        }
    }
    rc = weir_node_join_seed(e.node, NULL, 2, WEIR_FOREVER, &err);
    if (rc == WEIR_OK) {
        name_of_peer(&e, 1, name);
        rc = open_query(&e, d->timeout_ns + 60 * SECOND, &err);
    }
    rc = rc == WEIR_OK ? serve(&e) : rc;
    if (rc != WEIR_OK && e.query != NULL) {
        (void)weir_query_status(e.query, &err);
    }
    doctor_say(d, rc == WEIR_OK ? DOCTOR_OK : DOCTOR_NOTE, "peer", NULL,
               "%s %s", rc == WEIR_OK ? "served" : "not served:",
               rc == WEIR_OK ? name : err.message);
    close_end(&e);
    return true;
}

void doctor_listen(struct doctor *d, const char *where, bool once)
{
    char said[ADDRESS_BYTES] = "";
    while (serve_one(d, where, said) && !once) {
    }
}

/* ---- asking -------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Median round trip of up to PINGS pings, for at most a second. */
static weir_err ping(struct end *e, double *us_out)
{
    static uint64_t ns[PINGS];
    int64_t rows = 0;
    int64_t value = 0;
    unsigned n = 0;
    weir_err rc = put_value(e, -1); /* opens the link; not counted */
    rc = rc == WEIR_OK ? take(e, &rows, &value) : rc;
    uint64_t at = wl_now_ns();
    uint64_t until = at + SECOND;
    for (; rc == WEIR_OK && n < PINGS && at < until; n++) {
        rc = put_value(e, (int64_t)n + 1);
        rc = rc == WEIR_OK ? take(e, &rows, &value) : rc;
        if (rc == WEIR_OK && (rows != 1 || value != (int64_t)n + 1)) {
            return WEIR_ERR_INTEGRITY;
        }
        uint64_t then = at;
        at = wl_now_ns();
        ns[n] = at - then;
    }
    if (rc == WEIR_OK) {
        qsort(ns, n, sizeof(ns[0]), compare);
        *us_out = (double)ns[n / 2] / 1000.0;
    }
    return rc;
}

/* About a second of rows; the clock stops when the peer has counted them. */
static weir_err flood(struct end *e, double *mb_per_s_out)
{
    uint64_t begin = wl_now_ns();
    int64_t sent = 0;
    int64_t rows = 0;
    int64_t value = 0;
    weir_err rc = WEIR_OK;
    memset(e->values, 0, sizeof(e->values));
    while (rc == WEIR_OK && wl_now_ns() - begin < SECOND &&
           (uint64_t)sent * 8 < MOST_BYTES) {
        rc = put(e, BATCH_ROWS);
        sent += BATCH_ROWS;
    }
    rc = rc == WEIR_OK ? weir_writer_finish_wait(e->writer) : rc;
    rc = rc == WEIR_OK ? take(e, &rows, &value) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    double seconds = (double)(wl_now_ns() - begin) / 1e9;
    *mb_per_s_out = (double)sent * 8 / 1e6 / seconds;
    rc = take(e, &rows, &rows);
    return rc != WEIR_DONE ? rc : value == sent ? WEIR_OK : WEIR_ERR_INTEGRITY;
}

static void measure(struct doctor *d, struct end *e, const char *where)
{
    struct weir_error err = {.code = WEIR_OK};
    struct weir_link_stats link = {.why = ""};
    double us = 0;
    double mb = 0;
    weir_err rc = open_query(e, d->timeout_ns + 10 * SECOND, &err);
    rc = rc == WEIR_OK ? ping(e, &us) : rc;
    (void)weir_link_stats_get(e->node, 0, &link);
    rc = rc == WEIR_OK ? flood(e, &mb) : rc;
    if (rc != WEIR_OK) {
        if (e->query != NULL) {
            (void)weir_query_status(e->query, &err);
        }
        doctor_say(d, DOCTOR_PROBLEM, "peer",
                   "weir doctor --why ADDRESS   # the address that weir doctor "
                   "--listen prints there",
                   "%s answers, but rows do not get through: %s %s", where,
                   weir_err_name(rc), err.message);
        return;
    }
    doctor_say_data(
        d, DOCTOR_OK, "peer", NULL,
        json_pack("{s:s, s:s, s:f, s:f}", "transport", link.transport, "why",
                  link.why, "round_trip_us", us, "mb_per_s", mb),
        "%s: round trip %.1f us, %.0f MB/s, over %s", where, us, mb, link.why);
}

/* What a failed join says about the peer. */
static void say_unjoined(struct doctor *d, const struct end *e, weir_err rc,
                         const struct weir_error *err, const char *where,
                         uint64_t took_ns)
{
    if (rc == WEIR_ERR_PEER_REFUSED || rc == WEIR_ERR_PEER_VERSION) {
        doctor_say_data(
            d, rc == WEIR_ERR_PEER_REFUSED ? DOCTOR_OK : DOCTOR_PROBLEM, "peer",
            NULL, json_pack("{s:f}", "connect_us", (double)took_ns / 1000.0),
            "%s: a Weir node connected and answered within %.0f us: "
            "\"%s\"; to measure more, run weir doctor --listen "
            "there",
            where, (double)took_ns / 1000.0, err->message);
        return;
    }
    bool answered = rc == WEIR_ERR_TIMEOUT && e->heard[0] == '\0';
    doctor_say(d, answered ? DOCTOR_NOTE : DOCTOR_PROBLEM, "peer",
               answered ? NULL
                        : "weir doctor --listen   # on that machine, and let "
                          "its firewall pass the port",
               "%s: %s%s", where,
               answered ? "a connection opens, but no cluster forms: "
                        : "not reached: ",
               answered              ? err->message
               : e->heard[0] != '\0' ? e->heard
                                     : err->message);
}

/* What stands after `key` in an address, or NULL. */
static const char *after(const char *address, const char *key)
{
    const char *at = strstr(address, key);
    return at != NULL ? at + strlen(key) : NULL;
}

/* HOST of an address: "tcp:HOST:PORT", "auto:HOST:PORT",
 * "auto:X;tcp=HOST:1". */
static void host_of(char *host, const char *address)
{
    const char *at = after(address, ";tcp=");
    at = at != NULL ? at : after(address, ";verbs=");
    at = at != NULL ? at : after(address, ":");
    (void)snprintf(host, ADDRESS_BYTES, "%s", at != NULL ? at : "");
    host[strcspn(host, ";")] = '\0';
    char *port = strrchr(host, ':');
    if (port != NULL) {
        *port = '\0';
    }
    if (host[0] == '[') {
        memmove(host, host + 1, strlen(host));
        host[strcspn(host, "]")] = '\0';
    }
}

/* Where to listen so that the peer can reach us: the local address of the
 * route to it, which a datagram socket knows without sending anything. */
static void local_address(char *listen, const char *peer)
{
    char host[ADDRESS_BYTES];
    char ip[64];
    struct sockaddr_storage own = {0};
    socklen_t len = sizeof(own);
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    (void)snprintf(listen, ADDRESS_BYTES, "0.0.0.0:0");
    host_of(host, peer);
    if (getaddrinfo(host, "9", &hints, &found) != 0) {
        return; /* the join will say so */
    }
    int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
        getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
        getnameinfo((struct sockaddr *)&own, len, ip, sizeof(ip), NULL, 0,
                    NI_NUMERICHOST) == 0) {
        (void)snprintf(listen, ADDRESS_BYTES,
                       own.ss_family == AF_INET6 ? "[%s]:0" : "%s:0", ip);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    freeaddrinfo(found);
}

void doctor_peer(struct doctor *d, const char *where)
{
    static struct end e;
    struct weir_error err = {.code = WEIR_OK};
    char address[ADDRESS_BYTES];
    char listen[ADDRESS_BYTES];
    bool inet = strcmp(d->transport, "shm") != 0;
    if (!doctor_address(d, address, sizeof(address), where)) {
        doctor_say(d, DOCTOR_PROBLEM, "peer", NULL, "%s is too long", where);
        return;
    }
    /* The peer may have to connect to us, on the device that leads to it. */
    if (inet) {
        local_address(listen, address);
    }
    if (open_end(&e, d, inet ? listen : NULL, &err) != WEIR_OK) {
        doctor_say(d, DOCTOR_PROBLEM, "peer", NULL, "%s", err.message);
        return;
    }
    uint64_t begin = wl_now_ns();
    const struct weir_seed seed = {address, d->identity.server_name};
    weir_err rc =
        weir_node_join_seed_named(e.node, &seed, 2, d->timeout_ns, &err);
    if (rc != WEIR_OK) {
        say_unjoined(d, &e, rc, &err, where, wl_now_ns() - begin);
    } else {
        measure(d, &e, where);
    }
    close_end(&e);
}
