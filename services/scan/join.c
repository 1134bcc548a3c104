/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Head and body to ArrowArray. All arrays of a batch, their lists of buffers
 * and of children lie in one block of memory, which every array holds until it
 * is released: a program may move a child out and release the others. So are
 * copies of those buffers of a shared body that are checked.
 */
#include "services/scan/batch_bytes.h"

#include <pthread.h>
#include <stdalign.h>

#include "services/scan/fail.h"

/* Where empty buffers are; readers may look at the first offset of none. */
static const alignas(WI_SCAN_ALIGN) uint8_t nothing[WI_SCAN_ALIGN];

/* A buffer that nobody else can change. */
struct copy {
    struct copy *next;
    alignas(WI_SCAN_ALIGN) uint8_t bytes[];
};

/* The block of a batch. */
struct batch {
    pthread_mutex_t lock;
    uint64_t holds; /* arrays that are not released */
    struct wi_scan_body body;
    struct copy *copies;
};

/* ---- read the head ------------------------------------------------------- */

static weir_err bad(struct weir_error *err, const char *what)
{
    return wi_scan_fail(err, WEIR_ERR_DATA, "malformed batch: %s", what);
}

static weir_err read_head(const void *bytes, size_t len,
                          struct wi_scan_head *out, struct weir_error *err)
{
    if (len < sizeof(*out)) {
        return bad(err, "its head is too short");
    }
    memcpy(out, bytes, sizeof(*out));
    uint64_t want = sizeof(*out) +
                    (uint64_t)out->n_nodes * sizeof(struct wi_scan_node) +
                    (uint64_t)out->n_buffers * sizeof(uint64_t);
    if (out->magic != WI_SCAN_BATCH_MAGIC || out->zero != 0 || want != len) {
        return bad(err, "its head is none, or of another length");
    }
    return WEIR_OK;
}

weir_err wi_scan_head_body_bytes(const void *head, size_t len,
                                 uint64_t *bytes_out, struct weir_error *err)
{
    struct wi_scan_head h;
    weir_err code = read_head(head, len, &h, err);
    if (code == WEIR_OK) {
        *bytes_out = h.body_bytes;
    }
    return code;
}

/* ---- lay out ------------------------------------------------------------- */

/* A batch as it is put together, field by field. */
struct joining {
    struct wi_scan_cursor nodes;
    struct wi_scan_cursor sizes;
    const struct wi_scan_body *body;
    uint64_t at; /* in the body */
    struct batch *batch;
    struct ArrowArray *arrays; /* of the block; what is free of it ... */
    struct ArrowArray **children;
    const void **buffers;
    int64_t *lengths;
    bool run_ends; /* the next field has those of its parent */
    struct weir_error *err;
};

static void release_array(struct ArrowArray *a);

/* The next buffer of the body, of so many bytes. */
static weir_err take_buffer(struct joining *j, const void **base_out,
                            int64_t *bytes_out)
{
    uint64_t bytes;
    if (!wi_scan_take_u64(&j->sizes, &bytes)) {
        return bad(j->err, "fewer buffers than its schema has");
    }
    uint64_t left = j->body->bytes - j->at;
    if (bytes > left || bytes > INT64_MAX / 2) {
        return bad(j->err, "a buffer goes beyond its end");
    }
    *base_out = bytes == 0 ? nothing : (const uint8_t *)j->body->base + j->at;
    *bytes_out = (int64_t)bytes;
    uint64_t gap = -bytes % WI_SCAN_ALIGN;
    j->at += bytes + (gap < left - bytes ? gap : left - bytes);
    return WEIR_OK;
}

/* Does wi_scan_shape_check look at what is in it? At indices of dictionaries
 * only where they are valid. */
static bool is_checked(const struct ArrowArrayView *v, uint32_t i,
                       bool run_ends)
{
    switch (v->layout.buffer_type[i]) {
    case NANOARROW_BUFFER_TYPE_VALIDITY:
        return v->dictionary != NULL;
    case NANOARROW_BUFFER_TYPE_DATA:
        return v->dictionary != NULL || run_ends || wi_scan_has_views(v);
    default:
        return true;
    }
}

static weir_err copy_buffer(struct joining *j, const void **base, int64_t bytes)
{
    size_t room =
        ((size_t)bytes + WI_SCAN_ALIGN - 1) / WI_SCAN_ALIGN * WI_SCAN_ALIGN;
    struct copy *c = aligned_alloc(WI_SCAN_ALIGN, sizeof(*c) + room);
    if (c == NULL) {
        return wi_scan_fail(j->err, WEIR_ERR_NO_MEMORY,
                            "no memory for %lld bytes of a batch",
                            (long long)bytes);
    }
    memcpy(c->bytes, *base, (size_t)bytes);
    c->next = j->batch->copies;
    j->batch->copies = c;
    *base = c->bytes;
    return WEIR_OK;
}

static weir_err join_fixed(struct joining *j, struct ArrowArrayView *v,
                           struct ArrowArray *a, bool run_ends)
{
    uint32_t fixed = wi_scan_fixed_buffers(v);
    for (uint32_t i = 0; i < fixed; i++) {
        const void *base;
        int64_t bytes;
        weir_err code = take_buffer(j, &base, &bytes);
        if (code == WEIR_OK && bytes > 0 && j->body->shared &&
            is_checked(v, i, run_ends)) {
            code = copy_buffer(j, &base, bytes);
        }
        if (code != WEIR_OK) {
            return code;
        }
        if (bytes == 0 &&
            v->layout.buffer_type[i] == NANOARROW_BUFFER_TYPE_VALIDITY) {
            base = NULL;
        }
        v->buffer_views[i].data.data = base;
        v->buffer_views[i].size_bytes = bytes;
        a->buffers[i] = base;
    }
    a->n_buffers = fixed;
    j->buffers += fixed;
    return WEIR_OK;
}

/* The others of a field of views, and the list of their lengths. */
static weir_err join_variadic(struct joining *j, struct ArrowArrayView *v,
                              struct ArrowArray *a, uint64_t n)
{
    if (n > j->sizes.left / sizeof(uint64_t) || n > INT32_MAX) {
        return bad(j->err, "fewer buffers than its views have");
    }
    v->n_variadic_buffers = (int32_t)n;
    v->variadic_buffers = j->buffers;
    v->variadic_buffer_sizes = j->lengths;
    for (uint64_t i = 0; i < n; i++) {
        weir_err code = take_buffer(j, &j->buffers[i], &j->lengths[i]);
        if (code != WEIR_OK) {
            return code;
        }
    }
    j->buffers[n] = n > 0 ? (const void *)j->lengths : nothing;
    j->buffers += n + 1;
    j->lengths += n;
    a->n_buffers += (int64_t)n + 1;
    return WEIR_OK;
}

static weir_err join_field(struct joining *j, struct ArrowArrayView *v,
                           struct ArrowArray *a);

static weir_err join_below(struct joining *j, struct ArrowArrayView *v,
                           struct ArrowArray *a)
{
    a->n_children = v->n_children;
    a->children = v->n_children > 0 ? j->children : NULL;
    j->children += v->n_children;
    for (int64_t i = 0; i < v->n_children; i++) {
        a->children[i] = j->arrays++;
        j->run_ends =
            i == 0 && v->storage_type == NANOARROW_TYPE_RUN_END_ENCODED;
        weir_err code = join_field(j, v->children[i], a->children[i]);
        if (code != WEIR_OK) {
            return code;
        }
    }
    if (v->dictionary == NULL) {
        return WEIR_OK;
    }
    a->dictionary = j->arrays++;
    return join_field(j, v->dictionary, a->dictionary);
}

static weir_err join_field(struct joining *j, struct ArrowArrayView *v,
                           struct ArrowArray *a)
{
    struct wi_scan_node node;
    bool run_ends = j->run_ends;
    j->run_ends = false;
    const uint8_t *at = wi_scan_take(&j->nodes, sizeof(node));
    if (at == NULL) {
        return bad(j->err, "fewer arrays than its schema has");
    }
    memcpy(&node, at, sizeof(node));
    v->length = node.length;
    v->offset = node.offset;
    v->null_count = node.null_count;
    *a = (struct ArrowArray){.length = node.length,
                             .null_count = node.null_count,
                             .offset = node.offset,
                             .buffers = j->buffers,
                             .release = release_array,
                             .private_data = j->batch};
    weir_err code = join_fixed(j, v, a, run_ends);
    if (code == WEIR_OK && wi_scan_has_views(v)) {
        code = join_variadic(j, v, a, node.n_variadic);
    } else if (code == WEIR_OK && node.n_variadic != 0) {
        code = bad(j->err, "more buffers than its schema has");
    }
    return code == WEIR_OK ? join_below(j, v, a) : code;
}

/* ---- the block ----------------------------------------------------------- */

static void free_block(struct batch *b)
{
    while (b->copies != NULL) {
        struct copy *c = b->copies;
        b->copies = c->next;
        free(c);
    }
    (void)pthread_mutex_destroy(&b->lock);
    free(b);
}

static void drop_batch(struct batch *b)
{
    (void)pthread_mutex_lock(&b->lock);
    bool last = --b->holds == 0;
    (void)pthread_mutex_unlock(&b->lock);
    if (last) {
        if (b->body.release != NULL) {
            b->body.release(b->body.arg);
        }
        free_block(b);
    }
}

static void release_array(struct ArrowArray *a)
{
    struct batch *b = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i]->release != NULL) {
            a->children[i]->release(a->children[i]);
        }
    }
    if (a->dictionary != NULL && a->dictionary->release != NULL) {
        a->dictionary->release(a->dictionary);
    }
    a->release = NULL;
    drop_batch(b);
}

/* Room for all of a batch: n fields, each with a child's place, and so many
 * buffers; a list of lengths more for each field. */
static struct batch *open_block(const struct wi_scan_head *h, struct joining *j)
{
    size_t n = h->n_nodes;
    size_t bytes = sizeof(struct batch) + n * sizeof(struct ArrowArray) +
                   n * sizeof(struct ArrowArray *) +
                   (n + h->n_buffers) * sizeof(void *) +
                   (size_t)h->n_buffers * sizeof(int64_t);
    struct batch *b = malloc(bytes);
    if (b == NULL) {
        return NULL;
    }
    j->arrays = (struct ArrowArray *)(b + 1);
    j->children = (struct ArrowArray **)(j->arrays + n);
    j->buffers = (const void **)(j->children + n);
    j->lengths = (int64_t *)(j->buffers + n + h->n_buffers);
    (void)pthread_mutex_init(&b->lock, NULL);
    b->holds = n;
    b->body = *j->body;
    b->copies = NULL;
    return b;
}

static weir_err join_all(struct joining *j, struct wi_scan_shape *shape,
                         struct ArrowArray *root)
{
    weir_err code = join_field(j, &shape->root, root);
    if (code == WEIR_OK && (j->sizes.left != 0 || j->at != j->body->bytes)) {
        code = bad(j->err, "more buffers or bytes than its schema has");
    }
    return code == WEIR_OK ? wi_scan_shape_check(shape, j->err) : code;
}

/* The head does not change meanwhile. */
static weir_err join_own(struct wi_scan_shape *shape, const void *head,
                         size_t len, const struct wi_scan_body *body,
                         struct ArrowArray *batch_out, struct weir_error *err)
{
    struct wi_scan_head h;
    weir_err code = read_head(head, len, &h, err);
    if (code != WEIR_OK) {
        return code;
    }
    if (h.n_nodes != shape->n_fields || h.body_bytes != body->bytes) {
        return bad(err, "not as many arrays as its schema, or another body");
    }
    const uint8_t *nodes = (const uint8_t *)head + sizeof(h);
    size_t nodes_bytes = (size_t)h.n_nodes * sizeof(struct wi_scan_node);
    struct joining j = {
        .nodes = {nodes, nodes_bytes},
        .sizes = {nodes + nodes_bytes, (size_t)h.n_buffers * sizeof(uint64_t)},
        .body = body,
        .err = err};
    j.batch = open_block(&h, &j);
    if (j.batch == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY,
                            "no memory for the arrays of a batch");
    }
    struct ArrowArray root;
    j.arrays++; /* the first is the caller's */
    code = join_all(&j, shape, &root);
    if (code != WEIR_OK) {
        free_block(j.batch);
        return code;
    }
    *batch_out = root;
    return WEIR_OK;
}

weir_err wi_scan_join(struct wi_scan_shape *shape, const void *head, size_t len,
                      const struct wi_scan_body *body,
                      struct ArrowArray *batch_out, struct weir_error *err)
{
    if (!body->shared) {
        return join_own(shape, head, len, body, batch_out, err);
    }
    void *own = malloc(len + 1);
    if (own == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY,
                            "no memory for the head of a batch");
    }
    memcpy(own, head, len);
    weir_err code = join_own(shape, own, len, body, batch_out, err);
    free(own);
    return code;
}
