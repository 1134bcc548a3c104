/* SPDX-License-Identifier: Apache-2.0 */
/* What the send side of a link hands to its transport, and in which order. The
 * node's transport is the simulator's, with a look at what it is given. */
#include "core/base/atomic.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/post.h"
#include "test/support/lone.h"
#include "test/support/rows.h"
#include "transport/registry.h"

static const struct weir_field fields[] = {{"id", "l", 0}};

static struct wt_lone lone;
static struct wi_transport_ops spied; /* the simulator's, except two */
static uint32_t opened;               /* EDGE_OPENs that were sent */
static uint32_t notified;             /* NOTIFYs */
static uint32_t writes;

static weir_err see_send(struct wi_ep *ep, const void *bytes, uint32_t len)
{
    union wi_msg m;
    struct weir_error err;
    uint32_t at = 0;
    while (wi_msg_next(bytes, len, &at, &m, &err) == WEIR_OK) {
        opened += m.head.type == WI_MSG_EDGE_OPEN;
        notified += m.head.type == WI_MSG_NOTIFY;
    }
    return wi_sim_ops.send(ep, bytes, len);
}

static weir_err see_write(struct wi_ep *ep, const struct wi_rma *op)
{
    cr_assert_eq(opened, 1, "a write into a ring that the peer does not know");
    writes++;
    return wi_sim_ops.write(ep, op);
}

static struct wi_link *open_link(void)
{
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    wt_raw_greet(wt_lone_dial(&lone));
    spied = wi_sim_ops;
    spied.send = see_send;
    spied.write = see_write;
    lone.node->engine.transport->ops = &spied;
    return lone.node->engine.members[1].link;
}

/* From us to the peer. */
static weir_shuffle *open_shuffle(weir_query **q)
{
    static const uint32_t members[] = {0, 1};
    const struct weir_query_params query = {
        .id = 1, .members = members, .n_members = 2};
    struct weir_shuffle_params shuffle = {.partitioning = WEIR_GATHER,
                                          .producers = &members[0],
                                          .n_producers = 1,
                                          .consumers = &members[1],
                                          .n_consumers = 1};
    struct ArrowSchema schema;
    struct weir_error err = {0};
    weir_shuffle *s = NULL;
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    shuffle.schema = &schema;
    cr_assert_eq(weir_query_open(lone.node, &query, q, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_shuffle_open(*q, &shuffle, &s, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
    return s;
}

static void push_row(weir_writer *w, bool flush)
{
    const struct wt_rows rows = {.fields = fields, .n_fields = 1};
    struct ArrowArray batch;
    wt_rows_make(&rows, 0, 1, &batch);
    cr_assert_eq(weir_writer_push(w, &batch), WEIR_OK);
    if (flush) {
        cr_assert_eq(weir_writer_flush(w), WEIR_OK);
    }
    batch.release(&batch);
}

/* Open a ring and write a row into it, while another thread posts or none. */
static void expect_order(bool posting)
{
    struct wi_link *l = open_link();
    struct weir_error err = {0};
    weir_query *q = NULL;
    weir_writer *w = NULL;
    weir_shuffle *s = open_shuffle(&q);
    opened = 0;
    writes = 0;
    if (posting) {
        cr_assert_eq(wi_xchg_sc(&l->lock, 1), 0);
    }
    cr_assert_eq(weir_writer_open(s, 0, &w, &err), WEIR_OK, "%s", err.message);
    push_row(w, true);
    if (posting) { /* it lets go, and looks at what was left meanwhile */
        cr_assert_eq(opened + writes, 0);
        wi_store_sc(&l->lock, 0);
        wi_link_pump(l);
    }
    cr_assert_eq(opened, 1);
    cr_assert_gt(writes, 0);
    weir_query_close(q);
    wt_lone_close(&lone);
}

Test(post, edge_is_opened_before_its_first_write, .timeout = 60)
{
    expect_order(false);
}

Test(post, edge_is_opened_before_its_first_write_by_who_posts, .timeout = 60)
{
    expect_order(true);
}

/* The end of a stream wakes its reader once, not for the last rows and again
 * for the end. */
Test(post, last_rows_and_end_go_together, .timeout = 60)
{
    struct weir_error err = {0};
    weir_query *q = NULL;
    weir_writer *w = NULL;
    (void)open_link();
    weir_shuffle *s = open_shuffle(&q);
    opened = 0;
    cr_assert_eq(weir_writer_open(s, 0, &w, &err), WEIR_OK, "%s", err.message);
    push_row(w, false);
    notified = 0;
    writes = 0;
    cr_assert_eq(weir_writer_finish(w), WEIR_OK);
    cr_expect_eq(writes, 1, "they lie beside each other");
    cr_expect_eq(notified, 1);
    weir_query_close(q);
    wt_lone_close(&lone);
}
