/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which a member can spoil its query. */
#include <string.h>

#include "core/base/cc.h"
#include "core/link/edge.h"
#include "core/link/engine.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "test/support/rows.h"
#include "test/support/storm.h"

static weir_query *query_of(struct wt_storm *s, uint32_t node)
{
    return s->member[node].plan.query;
}

/* ---- opens that fail ----------------------------------------------------- */

static const struct weir_field key_field = {.name = "key", .format = "l"};
static const struct weir_field odd_field = {.name = "key", .format = "i"};

/* Its query, without a shuffle. */
static weir_err open_query(struct wt_storm *s, uint32_t node)
{
    struct wt_storm_member *m = &s->member[node];
    struct weir_query_params q = {.id = s->id};
    return weir_query_open(s->c.node[node], &q, &m->plan.query, &m->error);
}

static weir_err open_shuffle(struct wt_storm *s, uint32_t node, uint32_t id,
                             const struct weir_field *field, const char *key,
                             weir_shuffle **out)
{
    struct wt_storm_member *m = &s->member[node];
    const char *const keys[] = {key};
    struct ArrowSchema schema;
    weir_err rc = weir_schema_build(field, 1, &schema, &m->error);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_shuffle_params p = {.id = id,
                                    .schema = &schema,
                                    .partitioning = WEIR_HASH,
                                    .keys = keys,
                                    .n_keys = 1,
                                    .seed = 76 + id,
                                    .producer_workers = 1,
                                    .consumer_workers = 1};
    rc = weir_shuffle_open(m->plan.query, &p, out, &m->error);
    schema.release(&schema);
    return rc;
}

static weir_err unknown_column(struct wt_storm *s, uint32_t node)
{
    weir_shuffle *shuffle = NULL;
    weir_err rc = open_query(s, node);
    return rc != WEIR_OK
               ? rc
               : open_shuffle(s, node, 1, &key_field, "nokey", &shuffle);
}

static weir_err second_stage_fails(struct wt_storm *s, uint32_t node)
{
    weir_shuffle *shuffle = NULL;
    weir_writer *writer = NULL;
    weir_err rc = open_query(s, node);
    if (rc == WEIR_OK) {
        rc = open_shuffle(s, node, 1, &key_field, "key", &shuffle);
    }
    if (rc == WEIR_OK) {
        rc = weir_writer_open(shuffle, 0, &writer, &s->member[node].error);
    }
    return rc != WEIR_OK
               ? rc
               : open_shuffle(s, node, 2, &key_field, "nokey", &shuffle);
}

static weir_err too_many_shuffles(struct wt_storm *s, uint32_t node)
{
    weir_shuffle *shuffle = NULL;
    weir_err rc = open_query(s, node);
    for (uint32_t id = 10; rc == WEIR_OK; id++) {
        rc = open_shuffle(s, node, id, &key_field, "key", &shuffle);
    }
    return rc;
}

static weir_err other_columns(struct wt_storm *s, uint32_t node)
{
    struct wt_storm_member *m = &s->member[node];
    weir_shuffle *shuffle = NULL;
    weir_writer *writer = NULL;
    weir_reader *reader = NULL;
    weir_err rc = open_query(s, node);
    if (rc == WEIR_OK) {
        rc = open_shuffle(s, node, 1, &odd_field, "key", &shuffle);
    }
    if (rc == WEIR_OK) {
        rc = weir_reader_open(shuffle, 0, &reader, &m->error);
    }
    if (rc == WEIR_OK) {
        rc = weir_writer_open(shuffle, 0, &writer, &m->error);
    }
    return rc != WEIR_OK ? rc : WEIR_ERR_ABORTED;
}

static weir_err writer_of_nobody(struct wt_storm *s, uint32_t node)
{
    weir_shuffle *shuffle = NULL;
    weir_writer *writer = NULL;
    weir_err rc = open_query(s, node);
    if (rc == WEIR_OK) {
        rc = open_shuffle(s, node, 1, &key_field, "key", &shuffle);
    }
    return rc != WEIR_OK
               ? rc
               : weir_writer_open(shuffle, 7, &writer, &s->member[node].error);
}

static weir_err query_alone(struct wt_storm *s, uint32_t node)
{
    weir_err rc = open_query(s, node);
    return rc != WEIR_OK ? rc : WEIR_ERR_ABORTED;
}

/* A plan that makes no rows before its deadline. */
static weir_err deadline(struct wt_storm *s, uint32_t node)
{
    struct wt_storm_member *m = &s->member[node];
    struct weir_query_params q = {.id = s->id, .deadline_ns = 300000};
    struct wt_plan *p = &m->plan;
    weir_err rc = weir_query_open(s->c.node[node], &q, &p->query, &m->error);
    p->node = s->c.node[node];
    p->rows = 1;
    for (uint32_t i = 0; rc == WEIR_OK && i < 2; i++) {
        weir_shuffle *shuffle = NULL;
        rc = open_shuffle(s, node, 1 + i, &key_field, "key", &shuffle);
        if (rc == WEIR_OK) {
            rc = weir_writer_open(shuffle, 0, &p->writer[i], &m->error);
        }
        if (rc == WEIR_OK) {
            rc = weir_reader_open(shuffle, 0, &p->reader[i], &m->error);
        }
    }
    return rc;
}

/* ---- while it runs ------------------------------------------------------- */

static weir_err cancel(struct wt_storm *s, uint32_t node)
{
    weir_query_cancel(query_of(s, node), "enough");
    return WEIR_OK;
}

static weir_err fail(struct wt_storm *s, uint32_t node)
{
    struct weir_error cause = {.code = WEIR_ERR_QUERY_DATA, .message = "no"};
    (void)weir_query_fail(query_of(s, node), &cause);
    return WEIR_OK;
}

static weir_err leave(struct wt_storm *s, uint32_t node)
{
    (void)s;
    (void)node;
    return WEIR_DONE;
}

static weir_err close_writer(struct wt_storm *s, uint32_t node)
{
    struct wt_plan *p = &s->member[node].plan;
    for (uint32_t i = 0; i < 2; i++) {
        weir_writer_close(p->writer[i]);
        weir_reader_close(p->reader[i]);
    }
    return WEIR_DONE;
}

static weir_err leave_with_a_batch(struct wt_storm *s, uint32_t node)
{
    struct wt_storm_member *m = &s->member[node];
    if (m->plan.holds_moving) {
        m->kept = m->plan.moving;
        m->plan.holds_moving = false;
    }
    return WEIR_DONE;
}

/* A batch of columns that the shuffle has not. */
static weir_err push_nonsense(struct wt_storm *s, uint32_t node)
{
    static const struct weir_field fields[] = {{"id", "l", 0},
                                               {"text", "u", 0}};
    static const struct wt_rows rows = {.fields = fields, .n_fields = 2};
    struct wt_plan *p = &s->member[node].plan;
    struct ArrowArray batch;
    if (p->holds_made || p->finished[0]) {
        return WEIR_DONE;
    }
    wt_rows_make(&rows, 0, 8, &batch);
    weir_err rc = weir_writer_push(p->writer[0], &batch);
    batch.release(&batch);
    return rc < 0 ? WEIR_DONE : WEIR_OK;
}

/* ---- what came is damaged ------------------------------------------------ */

/* Do something to the rings of this query that a node reads and that have
 * unread frames of others. WEIR_AGAIN: there was none. */
static weir_err damage(struct wt_storm *s, uint32_t node,
                       void (*fn)(struct wi_in *in))
{
    struct wi_engine *e = &s->c.node[node]->engine;
    weir_err rc = WEIR_AGAIN;
    wi_node_lock(s->c.node[node]);
    for (uint32_t i = 0; i < e->n_members; i++) {
        struct wi_link *l = e->members[i].link;
        if (l == NULL || i == node) {
            continue;
        }
        wi_list_each(n, &l->ins)
        {
            struct wi_in *in = wi_container_of(n, struct wi_in, item.on_link);
            /* rlx: only a look, by the thread that reads the ring */
            if (in->query_id == s->id && !in->streams[0].ended &&
                wi_load_rlx(&in->ctl->tail) != in->scan) {
                fn(in);
                rc = WEIR_OK;
            }
        }
    }
    wi_node_unlock(s->c.node[node]);
    return rc;
}

/* Of a DATA frame a byte of its rows, else of what it says of itself. */
static void flip(struct wi_in *in)
{
    uint8_t *frame = in->mem + in->scan_off;
    frame[frame[4] == WI_FRAME_DATA ? 128 : 16] ^= 0x5a;
}

static void flip_header(struct wi_in *in)
{
    in->mem[in->scan_off] ^= 0x5a;
}

static void miscount(struct wi_in *in)
{
    in->streams[0].rows++;
}

static weir_err damage_rows(struct wt_storm *s, uint32_t node)
{
    return damage(s, node, flip);
}

static weir_err damage_headers(struct wt_storm *s, uint32_t node)
{
    return damage(s, node, flip_header);
}

static weir_err lose_rows(struct wt_storm *s, uint32_t node)
{
    return damage(s, node, miscount);
}

const struct wt_way wt_ways[] = {
    {"a shuffle by an unknown column", unknown_column, NULL},
    {"a second stage that cannot be opened", second_stage_fails, NULL},
    {"more shuffles than the plan has", too_many_shuffles, NULL},
    {"a shuffle of other columns", other_columns, NULL},
    {"a writer of a worker that is not there", writer_of_nobody, NULL},
    {"a query that is opened and closed", query_alone, NULL},
    {"a deadline on one member", deadline, NULL},
    {"a cancel", NULL, cancel},
    {"a fault of the program", NULL, fail},
    {"a close before the end", NULL, leave},
    {"writers and readers closed before the end", NULL, close_writer},
    {"a close with a batch in hand", NULL, leave_with_a_batch},
    {"a batch of other columns", NULL, push_nonsense},
    {"rows that were changed on their way", NULL, damage_rows},
    {"headers that were changed on their way", NULL, damage_headers},
    {"sums that do not agree", NULL, lose_rows},
};
const uint32_t wt_n_ways = WI_ARRAY_LEN(wt_ways);
