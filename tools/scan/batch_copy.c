/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/scan/batch_copy.h"

#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"

enum { ALIGN = 64, BUFFERS = 3 };

struct column {
    struct ArrowArray array;
    const void *buffers[BUFFERS];
};

/* Children and buffers lie behind it. */
struct copy {
    const void *buffers[1];
    struct column column[];
};

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t head_bytes(int64_t n_columns)
{
    return aligned(sizeof(struct copy) +
                   (size_t)n_columns *
                       (sizeof(struct column) + sizeof(struct ArrowArray *)));
}

static size_t buffer_bytes(const struct ArrowArrayView *column, int b)
{
    return (size_t)column->buffer_views[b].size_bytes;
}

static size_t total_bytes(const struct ArrowArrayView *view)
{
    size_t bytes = head_bytes(view->n_children);
    for (int64_t c = 0; c < view->n_children; c++) {
        for (int b = 0; b < BUFFERS; b++) {
            bytes += aligned(buffer_bytes(view->children[c], b));
        }
    }
    return bytes;
}

static void release_column(struct ArrowArray *array)
{
    array->release = NULL; /* its batch frees it */
}

static void release(struct ArrowArray *batch)
{
    free(batch->private_data);
    batch->release = NULL;
}

/* Returns where the next buffer goes. */
static char *fill_column(struct column *to, const struct ArrowArray *from,
                         const struct ArrowArrayView *view, char *at)
{
    to->array = (struct ArrowArray){.length = from->length,
                                    .null_count = from->null_count,
                                    .offset = from->offset,
                                    .n_buffers = from->n_buffers,
                                    .buffers = to->buffers,
                                    .release = release_column};
    for (int b = 0; b < from->n_buffers; b++) {
        const size_t bytes = buffer_bytes(view, b);
        to->buffers[b] = from->buffers[b] == NULL ? NULL : at;
        if (bytes > 0) {
            memcpy(at, from->buffers[b], bytes);
        }
        at += aligned(bytes);
    }
    return at;
}

weir_err batch_copy(struct ArrowArrayView *view, const struct ArrowArray *batch,
                    struct ArrowArray *copy_out, struct weir_error *err)
{
    struct ArrowError why = {.message = ""};
    const int64_t n = batch->n_children;
    if (ArrowArrayViewSetArray(view, batch, &why) != NANOARROW_OK) {
        return tool_fail(err, WEIR_ERR_SCHEMA, "a batch: %s", why.message);
    }
    struct copy *copy = aligned_alloc(ALIGN, total_bytes(view));
    if (copy == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a batch");
    }
    struct ArrowArray **children = (struct ArrowArray **)&copy->column[n];
    char *at = (char *)copy + head_bytes(n);
    for (int64_t c = 0; c < n; c++) {
        at = fill_column(&copy->column[c], batch->children[c],
                         view->children[c], at);
        children[c] = &copy->column[c].array;
    }
    copy->buffers[0] = NULL;
    *copy_out = (struct ArrowArray){.length = batch->length,
                                    .offset = batch->offset,
                                    .n_buffers = 1,
                                    .buffers = copy->buffers,
                                    .n_children = n,
                                    .children = children,
                                    .release = release,
                                    .private_data = copy};
    return WEIR_OK;
}
