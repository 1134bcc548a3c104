/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server of scans sends: a schema, the head of a batch, and its body.
 * What passes the checks is read to its last value, in memory of exactly its
 * size, and sent on.
 *
 *   u16 length, schema    u16 length, head    body
 */
#include "services/scan/batch_bytes.h"
#include "services/scan/schema_bytes.h"
#include "test/fuzz/fuzz.h"

static volatile uint64_t sink; /* so that reads are not left out */

static void read_bytes(const uint8_t *at, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += at[i];
    }
    sink += sum;
}

static bool has_texts(const struct ArrowArrayView *v)
{
    return v->storage_type == NANOARROW_TYPE_STRING ||
           v->storage_type == NANOARROW_TYPE_BINARY ||
           v->storage_type == NANOARROW_TYPE_LARGE_STRING ||
           v->storage_type == NANOARROW_TYPE_LARGE_BINARY ||
           v->storage_type == NANOARROW_TYPE_FIXED_SIZE_BINARY ||
           wi_scan_has_views(v);
}

/* As a program reads it that believes the lengths. */
static void read_values(const struct ArrowArrayView *v)
{
    for (uint32_t i = 0; i < wi_scan_fixed_buffers(v); i++) {
        read_bytes(v->buffer_views[i].data.as_uint8,
                   v->buffer_views[i].size_bytes);
    }
    for (int64_t i = 0; has_texts(v) && i < v->length; i++) {
        struct ArrowBufferView b = ArrowArrayViewGetBytesUnsafe(v, i);
        read_bytes(b.data.as_uint8, b.size_bytes);
    }
    for (int64_t i = 0; i < v->n_children; i++) {
        read_values(v->children[i]);
    }
    if (v->dictionary != NULL) {
        read_values(v->dictionary);
    }
}

static void send_on(struct wi_scan_shape *shape, const struct ArrowArray *batch)
{
    struct wi_scan_split split = {0};
    struct weir_error err;
    FZ_CHECK(wi_scan_split(shape, batch, &split, &err) == WEIR_OK, "%s",
             err.message);
    wi_scan_split_fini(&split);
}

/* What was checked is not in the body any more when a peer writes to it. */
static void change_later(struct wi_scan_shape *shape, const void *head,
                         size_t len, struct wi_scan_body *body)
{
    struct ArrowArray batch;
    struct weir_error err;
    body->shared = true;
    FZ_CHECK(wi_scan_join(shape, head, len, body, &batch, &err) == WEIR_OK,
             "%s", err.message);
    memset((void *)(uintptr_t)body->base, 0x7f, body->bytes);
    FZ_CHECK(wi_scan_shape_check(shape, &err) == WEIR_OK, "%s", err.message);
    read_values(&shape->root);
    batch.release(&batch);
}

static void take_batch(struct wi_scan_shape *shape, struct fz_input *in)
{
    uint16_t len = fz_u16(in);
    uint8_t *head = malloc(len + 1u);
    fz_take(in, head, len);
    size_t bytes = in->left;
    size_t room = (bytes + WI_SCAN_ALIGN) / WI_SCAN_ALIGN * WI_SCAN_ALIGN;
    uint8_t *base = aligned_alloc(WI_SCAN_ALIGN, room);
    FZ_CHECK(head != NULL && base != NULL, "no memory");
    fz_take(in, base, bytes);
    struct wi_scan_body body = {base, bytes, NULL, NULL, false};
    struct ArrowArray batch;
    if (wi_scan_join(shape, head, len, &body, &batch, NULL) == WEIR_OK) {
        read_values(&shape->root);
        send_on(shape, &batch);
        batch.release(&batch);
        change_later(shape, head, len, &body);
    }
    free(base);
    free(head);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct fz_input in = {bytes, n};
    struct ArrowSchema schema;
    uint16_t len = fz_u16(&in);
    uint8_t *text = malloc(len + 1u);
    FZ_CHECK(text != NULL, "no memory");
    fz_take(&in, text, len);
    weir_err code = wi_scan_schema_decode(text, len, &schema, NULL);
    free(text);
    if (code != WEIR_OK) {
        return 0;
    }
    struct wi_scan_shape shape;
    if (wi_scan_shape_init(&shape, &schema, NULL) == WEIR_OK) {
        take_batch(&shape, &in);
        wi_scan_shape_fini(&shape);
    }
    schema.release(&schema);
    return 0;
}
