/* SPDX-License-Identifier: Apache-2.0 */
/* The operator that writes: what is in the file, and the row about it. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "operators/op/ops.h"
#include "test/support/operators.h"

/* A file that is gone when it is closed, with a second descriptor to read. */
static weir_err open_file(void *arg, uint32_t part, struct wi_write_file *out,
                          struct weir_error *err)
{
    char path[] = "/tmp/write-test-XXXXXX";
    int *copy = arg;
    (void)err;
    cr_assert_eq(part, 3);
    out->fd = mkstemp(path);
    cr_assert_geq(out->fd, 0);
    (void)unlink(path);
    *copy = dup(out->fd);
    (void)strcpy(out->name, "part");
    return WEIR_OK;
}

static weir_err open_full(void *arg, uint32_t part, struct wi_write_file *out,
                          struct weir_error *err)
{
    (void)arg;
    (void)part;
    (void)err;
    out->fd = open("/dev/full", O_WRONLY);
    cr_assert_geq(out->fd, 0);
    (void)strcpy(out->name, "part-7");
    return WEIR_OK;
}

static weir_err open_none(void *arg, uint32_t part, struct wi_write_file *out,
                          struct weir_error *err)
{
    (void)arg;
    (void)part;
    (void)out;
    (void)snprintf(err->message, sizeof(err->message), "no such place");
    return WEIR_ERR_SYSTEM;
}

/* Writes the rows; gives the rows about the file, or the fault in ctx. */
static void run(struct wi_ctx *ctx, const struct wt_op_rows *in,
                wi_write_fn file, void *arg, struct wt_op_rows *out)
{
    static const struct wi_str header[] = {{"a,b", 3}, {NULL, 0}, {"c", 1}};
    struct wi_op *op;
    wt_op_rows_init(out, "part:int64 rows:int64 bytes:int64");
    const struct wi_write_params p = {.columns = &out->columns,
                                      .in = &in->columns,
                                      .header = header,
                                      .file = file,
                                      .arg = arg};
    wt_ctx_init(ctx, 0);
    ctx->part = 3;
    cr_assert_eq(wi_write_open(ctx, &p, wt_source(ctx, in, 5), &op), WEIR_OK);
    wt_run_op(ctx, op, file == open_file ? WEIR_OK : WEIR_ERR_ABORTED, out);
}

Test(write, rows_are_a_csv_file_and_one_row_says_how_many)
{
    static const char expected[] = "\"a,b\",,c\n"
                                   "1,x,1.50\n"
                                   ",\"\",-0.05\n"
                                   "3,,\n";
    struct wi_ctx ctx;
    struct wt_op_rows in;
    struct wt_op_rows out;
    char text[100] = "";
    int fd = -1;
    wt_op_rows_init(&in, "n:int64? s:utf8? d:decimal(8,2)?");
    wt_op_rows_add_all(&in, "1 x 150\n- \"\" -5\n3 - -");
    run(&ctx, &in, open_file, &fd, &out);
    cr_assert_eq(pread(fd, text, sizeof(text) - 1, 0),
                 (ssize_t)strlen(expected));
    cr_expect_str_eq(text, expected);
    cr_assert_eq(out.n, 1);
    const struct wt_value *row = wt_op_rows_at(&out, 0);
    cr_expect(row[WI_WRITE_PART].i == 3);
    cr_expect(row[WI_WRITE_ROWS].i == 3);
    cr_expect(row[WI_WRITE_BYTES].i == (int64_t)strlen(expected));
    (void)close(fd);
    wt_op_rows_fini(&in);
    wt_op_rows_fini(&out);
}

/* Not WEIR_ERR_QUERY_DATA: the rows are not at fault. */
Test(write, a_file_that_cannot_be_written_is_named)
{
    struct wi_ctx ctx;
    struct wt_op_rows in;
    struct wt_op_rows out;
    wt_op_rows_init(&in, "n:int64? s:utf8? d:decimal(8,2)?");
    wt_op_rows_add_all(&in, "1 x 150");
    run(&ctx, &in, open_full, NULL, &out);
    cr_expect_str_eq(ctx.err.message, "write part-7: No space left on device");
    wt_op_rows_fini(&out);
    run(&ctx, &in, open_none, NULL, &out);
    cr_expect_str_eq(ctx.err.message, "no such place");
    wt_op_rows_fini(&out);
    wt_op_rows_fini(&in);
}
