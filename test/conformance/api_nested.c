/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that have columns. */
#include "test/conformance/api.h"

#include <string.h>

#include <weir/layout.h>

#include "test/support/world.h"

static const struct weir_field flat[] = {{"id", "l", 0}, {"k", "l", 0}};
static const struct wt_nest deep[] = {{"y", "u", 1, NULL, 0, "vu"},
                                      {"b", "b", 0, NULL, 0, NULL}};
static const struct wt_nest fields[] = {{"x", "l", 0, NULL, 0, NULL},
                                        {"t", "+s", 1, deep, 2, NULL},
                                        {"z", "z", 0, NULL, 0, "Z"},
                                        {"f", "+s", 0, deep, 2, NULL},
                                        {"w", "w:5", 1, NULL, 0, "i"}};
static const struct wt_nest structs[] = {{"s", "+s", 1, fields, 5, NULL},
                                         {"u", "u", 1, NULL, 0, "i"},
                                         {"r", "+s", 0, fields, 5, NULL}};

static const struct wt_nest pair[] = {{"key", "u", 0, NULL, 0, "vu"},
                                      {"value", "l", 1, NULL, 0, NULL}};
static const struct wt_nest entries = {"entries", "+s", 0, pair, 2, NULL};
static const struct wt_nest number = {"item", "i", 1, NULL, 0, NULL};
static const struct wt_nest word = {"item", "u", 1, NULL, 0, "i"};
static const struct wt_nest flag = {"item", "b", 0, NULL, 0, NULL};
static const struct wt_nest three = {"item", "+w:3", 1, &flag, 1, NULL};
static const struct wt_nest some = {"item", "+l", 1, &number, 1, "+L"};
static const struct wt_nest whole = {"item", "+s", 1, fields, 5, NULL};
static const struct wt_nest in_struct[] = {{"m", "+m", 0, &entries, 1, NULL},
                                           {"x", "l", 1, NULL, 0, NULL}};
static const struct wt_nest lists[] = {
    {"l", "+l", 1, &number, 1, "+L"},  {"L", "+L", 0, &word, 1, "+l"},
    {"w", "+w:3", 1, &some, 1, NULL},  {"m", "+m", 1, &entries, 1, NULL},
    {"d", "+l", 1, &three, 1, NULL},   {"s", "+l", 0, &whole, 1, "+L"},
    {"f", "+s", 1, in_struct, 2, NULL}};

static struct wt_flow_params flow_of(const struct wt_nest *nested, uint32_t n)
{
    return (struct wt_flow_params){.rows = {.fields = flat,
                                            .n_fields = 2,
                                            .nested = nested,
                                            .n_nested = n,
                                            .nested_size = {.plain = true}},
                                   .n_rows = 2000,
                                   .batch_rows = 333};
}

/* Every writer is told how its batches are laid out. */
static void lay_out(struct wt_world *w)
{
    struct ArrowSchema schema;
    wt_rows_schema(&w->f.rows, true, &schema);
    for (uint32_t i = 0; i < WT_NODES * WT_WORKERS; i++) {
        struct wt_source *s = w->f.source[i / WT_WORKERS][i % WT_WORKERS];
        struct weir_error err = {0};
        if (s != NULL) {
            weir_err rc = weir_writer_layout(s->writer, &schema);
            (void)weir_writer_error(s->writer, &err);
            cr_assert_eq(rc, WEIR_OK, "%s", err.message);
        }
    }
    schema.release(&schema);
}

static void move(const struct wt_place *place,
                 const struct wt_cluster_params *cluster,
                 const struct wt_flow_params *flow)
{
    struct wt_world *w = wt_world_open(place, cluster, flow);
    if (!flow->rows.nested_size.plain) {
        lay_out(w);
    }
    wt_world_run(w);
    wt_world_close(w);
}

static void move_all(const struct wt_place *place, const struct wt_nest *nested,
                     uint32_t n)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2, .workers = 2, .node = {.frame_bytes = 8192}};
    struct wt_flow_params flow = flow_of(nested, n);
    move(place, &cluster, &flow);
    flow.rows.nested_size.plain = false;
    flow.rows.offset = 13;
    flow.rows.outer_offset = 65;
    move(place, &cluster, &flow);
    flow.rows.nested_size.all_null = true;
    move(place, &cluster, &flow);
    flow.rows.nested_size.all_null = false;
    flow.shuffle.partitioning = WEIR_BROADCAST;
    move(place, &cluster, &flow);
}

void wt_api_structs_travel(const struct wt_place *place)
{
    move_all(place, structs, 3);
}

void wt_api_lists_travel(const struct wt_place *place)
{
    move_all(place, lists, 7);
}

/* Some rows are larger than a frame. */
static void move_large(const struct wt_place *place,
                       const struct wt_nest *nested, uint32_t n)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2, .workers = 2, .node = {.frame_bytes = 4096}};
    struct wt_flow_params flow = flow_of(nested, n);
    flow.n_rows = 100;
    flow.batch_rows = 20;
    flow.rows.nested_size.var_bytes = 20000;
    move(place, &cluster, &flow);
    flow.rows.nested_size.plain = false;
    move(place, &cluster, &flow);
}

void wt_api_large_structs_travel(const struct wt_place *place)
{
    move_large(place, structs, 3);
}

void wt_api_large_lists_travel(const struct wt_place *place)
{
    move_large(place, lists, 7);
}

/* Row by row: from 32 destinations on. */
static void move_to_many(const struct wt_place *place,
                         const struct wt_nest *nested, uint32_t n)
{
    const struct wt_cluster_params cluster = {
        .nodes = 8, .workers = 4, .node = {.frame_bytes = 4096}};
    struct wt_flow_params flow = flow_of(nested, n);
    flow.n_rows = 500;
    move(place, &cluster, &flow);
    flow.rows.nested_size.plain = false;
    move(place, &cluster, &flow);
}

void wt_api_many_destinations_get_structs(const struct wt_place *place)
{
    move_to_many(place, structs, 3);
}

void wt_api_many_destinations_get_lists(const struct wt_place *place)
{
    move_to_many(place, lists, 7);
}

/* Batches that are kept, and their copies, have all columns. */
static void hold(const struct wt_place *place, const struct wt_nest *nested,
                 uint32_t n)
{
    const struct wt_cluster_params cluster = {
        .nodes = 2, .workers = 2, .node = {.frame_bytes = 4096}};
    struct wt_flow_params flow = flow_of(nested, n);
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    for (uint32_t i = 0; i < 4; i++) {
        struct wt_sink *s = w->f.sink[i / 2][i % 2];
        s->hold = 3;
        s->detach = i % 2 != 0;
    }
    wt_world_run(w);
    wt_world_close(w);
}

void wt_api_structs_are_held_and_detached(const struct wt_place *place)
{
    hold(place, structs, 3);
}

void wt_api_lists_are_held_and_detached(const struct wt_place *place)
{
    hold(place, lists, 7);
}

/* ---- what is refused ----------------------------------------------------- */

static void refuse_keys(struct wt_world *w, enum weir_partitioning kind,
                        const char *key, weir_err code, const char *text)
{
    const char *const keys[] = {key};
    struct weir_shuffle_params p = {.id = 99,
                                    .schema = &w->f.schema,
                                    .partitioning = kind,
                                    .keys = keys,
                                    .n_keys = 1};
    struct weir_error err = {0};
    weir_shuffle *s;
    cr_assert_eq(weir_shuffle_open(w->q.query[0], &p, &s, &err), code);
    cr_assert_not_null(strstr(err.message, text), "%s", err.message);
}

/* Nor do they come row by row. */
static void refuse_rows(struct wt_world *w)
{
    weir_row_writer *rows;
    struct weir_error err = {0};
    cr_assert_eq(weir_row_writer_open(w->f.source[0][0]->writer, &w->f.schema,
                                      0, &rows, &err),
                 WEIR_ERR_SCHEMA);
    cr_assert_not_null(strstr(err.message, "structs or lists"), "%s",
                       err.message);
}

void wt_api_lists_are_no_keys(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 1};
    struct wt_flow_params flow = flow_of(lists, 1);
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    refuse_keys(w, WEIR_HASH, "l", WEIR_ERR_SCHEMA, "\"+l\", which cannot");
    refuse_keys(w, WEIR_RANGE, "l", WEIR_ERR_SCHEMA, "\"+l\", which cannot");
    refuse_rows(w);
    /* As the schema has it: a list is taken in as before. */
    cr_assert_eq(weir_writer_layout(w->f.source[0][0]->writer, NULL), WEIR_OK);
    wt_world_run(w);
    wt_world_close(w);
}

void wt_api_structs_are_no_keys(const struct wt_place *place)
{
    const struct wt_cluster_params cluster = {.nodes = 1};
    struct wt_flow_params flow = flow_of(structs, 3);
    struct wt_world *w = wt_world_open(place, &cluster, &flow);
    refuse_keys(w, WEIR_HASH, "s", WEIR_ERR_SCHEMA, "\"+s\", which cannot");
    refuse_keys(w, WEIR_RANGE, "r", WEIR_ERR_SCHEMA, "\"+s\", which cannot");
    refuse_keys(w, WEIR_HASH, "s.x", WEIR_ERR_NOT_FOUND, "\"s.x\"");
    refuse_rows(w);
    wt_world_run(w);
    wt_world_close(w);
}
