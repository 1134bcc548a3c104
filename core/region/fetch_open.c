/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/fetch_open.h"

#include <stdlib.h>

#include "core/base/err.h"
#include "core/region/fetch.h"

#define SECOND 1000000000ull

/* ---- opening ------------------------------------------------------------- */

static weir_err check(const struct weir_node *node,
                      const struct weir_fetch_params *p, struct weir_error *err)
{
    if (p->worker >= node->engine.cfg.workers) {
        return wi_fail(err, WEIR_ERR_ARG, "worker = %u of %u", p->worker,
                       node->engine.cfg.workers);
    }
    for (size_t i = 0; i < WI_ARRAY_LEN(p->reserved); i++) {
        if (p->reserved[i] != 0) {
            return wi_fail(err, WEIR_ERR_ARG, "reserved[%zu] is not zero", i);
        }
    }
    return WEIR_OK;
}

static void init(struct weir_fetch *f, struct weir_node *node,
                 const struct weir_fetch_params *p)
{
    f->node = node;
    f->worker = &node->engine.workers[p->worker];
    f->max_bytes = p->max_bytes != 0 ? p->max_bytes : 16u << 20;
    f->timeout_ns = p->timeout_ns != 0 ? p->timeout_ns : 30 * SECOND;
    wi_list_init(&f->free);
    wi_list_init(&f->ended);
    wi_lq_init(&f->moved);
    wi_lq_init(&f->returned);
    for (uint32_t i = 0; i < WI_OPS_MAX; i++) {
        struct wi_op *op = &f->ops[i];
        op->fetch = f;
        wi_list_init(&op->on_share);
        wi_list_init(&op->on_call);
        wi_list_push_back(&f->free, &op->on_fetch);
    }
}

weir_err weir_fetch_open(weir_node *node,
                         const struct weir_fetch_params *params,
                         weir_fetch **fetch_out, struct weir_error *err)
{
    struct weir_fetch_params p = {0};
    weir_err rc = wi_check_args(err, WI_ARG(node), WI_ARG(fetch_out));
    rc = rc == WEIR_OK ? wi_engine_check_own(&node->engine, err) : rc;
    if (rc == WEIR_OK && params != NULL) {
        p = *params;
        rc = check(node, &p, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_fetch *f = calloc(1, sizeof(*f));
    struct wi_op *ops = calloc(WI_OPS_MAX, sizeof(*ops));
    if (f == NULL || ops == NULL) {
        free(f);
        free(ops);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a fetch");
    }
    f->ops = ops;
    init(f, node, &p);
    wi_node_lock(node);
    wi_list_push_back(&node->engine.regions->fetches, &f->on_regions);
    wi_node_unlock(node);
    *fetch_out = f;
    return WEIR_OK;
}

/* ---- closing ------------------------------------------------------------- */

bool wi_fetch_give_up(struct weir_fetch *f)
{
    struct wi_lq_node *n;
    bool idle = true;
    f->closed = true;
    for (uint32_t i = 0; i < WI_OPS_MAX; i++) {
        struct wi_op *op = &f->ops[i];
        if (op->state >= WI_OP_WAITING && op->state < WI_OP_OVER &&
            op->code == WEIR_OK && op->state != WI_OP_COPYING) {
            wi_op_fail(op, WEIR_ERR_STATE, "the fetch is being closed");
        }
    }
    while ((n = wi_lq_take(&f->moved)) != NULL) {
        struct wi_op *op = wi_container_of(n, struct wi_op, node);
        if (op->state != WI_OP_OVER) {
            op->code = WEIR_ERR_STATE;
            wi_op_landed(op); /* over, and on the queue again */
        }
    }
    for (uint32_t i = 0; i < WI_OPS_MAX; i++) {
        idle = idle && f->ops[i].state != WI_OP_MOVING;
    }
    return idle;
}

void wi_fetch_leave(struct weir_fetch *f)
{
    f->left = true;
    wi_fetch_purge(f, true);
    /* E15 both: as in weir_fetch_release() */
    if (wi_add_ar(&f->returned_bytes, WI_FETCH_LEFT) == f->lent_bytes) {
        wi_fetch_free(f);
    }
}

void wi_fetch_free(struct weir_fetch *f)
{
    wi_list_remove(&f->on_regions);
    wi_fetch_purge(f, true);
    for (uint32_t i = 0; i < WI_OPS_MAX; i++) {
        wi_op_clear(&f->ops[i]);
    }
    free(f->ops);
    free(f);
}
