/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opponent "mpi": the two-stage plan over MPI_Alltoallv.
 *
 *   mpirun -n 8 alltoallv_mpi ROWS [REPEAT [bulk|chunked
 *                                  [narrow|mixed|wide [pin]]]]
 *
 * bulk:    make and count all rows, exchange the counts, scatter the rows into
 *          one send array, MPI_Alltoallv; the same again for stage 2.
 * chunked: 64 Ki rows at a time; MPI_Ialltoallv of a chunk runs while the next
 *          chunk is made and the one before is partitioned for stage 2.
 *
 * Rows are packed by hand (bench/lib/row.h), all of one size. The partition is
 * a radix partition: vectorised hash to a 16-bit destination per row,
 * histogram, prefix sums, scatter. All arrays are allocated and
 * touched, and all connections used, in a warm-up that is not timed. Time is
 * from the first rank's start after a barrier to the last rank's end, on the
 * clock that all processes of a host share.
 *
 * Prints one line of JSON:
 *   {"shape":"bulk","row":"narrow","ranks":8,"rows":5000000,"seconds":[0.4],
 *    "rows_ok":true}
 */
#define _GNU_SOURCE 1
#include <mpi.h>

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/lib/keys.h"
#include "bench/lib/pin.h"
#include "bench/lib/plan.h"
#include "bench/lib/row.h"
#include "launch/clock.h"

#define CHUNK_ROWS UINT64_C(65536)

/* Rows to and from every rank: counts and offsets as MPI wants them. */
struct lanes {
    int *send_n;
    int *send_off;
    int *recv_n;
    int *recv_off;
};

/* Rows that are on their way through one exchange. */
struct exchange {
    struct lanes lanes;
    uint8_t *send;
    uint8_t *recv;
    uint64_t recv_cap;
    MPI_Request request;
};

struct bench {
    int rank;
    int ranks;
    uint64_t rows;
    enum wb_row row;
    size_t row_bytes;
    MPI_Datatype type;  /* of a row */
    bool checks_values; /* in the warm-up */
    bool values_ok;
    uint8_t *packed;           /* bulk: all rows; chunked: a chunk */
    uint16_t *dest;            /* of as many */
    struct exchange stage1[2]; /* chunked alternates; bulk uses the first */
    struct exchange stage2[2];
    uint64_t dest_cap;
    /* what the last run made and received */
    uint64_t made_sum;
    uint64_t got_sum;
    uint64_t *edge[2]; /* rows received from each rank, by stage */
};

static void die(const char *what)
{
    (void)fprintf(stderr, "alltoallv_mpi: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void *map_bytes(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        die("out of memory");
    }
    (void)madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

static int *ints(int n)
{
    int *p = calloc((size_t)n, sizeof(int));
    if (p == NULL) {
        die("out of memory");
    }
    return p;
}

static void exchange_open(const struct bench *b, struct exchange *x,
                          uint64_t send_rows, uint64_t recv_rows)
{
    const int ranks = b->ranks;
    x->lanes =
        (struct lanes){ints(ranks), ints(ranks), ints(ranks), ints(ranks)};
    x->send = map_bytes(send_rows * b->row_bytes);
    x->recv = map_bytes(recv_rows * b->row_bytes);
    x->recv_cap = recv_rows;
    x->request = MPI_REQUEST_NULL;
}

/* ---- partition ----------------------------------------------------------- */

static void count_dests(struct bench *b, uint32_t *count, uint64_t first,
                        const uint8_t *rows, uint32_t n, uint64_t seed)
{
    int64_t copied[WB_BATCH_ROWS];
    const int64_t *keys = (const int64_t *)(const void *)rows;
    uint16_t *dest = b->dest + first;
    if (b->row != WB_ROW_NARROW) {
        wb_packed_keys(copied, b->row, rows, n);
        keys = copied;
    }
    wb_dest_make(dest, keys, n, seed, (uint32_t)b->ranks);
    wb_dest_count(count, dest, n, (uint32_t)b->ranks);
}

/* Exchange counts; fills all of lanes. Returns rows that will come. */
static uint64_t swap_counts(struct bench *b, struct exchange *x,
                            const uint32_t *count)
{
    struct lanes *l = &x->lanes;
    uint64_t sent = 0;
    for (int r = 0; r < b->ranks; r++) {
        l->send_n[r] = (int)count[r];
        l->send_off[r] = (int)sent;
        sent += count[r];
    }
    MPI_Alltoall(l->send_n, 1, MPI_INT, l->recv_n, 1, MPI_INT, MPI_COMM_WORLD);
    uint64_t rows = 0;
    for (int r = 0; r < b->ranks; r++) {
        l->recv_off[r] = (int)rows;
        rows += (uint64_t)l->recv_n[r];
    }
    if (rows > x->recv_cap) {
        die("more rows for one rank than it has room for");
    }
    return rows;
}

/* `bytes`, of a row, is a constant. */
static inline __attribute__((always_inline)) void
scatter_rows(uint8_t **next, const uint16_t *dest, const uint8_t *rows,
             uint64_t n, size_t bytes)
{
    for (uint64_t i = 0; i < n; i++) {
        memcpy(next[dest[i]], rows + i * bytes, bytes);
        next[dest[i]] += bytes;
    }
}

static void scatter(struct bench *b, struct exchange *x, const uint8_t *rows,
                    uint64_t n)
{
    uint8_t *next[1024];
    for (int r = 0; r < b->ranks; r++) {
        next[r] = x->send + (size_t)x->lanes.send_off[r] * b->row_bytes;
    }
    switch (b->row) {
    case WB_ROW_MIXED:
        scatter_rows(next, b->dest, rows, n, WB_MIXED_ROW_BYTES);
        break;
    case WB_ROW_WIDE:
        scatter_rows(next, b->dest, rows, n, WB_WIDE_ROW_BYTES);
        break;
    default:
        scatter_rows(next, b->dest, rows, n, sizeof(int64_t));
        break;
    }
}

static void count_all(struct bench *b, uint32_t *count, const uint8_t *rows,
                      uint64_t n, uint64_t seed)
{
    memset(count, 0, (size_t)b->ranks * sizeof(*count));
    for (uint64_t i = 0; i < n; i += WB_BATCH_ROWS) {
        uint64_t left = n - i;
        uint32_t m = left < WB_BATCH_ROWS ? (uint32_t)left : WB_BATCH_ROWS;
        count_dests(b, count, i, rows + i * b->row_bytes, m, seed);
    }
}

/* Make rows [first, first + n) of this rank and count their destinations while
 * they are in cache. */
static void make_and_count(struct bench *b, uint32_t *count, uint64_t first,
                           uint64_t n)
{
    memset(count, 0, (size_t)b->ranks * sizeof(*count));
    first += wb_first_row((uint32_t)b->rank);
    for (uint64_t i = 0; i < n; i += WB_BATCH_ROWS) {
        uint64_t left = n - i;
        uint32_t m = left < WB_BATCH_ROWS ? (uint32_t)left : WB_BATCH_ROWS;
        struct wb_row_range range = {.first = first + i, .n = m};
        uint8_t *rows = b->packed + i * b->row_bytes;
        b->made_sum += wb_packed_make(rows, b->row, &range);
        count_dests(b, count, i, rows, m, WB_SEED_STAGE1);
    }
}

static uint64_t note_received(struct bench *b, uint32_t stage,
                              const struct exchange *x)
{
    uint64_t rows = 0;
    for (int r = 0; r < b->ranks; r++) {
        b->edge[stage][r] += (uint64_t)x->lanes.recv_n[r];
        rows += (uint64_t)x->lanes.recv_n[r];
    }
    return rows;
}

static void consume(struct bench *b, const struct exchange *x)
{
    uint64_t rows = note_received(b, 1, x);
    b->got_sum += wb_packed_sum(b->row, x->recv, rows);
    if (b->checks_values) {
        b->values_ok =
            wb_packed_is_right(b->row, x->recv, rows) && b->values_ok;
    }
}

/* ---- shapes -------------------------------------------------------------- */

static void swap_rows(const struct bench *b, struct exchange *x)
{
    struct lanes *l = &x->lanes;
    MPI_Alltoallv(x->send, l->send_n, l->send_off, b->type, x->recv, l->recv_n,
                  l->recv_off, b->type, MPI_COMM_WORLD);
}

static void start_swap(const struct bench *b, struct exchange *x)
{
    struct lanes *l = &x->lanes;
    MPI_Ialltoallv(x->send, l->send_n, l->send_off, b->type, x->recv, l->recv_n,
                   l->recv_off, b->type, MPI_COMM_WORLD, &x->request);
}

static void run_bulk(struct bench *b, uint64_t rows)
{
    uint32_t count[1024];
    struct exchange *one = &b->stage1[0];
    struct exchange *two = &b->stage2[0];
    make_and_count(b, count, 0, rows);
    (void)swap_counts(b, one, count);
    scatter(b, one, b->packed, rows);
    swap_rows(b, one);
    uint64_t got = note_received(b, 0, one);
    count_all(b, count, one->recv, got, WB_SEED_STAGE2);
    (void)swap_counts(b, two, count);
    scatter(b, two, one->recv, got);
    swap_rows(b, two);
    consume(b, two);
}

static void chunk_stage1(struct bench *b, uint64_t first, uint64_t n,
                         struct exchange *x)
{
    uint32_t count[1024];
    make_and_count(b, count, first, n);
    (void)swap_counts(b, x, count);
    scatter(b, x, b->packed, n);
    start_swap(b, x);
}

static void chunk_stage2(struct bench *b, struct exchange *from,
                         struct exchange *x)
{
    uint32_t count[1024];
    MPI_Wait(&from->request, MPI_STATUS_IGNORE);
    uint64_t got = note_received(b, 0, from);
    count_all(b, count, from->recv, got, WB_SEED_STAGE2);
    (void)swap_counts(b, x, count);
    scatter(b, x, from->recv, got);
    start_swap(b, x);
}

/* Every rank makes the same number of rounds: collectives must match. */
static void run_chunked(struct bench *b, uint64_t rows)
{
    uint64_t chunks = (rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
    for (uint64_t k = 0; k < chunks + 2; k++) {
        if (k < chunks) {
            uint64_t first = k * CHUNK_ROWS;
            uint64_t left = rows - first;
            uint64_t n = left < CHUNK_ROWS ? left : CHUNK_ROWS;
            chunk_stage1(b, first, n, &b->stage1[k % 2]);
        }
        if (k >= 1 && k <= chunks) {
            chunk_stage2(b, &b->stage1[(k - 1) % 2], &b->stage2[(k - 1) % 2]);
        }
        if (k >= 2) {
            MPI_Wait(&b->stage2[k % 2].request, MPI_STATUS_IGNORE);
            consume(b, &b->stage2[k % 2]);
        }
    }
}

/* ---- set-up, timing, check ----------------------------------------------- */

static void open_bulk(struct bench *b)
{
    /* Hash quality is the only thing that limits what a rank receives; a
     * quarter more than its share is 1,000 standard deviations at 5 M rows. */
    uint64_t cap = b->rows + b->rows / 4 + 65536;
    b->packed = map_bytes(b->rows * b->row_bytes);
    b->dest = map_bytes(cap * sizeof(uint16_t));
    exchange_open(b, &b->stage1[0], b->rows, cap);
    exchange_open(b, &b->stage2[0], cap, cap);
}

static void open_chunked(struct bench *b)
{
    uint64_t cap = CHUNK_ROWS * 2;
    b->packed = map_bytes(CHUNK_ROWS * b->row_bytes);
    b->dest = map_bytes(cap * sizeof(uint16_t));
    for (int i = 0; i < 2; i++) {
        exchange_open(b, &b->stage1[i], CHUNK_ROWS, cap);
        exchange_open(b, &b->stage2[i], cap, cap);
    }
}

static void open_edges(struct bench *b)
{
    for (int s = 0; s < 2; s++) {
        b->edge[s] = calloc((size_t)b->ranks, sizeof(uint64_t));
        if (b->edge[s] == NULL) {
            die("out of memory");
        }
    }
}

/* The rules of wb_board_check, over MPI: see bench/lib/plan.h. */
static bool check(struct bench *b, uint64_t rows)
{
    uint64_t sent[2]; /* rows of this rank that arrived somewhere, by stage */
    uint64_t got[2] = {0, 0};
    for (int s = 0; s < 2; s++) {
        MPI_Reduce_scatter_block(b->edge[s], &sent[s], 1, MPI_UINT64_T, MPI_SUM,
                                 MPI_COMM_WORLD);
        for (int r = 0; r < b->ranks; r++) {
            got[s] += b->edge[s][r];
        }
    }
    uint64_t mine[3] = {got[1], b->made_sum, b->got_sum};
    uint64_t all[3];
    MPI_Allreduce(mine, all, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    int ok = b->values_ok && sent[0] == rows && sent[1] == got[0] &&
             all[0] == rows * (uint64_t)b->ranks && all[1] == all[2];
    int all_ok = 0;
    MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all_ok != 0;
}

/* One run; returns its seconds, and clears *ok_out if rows were wrong. */
static double run_once(struct bench *b, bool chunked, uint64_t rows,
                       bool *ok_out)
{
    b->made_sum = 0;
    b->got_sum = 0;
    b->values_ok = true;
    for (int s = 0; s < 2; s++) {
        memset(b->edge[s], 0, (size_t)b->ranks * sizeof(uint64_t));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t begin_ns = wl_now_ns();
    if (chunked) {
        run_chunked(b, rows);
    } else {
        run_bulk(b, rows);
    }
    uint64_t end_ns = wl_now_ns();
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
    MPI_Allreduce(&begin_ns, &first_ns, 1, MPI_UINT64_T, MPI_MIN,
                  MPI_COMM_WORLD);
    MPI_Allreduce(&end_ns, &last_ns, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    *ok_out = check(b, rows) && *ok_out;
    return (double)(last_ns - first_ns) * 1e-9;
}

static void print_line(const struct bench *b, bool chunked,
                       const double *seconds, int n, bool ok)
{
    (void)printf(
        "{\"shape\":\"%s\",\"row\":\"%s\",\"ranks\":%d,\"rows\":%" PRIu64
        ",\"seconds\":[",
        chunked ? "chunked" : "bulk", wb_row_names[b->row], b->ranks, b->rows);
    for (int i = 0; i < n; i++) {
        (void)printf("%s%.9f", i == 0 ? "" : ",", seconds[i]);
    }
    (void)printf("],\"rows_ok\":%s}\n", ok ? "true" : "false");
}

static void check_arguments(const struct bench *b, int repeat)
{
    if (b->rows == 0 || b->rows > INT_MAX / 2 || repeat < 1 || repeat > 1000) {
        die("usage: alltoallv_mpi ROWS [REPEAT [bulk|chunked "
            "[narrow|mixed|wide [pin]]]]; rows 1..2^30, repeat 1..1000");
    }
    if (b->ranks > 1024) {
        die("at most 1024 ranks");
    }
}

static void set_row(struct bench *b, const char *name)
{
    while (strcmp(wb_row_names[b->row], name) != 0) {
        if (++b->row == WB_ROW_KINDS) {
            die("rows are narrow, mixed or wide");
        }
    }
    b->row_bytes = wb_packed_bytes(b->row);
    MPI_Type_contiguous((int)(b->row_bytes / sizeof(int64_t)), MPI_INT64_T,
                        &b->type);
    MPI_Type_commit(&b->type);
}

int main(int argc, char **argv)
{
    struct bench b = {.rank = 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
    b.rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    int repeat = argc > 2 ? atoi(argv[2]) : 1;
    bool chunked = argc > 3 && strcmp(argv[3], "chunked") == 0;
    check_arguments(&b, repeat);
    set_row(&b, argc > 4 ? argv[4] : wb_row_names[WB_ROW_NARROW]);
    if (argc > 5 && strcmp(argv[5], "pin") == 0 &&
        wb_pin((uint32_t)b.rank, NULL) != WEIR_OK) {
        die("cannot bind to a core");
    }
    open_edges(&b);
    if (chunked) {
        open_chunked(&b);
    } else {
        open_bulk(&b);
    }
    double *seconds = calloc((size_t)repeat, sizeof(double));
    if (seconds == NULL) {
        die("out of memory");
    }
    bool ok = true;
    b.checks_values = true;
    for (int i = 0; i < (int)WB_WARM_UPS; i++) {
        uint64_t rows = b.rows < WB_WARM_ROWS ? b.rows : WB_WARM_ROWS;
        (void)run_once(&b, chunked, rows, &ok);
    }
    b.checks_values = false;
    for (int i = 0; i < repeat; i++) {
        seconds[i] = run_once(&b, chunked, b.rows, &ok);
    }
    if (b.rank == 0) {
        print_line(&b, chunked, seconds, repeat, ok);
    }
    free(seconds);
    MPI_Finalize();
    return ok ? 0 : 1;
}
