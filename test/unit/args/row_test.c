/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of row writers and cursors. */
#include "test/unit/args/args.h"

Test(args, row_writer)
{
    struct wt_args world;
    struct wt_args *w = &world;
    weir_row_writer *new = NULL;
    wt_args_open(w);
    REFUSES(weir_row_writer_open, writer, NULL, &w->schema, 0, &new, &w->err);
    REFUSES(weir_row_writer_open, schema, w->writer, NULL, 0, &new, &w->err);
    REFUSES(weir_row_writer_open, row_writer_out, w->writer, &w->schema, 0,
            NULL, &w->err);
    REFUSES(weir_row_writer_open, rows, w->writer, &w->schema, 65537, &new,
            &w->err);
    CODE(weir_row_set_int64, rw, WEIR_ERR_ARG, NULL, 0, 1);
    CODE(weir_row_set_int64, column, WEIR_ERR_ARG, w->rw, 2, 1);
    CODE(weir_row_set_double, rw, WEIR_ERR_ARG, NULL, 0, 1.0);
    CODE(weir_row_set_double, column, WEIR_ERR_ARG, w->rw, 2, 1.0);
    CODE(weir_row_set_bytes, rw, WEIR_ERR_ARG, NULL, 1, "x", 1);
    CODE(weir_row_set_bytes, column, WEIR_ERR_ARG, w->rw, 2, "x", 1);
    CODE(weir_row_set_bytes, bytes, WEIR_ERR_ARG, w->rw, 1, NULL, 1);
    ANSWERS(weir_row_writer_error, rw,
            weir_row_writer_error(w->rw, &w->err) == WEIR_ERR_ARG &&
                strstr(w->err.message, "bytes") != NULL);
    ALLOWS(weir_row_set_bytes, bytes,
           weir_row_set_bytes(w->rw, 1, NULL, 0) == WEIR_OK);
    CODE(weir_row_end, rw, WEIR_ERR_ARG, NULL);
    CODE(weir_row_writer_flush, rw, WEIR_ERR_ARG, NULL);
    CODE(weir_row_end_wait, rw, WEIR_ERR_ARG, NULL);
    CODE(weir_row_writer_flush_wait, rw, WEIR_ERR_ARG, NULL);
    REFUSES(weir_row_writer_error, rw, NULL, &w->err);
    ALLOWS(weir_row_writer_close, rw, DONE(weir_row_writer_close(NULL)));
    cr_assert_null(new);
    wt_args_close(w);
}

Test(args, row_cursor)
{
    struct wt_args world;
    struct wt_args *w = &world;
    uint64_t len = 0;
    wt_args_open(w);
    struct weir_row_cursor none = weir_row_cursor_at(NULL, &w->schema);
    struct weir_row_cursor c = weir_row_cursor_at(&w->batch, NULL);
    ANSWERS(weir_row_next, cursor, weir_row_next(NULL) == 0);
    ANSWERS(weir_row_cursor_at, batch, weir_row_next(&none) == 0);
    ANSWERS(weir_row_cursor_at, schema, weir_row_next(&c) == 1);
    ABORTS(weir_row_int64, c, &c, 0); /* no schema */
    c.schema = &w->schema;
    cr_assert_eq(weir_row_int64(&c, 0), 42);
    ABORTS(weir_row_is_null, c, NULL, 0);
    ABORTS(weir_row_is_null, column, &c, 2);
    ABORTS(weir_row_int64, c, NULL, 0);
    ABORTS(weir_row_int64, column, &c, 2);
    ABORTS(weir_row_double, c, NULL, 0);
    ABORTS(weir_row_double, column, &c, 2);
    ABORTS(weir_row_bytes, c, NULL, 1, &len);
    ABORTS(weir_row_bytes, column, &c, 2, &len);
    ABORTS(weir_row_bytes, len_out, &c, 1, NULL);
    wt_args_close(w);
}
