/* SPDX-License-Identifier: Apache-2.0 */
/* Column buffers, and the Arrow structs over them. */
#include "operators/table/build.h"

#include <stdlib.h>

#include "operators/base/fail.h"

enum {
    ALIGN_BYTES = 64,
    BIT_BYTES = WI_BUILD_ROWS / 8,
    FIRST_TEXT_BYTES = 1 << 16
};

static void *take(size_t bytes)
{
    return aligned_alloc(ALIGN_BYTES,
                         (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES);
}

static bool take_text(struct wi_build_col *col)
{
    col->offsets = take((WI_BUILD_ROWS + 1) * sizeof(*col->offsets));
    col->text = malloc(FIRST_TEXT_BYTES);
    col->text_room = FIRST_TEXT_BYTES;
    return col->offsets != NULL && col->text != NULL;
}

static bool take_column(struct wi_build_col *col, const struct wi_type *type)
{
    col->type = *type;
    col->value_bytes = wi_type_bytes(type);
    if (type->nullable) {
        col->valid = take(BIT_BYTES);
        if (col->valid == NULL) {
            return false;
        }
    }
    if (wi_type_is_var(type)) {
        return take_text(col);
    }
    col->values = take(type->kind == WI_TYPE_BOOL
                           ? BIT_BYTES
                           : (size_t)WI_BUILD_ROWS * col->value_bytes);
    if (type->kind == WI_TYPE_BOOL && col->values != NULL) {
        memset(col->values, 0, BIT_BYTES);
    }
    return col->values != NULL;
}

weir_err wi_build_init(struct wi_build *build, const struct wi_columns *columns,
                       const uint32_t *which, uint32_t n,
                       struct weir_error *err)
{
    *build = (struct wi_build){.n_cols = n};
    build->col = calloc(n + 1, sizeof(*build->col));
    build->which = calloc(n + 1, sizeof(*build->which));
    build->children = calloc(n + 1, sizeof(*build->children));
    bool ok =
        build->col != NULL && build->which != NULL && build->children != NULL;
    for (uint32_t i = 0; ok && i < n; i++) {
        build->which[i] = which[i];
        ok = take_column(&build->col[i], &columns->at[which[i]].type);
        build->children[i] = &build->col[i].array;
    }
    if (!ok) {
        wi_build_fini(build);
        return wi_exec_fail(err, WEIR_ERR_NO_MEMORY,
                            "the system gave no memory to read %u columns", n);
    }
    return WEIR_OK;
}

void wi_build_fini(struct wi_build *build)
{
    for (uint32_t i = 0; build->col != NULL && i < build->n_cols; i++) {
        free(build->col[i].values);
        free(build->col[i].offsets);
        free(build->col[i].text);
        free(build->col[i].valid);
    }
    free(build->col);
    free(build->which);
    free(build->children);
    *build = (struct wi_build){0};
}

void wi_build_begin(struct wi_build *build)
{
    for (uint32_t i = 0; i < build->n_cols; i++) {
        struct wi_build_col *col = &build->col[i];
        if (col->valid != NULL) {
            memset(col->valid, 0xff, BIT_BYTES);
        }
        if (col->offsets != NULL) {
            col->offsets[0] = 0;
        }
        col->nulls = 0;
        col->text_bytes = 0;
    }
}

bool wi_build_grow(struct wi_build_col *col, size_t n_bytes)
{
    size_t room = col->text_room * 2;
    while (room - col->text_bytes < n_bytes) {
        room *= 2;
    }
    char *text = realloc(col->text, room);
    if (text == NULL) {
        return false;
    }
    col->text = text;
    col->text_room = room;
    return true;
}

void wi_build_release(struct ArrowArray *array)
{
    array->release = NULL;
}

static void end_column(struct wi_build_col *col, uint32_t rows)
{
    bool text = col->offsets != NULL;
    col->buffers[0] = col->nulls == 0 ? NULL : col->valid;
    col->buffers[1] = text ? (const void *)col->offsets : col->values;
    col->buffers[2] = col->text;
    col->array = (struct ArrowArray){
        .length = rows,
        .null_count = col->nulls,
        .n_buffers = text ? 3 : 2,
        .buffers = col->buffers,
        .release = wi_build_release,
    };
}

void wi_build_end(struct wi_build *build, uint32_t rows, struct ArrowArray *out)
{
    for (uint32_t i = 0; i < build->n_cols; i++) {
        end_column(&build->col[i], rows);
    }
    *out = (struct ArrowArray){
        .length = rows,
        .n_buffers = 1,
        .n_children = build->n_cols,
        .buffers = build->buffers,
        .children = build->children,
        .release = wi_build_release,
    };
}
