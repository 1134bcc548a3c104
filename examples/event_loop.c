/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A foreign event loop: one thread, one epoll, two nodes over tcp.
 *
 *   epoll --> worker 0 of node A --> serve(A): try everything until nothing
 *         --> worker 0 of node B --> serve(B)  moves, arm, back to epoll
 *         --> timer of the program: a limit of 10 s for all of it
 *
 * No call here blocks except epoll_wait. Every row goes to both nodes
 * (broadcast); each node checks the sum of what it received.
 */
#include <err.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <weir/weir.h>

enum { NODES = 2, ROWS = 50000, TIMER = NODES };

static struct weir_error why;

struct side { /* one node, and how far it got */
    weir_node *node;
    weir_query *query;
    weir_writer *writer;
    weir_reader *reader;
    int pushed, finished, drained;
    int64_t rows, sum;
};

static int ok(weir_err rc, const char *what)
{
    if (rc < 0) { /* positive codes are not errors */
        errx(1, "%s: %s: %s", what, weir_err_name(rc), why.message);
    }
    return rc == WEIR_OK;
}

static void begin(struct side *s)
{
    struct weir_field field = {"value", "l", 0};
    struct ArrowSchema schema;
    struct weir_query_params q = {.id = 1};
    struct weir_shuffle_params p = {
        .id = 1, .schema = &schema, .partitioning = WEIR_BROADCAST};
    weir_shuffle *shuffle;
    ok(weir_schema_build(&field, 1, &schema, &why), "schema");
    ok(weir_query_open(s->node, &q, &s->query, &why), "query");
    ok(weir_shuffle_open(s->query, &p, &shuffle, &why), "shuffle");
    ok(weir_writer_open(shuffle, 0, &s->writer, &why), "writer");
    ok(weir_reader_open(shuffle, 0, &s->reader, &why), "reader");
    schema.release(&schema);
}

/* True: a batch was taken. */
static int take(struct side *s)
{
    struct ArrowArray batch;
    weir_err rc = weir_reader_next(s->reader, &batch);
    s->drained = rc == WEIR_DONE;
    if (!ok(rc, "next")) {
        return 0;
    }
    const int64_t *values = batch.children[0]->buffers[1];
    for (int64_t i = 0; i < batch.length; i++) {
        s->sum += values[i];
    }
    s->rows += batch.length;
    batch.release(&batch);
    return 1;
}

static int is_done(const struct side *s)
{
    return s->drained && s->finished;
}

/* Try all there is to do until nothing moves, and arm the descriptor. If
 * something happened meanwhile, arming says so, and we go round again. */
static void serve(struct side *s, const struct ArrowArray *rows)
{
    do {
        while (!s->drained && take(s)) {
        }
        s->pushed = s->pushed || ok(weir_writer_push(s->writer, rows), "push");
        s->finished = s->finished ||
                      (s->pushed && ok(weir_writer_finish(s->writer), "end"));
    } while (!is_done(s) && !ok(weir_worker_arm(s->node, 0), "arm"));
}

static void watch(int epoll, int fd, uint32_t who)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = who};
    if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        err(1, "watch");
    }
}

static int open_timer(int seconds)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec limit = {.it_value.tv_sec = seconds};
    (void)timerfd_settime(fd, 0, &limit, NULL);
    return fd;
}

static void borrowed(struct ArrowArray *array)
{
    array->release = NULL; /* nothing to free */
}

int main(void)
{
    struct side side[NODES] = {0};
    struct weir_member members[NODES];
    for (uint32_t i = 0; i < NODES; i++) {
        struct weir_node_params params = {.name = i == 0 ? "A" : "B",
                                          .transport = "tcp"};
        ok(weir_node_open(&params, &side[i].node, &why), "open");
        members[i] = (struct weir_member){params.name,
                                          weir_node_address(side[i].node), 1};
    }
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(epoll, open_timer(10), TIMER);

    static int64_t values[ROWS];
    int64_t sum = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        sum += values[i] = i;
    }
    const void *buffers[] = {NULL, values}; /* validity, values */
    struct ArrowArray column = {.length = ROWS,
                                .n_buffers = 2,
                                .buffers = buffers,
                                .release = borrowed};
    struct ArrowArray *columns[] = {&column};
    struct ArrowArray rows = {.length = ROWS,
                              .n_buffers = 1,
                              .buffers = buffers,
                              .n_children = 1,
                              .children = columns,
                              .release = borrowed};
    for (uint32_t i = 0; i < NODES; i++) {
        ok(weir_node_join(side[i].node, members, NODES, &why), "join");
        begin(&side[i]);
        watch(epoll, weir_worker_fd(side[i].node, 0), i);
        serve(&side[i], &rows);
    }
    while (!is_done(&side[0]) || !is_done(&side[1])) {
        struct epoll_event event;
        if (epoll_wait(epoll, &event, 1, -1) == 1) {
            if (event.data.u32 == TIMER) {
                errx(1, "not done after 10 s");
            }
            serve(&side[event.data.u32], &rows);
        }
    }
    int wrong = 0;
    for (int i = 0; i < NODES; i++) {
        wrong += side[i].rows != NODES * ROWS || side[i].sum != NODES * sum;
        weir_query_close(side[i].query);
    }
    weir_node_close(side[0].node);
    weir_node_close(side[1].node);
    (void)printf("%s: %d rows to each of %d nodes\n", wrong ? "WRONG" : "ok",
                 NODES * ROWS, NODES);
    return wrong;
}
