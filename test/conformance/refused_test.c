/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation of a cluster's life is refused once: what needed it says so,
 * nobody waits for ever, nothing stays, and the next query is whole.
 *
 * The linker puts these functions in the place of the allocator's
 * (--wrap=malloc and its like) in all that is linked statically; the memory of
 * rings is not theirs. All in one thread, on the simulator. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <weir/weir.h>

#include "core/base/rcu.h"
#include "core/format/schema.h"
#include "core/partition/partition.h"
#include "core/transport.h"
#include "test/support/lone.h"
#include "test/support/rows.h"
#include "transport/registry.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *it);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *it);

enum {
    MEMBERS = 2,
    ROWS = 3000, /* several frames to each reader */
    BATCH = 500,
    MS = 1000000,
    NEVER = 0,
};

/* Both are used by the thread of the reclaimer, too. */
static _Atomic long live;
static _Atomic uint32_t asked;
static uint32_t refused_at; /* the one that is refused */
static bool spared;         /* what the test itself makes */
static bool over;           /* the simulator itself had no memory */

static bool refuse(void)
{
    return !spared && ++asked == refused_at;
}

static void *counted(void *it)
{
    live += it != NULL;
    return it;
}

void *__wrap_malloc(size_t bytes)
{
    return refuse() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return refuse() ? NULL : counted(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *old, size_t bytes)
{
    if (refuse()) {
        return NULL;
    }
    void *it = __real_realloc(old, bytes);
    live += old == NULL && it != NULL;
    return it;
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    return refuse() ? NULL : counted(__real_aligned_alloc(align, bytes));
}

char *__wrap_strdup(const char *text)
{
    return refuse() ? NULL : counted(__real_strdup(text));
}

void __wrap_free(void *it)
{
    live -= it != NULL;
    __real_free(it);
}

/* ---- a query on two members ---------------------------------------------- */

static const struct weir_field fields[] = {{"id", "l", 0}, {"text", "u", 0}};
/* Lists are unpacked into memory of their own. */
static const struct wt_nest item = {"item", "u", 1, NULL, 0, NULL};
static const struct wt_nest lists = {"lists", "+l", 1, &item, 1, NULL};
static struct wt_rows rows = {.fields = fields, .n_fields = 2};
static uint32_t n_rows = ROWS;
static bool query_alone; /* no region, no ask */
static const uint32_t members[] = {0, 1};

struct member {
    weir_sim *sim;
    uint32_t node;
    weir_query *query;
    weir_shuffle *shuffle;
    weir_writer *writer;
    weir_reader *reader;
    struct ArrowArray batch;
    uint64_t sent;
    uint64_t got;
    uint64_t sum; /* of what came */
    weir_err wrote;
    weir_err read;
};

/* Whatever fails says what, and is no fault of the caller's. A peer without
 * memory for an ask has no room for it (WEIR_ERR_BUDGET). */
static weir_err fair(weir_err rc, const struct weir_error *err)
{
    cr_assert(rc == WEIR_OK || rc == WEIR_ERR_NO_MEMORY ||
                  rc == WEIR_ERR_QUERY_MEMORY || rc == WEIR_ERR_PEER_LOST ||
                  rc == WEIR_ERR_ABORTED || rc == WEIR_ERR_CANCELLED ||
                  rc == WEIR_ERR_BUDGET,
              "allocation %u: %s: %s", refused_at, weir_err_name(rc),
              err->message);
    cr_assert(rc == WEIR_OK || err->message[0] != '\0', "allocation %u: %s",
              refused_at, weir_err_name(rc));
    return rc;
}

static weir_err open_member(struct member *m, uint64_t id)
{
    struct weir_error err = {0};
    struct ArrowSchema schema;
    const struct weir_query_params q = {
        .id = id, .members = members, .n_members = MEMBERS};
    const char *const keys[] = {"id"};
    weir_err rc = fair(weir_schema_build(fields, 2, &schema, &err), &err);
    if (rc != WEIR_OK) {
        return rc;
    }
    schema.release(&schema);
    spared = true;
    wt_rows_schema(&rows, false, &schema);
    spared = false;
    const struct weir_shuffle_params s = {.partitioning = WEIR_HASH,
                                          .schema = &schema,
                                          .keys = keys,
                                          .n_keys = 1,
                                          .producers = members,
                                          .n_producers = MEMBERS,
                                          .consumers = members,
                                          .n_consumers = MEMBERS,
                                          .producer_workers = 1};
    rc = weir_query_open(weir_sim_node(m->sim, m->node), &q, &m->query, &err);
    if (rc == WEIR_OK) {
        rc = weir_shuffle_open(m->query, &s, &m->shuffle, &err);
    }
    schema.release(&schema);
    if (rc == WEIR_OK) {
        rc = weir_writer_open(m->shuffle, 0, &m->writer, &err);
    }
    if (rc == WEIR_OK) {
        rc = weir_reader_open(m->shuffle, 0, &m->reader, &err);
    }
    return fair(rc, &err);
}

static weir_err ended(struct member *m, weir_err rc, weir_err *end)
{
    struct weir_error err = {0};
    if (rc == WEIR_OK || rc == WEIR_AGAIN) {
        return rc;
    }
    *end = rc;
    if (rc != WEIR_DONE) {
        (void)weir_query_status(m->query, &err);
        (void)fair(rc, &err);
    }
    return WEIR_DONE;
}

static weir_err write_some(void *arg, uint64_t now_ns)
{
    struct member *m = arg;
    (void)now_ns;
    if (m->sent == n_rows) {
        weir_err rc = weir_writer_finish(m->writer);
        return ended(m, rc == WEIR_OK ? WEIR_DONE : rc, &m->wrote);
    }
    if (m->batch.release == NULL) {
        spared = true;
        wt_rows_make(&rows, m->sent, BATCH, &m->batch);
        spared = false;
    }
    weir_err rc = weir_writer_push(m->writer, &m->batch);
    if (rc == WEIR_ERR_NO_MEMORY) { /* for lists; nothing was taken */
        struct weir_error err = {0};
        (void)weir_writer_error(m->writer, &err);
        (void)fair(rc, &err);
        return WEIR_OK;
    }
    if (rc == WEIR_OK) {
        m->batch.release(&m->batch);
        m->sent += BATCH;
    }
    return ended(m, rc, &m->wrote);
}

static weir_err read_some(void *arg, uint64_t now_ns)
{
    struct member *m = arg;
    struct ArrowArray batch;
    (void)now_ns;
    weir_err rc = weir_reader_next(m->reader, &batch);
    if (rc == WEIR_OK) {
        const int64_t *ids = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++) {
            m->sum += (uint64_t)ids[batch.children[0]->offset + i];
        }
        m->got += (uint64_t)batch.length;
        batch.release(&batch);
    }
    return ended(m, rc, &m->read);
}

static bool done(const struct member *m)
{
    return m->wrote == WEIR_DONE && m->read == WEIR_DONE;
}

/* Does the query come to its end, with all rows or a cause? */
static bool run_query(weir_sim *sim, uint64_t id)
{
    struct member m[MEMBERS] = {{.sim = sim}, {.sim = sim, .node = 1}};
    struct weir_error err = {0};
    bool opened = true;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        opened &= open_member(&m[i], id) == WEIR_OK;
    }
    for (uint32_t i = 0; i < MEMBERS; i++) {
        if (opened) {
            weir_err rc = weir_sim_task(sim, i, 0, write_some, &m[i]);
            opened &= fair(rc, &(struct weir_error){.message = "task"}) == 0;
            rc = weir_sim_task(sim, i, 0, read_some, &m[i]);
            opened &= fair(rc, &(struct weir_error){.message = "task"}) == 0;
        }
        if (!opened && m[i].query != NULL) {
            weir_query_cancel(m[i].query, "the other one could not open it");
        }
    }
    weir_err rc = weir_sim_run(sim, WEIR_FOREVER, &err);
    over = rc == WEIR_ERR_NO_MEMORY;
    cr_assert(rc == WEIR_OK || over, "allocation %u: %s", refused_at,
              err.message);
    bool whole = opened && done(&m[0]) && done(&m[1]);
    cr_assert(!whole || m[0].got + m[1].got == MEMBERS * n_rows,
              "allocation %u: %llu rows", refused_at,
              (unsigned long long)(m[0].got + m[1].got));
    cr_assert(!whole || m[0].sum + m[1].sum ==
                            (uint64_t)MEMBERS * n_rows * (n_rows - 1) / 2);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        if (m[i].batch.release != NULL) {
            m[i].batch.release(&m[i].batch);
        }
        weir_query_close(m[i].query);
    }
    return whole;
}

/* ---- a region and an ask ------------------------------------------------- */

enum { GET = 1, PUT = 2, ASK = 4, ALL = GET | PUT | ASK, BYTES = 100000 };

static const struct weir_name name = {9, 1};

struct wares {
    weir_sim *sim;
    weir_region *region; /* node 0's */
    weir_asks *asks;
    weir_peer *peer; /* node 1's */
    weir_fetch *fetch;
    uint32_t posted;
    uint32_t well;
    uint32_t ended;
    uint8_t put[1000];
};

static weir_err open_wares(struct wares *w)
{
    struct weir_error err = {0};
    weir_node *owner = weir_sim_node(w->sim, 0);
    const struct weir_region_params params = {.bytes = BYTES, .writable = 1};
    weir_err rc = weir_region_open(owner, &params, &w->region, &err);
    if (rc == WEIR_OK) {
        memset(weir_region_base(w->region), 7, BYTES);
        rc = weir_region_publish(w->region, &name, &err);
    }
    if (rc == WEIR_OK) {
        rc = weir_asks_open(owner, name.space, 0, &w->asks, &err);
    }
    weir_node *other = weir_sim_node(w->sim, 1);
    if (rc == WEIR_OK) {
        rc = weir_peer_open(other, weir_node_address(owner), &w->peer, &err);
    }
    if (rc == WEIR_OK) {
        rc = weir_fetch_open(other, NULL, &w->fetch, &err);
    }
    return fair(rc, &err);
}

static void note(struct wares *w, uint32_t what, weir_err rc, const char *why)
{
    struct weir_error err = {0};
    (void)strncpy(err.message, why, sizeof(err.message) - 1);
    w->ended |= what;
    w->well |= fair(rc, &err) == WEIR_OK ? what : 0;
}

/* One operation after the other: what is not taken has failed. */
static void post(struct wares *w)
{
    uint32_t taken = 0;
    uint32_t what = w->posted + 1; /* 1, 2, 4 */
    weir_err rc;
    if (what == GET) {
        const struct weir_get get = {name, 1, BYTES / 2, NULL, GET};
        rc = weir_fetch_get(w->fetch, w->peer, &get, 1, &taken);
    } else if (what == PUT) {
        const struct weir_put put = {name, 5, sizeof(w->put), w->put, PUT};
        rc = weir_fetch_put(w->fetch, w->peer, &put, 1, &taken);
    } else {
        what = ASK;
        const struct weir_name call = {name.space, 2};
        rc = weir_fetch_ask(w->fetch, w->peer, &call, "?", 1, ASK);
    }
    w->posted |= what;
    if (rc != WEIR_OK) {
        note(w, what, rc, "post");
    }
}

static weir_err trade(void *arg, uint64_t now_ns)
{
    struct wares *w = arg;
    struct weir_got got;
    struct weir_ask ask;
    (void)now_ns;
    while (weir_asks_next(w->asks, &ask) == WEIR_OK) {
        weir_err rc = weir_ask_answer(&ask, WEIR_OK, "!", 1);
        (void)fair(rc, &(struct weir_error){.message = "answer"});
    }
    while (weir_fetch_next(w->fetch, &got) == WEIR_OK) {
        note(w, (uint32_t)got.tag, got.code, weir_fetch_error(w->fetch));
        if (got.code == WEIR_OK && got.tag == GET) {
            cr_assert_eq(got.bytes, BYTES / 2);
            cr_assert_eq(((const uint8_t *)got.ptr)[BYTES / 2 - 1], 7);
        }
        if (got.lent != 0) {
            weir_fetch_release(w->fetch, &got);
        }
    }
    if (w->ended == w->posted) {
        if (w->ended == ALL) {
            return WEIR_DONE;
        }
        post(w);
    }
    weir_sim_busy(w->sim, 10000);
    return WEIR_OK;
}

/* Does all of it go well, or end with a cause? */
static bool run_wares(weir_sim *sim)
{
    struct wares w = {.sim = sim};
    struct weir_error err = {0};
    bool well = open_wares(&w) == WEIR_OK;
    if (well) {
        weir_err rc = weir_sim_task(sim, 1, 0, trade, &w);
        well = fair(rc, &(struct weir_error){.message = "task"}) == WEIR_OK;
        rc = weir_sim_run(sim, WEIR_FOREVER, &err);
        over = rc == WEIR_ERR_NO_MEMORY;
        cr_assert(rc == WEIR_OK || over, "allocation %u: %s", refused_at,
                  err.message);
        well = well && w.well == ALL;
    }
    weir_fetch_close(w.fetch);
    weir_peer_close(w.peer);
    weir_asks_close(w.asks);
    weir_region_close(w.region);
    return well;
}

/* ---- again and again ----------------------------------------------------- */

static bool run_all(weir_sim *sim, uint64_t id)
{
    bool whole = run_query(sim, id);
    return !over && (query_alone || run_wares(sim)) && whole;
}

static void live_once(uint32_t refuse_at)
{
    const struct weir_sim_params params = {.nodes = MEMBERS,
                                           .node = {.max_shuffles = 4,
                                                    .frame_bytes = 4096,
                                                    .detect_ns = 50 * MS,
                                                    .connect_ns = 50 * MS}};
    struct weir_error err = {0};
    weir_sim *sim = NULL;
    long alive = live;
    asked = 0;
    refused_at = refuse_at;
    if (fair(weir_sim_open(&params, &sim, &err), &err) == WEIR_OK) {
        /* What was refused at a round's end may cost the next one its link. */
        bool before = refuse_at == NEVER;
        over = false;
        const uint64_t rounds = query_alone ? 2 : 3;
        for (uint64_t id = 1; id <= rounds && !over; id++) {
            bool was = asked >= refuse_at;
            cr_assert(run_all(sim, id) || over || !before,
                      "allocation %u: round %llu", refuse_at,
                      (unsigned long long)id);
            before = was;
        }
        weir_sim_close(sim);
    }
    wi_rcu_barrier();
    cr_assert_eq(live, alive, "allocation %u: %ld are left", refuse_at,
                 live - alive);
}

static void refuse_each(void)
{
    live_once(NEVER); /* what is made once and kept */
    live_once(NEVER);
    uint32_t all = asked;
    cr_assert_gt(all, 200);
    for (uint32_t i = 1; i <= all; i++) {
        live_once(i);
    }
}

Test(refused, each_allocation_once, .timeout = 110)
{
    refuse_each();
}

Test(refused, each_allocation_of_lists_once, .timeout = 110)
{
    rows.nested = &lists;
    rows.n_nested = 1;
    n_rows = BATCH;
    query_alone = true;
    refuse_each();
}

/* ---- names of hosts ------------------------------------------------------ */

/* Does a connection to a host by its name begin, its n-th allocation refused?
 * What the thread of the look-up itself asks for is not counted: it runs only
 * if nothing was refused. */
static bool look_up_begins(uint32_t n)
{
    const struct wi_transport_params params = {.name = "any"};
    struct weir_error err = {0};
    struct wi_transport *t = NULL;
    struct wi_ep *ep = NULL;
    refused_at = NEVER;
    cr_assert_eq(wi_tcp_ops.open(&params, &t, &err), WEIR_OK, "%s",
                 err.message);
    asked = 0;
    refused_at = n;
    weir_err rc = wi_tcp_ops.connect(t, "tcp:localhost:9", &ep, &err);
    if (rc == WEIR_OK) {
        wi_tcp_ops.disconnect(ep);
    } else {
        cr_assert_eq(rc, WEIR_ERR_NO_MEMORY, "allocation %u: %s", n,
                     weir_err_name(rc));
        cr_assert_null(ep);
        cr_assert_neq(err.message[0], '\0', "allocation %u", n);
    }
    wi_tcp_ops.close(t);
    return rc == WEIR_OK;
}

Test(refused, each_allocation_of_a_look_up_once)
{
    uint32_t n = 1;
    while (!look_up_begins(n)) {
        n++;
    }
    cr_assert_gt(n, 3, "an endpoint, the look-ups of all, and this one");
}

/* ---- what one function makes --------------------------------------------- */

static struct wi_schema *schema_of_all;
static struct ArrowArray made; /* two rows of it */

static weir_err by_range(struct weir_error *err)
{
    static const char *const keys[] = {"id", "text"};
    const struct wi_partition_params params = {.kind = WEIR_RANGE,
                                               .n_dest = 3,
                                               .keys = keys,
                                               .n_keys = 2,
                                               .bounds = &made};
    struct wi_partition *p = NULL;
    weir_err rc = wi_partition_open(schema_of_all, &params, &p, err);
    cr_assert_eq(rc == WEIR_OK, p != NULL);
    if (rc == WEIR_OK) {
        wi_partition_close(p);
    }
    return rc;
}

static weir_err picked(struct weir_error *err)
{
    static const uint32_t columns[] = {1, 0};
    struct wi_schema *s = NULL;
    weir_err rc = wi_schema_pick(schema_of_all, columns, 2, &s, err);
    cr_assert_eq(rc == WEIR_OK, s != NULL);
    if (rc == WEIR_OK) {
        wi_schema_close(s);
    }
    return rc;
}

/* Until none is refused any more. */
static void refuse_each_of(weir_err (*fn)(struct weir_error *err))
{
    weir_err rc = WEIR_ERR_NO_MEMORY;
    uint32_t n = 0;
    while (rc == WEIR_ERR_NO_MEMORY) {
        struct weir_error err = {0};
        long alive = live;
        asked = 0;
        refused_at = ++n;
        rc = fn(&err);
        refused_at = NEVER;
        cr_assert_eq(rc == WEIR_OK, asked < n, "allocation %u: %s", n,
                     weir_err_name(rc));
        cr_assert(rc == WEIR_OK || err.message[0] != '\0', "allocation %u", n);
        cr_assert_eq(live, alive, "allocation %u: %ld are left", n,
                     live - alive);
    }
    cr_assert_eq(rc, WEIR_OK, "allocation %u: %s", n, weir_err_name(rc));
    cr_assert_gt(n, 1);
}

Test(refused, each_allocation_of_a_partition_or_schema_once)
{
    struct ArrowSchema schema;
    struct weir_error err = {0};
    wt_rows_schema(&rows, false, &schema);
    wt_rows_make(&rows, 0, 2, &made);
    cr_assert_eq(wi_schema_open(&schema, &schema_of_all, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
    refuse_each_of(by_range);
    refuse_each_of(picked);
    made.release(&made);
    wi_schema_close(schema_of_all);
}

static const struct wi_transport_ops *ops;

static weir_err transport(struct weir_error *err)
{
    const struct wi_transport_params params = {.name = "any"};
    struct wi_transport *t = NULL;
    weir_err rc = ops->open(&params, &t, err);
    cr_assert_eq(rc == WEIR_OK, t != NULL);
    if (rc == WEIR_OK) {
        ops->close(t);
    }
    return rc;
}

Test(refused, each_allocation_of_a_transport_once)
{
    ops = &wi_shm_ops;
    refuse_each_of(transport);
    ops = &wi_tcp_ops;
    refuse_each_of(transport);
}

static struct wt_lone lone;

/* Rows of a query of one node, to itself. */
static weir_query *read_batch(struct ArrowArray *batch_out)
{
    static const uint32_t self = 0;
    const struct weir_query_params q = {
        .id = 1, .members = &self, .n_members = 1};
    struct ArrowSchema schema;
    const struct weir_shuffle_params s = {
        .schema = &schema, .partitioning = WEIR_GATHER, .producer_workers = 1};
    struct weir_error err = {0};
    weir_query *query = NULL;
    weir_shuffle *shuffle = NULL;
    weir_writer *writer = NULL;
    weir_reader *reader = NULL;
    wt_rows_schema(&rows, false, &schema);
    cr_assert_eq(weir_query_open(lone.node, &q, &query, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(query, &s, &shuffle, &err), WEIR_OK);
    schema.release(&schema);
    cr_assert_eq(weir_reader_open(shuffle, 0, &reader, &err), WEIR_OK);
    cr_assert_eq(weir_writer_open(shuffle, 0, &writer, &err), WEIR_OK);
    wt_lone_settle(&lone);
    wt_rows_make(&rows, 0, 2, &made);
    cr_assert_eq(weir_writer_push(writer, &made), WEIR_OK);
    made.release(&made);
    cr_assert_eq(weir_writer_flush(writer), WEIR_OK);
    cr_assert_eq(weir_reader_next(reader, batch_out), WEIR_OK);
    return query;
}

/* A batch that could not be copied is what it was. */
Test(refused, each_allocation_of_a_detach_once)
{
    struct ArrowArray batch;
    weir_err rc = WEIR_ERR_NO_MEMORY;
    uint32_t n = 0;
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    weir_query *query = read_batch(&batch);
    while (rc == WEIR_ERR_NO_MEMORY) {
        asked = 0;
        refused_at = ++n;
        rc = weir_batch_detach(&batch);
        refused_at = NEVER;
        cr_assert_eq(rc == WEIR_OK, asked < n, "allocation %u", n);
        cr_assert_eq(batch.length, 2);
        cr_assert_eq(((const int64_t *)batch.children[0]->buffers[1])[1], 1);
    }
    cr_assert_eq(rc, WEIR_OK);
    cr_assert_gt(n, 2);
    batch.release(&batch);
    weir_query_cancel(query, NULL);
    weir_query_close(query);
    wt_lone_close(&lone);
}
