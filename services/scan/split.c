/* SPDX-License-Identifier: Apache-2.0 */
/* ArrowArray to head and buffers. */
#include "services/scan/batch_bytes.h"

#include "services/scan/fail.h"

static uint64_t round_up(uint64_t n)
{
    return (n + WI_SCAN_ALIGN - 1) / WI_SCAN_ALIGN * WI_SCAN_ALIGN;
}

/* ---- fill the views ------------------------------------------------------ */

static weir_err not_of_schema(struct weir_error *err, const char *what,
                              int64_t have, int64_t want)
{
    return wi_scan_fail(err, WEIR_ERR_DATA,
                        "the engine's batch is not of its schema: %s: %lld "
                        "instead of %lld",
                        what, (long long)have, (long long)want);
}

static weir_err fill_variadic(struct ArrowArrayView *v,
                              const struct ArrowArray *a,
                              struct weir_error *err)
{
    int64_t fixed = NANOARROW_BINARY_VIEW_FIXED_BUFFERS;
    int64_t n = a->n_buffers - fixed - 1;
    if (n < 0 || n > INT32_MAX) {
        return not_of_schema(err, "buffers of views", a->n_buffers, fixed + 1);
    }
    v->n_variadic_buffers = (int32_t)n;
    v->variadic_buffers = (const void **)&a->buffers[fixed];
    /* Not written to; nanoarrow's member is not const. */
    v->variadic_buffer_sizes = (int64_t *)(uintptr_t)a->buffers[fixed + n];
    return WEIR_OK;
}

/* Sizes become -1: to be measured. */
static weir_err fill_buffers(struct ArrowArrayView *v,
                             const struct ArrowArray *a, struct weir_error *err)
{
    uint32_t fixed = wi_scan_fixed_buffers(v);
    if (wi_scan_has_views(v)) {
        weir_err code = fill_variadic(v, a, err);
        if (code != WEIR_OK) {
            return code;
        }
    } else if (a->n_buffers != fixed) {
        return not_of_schema(err, "buffers", a->n_buffers, fixed);
    }
    v->null_count = a->null_count;
    for (uint32_t i = 0; i < fixed; i++) {
        v->buffer_views[i].data.data = a->buffers[i];
        v->buffer_views[i].size_bytes = a->buffers[i] != NULL ? -1 : 0;
        if (v->layout.buffer_type[i] == NANOARROW_BUFFER_TYPE_VALIDITY &&
            a->buffers[i] == NULL) {
            v->null_count = 0;
        }
    }
    return WEIR_OK;
}

static weir_err fill(struct ArrowArrayView *v, const struct ArrowArray *a,
                     struct weir_error *err)
{
    if (a == NULL || a->release == NULL) {
        return not_of_schema(err, "arrays that are there", 0, 1);
    }
    v->length = a->length;
    v->offset = a->offset;
    if (a->n_children != v->n_children) {
        return not_of_schema(err, "children", a->n_children, v->n_children);
    }
    if ((a->dictionary != NULL) != (v->dictionary != NULL)) {
        return not_of_schema(err, "dictionaries", a->dictionary != NULL,
                             v->dictionary != NULL);
    }
    weir_err code = fill_buffers(v, a, err);
    for (int64_t i = 0; code == WEIR_OK && i < v->n_children; i++) {
        code = fill(v->children[i], a->children[i], err);
    }
    if (code == WEIR_OK && v->dictionary != NULL) {
        code = fill(v->dictionary, a->dictionary, err);
    }
    return code;
}

/* ---- write --------------------------------------------------------------- */

static void put_piece(struct wi_scan_split *s, const void *base, int64_t bytes)
{
    struct wi_scan_piece piece = {base, (uint64_t)bytes, s->body_bytes};
    wi_scan_buf_put(&s->pieces, &piece, sizeof(piece));
    s->n_pieces++;
    s->body_bytes += round_up(piece.bytes);
}

static void put_node(struct wi_scan_split *s, const struct ArrowArrayView *v)
{
    struct wi_scan_node node = {v->length, v->null_count, v->offset, 0};
    uint32_t fixed = wi_scan_fixed_buffers(v);
    for (uint32_t i = 0; i < fixed; i++) {
        put_piece(s, v->buffer_views[i].data.data,
                  v->buffer_views[i].size_bytes);
    }
    if (wi_scan_has_views(v)) {
        node.n_variadic = (uint64_t)v->n_variadic_buffers;
        for (int32_t i = 0; i < v->n_variadic_buffers; i++) {
            put_piece(s, v->variadic_buffers[i], v->variadic_buffer_sizes[i]);
        }
    }
    wi_scan_buf_put(&s->head, &node, sizeof(node));
    for (int64_t i = 0; i < v->n_children; i++) {
        put_node(s, v->children[i]);
    }
    if (v->dictionary != NULL) {
        put_node(s, v->dictionary);
    }
}

weir_err wi_scan_split(struct wi_scan_shape *shape,
                       const struct ArrowArray *batch,
                       struct wi_scan_split *split, struct weir_error *err)
{
    weir_err code = fill(&shape->root, batch, err);
    if (code == WEIR_OK) {
        code = wi_scan_shape_measure(shape, err);
    }
    if (code != WEIR_OK) {
        return code;
    }
    struct wi_scan_head head = {WI_SCAN_BATCH_MAGIC, shape->n_fields, 0, 0, 0};
    split->head.len = split->pieces.len = 0;
    split->n_pieces = 0;
    split->body_bytes = 0;
    wi_scan_buf_put(&split->head, &head, sizeof(head));
    put_node(split, &shape->root);
    if (split->pieces.failed) {
        split->head.failed = true;
    }
    const struct wi_scan_piece *pieces = (const void *)split->pieces.bytes;
    for (uint32_t i = 0; !split->head.failed && i < split->n_pieces; i++) {
        wi_scan_buf_put_u64(&split->head, pieces[i].bytes);
    }
    if (split->head.failed) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY,
                            "no memory for the head of a batch");
    }
    head.n_buffers = split->n_pieces;
    head.body_bytes = split->body_bytes;
    memcpy(split->head.bytes, &head, sizeof(head));
    return WEIR_OK;
}

void wi_scan_split_fini(struct wi_scan_split *split)
{
    free(split->head.bytes);
    free(split->pieces.bytes);
    *split = (struct wi_scan_split){0};
}

void wi_scan_split_copy(const struct wi_scan_split *split, void *dst)
{
    const struct wi_scan_piece *pieces = (const void *)split->pieces.bytes;
    for (uint32_t i = 0; i < split->n_pieces; i++) {
        const struct wi_scan_piece *p = &pieces[i];
        if (p->bytes == 0) {
            continue;
        }
        uint8_t *to = (uint8_t *)dst + p->at;
        memcpy(to, p->base, p->bytes);
        memset(to + p->bytes, 0, round_up(p->bytes) - p->bytes);
    }
}
