/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that is killed, or stopped for longer than detect_ns, while a client
 * of another process reads a stream, waits for its next batch, or for its
 * first.
 *
 *   child 0   serves; is struck
 *   child 1   the client: what it waits for ends with the server's name; then
 *             it reads all of a scan of child 2
 *   child 2   replaces the server: at the same address, so that the client goes
 *             on with what it has, or at another one
 *
 * A server that was stopped goes on, and has nothing of the client left.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/weir.h>

#include "test/conformance/scan_raw.h"
#include "test/support/proc.h"

enum { SERVER, CLIENT, SPARE, PROCS, ADDRESS = 256, KEPT_ROWS = 10000 };

static const uint64_t second = 1000000000;
static const uint64_t detect_ns = 3 * 1000000000ull;

struct scene {
    const char *transport;
    const char *text;  /* what the client reads meanwhile */
    int batches;       /* of it that come before the server is struck */
    bool blocks;       /* it gives no more */
    int signal_number; /* SIGSTOP: the server goes on later */
    bool same_address; /* of the spare */
};

/* What parent and children see. */
struct shared {
    char address[SPARE + 1][ADDRESS];
    char name[SPARE + 1][ADDRESS];
    uint64_t struck_ns;
    uint64_t ended_ns;
    char message[WEIR_ERROR_MESSAGE_BYTES];
};

/* ---- the servers --------------------------------------------------------- */

struct served {
    weir_node *node;
    weir_scan_server *server;
    struct wt_scan_engine engine;
};

static void serve(struct wt_proc *p, const char *listen, struct served *s)
{
    const struct scene *scene = p->arg;
    struct shared *sh = p->shared;
    struct weir_scan_source source = {.name = "raw"};
    const struct weir_node_params np = {.transport = scene->transport,
                                        .listen = listen,
                                        .name = sh->name[p->self],
                                        .workers = 2,
                                        .detect_ns = detect_ns};
    const struct weir_scan_server_params sp = {
        .sources = &source, .n_sources = 1, .worker = 1, .batch_bytes = 64};
    struct weir_error err = {0};
    (void)snprintf(sh->name[p->self], ADDRESS, "lake-%d", (int)getpid());
    wt_scan_engine_init(&s->engine, &source.engine);
    wt_proc_check(p, weir_node_open(&np, &s->node, &err) == WEIR_OK, "node: %s",
                  err.message);
    wt_proc_check(
        p, weir_scan_server_open(s->node, &sp, &s->server, &err) == WEIR_OK,
        "server: %s", err.message);
    (void)snprintf(sh->address[p->self], ADDRESS, "%s",
                   weir_node_address(s->node));
}

/* Until its engine is asked for what it does not give. */
static void until_blocked(struct served *s)
{
    struct wt_scan_engine *e = &s->engine;
    (void)pthread_mutex_lock(&e->lock);
    while (e->blocked == 0) {
        (void)pthread_cond_wait(&e->changed, &e->lock);
    }
    (void)pthread_mutex_unlock(&e->lock);
}

/* Until nothing of any client is left: a minute at most. */
static void until_empty(struct wt_proc *p, struct served *s)
{
    struct weir_scan_stats stats;
    for (uint32_t i = 0; i < 60000; i++) {
        weir_scan_server_stats(s->server, &stats);
        if (stats.clients + stats.readers + stats.bytes == 0) {
            return;
        }
        (void)weir_worker_wait(s->node, 0, second / 1000);
    }
    wt_proc_die(p, "%lu clients, %lu readers, %lu bytes are left",
                (unsigned long)stats.clients, (unsigned long)stats.readers,
                (unsigned long)stats.bytes);
}

static void run_server(struct wt_proc *p)
{
    const struct scene *scene = p->arg;
    const struct shared *sh = p->shared;
    char listen[ADDRESS];
    struct served s = {0};
    const char *colon = strchr(sh->address[SERVER], ':');
    if (p->self == SPARE && scene->same_address) {
        (void)snprintf(listen, sizeof(listen), "%s", colon + 1);
        serve(p, listen, &s);
    } else {
        serve(p, NULL, &s);
    }
    wt_proc_say(p, 's');
    if (p->self == SERVER && scene->blocks) {
        until_blocked(&s);
        wt_proc_say(p, 'b');
    }
    wt_proc_await(p); /* which the first one comes to only if it goes on */
    until_empty(p, &s);
    weir_scan_server_close(s.server);
    wt_proc_check(p, s.engine.streams == 0, "streams are left");
    weir_node_close(s.node);
    wt_scan_engine_fini(&s.engine);
}

/* ---- the client ---------------------------------------------------------- */

static weir_scan_client *connect_to(struct wt_proc *p, weir_node *node,
                                    uint32_t server)
{
    const struct shared *sh = p->shared;
    const struct weir_scan_client_params cp = {.address = sh->address[server]};
    struct weir_error err = {0};
    weir_scan_client *c = NULL;
    wt_proc_check(p, weir_scan_connect(node, &cp, &c, &err) == WEIR_OK,
                  "connect: %s", err.message);
    return c;
}

static int64_t count(struct wt_proc *p, const struct ArrowArray *batch,
                     int64_t first)
{
    const int64_t *values = batch->children[0]->buffers[1];
    for (int64_t i = 0; i < batch->length; i++) {
        wt_proc_check(p, values[i] == first + i, "another value");
    }
    return batch->length;
}

/* Says when it has what it gets before the server is struck. The first batch is
 * kept, and still there afterwards. */
static void read_to_its_failure(struct wt_proc *p,
                                struct ArrowArrayStream *stream)
{
    const struct scene *scene = p->arg;
    struct shared *sh = p->shared;
    struct ArrowArray kept = {.release = NULL}, batch;
    int64_t rows = 0;
    int status;
    for (int n = 1; (status = stream->get_next(stream, &batch)) == 0; n++) {
        wt_proc_check(p, batch.release != NULL, "that is not its end");
        rows += count(p, &batch, rows);
        if (kept.release == NULL) {
            kept = batch;
        } else {
            batch.release(&batch);
        }
        if (n == scene->batches) {
            wt_proc_say(p, 'r');
        }
    }
    wt_proc_check(p, status == ECONNRESET, "status %d", status);
    wt_proc_check(p, count(p, &kept, 0) == KEPT_ROWS, "what was kept");
    kept.release(&kept);
    (void)snprintf(sh->message, sizeof(sh->message), "%s",
                   stream->get_last_error(stream));
    wt_proc_check(p, stream->get_next(stream, &batch) == ECONNRESET,
                  "it has not stayed so");
    stream->release(stream);
}

static void fail(struct wt_proc *p, weir_scan_client *c)
{
    const struct scene *scene = p->arg;
    struct shared *sh = p->shared;
    const struct weir_scan_request r = {.dataset = "raw", .text = scene->text};
    struct ArrowArrayStream stream;
    struct weir_error err = {0};
    if (scene->batches == 0) {
        wt_proc_say(p, 'r');
    }
    weir_err rc = weir_scan_open(c, &r, &stream, NULL, &err);
    if (scene->batches == 0) {
        wt_proc_check(p, rc == WEIR_ERR_PEER_LOST, "%s", weir_err_name(rc));
        memcpy(sh->message, err.message, sizeof(sh->message));
    } else {
        wt_proc_check(p, rc == WEIR_OK, "open: %s", err.message);
        read_to_its_failure(p, &stream);
    }
    sh->ended_ns = wt_now_ns();
}

static void read_all(struct wt_proc *p, weir_scan_client *c)
{
    const struct weir_scan_request r = {.dataset = "raw",
                                        .text = "numbers 100 9000"};
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct weir_error err = {0};
    int64_t rows = 0;
    weir_err rc = weir_scan_open(c, &r, &stream, NULL, &err);
    wt_proc_check(p, rc == WEIR_OK, "the spare: %s", err.message);
    while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) {
        rows += count(p, &batch, rows);
        batch.release(&batch);
    }
    wt_proc_check(p, rows == 900000, "%ld rows of the spare", (long)rows);
    stream.release(&stream);
}

static void run_client(struct wt_proc *p)
{
    const struct scene *scene = p->arg;
    const struct weir_node_params np = {.transport = scene->transport,
                                        .detect_ns = detect_ns};
    weir_node *node = NULL;
    wt_proc_await(p);
    wt_proc_check(p, weir_node_open(&np, &node, NULL) == WEIR_OK, "node");
    weir_scan_client *c = connect_to(p, node, SERVER);
    fail(p, c);
    wt_proc_say(p, 'f');
    wt_proc_await(p);
    if (!scene->same_address) {
        weir_scan_disconnect(c);
        c = connect_to(p, node, SPARE);
    }
    read_all(p, c);
    weir_scan_disconnect(c);
    weir_node_close(node);
}

/* ---- the parent ---------------------------------------------------------- */

static void child(struct wt_proc *p)
{
    if (p->self == CLIENT) {
        run_client(p);
        return;
    }
    wt_proc_await(p);
    run_server(p);
}

static void strike(struct wt_procs *ps, const struct scene *scene)
{
    struct shared *sh = wt_procs_shared(ps);
    sh->struck_ns = wt_now_ns();
    wt_procs_signal(ps, SERVER, scene->signal_number);
    if (scene->signal_number == SIGSTOP) {
        wt_procs_stopped(ps, SERVER);
    } else {
        cr_assert(WIFSIGNALED(wt_procs_end(ps, SERVER)));
    }
    wt_procs_expect(ps, CLIENT, 'f');
    const uint64_t took = sh->ended_ns - sh->struck_ns;
    cr_assert_not_null(strstr(sh->message, sh->name[SERVER]),
                       "\"%s\" does not name it", sh->message);
    cr_assert_leq(took, 2 * detect_ns, "it knew after %.2f s",
                  (double)took / 1e9);
}

static void play(struct scene scene)
{
    struct wt_procs *ps =
        wt_procs_open(PROCS, sizeof(struct shared), child, &scene);
    wt_procs_go(ps, SERVER);
    wt_procs_expect(ps, SERVER, 's');
    wt_procs_go(ps, CLIENT);
    wt_procs_expect(ps, CLIENT, 'r');
    if (scene.blocks) {
        wt_procs_expect(ps, SERVER, 'b');
    }
    strike(ps, &scene);
    wt_procs_go(ps, SPARE);
    wt_procs_expect(ps, SPARE, 's');
    wt_procs_go(ps, CLIENT);
    wt_procs_end_well(ps, CLIENT);
    wt_procs_go(ps, SPARE);
    wt_procs_end_well(ps, SPARE);
    if (scene.signal_number == SIGSTOP) {
        wt_procs_signal(ps, SERVER, SIGCONT);
        wt_procs_go(ps, SERVER);
        wt_procs_end_well(ps, SERVER);
    }
    wt_procs_close(ps);
}

#define ENDLESS .text = "numbers 1000000000 10000", .batches = 50
#define WAITED_FOR .text = "block-next 2 10000", .batches = 2, .blocks = true
#define IN_OPEN .text = "block", .blocks = true

#define KILLED_TESTS(transport)                                                \
    KILLED_TEST(transport, killed_in_the_middle, SIGKILL, ENDLESS,             \
                .same_address = true)                                          \
    KILLED_TEST(transport, stopped_in_the_middle, SIGSTOP, ENDLESS)            \
    KILLED_TEST(transport, killed_while_it_is_waited_for, SIGKILL, WAITED_FOR) \
    KILLED_TEST(transport, stopped_while_it_is_waited_for, SIGSTOP,            \
                WAITED_FOR)                                                    \
    KILLED_TEST(transport, killed_in_open, SIGKILL, IN_OPEN,                   \
                .same_address = true)

#define KILLED_TEST(where, name, number, ...)                                  \
    Test(scan_server_killed, where##_##name, .timeout = 120)                   \
    {                                                                          \
        play((struct scene){                                                   \
            .transport = #where, .signal_number = (number), __VA_ARGS__});     \
    }

KILLED_TESTS(shm)
KILLED_TESTS(tcp)
