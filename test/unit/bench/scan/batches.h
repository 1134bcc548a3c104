/* SPDX-License-Identifier: Apache-2.0 */
/** A table of two columns, in batches: int64 with nulls, and texts. */
#ifndef WT_BENCH_SCAN_BATCHES_H
#define WT_BENCH_SCAN_BATCHES_H

#include <stdint.h>

#include <weir/batch.h>

#define WT_SCAN_ROWS 8

struct wt_scan_batches {
    int64_t numbers[WT_SCAN_ROWS];
    uint8_t valid; /* of the numbers, a bit each */
    int32_t offsets[WT_SCAN_ROWS + 1];
    char bytes[32];
    const void *buffers[2][3];
    struct ArrowArray columns[2];
    struct ArrowArray *pointers[2];
    const void *none[1];     /* validity of the rows */
    struct ArrowArray array; /* all rows; its release counts */
    uint8_t half_valid[2];
    const void *half_buffers[2][2][3];
    struct ArrowArray half_columns[2][2];
    struct ArrowArray *half_pointers[2][2];
    struct ArrowSchema fields[2];
    struct ArrowSchema *field_pointers[2];
    struct ArrowSchema schema;
    int released;
};

static void wt_scan_release(struct ArrowArray *array)
{
    ++*(int *)array->private_data;
    array->release = NULL;
}

static void wt_scan_release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

/* Columns are their parent's, but have a release as they must. */
static void wt_scan_release_column(struct ArrowArray *array)
{
    array->release = NULL;
}

static inline void wt_scan_batches_init(struct wt_scan_batches *b)
{
    *b = (struct wt_scan_batches){
        .numbers = {5, -1, 0, INT64_MAX, 7, 7, 123456789, 1},
        .valid = 0xef, /* row 4 is null */
        .offsets = {0, 1, 1, 4, 4, 9, 10, 12, 20},
        .bytes = "abcdefghijklmnopqrst",
        .fields = {{.format = "l", .name = "number"},
                   {.format = "u", .name = "text"}},
    };
    b->buffers[0][0] = &b->valid;
    b->buffers[0][1] = b->numbers;
    b->buffers[1][1] = b->offsets;
    b->buffers[1][2] = b->bytes;
    for (int i = 0; i < 2; i++) {
        b->columns[i] = (struct ArrowArray){.length = WT_SCAN_ROWS,
                                            .null_count = i == 0,
                                            .n_buffers = 2 + i,
                                            .buffers = b->buffers[i]};
        b->columns[i].release = wt_scan_release_column;
        b->fields[i].release = wt_scan_release_schema;
        b->fields[i].flags = 2; /* nullable */
        b->pointers[i] = &b->columns[i];
        b->field_pointers[i] = &b->fields[i];
    }
    b->array = (struct ArrowArray){.length = WT_SCAN_ROWS,
                                   .n_buffers = 1,
                                   .buffers = b->none,
                                   .n_children = 2,
                                   .children = b->pointers,
                                   .release = wt_scan_release,
                                   .private_data = &b->released};
    b->schema = (struct ArrowSchema){.format = "+s",
                                     .name = "",
                                     .n_children = 2,
                                     .children = b->field_pointers,
                                     .release = wt_scan_release_schema};
}

/* A stream that gives `array` in two halves, then ends, or fails. */
struct wt_scan_stream {
    struct wt_scan_batches *batches;
    int next;
    int fails; /* instead of the end */
    int released;
};

static int wt_scan_stream_schema(struct ArrowArrayStream *stream,
                                 struct ArrowSchema *out)
{
    *out = ((struct wt_scan_stream *)stream->private_data)->batches->schema;
    return 0;
}

static int wt_scan_stream_next(struct ArrowArrayStream *stream,
                               struct ArrowArray *out)
{
    struct wt_scan_stream *s = stream->private_data;
    struct wt_scan_batches *b = s->batches;
    out->release = NULL;
    if (s->next == 2) {
        return s->fails;
    }
    const int half = s->next++;
    const int first = half * WT_SCAN_ROWS / 2;
    *out = b->array;
    out->length = WT_SCAN_ROWS / 2;
    b->half_valid[half] = (uint8_t)(b->valid >> first);
    for (int i = 0; i < 2; i++) { /* not all readers take offsets */
        const void **buffers = b->half_buffers[half][i];
        buffers[0] = i == 0 ? &b->half_valid[half] : NULL;
        buffers[1] = i == 0 ? (const void *)(b->numbers + first)
                            : (const void *)(b->offsets + first);
        buffers[2] = b->bytes;
        b->half_columns[half][i] = b->columns[i];
        b->half_columns[half][i].length = out->length;
        b->half_columns[half][i].null_count = i == 0 ? -1 : 0;
        b->half_columns[half][i].buffers = buffers;
        b->half_pointers[half][i] = &b->half_columns[half][i];
    }
    out->children = b->half_pointers[half];
    return 0;
}

static const char *wt_scan_stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the engine has tripped";
}

static void wt_scan_stream_release(struct ArrowArrayStream *stream)
{
    ((struct wt_scan_stream *)stream->private_data)->released++;
    stream->release = NULL;
}

static inline struct ArrowArrayStream wt_scan_stream(struct wt_scan_stream *s)
{
    return (struct ArrowArrayStream){.get_schema = wt_scan_stream_schema,
                                     .get_next = wt_scan_stream_next,
                                     .get_last_error = wt_scan_stream_error,
                                     .release = wt_scan_stream_release,
                                     .private_data = s};
}

#endif /* WT_BENCH_SCAN_BATCHES_H */
