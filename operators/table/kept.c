/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of tables in memory. */
#include "operators/table/kept.h"

#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"

struct wi_kept {
    struct wi_kept_part part[WI_KEPT_PARTS];
};

weir_err wi_kept_open(struct wi_kept **out, struct weir_error *err)
{
    struct wi_kept *kept = calloc(1, sizeof(*kept));
    if (kept == NULL) {
        return wi_exec_no_memory(err, sizeof(*kept));
    }
    *out = kept;
    return WEIR_OK;
}

void wi_kept_close(struct wi_kept *kept)
{
    for (uint32_t i = 0; kept != NULL && i < WI_KEPT_PARTS; i++) {
        wi_kept_drop(&kept->part[i]);
    }
    free(kept);
}

struct wi_kept_part *wi_kept_part(struct wi_kept *kept, uint32_t part)
{
    return part < WI_KEPT_PARTS ? &kept->part[part] : NULL;
}

bool wi_kept_has(const struct wi_kept_part *p, uint32_t n_parts,
                 const uint32_t *cols, uint32_t n_cols)
{
    return p->state == WI_KEPT_WHOLE && p->n_parts == n_parts &&
           p->n_cols == n_cols &&
           (n_cols == 0 || memcmp(p->cols, cols, n_cols * sizeof(*cols)) == 0);
}

void wi_kept_drop(struct wi_kept_part *p)
{
    wi_store_fini(&p->store);
    free(p->cols);
    *p = (struct wi_kept_part){.state = WI_KEPT_EMPTY};
}

weir_err wi_kept_begin(struct wi_kept_part *p, uint32_t n_parts,
                       const uint32_t *cols, const struct wi_columns *columns,
                       struct weir_error *err)
{
    size_t bytes = columns->n * sizeof(*cols);
    wi_kept_drop(p);
    p->cols = malloc(bytes + 1);
    if (p->cols == NULL) {
        return wi_exec_no_memory(err, bytes);
    }
    memcpy(p->cols, cols, bytes);
    p->n_cols = columns->n;
    p->n_parts = n_parts;
    weir_err rc = wi_store_init(&p->store, columns, &p->mem, err);
    if (rc != WEIR_OK) {
        wi_kept_drop(p);
        return rc;
    }
    p->state = WI_KEPT_FILLING;
    return WEIR_OK;
}
