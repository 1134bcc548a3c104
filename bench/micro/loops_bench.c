/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which form of each inner loop is the fastest on this machine, and is it the
 * one that the library takes?
 *
 *   loops_bench [repetitions]
 *
 * Two tables of medians. The first has the loops with one form per level of
 * instructions (core/base/isa.h): "-" where a level has no form of its own and
 * takes the one to the left. Beyond the level of this process only forms that
 * it could run are measured: that shows whether gathers would pay. The second
 * has, for each level and number of destinations, every way to make lists, of
 * int64 keys and of destinations that are known; brackets mark what is taken.
 * A line ends with what is faster by a twentieth than what is taken.
 *
 * The same few batches come again and again: a form that branches looks better
 * than in a plan. Results of all forms are compared; a difference ends the
 * program with exit code 1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/lib/loops.h"
#include "bench/lib/machine.h"
#include "bench/lib/median.h"
#include "core/base/cc.h"
#include "core/format/checksum.h"
#include "core/format/frame_bits.h"
#include "core/format/frame_copy.h"
#include "core/format/import.h"
#include "core/partition/partition_hash.h"
#include "core/partition/partition_impl.h"
#include "core/partition/partition_lists.h"

enum {
    ROWS = WB_LOOPS_ROWS,
    BATCHES = WB_LOOPS_BATCHES,
    ROUNDS = 400, /* batches of one run */
    MOST_REPETITIONS = 101,
    MOST_FORMS = 8,
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "loops_bench: %s\n", what);
    exit(1);
}

static double now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void open_loops(struct wb_loops *b, uint32_t n_dest)
{
    struct weir_error err;
    if (wb_loops_open(b, n_dest, &err) != WEIR_OK) {
        die(err.message);
    }
}

/* ---- loops with a form per level ----------------------------------------- */

/* Each run does one batch; a sum depends on all that the last one made. */

static uint64_t sum_words(const void *memory, size_t bytes)
{
    const struct wi_sum sum = {.lead = memory,
                               .lead_blocks = (uint32_t)(bytes / 64)};
    return wi_sum_get(&sum, wi_isa_best(), 0);
}

static void run_hash(struct wb_loops *b, uint32_t n, enum wi_isa isa)
{
    b->hash->isa = isa;
    (void)wi_partition_dest(b->hash, b->views[n], 0, ROWS, NULL);
}

static uint64_t sum_hash(const struct wb_loops *b)
{
    return sum_words(b->hash->dest, sizeof(b->hash->dest));
}

static void run_several(struct wb_loops *b, uint32_t n, enum wi_isa isa)
{
    b->several->isa = isa;
    (void)wi_partition_dest(b->several, b->views[n], 0, ROWS, NULL);
}

static uint64_t sum_several(const struct wb_loops *b)
{
    return sum_words(b->several->dest, sizeof(b->several->dest));
}

static void run_reduce(struct wb_loops *b, uint32_t n, enum wi_isa isa)
{
    b->hash->isa = isa;
    wi_hash_reduce(b->hash, b->views[n][0].values, ROWS, b->hash->dest);
}

static struct wi_rows list_of(const struct wb_loops *b, uint32_t n, uint32_t d)
{
    const struct wi_split *s = &b->split[n];
    return (struct wi_rows){.idx = s->idx + s->begin[d], .n = s->count[d]};
}

static void run_gather(struct wb_loops *b, uint32_t n, enum wi_isa isa)
{
    for (uint32_t d = 0; d < b->n_dest; d++) {
        struct wi_rows rows = list_of(b, n, d);
        wi_gather_words(b->out + b->split[n].begin[d] * 8u,
                        b->views[n][0].values, &rows, isa);
    }
}

static void run_bits(struct wb_loops *b, uint32_t n, enum wi_isa isa)
{
    uint8_t *out = b->out;
    for (uint32_t d = 0; d < b->n_dest; d++) {
        struct wi_rows rows = list_of(b, n, d);
        wi_copy_bits(out, 0, b->bits, 3, &rows, isa);
        out += ((size_t)rows.n + 63) / 64 * 8;
    }
}

static void run_texts(struct wb_loops *b, uint32_t n, enum wi_isa isa)
{
    uint32_t used = 0;
    (void)isa;
    for (uint32_t d = 0; d < b->n_dest; d++) {
        struct wi_rows rows = list_of(b, n, d);
        struct wi_var var = {.used = used, .cap_bytes = ROWS * WB_LOOPS_TEXT};
        (void)wi_copy_texts(b->ends + b->split[n].begin[d], b->out, &var,
                            &b->views[n][2], &rows);
        used = var.end;
    }
}

/* Texts of which most are empty: the offsets, and hardly any bytes. */
static void run_offsets(struct wb_loops *b, uint32_t n, enum wi_isa isa)
{
    struct wi_view v = {.values = b->steps, .bytes = b->bits};
    struct wi_rows rows = {.first = 0, .n = ROWS};
    struct wi_var var = {.used = n, .cap_bytes = ROWS * WB_LOOPS_TEXT};
    (void)isa;
    (void)wi_copy_texts(b->ends, b->out, &var, &v, &rows);
}

static uint64_t sum_ends(const struct wb_loops *b)
{
    return sum_words(b->ends, sizeof(b->ends));
}

static void run_descent(struct wb_loops *b, uint32_t n, enum wi_isa isa)
{
    b->ends[0] = (int32_t)wi_offsets_descent(b->views[n][2].values, ROWS, isa);
}

static void run_sum(struct wb_loops *b, uint32_t n, enum wi_isa isa)
{
    struct wi_sum sum = {.lead = b->views[n][0].values,
                         .lead_blocks = ROWS / 8};
    uint64_t got = wi_sum_get(&sum, isa, 0);
    memcpy(b->out, &got, sizeof(got));
}

static void run_move(struct wb_loops *b, uint32_t n, enum wi_isa isa)
{
    const uint8_t *values = b->views[n][0].values;
    struct wi_sum_part part = {0};
    wi_sum_move(&part, b->out, values + 64, ROWS / 8 - 1, isa);
    wi_sum_part_end(&part, 0);
    memcpy(b->out + (size_t)ROWS * 8 - 64, part.sums, 64);
}

static uint64_t sum_out(const struct wb_loops *b)
{
    return sum_words(b->out, (size_t)ROWS * 8);
}

#define UP_TO_AVX2 (1u << WI_ISA_PORTABLE | 1u << WI_ISA_AVX2)
#define UP_TO_AVX512 (UP_TO_AVX2 | 1u << WI_ISA_AVX512)

static const struct loop {
    const char *name;
    void (*run)(struct wb_loops *b, uint32_t n, enum wi_isa isa);
    uint64_t (*sum)(const struct wb_loops *b);
    uint32_t forms; /* a bit per level that has one of its own */
    bool by_list;   /* the number of destinations matters */
} loops[] = {
    {"hash of an int64", run_hash, sum_hash, UP_TO_AVX512, false},
    {"hash of two keys", run_several, sum_several, UP_TO_AVX512, false},
    {"hash to dest", run_reduce, sum_hash,
     1u << WI_ISA_PORTABLE | 1u << WI_ISA_AVX512, false},
    {"gather 8 bytes", run_gather, sum_out,
     1u << WI_ISA_PORTABLE | 1u << WI_ISA_GATHER, true},
    {"bits of lists", run_bits, sum_out,
     1u << WI_ISA_PORTABLE | 1u << WI_ISA_AVX512, true},
    {"texts of lists", run_texts, sum_ends, 1u << WI_ISA_PORTABLE, true},
    {"offsets of a run", run_offsets, sum_ends, 1u << WI_ISA_PORTABLE, false},
    {"offsets checked", run_descent, sum_ends, UP_TO_AVX2, false},
    {"sum of 8 bytes", run_sum, sum_out, UP_TO_AVX512, false},
    {"sum and move", run_move, sum_out, UP_TO_AVX512, false},
};

/* Is there such a form, and can this process run it? */
static bool can_run(const struct loop *l, int isa)
{
    int best = (int)wi_isa_best();
    bool able = isa <= best ||
                (isa == (int)WI_ISA_GATHER && best >= (int)WI_ISA_AVX512);
    return (l->forms >> isa & 1) != 0 && able;
}

static double time_loop(struct wb_loops *b, const struct loop *l,
                        enum wi_isa isa)
{
    double begin = now_ns();
    for (uint32_t r = 0; r < ROUNDS; r++) {
        l->run(b, r % BATCHES, isa);
    }
    return (now_ns() - begin) / ((double)ROUNDS * ROWS);
}

/* Medians per level; 0: no such form. */
static void time_forms(struct wb_loops *b, const struct loop *l,
                       int repetitions, double median_out[WI_ISA_LEVELS])
{
    static double ns[WI_ISA_LEVELS][MOST_REPETITIONS];
    uint64_t want = 0;
    for (int r = 0; r < repetitions; r++) {
        for (int isa = 0; isa < (int)WI_ISA_LEVELS; isa++) {
            if (!can_run(l, isa)) {
                ns[isa][r] = 0;
                continue;
            }
            ns[isa][r] = time_loop(b, l, (enum wi_isa)isa);
            uint64_t sum = l->sum(b);
            if ((r > 0 || isa > 0) && sum != want) {
                die("forms of a loop differ");
            }
            want = sum;
        }
    }
    for (int isa = 0; isa < (int)WI_ISA_LEVELS; isa++) {
        median_out[isa] = wb_spread_of(ns[isa], (uint32_t)repetitions).median;
    }
}

/* Where a level takes a form of its own that one to the left beats, and a form
 * that no level of this process takes would be better. */
static void print_faster(const double median[WI_ISA_LEVELS])
{
    int best = 0;
    for (int isa = 1; isa < (int)WI_ISA_LEVELS; isa++) {
        if (median[isa] == 0) {
            continue;
        }
        bool taken = isa <= (int)wi_isa_best();
        bool slower = median[best] * 1.05 < median[isa];
        bool faster = median[isa] * 1.05 < median[best];
        if (taken ? slower : faster) {
            printf("  %s: %s", wi_isa_name((enum wi_isa)(taken ? isa : best)),
                   wi_isa_name((enum wi_isa)(taken ? best : isa)));
        }
        best = median[isa] < median[best] ? isa : best;
    }
    printf("\n");
}

static void measure_loop(struct wb_loops *b, const struct loop *l,
                         int repetitions)
{
    double median[WI_ISA_LEVELS];
    char dests[16] = "-";
    time_forms(b, l, repetitions, median);
    if (l->by_list) {
        (void)snprintf(dests, sizeof(dests), "%u", b->n_dest);
    }
    printf("%-17s %5s ", l->name, dests);
    for (int isa = 0; isa < (int)WI_ISA_LEVELS; isa++) {
        if (median[isa] == 0) {
            printf("%9s", "-");
        } else {
            printf("%9.3f", median[isa]);
        }
    }
    print_faster(median);
}

static void measure_loops(int repetitions)
{
    static const uint32_t counts[] = {8, 2, 32, 256};
    static struct wb_loops b;
    printf("%-17s %5s ", "ns per row", "dests");
    for (int isa = 0; isa < (int)WI_ISA_LEVELS; isa++) {
        printf("%9s", wi_isa_name((enum wi_isa)isa));
    }
    printf("  level: faster\n");
    for (size_t c = 0; c < WI_ARRAY_LEN(counts); c++) {
        open_loops(&b, counts[c]);
        for (size_t i = 0; i < WI_ARRAY_LEN(loops); i++) {
            if (c == 0 || loops[i].by_list) {
                measure_loop(&b, &loops[i], repetitions);
            }
        }
        wb_loops_close(&b);
    }
}

/* ---- ways to make lists -------------------------------------------------- */

static double time_way(struct wb_loops *b, struct wi_partition *p,
                       const struct wi_way *way)
{
    uint64_t rows = 0;
    p->way = way;
    double begin = now_ns();
    for (uint32_t r = 0; r < ROUNDS; r++) {
        struct wi_split split;
        uint32_t n = r % BATCHES;
        wi_partition_split(p, b->views[n], 0, ROWS, b->dest[n], &split);
        for (uint32_t d = 0; d < b->n_dest; d++) {
            rows += split.count[d];
        }
    }
    double ns = now_ns() - begin;
    if (rows != (uint64_t)ROUNDS * ROWS) {
        die("rows were lost");
    }
    return ns / (double)rows;
}

/* Medians of all ways that have the instructions and serve as many; 0: the
 * others. */
static void time_ways(struct wb_loops *b, struct wi_partition *p,
                      int repetitions, double median_out[MOST_FORMS])
{
    static double ns[MOST_FORMS][MOST_REPETITIONS];
    const struct wi_way *way;
    for (int r = 0; r < repetitions; r++) {
        for (uint32_t i = 0; (way = wi_way_at(i)) != NULL; i++) {
            bool can = way->isa <= p->isa && b->n_dest <= way->can;
            ns[i][r] = can ? time_way(b, p, way) : 0;
        }
    }
    for (uint32_t i = 0; wi_way_at(i) != NULL; i++) {
        median_out[i] = wb_spread_of(ns[i], (uint32_t)repetitions).median;
    }
}

static void print_ways(const char *what, enum wi_isa isa, uint32_t n_dest,
                       const double median[MOST_FORMS])
{
    const struct wi_way *taken = wi_way_of(isa, n_dest);
    const struct wi_way *way;
    uint32_t best = 0;
    double time_taken = 0;
    printf("%-8s %-8s %5u ", what, wi_isa_name(isa), n_dest);
    for (uint32_t i = 0; (way = wi_way_at(i)) != NULL; i++) {
        if (median[i] == 0) {
            printf("       - ");
        } else {
            printf(way == taken ? "  [%5.2f]" : "   %5.2f ", median[i]);
        }
        time_taken = way == taken ? median[i] : time_taken;
        bool first = median[best] == 0;
        best = median[i] != 0 && (first || median[i] < median[best]) ? i : best;
    }
    bool wrong = median[best] * 1.05 < time_taken;
    printf("  %s\n", wrong ? wi_way_at(best)->name : "");
}

static void measure_ways(int repetitions)
{
    static const uint32_t counts[] = {2,  3,  4,  5,  6,  7,  8,  10, 12, 13,
                                      14, 16, 18, 20, 24, 28, 32, 48, 128};
    static struct wb_loops b;
    printf("\n%-8s %-8s %5s ", "ns/row", "level", "dests");
    for (uint32_t i = 0; wi_way_at(i) != NULL; i++) {
        printf(" %7s ", wi_way_at(i)->name);
    }
    printf("  faster\n");
    for (int isa = 0; isa <= (int)wi_isa_best(); isa++) {
        for (size_t d = 0; d < 2 * WI_ARRAY_LEN(counts); d++) {
            double median[MOST_FORMS];
            bool keys = d % 2 == 0;
            open_loops(&b, counts[d / 2]);
            struct wi_partition *p = keys ? b.hash : b.vector;
            wi_partition_set_isa(p, (enum wi_isa)isa);
            time_ways(&b, p, repetitions, median);
            print_ways(keys ? "int64" : "known", (enum wi_isa)isa, b.n_dest,
                       median);
            wb_loops_close(&b);
        }
    }
}

int main(int argc, char **argv)
{
    int repetitions = argc > 1 ? atoi(argv[1]) : 9;
    if (repetitions < 1 || repetitions > MOST_REPETITIONS) {
        die("repetitions: 1 .. 101");
    }
    wb_machine_print(stdout);
    measure_loops(repetitions);
    measure_ways(repetitions);
    return 0;
}
