/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member of a soak. One thread does what the parent orders, one order after
 * another; SIGUSR1 makes the process print what its node waits for.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/rcu.h"
#include "launch/ask.h"
#include "launch/clock.h"
#include "test/soak/crew.h"
#include "test/support/net.h"

enum { SHUFFLES = 3, FILES = 512, COMPLAINED = 3, PAGE = 4096 };

struct me {
    const struct wt_crew_params *params;
    struct wt_slot *slots;
    struct wt_slot *slot;
    uint32_t self;
    int go_fd;
    int say_fd;
    bool logs;
    weir_node *node;
    /* what an order has taken from this process */
    int files[FILES];
    int n_files;
    struct rlimit before;
    struct wt_plan plan;
};

/* The parent finds the answer, and the pipe's end. */
static void complain(struct me *me, const char *what, const char *why)
{
    (void)snprintf(me->slot->answer.message, sizeof(me->slot->answer.message),
                   "%s: %.400s", what, why);
    _exit(COMPLAINED);
}

static void say(struct me *me, char mark)
{
    if (write(me->say_fd, &mark, 1) != 1) {
        _exit(COMPLAINED);
    }
}

static void await(struct me *me)
{
    char mark;
    if (read(me->go_fd, &mark, 1) != 1) {
        _exit(COMPLAINED); /* the parent has gone */
    }
}

static uint64_t heap_bytes(void)
{
    wi_rcu_barrier(); /* what readers might have held is free, too */
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* ---- the node ------------------------------------------------------------ */

/* Losses are expected here, a thousand of them. What the log says is printed
 * with SOAK_LOG=1 only. */
static void log_line(void *arg, weir_log_level level, const char *line)
{
    struct me *me = arg;
    (void)level;
    if (strstr(line, "ulimit -n") != NULL) {
        me->slot->answer.no_files = true;
    }
    if (me->logs) {
        (void)fprintf(stderr, "%.6f %s: %s\n", (double)wl_now_ns() * 1e-9,
                      me->slot->name, line);
    }
}

static void open_node(struct me *me)
{
    struct weir_error err = {0};
    const struct wt_crew_params *p = me->params;
    struct weir_node_params params = {
        .name = me->slot->name,
        .transport = p->transport,
        .listen = me->slot->listen[0] != '\0' ? me->slot->listen : p->listen,
        .max_members = p->n,
        .max_shuffles = SHUFFLES,
        .memory_bytes = 64u << 20,
        .detect_ns = p->detect_ns,
        .connect_ns = 4 * p->detect_ns,
        .log_level = me->logs ? WEIR_LOG_DEBUG : WEIR_LOG_WARN,
        .log = log_line,
        .log_arg = me};
    if (weir_node_open(&params, &me->node, &err) != WEIR_OK ||
        wl_ask_node(me->node, &err) != WEIR_OK) {
        complain(me, "open", err.message);
    }
    (void)snprintf(me->slot->address, sizeof(me->slot->address), "%s",
                   weir_node_address(me->node));
}

static struct weir_member entry(const struct me *me, uint32_t k)
{
    return (struct weir_member){.name = me->slots[k].name,
                                .address = me->slots[k].address,
                                .workers = 1};
}

static void join(struct me *me)
{
    struct weir_member members[WT_CREW];
    struct weir_error err = {0};
    for (uint32_t k = 0; k < me->params->n; k++) {
        members[k] = entry(me, k);
    }
    if (weir_node_join(me->node, members, me->params->n, &err) != WEIR_OK) {
        complain(me, "join", err.message);
    }
}

static void add(struct me *me)
{
    struct weir_error err = {0};
    struct weir_member m = entry(me, me->slot->order.peer);
    if (weir_node_add_member(me->node, me->slot->order.peer, &m, &err) !=
        WEIR_OK) {
        complain(me, "add", err.message);
    }
}

static void quit(struct me *me)
{
    wl_ask_forget(me->node);
    weir_node_close(me->node);
    exit(EXIT_SUCCESS);
}

/* ---- what it does to itself ---------------------------------------------- */

static void take_files(struct me *me)
{
    struct rlimit less;
    if (getrlimit(RLIMIT_NOFILE, &me->before) != 0) {
        complain(me, "getrlimit", strerror(errno));
    }
    less = me->before;
    less.rlim_cur = less.rlim_cur < FILES ? less.rlim_cur : FILES;
    if (setrlimit(RLIMIT_NOFILE, &less) != 0) {
        complain(me, "setrlimit", strerror(errno));
    }
    int fd = 0;
    while (me->n_files < FILES &&
           (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        me->files[me->n_files++] = fd;
    }
    if (fd >= 0) {
        complain(me, "descriptors", "they have no end");
    }
}

/* No more address space than it has now. */
static void take_memory(struct me *me)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f == NULL || fscanf(f, "%lu", &pages) != 1 || fclose(f) != 0 ||
        getrlimit(RLIMIT_AS, &me->before) != 0) {
        complain(me, "statm", strerror(errno));
    }
    struct rlimit less = me->before;
    less.rlim_cur = pages * PAGE;
    if (setrlimit(RLIMIT_AS, &less) != 0) {
        complain(me, "setrlimit", strerror(errno));
    }
}

static void take(struct me *me, enum wt_own own)
{
    me->slot->answer.no_files = false;
    if (own == WT_OWN_FILES) {
        take_files(me);
    } else if (own == WT_OWN_MEMORY) {
        take_memory(me);
    }
}

static void give_back(struct me *me, enum wt_own own)
{
    while (me->n_files > 0) {
        (void)close(me->files[--me->n_files]);
    }
    if (own == WT_OWN_FILES || own == WT_OWN_MEMORY) {
        (void)setrlimit(own == WT_OWN_FILES ? RLIMIT_NOFILE : RLIMIT_AS,
                        &me->before);
    }
}

/* Open shuffles until the node has no more; what that says. */
static weir_err ask_too_much(struct me *me, struct weir_error *err)
{
    static const struct weir_field field = {.name = "key", .format = "l"};
    struct ArrowSchema schema;
    weir_shuffle *s = NULL;
    weir_err rc = weir_schema_build(&field, 1, &schema, err);
    struct weir_shuffle_params params = {.schema = &schema,
                                         .partitioning = WEIR_ROUND_ROBIN};
    if (rc != WEIR_OK) {
        return rc;
    }
    for (uint32_t i = 0; i <= SHUFFLES && rc == WEIR_OK; i++) {
        params.id = 10 + i;
        rc = weir_shuffle_open(me->plan.query, &params, &s, err);
    }
    schema.release(&schema);
    return rc;
}

/* Its moment has come. True: the query goes on here. */
static bool act(struct me *me, const struct wt_order *o)
{
    struct weir_error cause = {.code = WEIR_ERR_QUERY_MEMORY};
    switch (o->own) {
    case WT_OWN_TELL:
        say(me, 'h');
        return true;
    case WT_OWN_HOLD:
        say(me, 'h');
        await(me);
        return true;
    case WT_OWN_CANCEL:
        (void)snprintf(cause.message, sizeof(cause.message),
                       "soak: cancelled by %s", me->slot->name);
        weir_query_cancel(me->plan.query, cause.message);
        return true;
    case WT_OWN_FAIL:
        (void)snprintf(cause.message, sizeof(cause.message), "soak: no room");
        (void)weir_query_fail(me->plan.query, &cause);
        return true;
    case WT_OWN_CLOSE:
    case WT_OWN_LEAVE:
        return false;
    default:
        return true;
    }
}

/* ---- a query ------------------------------------------------------------- */

static weir_err run_plan(struct me *me, const struct wt_order *o,
                         struct weir_error *err)
{
    struct wt_plan *p = &me->plan;
    bool acted = o->own == WT_OWN_NOTHING;
    for (;;) {
        uint64_t done =
            p->sums.made_rows + p->forwarded_rows + p->sums.got_rows;
        if (!acted && done >= o->at) {
            acted = true;
            if (!act(me, o)) {
                return WEIR_AGAIN;
            }
        }
        weir_err rc = wt_plan_step(p);
        if (rc == WEIR_DONE) {
            return rc;
        }
        if (rc == WEIR_AGAIN) {
            (void)weir_worker_wait(me->node, 0, WEIR_FOREVER);
        } else if (rc != WEIR_OK) {
            (void)weir_query_status(p->query, err);
            return rc;
        }
    }
}

static void run(struct me *me)
{
    const struct wt_order *o = &me->slot->order;
    struct wt_answer *a = &me->slot->answer;
    struct weir_error err = {0};
    weir_err rc = wt_plan_open(&me->plan, me->node, o->query, o->members,
                               o->n_members, o->rows, &err);
    if (rc == WEIR_OK && o->own == WT_OWN_BUDGET) {
        rc = ask_too_much(me, &err);
    }
    if (rc == WEIR_OK) {
        rc = run_plan(me, o, &err);
    }
    a->code = rc;
    a->sums = me->plan.sums;
    memcpy(a->message, err.message, sizeof(a->message));
    wt_plan_close(&me->plan);
    if (rc == WEIR_AGAIN && o->own == WT_OWN_LEAVE) {
        quit(me);
    }
}

static void obey(struct me *me)
{
    const struct wt_order *o = &me->slot->order;
    switch (o->op) {
    case WT_JOIN:
        join(me);
        break;
    case WT_ADD:
        add(me);
        break;
    case WT_TAKE:
        take(me, o->own);
        break;
    case WT_GIVE:
        give_back(me, o->own);
        break;
    case WT_RUN:
        run(me);
        break;
    case WT_LOOK:
        me->slot->answer.heap_bytes = heap_bytes();
        break;
    case WT_QUIT:
        quit(me);
    }
}

void wt_crew_member(const struct wt_crew_params *params, struct wt_slot *slots,
                    uint32_t self, const int fds[2])
{
    static struct me me;
    me = (struct me){.params = params,
                     .slots = slots,
                     .slot = &slots[self],
                     .self = self,
                     .go_fd = fds[0],
                     .say_fd = fds[1],
                     .logs = getenv("SOAK_LOG") != NULL};
    if (params->net && !wt_net_enter(self)) {
        complain(&me, "setns", strerror(errno));
    }
    wl_ask_block(1);
    open_node(&me);
    say(&me, 'd');
    for (;;) {
        await(&me);
        obey(&me);
        say(&me, 'd');
    }
}
