/* SPDX-License-Identifier: Apache-2.0 */
/* One of each thing that calls are given: two nodes of the simulator, the first
 * with a query, a run and their ends. */
#include "test/unit/args/args.h"

static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    (void)arg;
    (void)batch;
    (void)err;
    return WEIR_OK;
}

static void keep(struct ArrowArray *array)
{
    (void)array;
}

/* One row: 42, "x". */
static void make_batch(struct ArrowArray *batch)
{
    static const int64_t id = 42;
    static const int32_t offsets[] = {0, 1};
    static const void *id_buffers[] = {NULL, &id};
    static const void *text_buffers[] = {NULL, offsets, "x"};
    static const void *none[1];
    static struct ArrowArray column[2];
    static struct ArrowArray *columns[] = {&column[0], &column[1]};
    column[0] = (struct ArrowArray){
        .length = 1, .n_buffers = 2, .buffers = id_buffers, .release = keep};
    column[1] = (struct ArrowArray){
        .length = 1, .n_buffers = 3, .buffers = text_buffers, .release = keep};
    *batch = (struct ArrowArray){.length = 1,
                                 .n_buffers = 1,
                                 .n_children = 2,
                                 .buffers = none,
                                 .children = columns,
                                 .release = keep};
}

static void good(weir_err rc, const struct weir_error *err)
{
    cr_assert_eq(rc, WEIR_OK, "%s", err->message);
}

static void open_query(struct wt_args *w)
{
    const struct weir_field fields[] = {{"id", "l", 0}, {"text", "u", 1}};
    const struct weir_query_params query = {.id = 1};
    struct weir_shuffle_params shuffle = {.id = 1, .schema = &w->schema};
    struct weir_error *err = &w->err;
    shuffle.partitioning = WEIR_VECTOR;
    good(weir_schema_build(fields, 2, &w->schema, err), err);
    good(weir_query_open(w->node, &query, &w->query, err), err);
    good(weir_shuffle_open(w->query, &shuffle, &w->shuffle, err), err);
    good(weir_writer_open(w->shuffle, 0, &w->writer, err), err);
    good(weir_reader_open(w->shuffle, 0, &w->reader, err), err);
    good(weir_row_writer_open(w->writer, &w->schema, 0, &w->rw, err), err);
}

static void open_run(struct wt_args *w)
{
    const struct weir_series_column column = {.name = "id", .format = "l"};
    const struct weir_run_params run = {.query_id = 2, .rows = take_rows};
    struct weir_error *err = &w->err;
    weir_table *table;
    good(weir_table_series_open(&column, 1, 9, 1, &w->table, err), err);
    good(weir_table_series_open(&column, 1, 9, 1, &table, err), err);
    good(weir_plan_open(&w->plan, err), err);
    good(weir_plan_table(w->plan, "t", table, err), err);
    good(weir_plan_scan(w->plan, "s", "t", NULL, 0, err), err);
    good(weir_plan_result(w->plan, "s", err), err);
    good(weir_run_open(w->node, w->plan, &run, &w->run, err), err);
}

void wt_args_open(struct wt_args *w)
{
    const struct weir_sim_params params = {.nodes = 2};
    memset(w, 0, sizeof(*w));
    good(weir_sim_open(&params, &w->sim, &w->err), &w->err);
    w->node = weir_sim_node(w->sim, 0);
    make_batch(&w->batch);
    open_query(w);
    open_run(w);
    memset(&w->err, 0, sizeof(w->err));
}

void wt_args_close(struct wt_args *w)
{
    weir_run_close(w->run);
    weir_plan_close(w->plan);
    weir_table_close(w->table);
    weir_row_writer_close(w->rw);
    weir_query_close(w->query);
    w->schema.release(&w->schema);
    weir_sim_close(w->sim);
}

void wt_args_code(const char *fn, const char *arg, weir_err want, weir_err got,
                  struct weir_error *err)
{
    cr_expect_eq(got, want, "%s, %s: %s", fn, arg, weir_err_name(got));
    if (err != NULL) {
        cr_expect_eq(err->code, want, "%s, %s", fn, arg);
        cr_expect_not_null(strstr(err->message, arg), "%s: no %s in: %s", fn,
                           arg, err->message);
        memset(err, 0, sizeof(*err));
    }
}

void wt_args_holds(const char *fn, const char *arg, bool holds)
{
    cr_expect(holds, "%s, %s", fn, arg);
}

Test(args, the_world_is_in_order)
{
    struct wt_args w;
    wt_args_open(&w);
    cr_expect_eq(weir_query_status(w.query, NULL), WEIR_OK);
    cr_expect_eq(weir_run_status(w.run, NULL), WEIR_OK);
    wt_args_close(&w);
}
