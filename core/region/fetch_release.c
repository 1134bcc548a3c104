/* SPDX-License-Identifier: Apache-2.0 */
/* Lent bytes come back, in any thread; perhaps after their fetch was closed. */
#include "core/region/fetch.h"

#include "core/base/err.h"
#include "core/link/worker.h"
#include "core/region/fetch_open.h"
#include "core/region/piece.h"

/* Its program has closed it; what it has lent is all there is of it. */
static bool is_left(const struct weir_fetch *f)
{
    /* rlx: a hint; without it the memory is freed with the fetch */
    return wi_load_rlx(&f->returned_bytes) >= WI_FETCH_LEFT;
}

/* Nobody takes it from the queue any more. */
static WI_COLD void clear_lent(struct weir_fetch *f, struct wi_op *op)
{
    wi_node_lock(f->node);
    wi_op_clear(op);
    wi_node_unlock(f->node);
}

static WI_COLD void free_after_last(struct weir_fetch *f, uint64_t returned)
{
    struct weir_node *n = f->node;
    if (returned == WI_FETCH_LEFT + f->lent_bytes) {
        wi_node_lock(n);
        wi_fetch_free(f);
        wi_node_unlock(n);
    }
}

void weir_fetch_release(weir_fetch *fetch, const struct weir_got *got)
{
    if (fetch == NULL || got == NULL || got->lent == 0 ||
        got->lent > WI_OPS_MAX ||
        wi_unlikely(wi_engine_inherited(&fetch->node->engine))) {
        return;
    }
    struct wi_op *op = &fetch->ops[got->lent - 1];
    struct wi_worker *worker = fetch->worker;
    uint64_t charge = op->charge;
    if (op->piece != NULL) { /* its owner may wait for it */
        wi_piece_drop(op->piece);
        op->piece = NULL;
    }
    if (wi_unlikely(is_left(fetch))) {
        clear_lent(fetch, op);
    } else {
        wi_lq_put(&fetch->returned, &op->node);
    }
    /* E15 both: this thread's use of the fetch, before it is freed; pairs with
     * itself and with wi_fetch_leave(), the last of them frees */
    uint64_t now = wi_add_ar(&fetch->returned_bytes, charge) + charge;
    if (wi_unlikely(now >= WI_FETCH_LEFT)) {
        free_after_last(fetch, now);
    }
    wi_worker_notify(worker, WI_ATTN_SPACE);
}
