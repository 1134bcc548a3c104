/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/opponents/radix.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/format/schema.h"
#include "core/partition/partition_hash.h"
#include "core/partition/partition_impl.h"

enum {
    LINE = 64,
    PART_ROWS = 16,   /* parts begin at multiples: at lines in every column */
    TEXT_SLACK = 128, /* after each part: texts are moved by 32 bytes */
};

struct wb_radix {
    const struct wb_rows *rows;
    uint32_t n_dest;
    struct wi_schema *schema;
    struct wi_partition *partition;
    uint16_t *dest;       /* [rows] */
    uint32_t *count;      /* [n_dest] */
    uint32_t *begin;      /* [n_dest] rows */
    uint32_t *at;         /* [n_dest] rows; where the scatter is */
    uint64_t *text_bytes; /* [n_dest] */
    uint64_t *text_begin; /* [n_dest] */
    uint32_t *text_at;    /* [n_dest] bytes since text_begin */
    uint8_t *lines;       /* [n_dest][LINE] */
    struct wb_columns out;
    int32_t *offsets; /* [rows] of texts in their parts, before the scatter */
};

/* ---- histogram ----------------------------------------------------------- */

static void count_rows(struct wb_radix *r, uint64_t first, uint32_t n)
{
    struct wi_view view = {.values = r->rows->columns.key};
    const uint16_t *dest = r->partition->dest;
    wi_hash_split(r->partition, &view, (uint32_t)first, n);
    memcpy(r->dest + first, dest, n * sizeof(*dest));
    for (uint32_t i = 0; i < n; i++) {
        r->count[dest[i]]++;
    }
    const int32_t *ends = r->rows->columns.ends;
    for (uint32_t i = 0; ends != NULL && i < n; i++) {
        uint64_t row = first + i;
        r->text_bytes[dest[i]] += (uint32_t)(ends[row + 1] - ends[row]);
    }
}

static void make_histogram(struct wb_radix *r)
{
    uint64_t n = r->rows->n;
    memset(r->count, 0, r->n_dest * sizeof(*r->count));
    memset(r->text_bytes, 0, r->n_dest * sizeof(*r->text_bytes));
    for (uint64_t i = 0; i < n; i += WI_KEY_BLOCK) {
        count_rows(r, i, (uint32_t)wi_min_u64(n - i, WI_KEY_BLOCK));
    }
    uint32_t rows = 0;
    uint64_t bytes = 0;
    for (uint32_t d = 0; d < r->n_dest; d++) {
        r->begin[d] = rows;
        r->text_begin[d] = bytes;
        rows += (uint32_t)wi_align_up(r->count[d] + 1, PART_ROWS);
        bytes += wi_align_up(r->text_bytes[d] + TEXT_SLACK, LINE);
    }
}

/* ---- scatter ------------------------------------------------------------- */

static inline void stream_line(uint8_t *to, const uint8_t *line)
{
#if defined(__x86_64__)
    for (uint32_t i = 0; i < LINE; i += 16) {
        _mm_stream_si128((void *)(to + i),
                         _mm_load_si128((const void *)(line + i)));
    }
#else
    memcpy(to, line, LINE);
#endif
}

/* Values of `width` bytes, a constant in every caller. */
static inline __attribute__((always_inline)) void
scatter(struct wb_radix *r, uint8_t *restrict out, const uint8_t *restrict in,
        uint32_t width)
{
    const uint32_t per = LINE / width;
    const uint16_t *restrict dest = r->dest;
    uint32_t *restrict at = r->at;
    uint8_t *restrict lines = r->lines;
    memcpy(at, r->begin, r->n_dest * sizeof(*at));
    for (uint64_t i = 0; i < r->rows->n; i++) {
        uint32_t d = dest[i];
        uint32_t row = at[d]++;
        uint8_t *line = lines + (size_t)d * LINE;
        memcpy(line + row % per * width, in + i * width, width);
        if (row % per == per - 1) {
            stream_line(out + (uint64_t)(row + 1 - per) * width, line);
        }
    }
    for (uint32_t d = 0; d < r->n_dest; d++) {
        uint32_t left = at[d] % per;
        memcpy(out + (uint64_t)(at[d] - left) * width, lines + (size_t)d * LINE,
               (size_t)left * width);
    }
}

/* Bytes, and where each row's begin. */
static void scatter_texts(struct wb_radix *r)
{
    const struct wb_columns *c = &r->rows->columns;
    uint64_t total = (uint64_t)c->ends[r->rows->n];
    memset(r->text_at, 0, r->n_dest * sizeof(*r->text_at));
    for (uint64_t i = 0; i < r->rows->n; i++) {
        uint32_t d = r->dest[i];
        uint32_t from = (uint32_t)c->ends[i];
        uint32_t len = (uint32_t)c->ends[i + 1] - from;
        uint8_t *to = r->out.bytes + r->text_begin[d] + r->text_at[d];
        if (len <= 32 && total - from >= 32) {
            memcpy(to, c->bytes + from, 32);
        } else {
            memcpy(to, c->bytes + from, len);
        }
        r->offsets[i] = (int32_t)r->text_at[d];
        r->text_at[d] += len;
    }
}

void wb_radix_run(struct wb_radix *r)
{
    const struct wb_columns *c = &r->rows->columns;
    make_histogram(r);
    scatter(r, (uint8_t *)r->out.key, (const uint8_t *)c->key, 8);
    if (r->rows->mixed) {
        scatter(r, (uint8_t *)r->out.number, (const uint8_t *)c->number, 4);
        scatter(r, (uint8_t *)r->out.amount, (const uint8_t *)c->amount, 16);
        scatter_texts(r);
        scatter(r, (uint8_t *)r->out.ends, (const uint8_t *)r->offsets, 4);
        for (uint32_t d = 0; d < r->n_dest; d++) {
            r->out.ends[r->at[d]] = (int32_t)r->text_bytes[d];
        }
    }
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

uint64_t wb_radix_part(const struct wb_radix *r, uint32_t dest,
                       struct wb_columns *out)
{
    uint64_t first = r->begin[dest];
    *out = (struct wb_columns){.key = r->out.key + first};
    if (r->rows->mixed) {
        out->number = r->out.number + first;
        out->amount = r->out.amount + 2 * first;
        out->ends = r->out.ends + first;
        out->bytes = r->out.bytes + r->text_begin[dest];
    }
    return r->count[dest];
}

/* ---- opening ------------------------------------------------------------- */

static weir_err open_partition(struct wb_radix *r, struct weir_error *err)
{
    static const char *const keys[] = {"key"};
    const struct weir_field *fields;
    struct ArrowSchema schema;
    struct wi_partition_params params = {
        .kind = WEIR_HASH, .n_dest = r->n_dest, .keys = keys, .n_keys = 1};
    (void)wb_rows_fields(false, &fields);
    weir_err rc = weir_schema_build(fields, 1, &schema, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = wi_schema_open(&schema, &r->schema, err);
    schema.release(&schema);
    return rc == WEIR_OK
               ? wi_partition_open(r->schema, &params, &r->partition, err)
               : rc;
}

static bool take_memory(struct wb_radix *r)
{
    uint64_t n = r->rows->n;
    uint64_t rows = n + (uint64_t)r->n_dest * PART_ROWS;
    r->dest = wb_pages_alloc(n * sizeof(*r->dest));
    r->count = calloc(r->n_dest, sizeof(*r->count));
    r->begin = calloc(r->n_dest, sizeof(*r->begin));
    r->at = calloc(r->n_dest, sizeof(*r->at));
    r->text_bytes = calloc(r->n_dest, sizeof(*r->text_bytes));
    r->text_begin = calloc(r->n_dest, sizeof(*r->text_begin));
    r->text_at = calloc(r->n_dest, sizeof(*r->text_at));
    r->lines = wb_pages_alloc((uint64_t)r->n_dest * LINE);
    r->out.key = wb_pages_alloc(rows * 8);
    bool ok = r->dest != NULL && r->count != NULL && r->begin != NULL &&
              r->at != NULL && r->text_bytes != NULL && r->text_begin != NULL &&
              r->text_at != NULL && r->lines != NULL && r->out.key != NULL;
    if (!r->rows->mixed) {
        return ok;
    }
    r->offsets = wb_pages_alloc(n * 4);
    r->out.number = wb_pages_alloc(rows * 4);
    r->out.amount = wb_pages_alloc(rows * 16);
    r->out.ends = wb_pages_alloc(rows * 4);
    r->out.bytes = wb_pages_alloc(n * WB_ROWS_TEXT +
                                  (uint64_t)r->n_dest * (TEXT_SLACK + LINE));
    return ok && r->offsets != NULL && r->out.number != NULL &&
           r->out.amount != NULL && r->out.ends != NULL && r->out.bytes != NULL;
}

weir_err wb_radix_open(const struct wb_rows *rows, uint32_t n_dest,
                       struct wb_radix **out, struct weir_error *err)
{
    struct wb_radix *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for the parts");
    }
    r->rows = rows;
    r->n_dest = n_dest;
    weir_err rc = take_memory(r) ? open_partition(r, err)
                                 : wi_fail(err, WEIR_ERR_NO_MEMORY,
                                           "no memory for the parts");
    if (rc != WEIR_OK) {
        wb_radix_close(r);
        return rc;
    }
    *out = r;
    return WEIR_OK;
}

void wb_radix_close(struct wb_radix *r)
{
    if (r == NULL) {
        return;
    }
    wi_partition_close(r->partition);
    if (r->schema != NULL) {
        wi_schema_close(r->schema);
    }
    free(r->dest);
    free(r->count);
    free(r->begin);
    free(r->at);
    free(r->text_bytes);
    free(r->text_begin);
    free(r->text_at);
    free(r->lines);
    free(r->out.key);
    free(r->offsets);
    free(r->out.number);
    free(r->out.amount);
    free(r->out.ends);
    free(r->out.bytes);
    free(r);
}
