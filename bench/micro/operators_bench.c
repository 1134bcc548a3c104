/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that keep rows, alone on one core: how many rows per second they
 * take, from chunks in memory.
 *
 *   operators_bench [repetitions [rows [name]]]
 *
 * Trials whose name begins with `name` run.
 *
 * Per trial the median of the repetitions in processor time, as rows per second
 * and ns per row, and the number of rows given out, which must be the same each
 * time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/lib/machine.h"
#include "operators/op/ops.h"

enum { MAX_COLUMNS = 4, MAX_REPETITIONS = 101 };

static uint64_t n_rows = 1 << 22;
static uint32_t repetitions = 5;
static const char *wanted = "";

static double now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "operators_bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- rows ---------------------------------------------------------------- */

/* A column: number of the row divided by `repeat`, then scattered (unless
 * SEQUENCE), modulo `values`. */
enum order { SEQUENCE, SCATTERED };
struct spec {
    enum order order;
    uint64_t repeat;
    uint64_t values;
};

struct source {
    struct wi_op op; /* first */
    int64_t *col[MAX_COLUMNS];
    uint32_t n_cols;
    uint64_t n;
    uint64_t next;
    struct wi_vec vec[MAX_COLUMNS];
};

static uint64_t scatter(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
    return x ^ x >> 33;
}

static int64_t value_of(const struct spec *spec, uint64_t row)
{
    uint64_t v = row / spec->repeat;
    v = spec->order == SEQUENCE ? v : scatter(v);
    return (int64_t)(v % spec->values);
}

static enum wi_state step_source(struct wi_op *op, struct wi_chunk *out)
{
    struct source *s = (struct source *)op;
    uint64_t left = s->n - s->next;
    if (left == 0) {
        return WI_DONE;
    }
    uint32_t n = left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
    for (uint32_t c = 0; c < s->n_cols; c++) {
        s->vec[c] = (struct wi_vec){WI_I64, s->col[c] + s->next, NULL};
    }
    *out = (struct wi_chunk){n, s->n_cols, NULL, s->vec};
    s->next += n;
    return WI_MOVED;
}

static void close_source(struct wi_op *op)
{
    (void)op; /* rows are used again */
}

static const struct wi_op_ops source_ops = {
    .name = "source",
    .step = step_source,
    .stop = wi_op_ignore_stop,
    .close = close_source,
};

static void fill_source(struct source *s, const struct spec *specs,
                        uint32_t n_cols, uint64_t n)
{
    s->n_cols = n_cols;
    s->n = n;
    for (uint32_t c = 0; c < n_cols; c++) {
        s->col[c] = malloc(n * sizeof(int64_t));
        if (s->col[c] == NULL) {
            die("rows", "no memory");
        }
        for (uint64_t i = 0; i < n; i++) {
            s->col[c][i] = value_of(&specs[c], i);
        }
    }
}

static struct wi_op *rewind_source(struct source *s, struct wi_ctx *ctx)
{
    wi_op_init(&s->op, &source_ops, ctx, NULL, NULL);
    s->next = 0;
    return &s->op;
}

static void free_source(struct source *s)
{
    for (uint32_t c = 0; c < s->n_cols; c++) {
        free(s->col[c]);
    }
}

static void fill_columns(struct wi_columns *columns, const char *types)
{
    char *text = strdup(types);
    char *rest = text;
    for (char *word = strsep(&rest, " "); word != NULL;
         word = strsep(&rest, " ")) {
        struct wi_type type;
        if (!wi_type_parse(word, &type) ||
            wi_columns_add(columns, word, &type) != WEIR_OK) {
            die(word, "no such type");
        }
    }
    free(text);
}

/* ---- trials -------------------------------------------------------------- */

struct trial {
    const char *name;
    struct source in[2];
    struct wi_columns columns[2]; /* of the inputs */
    struct wi_columns out;
    uint64_t rows; /* that the time is divided by */
    weir_err (*open)(struct trial *t, struct wi_ctx *ctx, struct wi_op **out);
    const void *params;
};

static uint64_t drain(struct wi_op *op, const struct wi_ctx *ctx)
{
    struct wi_chunk chunk = {0};
    uint64_t rows = 0;
    for (enum wi_state state = WI_MOVED; state != WI_DONE;) {
        state = wi_op_step(op, &chunk);
        if (state == WI_FAILED) {
            die("step", ctx->err.message);
        }
        rows += state == WI_MOVED ? chunk.n : 0;
    }
    return rows;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool is_wanted(const char *name)
{
    return strncmp(name, wanted, strlen(wanted)) == 0;
}

static void run_trial(struct trial *t)
{
    double ns[MAX_REPETITIONS];
    uint64_t rows_out = 0;
    uint64_t peak_bytes = 0;
    for (uint32_t i = 0; i < repetitions; i++) {
        struct wi_ctx ctx = {.workers = 1, .n_parts = 1};
        struct wi_op *op = NULL;
        double begin = now_ns();
        if (t->open(t, &ctx, &op) != WEIR_OK) {
            die(t->name, ctx.err.message);
        }
        uint64_t rows = drain(op, &ctx);
        wi_op_close(op);
        ns[i] = (now_ns() - begin) / (double)t->rows;
        if (i > 0 && rows != rows_out) {
            die(t->name, "another number of rows than before");
        }
        rows_out = rows;
        peak_bytes = ctx.mem.peak_bytes;
    }
    qsort(ns, repetitions, sizeof(*ns), compare_doubles);
    double median = ns[repetitions / 2];
    printf("%-28s %8.1f Mrows/s %7.2f ns/row  %9" PRIu64 " rows out %6" PRIu64
           " MiB\n",
           t->name, 1e3 / median, median, rows_out, peak_bytes >> 20);
}

static void close_trial(struct trial *t)
{
    for (uint32_t i = 0; i < 2; i++) {
        free_source(&t->in[i]);
        wi_columns_fini(&t->columns[i]);
    }
    wi_columns_fini(&t->out);
}

/* ---- join ---------------------------------------------------------------- */

static weir_err open_join(struct trial *t, struct wi_ctx *ctx,
                          struct wi_op **out)
{
    return wi_join_open(ctx, t->params, rewind_source(&t->in[0], ctx),
                        rewind_source(&t->in[1], ctx), out);
}

/* `keys` scattered or dense keys, each once on the right; left rows look for
 * twice as many. right_rows 0: n_rows. */
static void bench_join(const char *name, uint32_t n_keys, bool dense,
                       uint64_t right_rows, uint64_t left_rows)
{
    static const uint32_t cols[] = {0, 1, 2};
    struct trial t = {.name = name, .open = open_join};
    if (!is_wanted(name)) {
        return;
    }
    uint64_t stretch = dense ? 1 : 1000003;
    const struct spec left[] = {
        {SCATTERED, 1, 2 * right_rows}, {SEQUENCE, 1, 1}, {SEQUENCE, 1, 1}};
    const struct spec right[] = {
        {SEQUENCE, 1, right_rows}, {SEQUENCE, 1, 1}, {SEQUENCE, 1, right_rows}};
    fill_source(&t.in[0], left, 3, left_rows);
    fill_source(&t.in[1], right, 3, right_rows);
    for (uint32_t s = 0; s < 2; s++) {
        for (uint64_t i = 0; i < t.in[s].n; i++) {
            t.in[s].col[0][i] *= (int64_t)stretch;
        }
        fill_columns(&t.columns[s], "int64 int64 int64");
    }
    fill_columns(&t.out, "int64 int64 int64 int64");
    const struct wi_join_params p = {.columns = &t.out,
                                     .left = &t.columns[0],
                                     .right = &t.columns[1],
                                     .kind = WEIR_JOIN_INNER,
                                     .n_keys = n_keys,
                                     .left_keys = cols,
                                     .right_keys = cols,
                                     .n_right_out = 1,
                                     .right_out = &cols[2]};
    t.params = &p;
    t.rows = left_rows > right_rows ? left_rows : right_rows;
    run_trial(&t);
    close_trial(&t);
}

static void bench_joins(void)
{
    bench_join("join build hash", 1, false, n_rows, 1);
    bench_join("join build dense", 1, true, n_rows, 1);
    bench_join("join build hash 2 keys", 2, false, n_rows, 1);
    bench_join("join probe hash 4 Ki", 1, false, 4096, n_rows);
    bench_join("join probe hash 1 Mi", 1, false, 1 << 20, n_rows);
    bench_join("join probe hash 2 keys 1 Mi", 2, false, 1 << 20, n_rows);
    bench_join("join probe dense 1 Mi", 1, true, 1 << 20, n_rows);
}

/* ---- aggregate ----------------------------------------------------------- */

static weir_err open_agg(struct trial *t, struct wi_ctx *ctx,
                         struct wi_op **out)
{
    return wi_agg_open(ctx, t->params, rewind_source(&t->in[0], ctx), out);
}

/* count(*), sum(int), sum(decimal) by the first n_groups columns. */
static void bench_agg(const char *name, const struct spec *group,
                      uint32_t n_groups, weir_aggregate_mode mode)
{
    static const uint32_t cols[] = {0, 1};
    struct trial t = {.name = name, .open = open_agg};
    if (!is_wanted(name)) {
        return;
    }
    const struct spec in[] = {
        *group, {SEQUENCE, 1, 1}, {SCATTERED, 1, 10}, {SCATTERED, 1, 1000000}};
    fill_source(&t.in[0], in, 4, n_rows);
    fill_columns(&t.columns[0], "int64 int64 int32 decimal(12,2)");
    fill_columns(&t.out, n_groups == 2 ? "int64 int64 int64 int64 decimal(38,2)"
                         : n_groups == 1 ? "int64 int64 int64 decimal(38,2)"
                                         : "int64 int64 decimal(38,2)");
    const struct wi_agg aggs[] = {
        {WI_AGG_COUNT_ROWS, t.columns[0].at[0].type, 0},
        {WI_AGG_SUM, t.columns[0].at[2].type, 2},
        {WI_AGG_SUM, t.columns[0].at[3].type, 3}};
    const struct wi_agg_params p = {.columns = &t.out,
                                    .in = &t.columns[0],
                                    .mode = mode,
                                    .n_groups = n_groups,
                                    .groups = cols,
                                    .n_aggs = 3,
                                    .aggs = aggs};
    t.params = &p;
    t.rows = n_rows;
    run_trial(&t);
    close_trial(&t);
}

static void bench_aggs(void)
{
    const struct spec lines = {SEQUENCE, 1, 15};
    const struct spec few = {SCATTERED, 1, 15};
    const struct spec many = {SCATTERED, 1, 1 << 20};
    const struct spec runs = {SCATTERED, 10, UINT64_MAX};
    const struct spec distinct = {SCATTERED, 1, UINT64_MAX};
    bench_agg("agg no groups", &few, 0, WEIR_AGGREGATE_COMPLETE);
    bench_agg("agg 15 groups in turn", &lines, 1, WEIR_AGGREGATE_COMPLETE);
    bench_agg("agg 15 groups", &few, 1, WEIR_AGGREGATE_COMPLETE);
    bench_agg("agg 1 Mi groups", &many, 1, WEIR_AGGREGATE_COMPLETE);
    bench_agg("agg 1 Mi groups 2 keys", &many, 2, WEIR_AGGREGATE_COMPLETE);
    bench_agg("agg runs of 10", &runs, 1, WEIR_AGGREGATE_COMPLETE);
    bench_agg("agg runs of 10 partial", &runs, 2, WEIR_AGGREGATE_PARTIAL);
    bench_agg("agg distinct partial", &distinct, 1, WEIR_AGGREGATE_PARTIAL);
}

/* ---- sort ---------------------------------------------------------------- */

static weir_err open_sort(struct trial *t, struct wi_ctx *ctx,
                          struct wi_op **out)
{
    return wi_sort_open(ctx, t->params, rewind_source(&t->in[0], ctx), out);
}

static void bench_sort(const char *name, uint64_t values, uint32_t n_keys,
                       uint64_t rows)
{
    static const struct wi_sort_key keys[] = {{0, true, false},
                                              {1, false, false}};
    struct trial t = {.name = name, .open = open_sort};
    if (!is_wanted(name)) {
        return;
    }
    const struct spec in[] = {{SCATTERED, 1, values},
                              {SCATTERED, 3, UINT64_MAX}};
    fill_source(&t.in[0], in, 2, n_rows);
    fill_columns(&t.columns[0], "int64 int64");
    const struct wi_sort_params p = {&t.columns[0], n_keys, keys, rows};
    t.params = &p;
    t.rows = n_rows;
    run_trial(&t);
    close_trial(&t);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        repetitions = (uint32_t)strtoul(argv[1], NULL, 10);
    }
    if (argc > 2) {
        n_rows = strtoull(argv[2], NULL, 10);
    }
    if (repetitions < 1 || repetitions > MAX_REPETITIONS || n_rows < 1 ||
        n_rows > INT32_MAX) {
        die("usage", "operators_bench [repetitions 1..101 [rows [name]]]");
    }
    if (argc > 3) {
        wanted = argv[3];
    }
    wb_machine_print(stdout);
    bench_joins();
    bench_aggs();
    bench_sort("sort 1 key", UINT64_MAX, 1, 0);
    bench_sort("sort 2 keys, ties", 1 << 12, 2, 0);
    bench_sort("sort first 100", UINT64_MAX, 1, 100);
    return 0;
}
