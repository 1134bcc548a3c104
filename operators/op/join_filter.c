/* SPDX-License-Identifier: Apache-2.0 */
#include "operators/op/join_filter.h"

#include <stdlib.h>

#include "operators/base/arrow.h"

struct wi_join_filter {
    const struct wi_join_table *table;
    const struct wi_join_target *target;
    weir_reader *reader;
    struct wi_columns columns; /* keys, in the order of the shuffle's */
    struct wi_arrow_out *arrow;
    struct wi_vec *stored; /* columns of the store, of a chunk */
    struct wi_vec *keys;   /* of these: the keys */
    uint64_t at;           /* rows of the store so far */
};

static bool name_columns(struct wi_join_filter *f)
{
    const struct wi_join_params *p = f->table->p;
    for (uint32_t i = 0; i < f->target->n_keys; i++) {
        const struct wi_named_type *key =
            &p->right->at[p->right_keys[f->target->keys[i]]];
        if (wi_columns_add(&f->columns, key->name, &key->type) != WEIR_OK) {
            return false;
        }
    }
    return true;
}

static bool open_parts(struct wi_join_filter *f)
{
    struct weir_error err;
    const struct wi_join_table *t = f->table;
    f->stored = calloc(t->store.n_cols, sizeof(*f->stored));
    f->keys = calloc(f->target->n_keys, sizeof(*f->keys));
    return f->stored != NULL && f->keys != NULL && name_columns(f) &&
           wi_arrow_out_open(&f->columns, t->mem, &f->arrow, &err) == WEIR_OK &&
           weir_reader_filter_open(f->reader, t->store.n) == WEIR_OK;
}

struct wi_join_filter *wi_join_filter_open(const struct wi_join_table *table,
                                           const struct wi_join_target *target,
                                           weir_reader *reader)
{
    struct wi_join_filter *f = calloc(1, sizeof(*f));
    if (f != NULL) {
        *f = (struct wi_join_filter){
            .table = table, .target = target, .reader = reader};
        if (!open_parts(f)) {
            wi_join_filter_close(f);
            f = NULL;
        }
    }
    return f;
}

bool wi_join_filter_step(struct wi_join_filter *f)
{
    const struct wi_join_table *t = f->table;
    const struct ArrowArray *batch;
    struct weir_error err;
    struct wi_chunk chunk;
    uint64_t left = t->store.n - f->at;
    uint32_t n = left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
    if (n == 0) {
        (void)weir_reader_filter_send(f->reader);
        return true;
    }
    wi_store_slice(&t->store, f->at, n, f->stored, &chunk);
    for (uint32_t i = 0; i < f->target->n_keys; i++) {
        f->keys[i] = f->stored[f->target->keys[i]]; /* keys come first */
    }
    chunk.col = f->keys;
    chunk.n_cols = f->target->n_keys;
    f->at += n;
    return wi_arrow_out_put(f->arrow, &chunk, &batch, &err) != WEIR_OK ||
           weir_reader_filter_add(f->reader, batch) != WEIR_OK;
}

void wi_join_filter_close(struct wi_join_filter *f)
{
    if (f != NULL) {
        wi_arrow_out_close(f->arrow);
        wi_columns_fini(&f->columns);
        free(f->stored);
        free(f->keys);
        free(f);
    }
}
