/* SPDX-License-Identifier: Apache-2.0 */
/* Batches whose columns are laid out otherwise than the shuffle's. */
#include "test/conformance/api.h"

#include <string.h>

#include <weir/layout.h>

#include "test/support/world.h"

static const struct weir_field fields[] = {
    {"id", "l", 0}, {"k", "l", 0}, {"u", "u", 0}, {"i?", "i", 1},
    {"u?", "u", 1}, {"z", "z", 0}, {"b", "b", 1}, {"z?", "z", 1}};

static struct wt_flow_params flow_of(const char *const *keys, uint32_t n_keys)
{
    return (struct wt_flow_params){
        .shuffle = {.partitioning = WEIR_HASH, .keys = keys, .n_keys = n_keys},
        .rows = {.fields = fields,
                 .n_fields = sizeof(fields) / sizeof(fields[0]),
                 .var_bytes = 40},
        .n_rows = 3000,
        .batch_rows = 333};
}

static void lay_out(struct wt_source *s, enum wt_layout layout)
{
    const struct wt_rows *rows = &s->flow->rows;
    struct ArrowSchema schema;
    struct weir_error err = {0};
    wt_relaid_schema(rows->fields, rows->n_fields, layout, &schema);
    weir_err rc = weir_writer_layout(s->writer, &schema);
    (void)weir_writer_error(s->writer, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    schema.release(&schema);
    s->layout = layout;
}

/* Every writer of a shuffle has another layout. */
static void move(const struct wt_place *place,
                 const struct wt_cluster_params *cluster,
                 const struct wt_flow_params *flow)
{
    struct wt_world *w = wt_world_open(place, cluster, flow);
    uint32_t layout = WT_LAYOUT_PLAIN;
    for (uint32_t n = 0; n < WT_NODES; n++) {
        for (uint32_t k = 0; k < WT_WORKERS; k++) {
            if (w->f.source[n][k] != NULL) {
                layout++;
                lay_out(w->f.source[n][k], layout % WT_LAYOUTS);
            }
        }
    }
    wt_world_run(w);
    wt_world_close(w);
}

void wt_api_texts_of_any_layout_travel(const struct wt_place *place)
{
    static const char *const keys[] = {"u?", "z"};
    const struct wt_cluster_params cluster = {
        .nodes = 2, .workers = 2, .node = {.frame_bytes = 8192}};
    struct wt_flow_params flow = flow_of(keys, 2);
    move(place, &cluster, &flow);
    flow.rows.offset = 13;
    flow.rows.outer_offset = 65;
    move(place, &cluster, &flow);
    flow.rows.all_null = true;
    move(place, &cluster, &flow);
    flow.rows.all_null = false;
    flow.shuffle.partitioning = WEIR_BROADCAST;
    flow.shuffle.keys = NULL;
    flow.shuffle.n_keys = 0;
    move(place, &cluster, &flow);
}

/* In chunks, and in frames of their own. */
void wt_api_large_texts_of_any_layout_travel(const struct wt_place *place)
{
    static const char *const keys[] = {"u"};
    const struct wt_cluster_params cluster = {
        .nodes = 2, .workers = 2, .node = {.frame_bytes = 4096}};
    struct wt_flow_params flow = flow_of(keys, 1);
    flow.n_rows = 300;
    flow.rows.big_every = 20;
    flow.rows.big_bytes = 20000;
    move(place, &cluster, &flow);
}

/* Without lists: from 32 destinations on. */
void wt_api_many_destinations_get_texts_of_any_layout(
    const struct wt_place *place)
{
    static const char *const keys[] = {"u", "z?"};
    const struct wt_cluster_params cluster = {
        .nodes = 8, .workers = 4, .node = {.frame_bytes = 2048}};
    struct wt_flow_params flow = flow_of(keys, 2);
    flow.n_rows = 500;
    move(place, &cluster, &flow);
}

/* ---- what is refused ----------------------------------------------------- */

static void refuse(struct wt_source *s, const char *format, const char *text)
{
    struct weir_field other[8];
    struct ArrowSchema schema;
    struct weir_error err = {0};
    memcpy(other, fields, sizeof(other));
    cr_assert_eq(weir_schema_build(other, 8, &schema, NULL), WEIR_OK);
    schema.children[2]->format = format;
    cr_assert_eq(weir_writer_layout(s->writer, &schema), WEIR_ERR_SCHEMA);
    cr_assert_eq(weir_writer_error(s->writer, &err), WEIR_ERR_SCHEMA);
    cr_assert_not_null(strstr(err.message, text), "%s", err.message);
    schema.n_children = 7;
    cr_assert_eq(weir_writer_layout(s->writer, &schema), WEIR_ERR_SCHEMA);
    schema.n_children = 8;
    schema.release(&schema);
    cr_assert_eq(weir_writer_layout(s->writer, &schema), WEIR_ERR_ARG);
}

/* A view that ends behind its buffer; nothing of the batch has gone. */
static void refuse_view(struct wt_source *s)
{
    struct ArrowArray batch;
    struct weir_error err = {0};
    wt_rows_make(&s->flow->rows, 0, 50, &batch);
    wt_relaid_make(s->flow->rows.fields, WT_LAYOUT_VIEW, &batch);
    int64_t *sizes = (int64_t *)(uintptr_t)batch.children[2]->buffers[4];
    int64_t size = sizes[0];
    sizes[0] = 5;
    cr_assert_eq(weir_writer_push(s->writer, &batch), WEIR_ERR_DATA);
    (void)weir_writer_error(s->writer, &err);
    cr_assert_not_null(strstr(err.message, "column u, row"), "%s", err.message);
    sizes[0] = size;
    batch.release(&batch);
}

void wt_api_layouts_are_told_and_checked(const struct wt_place *place)
{
    static const char *const keys[] = {"u"};
    const struct wt_cluster_params cluster = {.node = {.frame_bytes = 2048}};
    struct wt_flow_params flow = flow_of(keys, 1);
    flow.n_rows = 30000;
    flow.batch_rows = 30000;
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    struct wt_source *s = w->f.source[0][0];
    refuse(s, "vz", "column u has format \"vz\"");
    refuse(s, "l", "column u has format \"l\"");
    lay_out(s, WT_LAYOUT_VIEW);
    refuse(s, "Z", "column u has format \"Z\"");
    refuse_view(s);
    cr_assert_eq(s->task->step(s), WEIR_AGAIN);
    cr_assert_eq(weir_writer_push(s->writer, &s->batch), WEIR_AGAIN);
    cr_assert_eq(weir_writer_layout(s->writer, NULL), WEIR_ERR_STATE);
    struct ArrowArray other = s->batch;
    other.offset++;
    cr_assert_eq(weir_writer_push(s->writer, &other), WEIR_ERR_STATE);
    wt_world_run(w);
    wt_world_close(w);
}
