/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of vectors, and gathering. */
#include "operators/base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"

static size_t values_bytes(enum wi_rep rep)
{
    return (size_t)wi_rep_bytes(rep) * WI_CHUNK_ROWS;
}

weir_err wi_vec_init(struct wi_vec *vec, enum wi_rep rep, struct wi_op_mem *mem,
                     struct weir_error *err)
{
    void *at = NULL;
    weir_err code =
        wi_mem_take(mem, values_bytes(rep) + WI_CHUNK_ROWS, &at, err);
    if (code != WEIR_OK) {
        return code;
    }
    *vec = (struct wi_vec){
        .rep = rep, .values = at, .null = (uint8_t *)at + values_bytes(rep)};
    memset(vec->null, 0, WI_CHUNK_ROWS);
    return WEIR_OK;
}

void wi_vec_fini(struct wi_vec *vec, struct wi_op_mem *mem)
{
    wi_mem_put(mem, vec->values, values_bytes(vec->rep) + WI_CHUNK_ROWS);
    vec->values = NULL;
}

weir_err wi_vecs_open(const struct wi_columns *columns, struct wi_op_mem *mem,
                      struct wi_vec **out, struct weir_error *err)
{
    struct wi_vec *vecs = calloc(columns->n + 1, sizeof(*vecs));
    if (vecs == NULL) {
        return wi_exec_no_memory(err, columns->n * sizeof(*vecs));
    }
    for (uint32_t i = 0; i < columns->n; i++) {
        weir_err code =
            wi_vec_init(&vecs[i], wi_type_rep(&columns->at[i].type), mem, err);
        if (code != WEIR_OK) {
            wi_vecs_close(vecs, i, mem);
            return code;
        }
    }
    *out = vecs;
    return WEIR_OK;
}

void wi_vecs_close(struct wi_vec *vecs, uint32_t n, struct wi_op_mem *mem)
{
    if (vecs == NULL) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        wi_vec_fini(&vecs[i], mem);
    }
    free(vecs);
}

struct wi_value wi_value_at(const struct wi_vec *vec, uint32_t pos)
{
    struct wi_value value = {.null = vec->null != NULL && vec->null[pos] != 0};
    switch (vec->rep) {
    case WI_BOOL:
        value.b = wi_vec_bool(vec)[pos];
        break;
    case WI_I64:
        value.i = wi_vec_i64(vec)[pos];
        break;
    case WI_I128:
        value.w = wi_vec_i128(vec)[pos];
        break;
    case WI_F64:
        value.f = wi_vec_f64(vec)[pos];
        break;
    case WI_STR:
        value.s = wi_vec_str(vec)[pos];
        break;
    }
    return value;
}

void wi_vec_set(struct wi_vec *vec, uint64_t pos, const struct wi_value *value)
{
    switch (vec->rep) {
    case WI_BOOL:
        ((uint8_t *)vec->values)[pos] = value->b;
        break;
    case WI_I64:
        ((int64_t *)vec->values)[pos] = value->i;
        break;
    case WI_I128:
        ((wi_i128 *)vec->values)[pos] = value->w;
        break;
    case WI_F64:
        ((double *)vec->values)[pos] = value->f;
        break;
    case WI_STR:
        ((struct wi_str *)vec->values)[pos] = value->s;
        break;
    }
}

void wi_f64_settle(double *values, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const double v = values[i];
        values[i] = v != v ? (double)NAN : v + 0.0; /* -0 + 0 is 0 */
    }
}

#define GATHER(T)                                                              \
    do {                                                                       \
        const T *from_values = in->values;                                     \
        T *to = out->values;                                                   \
        for (uint32_t i = 0; i < n; i++) {                                     \
            to[i] = from_values[from[i]];                                      \
        }                                                                      \
    } while (0)

static void gather_values(const struct wi_vec *in, const uint32_t *from,
                          uint32_t n, struct wi_vec *out)
{
    switch (in->rep) {
    case WI_BOOL:
        GATHER(uint8_t);
        break;
    case WI_I64:
        GATHER(int64_t);
        break;
    case WI_I128:
        GATHER(wi_i128);
        break;
    case WI_F64:
        GATHER(double);
        break;
    case WI_STR:
        GATHER(struct wi_str);
        break;
    }
}

void wi_vec_gather(const struct wi_vec *in, const uint32_t *from, uint32_t n,
                   struct wi_vec *out)
{
    gather_values(in, from, n, out);
    if (in->null == NULL) {
        memset(out->null, 0, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        out->null[i] = in->null[from[i]];
    }
}
