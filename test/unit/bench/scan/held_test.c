/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "bench/scan/held.h"
#include "bench/scan/sum.h"
#include "bench/scan/talk.h"
#include "cli/scan/engine.h"
#include "test/unit/bench/scan/batches.h"

TestSuite(scan_held, .timeout = 60);
TestSuite(scan_talk, .timeout = 60);

struct fixture {
    struct wt_scan_batches batches;
    struct wt_scan_stream stream;
    struct wb_held *held;
    struct weir_scan_engine engine;
};

static void hold(struct fixture *f)
{
    wt_scan_batches_init(&f->batches);
    f->stream = (struct wt_scan_stream){.batches = &f->batches};
    struct ArrowArrayStream from = wt_scan_stream(&f->stream);
    cr_assert_eq(wb_held_open(&from, &f->held, NULL), WEIR_OK);
    cr_assert_eq(f->stream.released, 1);
    f->engine = wb_held_engine(f->held);
}

static weir_err ask(void *arg, const char *text,
                    struct ArrowArrayStream *stream_out, struct weir_error *err)
{
    return engine_query(arg, text, stream_out, err);
}

static struct wb_scan_pass run(struct fixture *f, const char *line)
{
    struct wb_scan_pass pass;
    const struct wb_scan_way way = {.open = ask, .arg = &f->engine};
    cr_assert_eq(wb_scan_pass_run(&way, line, &pass, NULL), WEIR_OK, "%s",
                 line);
    return pass;
}

Test(scan_held, lends_what_it_took_again_and_again)
{
    struct fixture f;
    struct wb_scan_sum sum = {.sum = 0};
    hold(&f);
    cr_assert_eq(wb_scan_sum(&f.batches.schema, &f.batches.array, &sum), 0);
    for (int i = 0; i < 3; i++) {
        struct wb_scan_pass pass = run(&f, "read 2");
        cr_assert_eq(pass.rows, WT_SCAN_ROWS);
        cr_assert_eq(pass.sum, sum.sum);
        cr_assert_eq(pass.bytes, sum.bytes);
    }
    cr_assert_eq(f.batches.released, 0);
    wb_held_close(f.held);
    cr_assert_eq(f.batches.released, 2);
}

Test(scan_held, has_the_columns_asked_for)
{
    struct fixture f;
    hold(&f);
    cr_assert_eq(run(&f, "read 1").bytes, WT_SCAN_ROWS * sizeof(int64_t));
    cr_assert_eq(run(&f, "read 2 one").rows, 1);
    struct ArrowArrayStream stream = {.release = NULL};
    static const char *const wrong[] = {"0", "3", "-1", "", "2 two", "x"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_assert_eq(engine_query(&f.engine, wrong[i], &stream, NULL),
                     WEIR_ERR_ARG, "%s", wrong[i]);
    }
    cr_assert_null(stream.release);
    wb_held_close(f.held);
}

Test(scan_held, passes_on_why_a_stream_failed)
{
    struct fixture f;
    struct weir_error err;
    wt_scan_batches_init(&f.batches);
    f.stream = (struct wt_scan_stream){.batches = &f.batches, .fails = 5};
    struct ArrowArrayStream from = wt_scan_stream(&f.stream);
    cr_assert_eq(wb_held_open(&from, &f.held, &err), WEIR_ERR_DATA);
    cr_assert_not_null(strstr(err.message, "the engine has tripped"));
    cr_assert_eq(f.batches.released, 2);
    cr_assert_eq(f.stream.released, 1);
}

Test(scan_talk, counts_what_it_takes_and_reads)
{
    struct fixture f;
    hold(&f);
    struct wb_scan_pass take = run(&f, "take 2");
    cr_assert_eq(take.rows, WT_SCAN_ROWS);
    cr_assert_eq(take.sum, 0);
    struct wb_scan_pass one = run(&f, "read 2 one");
    struct wb_scan_pass many = run(&f, "one 5 2 one");
    cr_assert_eq(many.rows, 5);
    cr_assert_eq(many.sum, one.sum);
    cr_assert_eq(many.bytes, one.bytes);
    cr_assert_gt(many.seconds, 0.0);
    wb_held_close(f.held);
}

Test(scan_talk, answers_line_by_line)
{
    static const char told[] = "read 2\nread 9\nfly\ntake 1\n";
    struct fixture f;
    char said[512] = "";
    hold(&f);
    const struct wb_scan_way way = {.open = ask, .arg = &f.engine};
    FILE *from = fmemopen((void *)(uintptr_t)told, sizeof(told) - 1, "r");
    FILE *to = fmemopen(said, sizeof(said), "w");
    cr_assert_eq(wb_scan_talk(&way, "weir", from, to, NULL), WEIR_OK);
    (void)fclose(from);
    (void)fclose(to);
    cr_assert_eq(strncmp(said, "ready weir\nrows 8 bytes ", 24), 0, "%s", said);
    cr_assert_not_null(strstr(said, "\nfailed no such columns: \"9\"\n"));
    cr_assert_not_null(strstr(said, "\nfailed told to \"fly\"\n"));
    cr_assert_not_null(strstr(said, "\nrows 8 bytes 0 sum 0 seconds "));
    wb_held_close(f.held);
}
