/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of a writer without rings: split batches of 2048 rows by hash,
 * append them to frames of 16 KiB, finish the frames with a checksum.
 *
 *   partition_bench [repetitions [rows per split]]
 *
 * Per plan and number of destinations three runs alternate: split alone, split
 * and append, and all with checksums; the table shows medians in ns per row and
 * the two differences. Four frames per destination are used in turn, as a ring
 * would. Row counts and, between runs, checksums are compared; a difference
 * ends the program with exit code 1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/lib/machine.h"
#include "core/base/cc.h"
#include "core/format/checksum.h"
#include "core/format/frame.h"
#include "core/format/frame_build.h"
#include "core/format/schema.h"
#include "core/partition/partition.h"

enum {
    BATCH_ROWS = 2048,
    BATCHES = 4, /* different ones, then again */
    FRAME_BYTES = 16384,
    RING_FRAMES = 4,
    ROUNDS = 500, /* batches per run */
    MAX_COLUMNS = 3,
    MAX_REPETITIONS = 101,
    MAX_STRING = 24,
};

enum mode { MODE_SPLIT, MODE_APPEND, MODE_CHECKSUM, N_MODES };

struct plan {
    const char *name;
    struct weir_field fields[MAX_COLUMNS];
    uint32_t n_columns;
};

static const struct plan plans[] = {
    {"int64", {{"k", "l", 0}}, 1},
    {"int64,int64,double", {{"k", "l", 0}, {"v", "l", 0}, {"d", "g", 0}}, 3},
    {"int64,utf8", {{"k", "l", 0}, {"s", "u", 0}}, 2},
};

static const uint32_t dest_counts[] = {2, 4, 8, 12, 16, 32, 64, 256};

struct lane {
    struct wi_builder *builder;
    uint8_t *ring;
    uint32_t slot;
    bool open;
};

struct bench {
    struct wi_schema *schema;
    struct wi_partition *partition;
    struct wi_view views[BATCHES][MAX_COLUMNS];
    struct lane *lanes;
    uint32_t n_dest;
    uint32_t split_rows;
    uint64_t rows; /* finished in this run */
    uint64_t sum;  /* of checksums */
};

static void die(const char *what)
{
    fprintf(stderr, "partition_bench: %s\n", what);
    exit(1);
}

static void *take_memory(size_t bytes)
{
    void *mem = aligned_alloc(WI_CACHE_LINE, wi_align_up(bytes, WI_CACHE_LINE));
    if (mem == NULL) {
        die("no memory");
    }
    memset(mem, 0, bytes);
    return mem;
}

static double now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns per cycle now, from a chain of multiplications that take three cycles on
 * every x86-64 of the last decade; 0 elsewhere. The clock of shared machines
 * changes from minute to minute, cycles per row do not. */
static double cycle_ns(void)
{
    enum { LOOPS = 100000 };
    double begin = now_ns();
#if WI_X86
    uint64_t x = 3;
    for (int i = 0; i < LOOPS; i++) {
        __asm__ __volatile__("imul %0, %0" : "+r"(x));
    }
    return (now_ns() - begin) / (3.0 * LOOPS);
#else
    return 0 * begin;
#endif
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33 ^ *state << 31;
}

static void fill_strings(struct wi_view *v, uint64_t *state)
{
    int32_t *offsets = take_memory((BATCH_ROWS + 1) * sizeof(*offsets));
    uint8_t *bytes = take_memory((size_t)BATCH_ROWS * MAX_STRING);
    for (uint32_t i = 0; i < BATCH_ROWS; i++) {
        uint32_t len = (uint32_t)(next_random(state) % (MAX_STRING + 1));
        offsets[i + 1] = offsets[i] + (int32_t)len;
        memset(bytes + offsets[i], 'a' + (int)(i % 26), len);
    }
    v->values = offsets;
    v->bytes = bytes;
}

static void fill_batches(struct bench *b)
{
    uint64_t state = 1;
    for (uint32_t n = 0; n < BATCHES; n++) {
        for (uint32_t c = 0; c < b->schema->n_columns; c++) {
            struct wi_view *v = &b->views[n][c];
            if (b->schema->columns[c].kind == WI_KIND_VAR) {
                fill_strings(v, &state);
                continue;
            }
            uint64_t *values = take_memory(BATCH_ROWS * sizeof(*values));
            for (uint32_t i = 0; i < BATCH_ROWS; i++) {
                values[i] = next_random(&state);
            }
            v->values = values;
        }
    }
}

static void open_bench(struct bench *b, const struct plan *plan,
                       uint32_t n_dest)
{
    const char *key = "k";
    struct wi_partition_params params = {
        .kind = WEIR_HASH, .n_dest = n_dest, .keys = &key, .n_keys = 1};
    struct ArrowSchema schema;

    memset(b, 0, sizeof(*b));
    b->n_dest = n_dest;
    if (weir_schema_build(plan->fields, plan->n_columns, &schema, NULL) !=
            WEIR_OK ||
        wi_schema_open(&schema, &b->schema, NULL) != WEIR_OK ||
        wi_partition_open(b->schema, &params, &b->partition, NULL) != WEIR_OK) {
        die("cannot open");
    }
    schema.release(&schema);
    b->lanes = take_memory(n_dest * sizeof(*b->lanes));
    for (uint32_t d = 0; d < n_dest; d++) {
        b->lanes[d].ring = take_memory((size_t)FRAME_BYTES * RING_FRAMES);
        if (wi_builder_open(b->schema, &b->lanes[d].builder, NULL) != WEIR_OK) {
            die("cannot open");
        }
    }
    fill_batches(b);
}

static void close_bench(struct bench *b)
{
    for (uint32_t n = 0; n < BATCHES; n++) {
        for (uint32_t c = 0; c < b->schema->n_columns; c++) {
            free((void *)(uintptr_t)b->views[n][c].values);
            free((void *)(uintptr_t)b->views[n][c].bytes);
        }
    }
    for (uint32_t d = 0; d < b->n_dest; d++) {
        wi_builder_close(b->lanes[d].builder);
        free(b->lanes[d].ring);
    }
    free(b->lanes);
    wi_partition_close(b->partition);
    wi_schema_close(b->schema);
}

static uint8_t *lane_mem(const struct lane *l)
{
    return l->ring + (size_t)l->slot * FRAME_BYTES;
}

static void finish_frame(struct bench *b, struct lane *l, bool checksum)
{
    struct wi_frame_header h;
    uint8_t *mem = lane_mem(l);

    l->open = false;
    if (wi_builder_finish(l->builder, checksum) == 0) {
        return;
    }
    memcpy(&h, mem, sizeof(h));
    b->rows += h.rows;
    b->sum += h.checksum;
    l->slot = (l->slot + 1) % RING_FRAMES;
}

static void push_list(struct bench *b, struct lane *l,
                      const struct wi_view *views, const uint32_t *idx,
                      uint32_t n, bool checksum)
{
    uint32_t done = 0;
    while (done < n) {
        if (!l->open) {
            wi_builder_start(l->builder, lane_mem(l), FRAME_BYTES, 0);
            l->open = true;
        }
        done += wi_builder_append(l->builder, views, idx + done, 0, n - done);
        if (done < n) {
            finish_frame(b, l, checksum);
        }
    }
}

static void push_split(struct bench *b, const struct wi_view *views,
                       uint32_t first, enum mode mode)
{
    struct wi_split split;

    wi_partition_split(b->partition, views, first, b->split_rows, NULL, &split);
    for (uint32_t d = 0; d < b->n_dest; d++) {
        if (mode == MODE_SPLIT) {
            b->rows += split.count[d];
        } else {
            push_list(b, &b->lanes[d], views, split.idx + split.begin[d],
                      split.count[d], mode == MODE_CHECKSUM);
        }
    }
}

static double run(struct bench *b, enum mode mode)
{
    b->rows = 0;
    b->sum = 0;
    double begin = now_ns();
    for (uint32_t r = 0; r < ROUNDS; r++) {
        for (uint32_t i = 0; i < BATCH_ROWS; i += b->split_rows) {
            push_split(b, b->views[r % BATCHES], i, mode);
        }
    }
    for (uint32_t d = 0; mode != MODE_SPLIT && d < b->n_dest; d++) {
        finish_frame(b, &b->lanes[d], mode == MODE_CHECKSUM);
    }
    double ns = now_ns() - begin;
    if (b->rows != (uint64_t)ROUNDS * BATCH_ROWS) {
        die("rows were lost");
    }
    return ns / ((double)ROUNDS * BATCH_ROWS);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const struct plan *plan, uint32_t n_dest,
                    uint32_t split_rows, int repetitions)
{
    static double ns[N_MODES][MAX_REPETITIONS];
    static double cycle[MAX_REPETITIONS];
    double median[N_MODES];
    struct bench b;
    uint64_t sum = 0;

    open_bench(&b, plan, n_dest);
    b.split_rows = split_rows;
    for (int m = 0; m < N_MODES; m++) {
        (void)run(&b, (enum mode)m);
    }
    for (int r = 0; r < repetitions; r++) {
        for (int m = 0; m < N_MODES; m++) {
            ns[m][r] = run(&b, (enum mode)m);
        }
        cycle[r] = cycle_ns();
        if (plan->n_columns < 3 && b.schema->n_var == 0 && r > 0 &&
            b.sum != sum) {
            die("checksums differ between runs");
        }
        sum = b.sum;
    }
    for (int m = 0; m < N_MODES; m++) {
        qsort(ns[m], (size_t)repetitions, sizeof(double), by_value);
        median[m] = ns[m][repetitions / 2];
    }
    qsort(cycle, (size_t)repetitions, sizeof(double), by_value);
    printf("%-18s %5u  %6.2f %6.2f %8.2f   %6.2f %6.2f %6.2f  %.3f  %" PRIx64
           "\n",
           plan->name, n_dest, median[MODE_SPLIT],
           median[MODE_APPEND] - median[MODE_SPLIT],
           median[MODE_CHECKSUM] - median[MODE_APPEND], median[MODE_APPEND],
           ns[MODE_APPEND][0], ns[MODE_APPEND][repetitions - 1],
           cycle[repetitions / 2], sum);
    close_bench(&b);
}

/* The checksum alone, over one frame's worth of words in L1. */
static void measure_sum(int repetitions)
{
    enum { LOOPS = 4000 };
    double best = 1e9;
    uint64_t total = 0;
    uint8_t *mem = take_memory(FRAME_BYTES);
    for (int r = 0; r < repetitions; r++) {
        double begin = now_ns();
        for (int i = 0; i < LOOPS; i++) {
            struct wi_sum sum = {.lead = mem, .lead_blocks = FRAME_BYTES / 64};
            total += wi_sum_get(&sum, wi_isa_best(), (uint64_t)i);
        }
        double ns = (now_ns() - begin) / LOOPS / (FRAME_BYTES / 8.0);
        best = ns < best ? ns : best;
    }
    free(mem);
    printf("checksum of 16 KiB: best %.3f ns per word  %016" PRIx64 "\n", best,
           total);
}

int main(int argc, char **argv)
{
    int repetitions = argc > 1 ? atoi(argv[1]) : 9;
    int split_rows = argc > 2 ? atoi(argv[2]) : BATCH_ROWS;
    if (repetitions < 1 || repetitions > MAX_REPETITIONS) {
        die("repetitions: 1 .. 101");
    }
    if (split_rows < 64 || split_rows > BATCH_ROWS ||
        BATCH_ROWS % split_rows != 0) {
        die("rows per split: a power of two, 64 .. 2048");
    }
    wb_machine_print(stdout);
    printf("%-18s %5s  %6s %6s %8s   %-20s  %5s  %s\n", "ns per row, median",
           "dests", "split", "append", "checksum", "split+append min max",
           "cycle", "checksums");
    for (size_t p = 0; p < WI_ARRAY_LEN(plans); p++) {
        for (size_t d = 0; d < WI_ARRAY_LEN(dest_counts); d++) {
            measure(&plans[p], dest_counts[d], (uint32_t)split_rows,
                    repetitions);
        }
    }
    measure_sum(repetitions);
    return 0;
}
