/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators run, and the shuffles between their fragments. */
#include "operators/plan/layout.h"

#include <stdlib.h>

#include "operators/base/fail.h"
#include "operators/plan/kind.h"

static const uint32_t first_member[] = {0};
static const uint32_t one_worker[] = {1};

/* ---- the plan ------------------------------------------------------------ */

/* Mark the operators of a fragment, and note the shuffles where it ends. An
 * operator on one worker needs its inputs there only, even a broadcast.
 * @param todo  room for all operators */
static void walk(struct wi_layout *l, uint32_t root, uint32_t *todo)
{
    uint32_t n = 0;
    todo[n++] = root;
    l->one[root] |= l->plan->ops[root]->single;
    while (n != 0) {
        uint32_t i = todo[--n];
        const struct wi_plan_op *op = l->plan->ops[i];
        l->live[i] = true;
        if (wi_kind_of(op)->cuts) {
            l->cut[l->n_cuts++] = i;
            continue;
        }
        for (uint32_t k = 0; k < op->n_inputs; k++) {
            const uint32_t in = op->inputs[k];
            l->one[in] = l->one[i] || l->plan->ops[in]->single;
            todo[n++] = in;
        }
    }
}

static weir_err find_cuts(struct wi_layout *l, struct weir_error *err)
{
    size_t n = (size_t)l->plan->n_ops + 1;
    uint32_t *todo = calloc(n, sizeof(*todo));
    l->live = calloc(n, sizeof(*l->live));
    l->one = calloc(n, sizeof(*l->one));
    l->cut = calloc(n, sizeof(*l->cut));
    l->exchange = calloc(n, sizeof(*l->exchange));
    if (todo == NULL || l->live == NULL || l->one == NULL || l->cut == NULL ||
        l->exchange == NULL) {
        free(todo);
        return wi_exec_no_memory(err, n * sizeof(*l->exchange));
    }
    walk(l, l->plan->result, todo);
    for (uint32_t k = 0; k < l->n_cuts; k++) { /* grows while we go */
        walk(l, l->plan->ops[l->cut[k]]->inputs[0], todo);
    }
    free(todo);
    return WEIR_OK;
}

static weir_err find_members(struct wi_layout *l, const weir_node *node,
                             struct weir_error *err)
{
    l->n_members = weir_node_members(node);
    l->self = weir_node_self(node);
    l->workers = calloc((size_t)l->n_members + 1, sizeof(*l->workers));
    if (l->workers == NULL) {
        return wi_exec_no_memory(err, l->n_members * sizeof(*l->workers));
    }
    for (uint32_t i = 0; i < l->n_members; i++) {
        struct weir_member member;
        weir_err rc = weir_node_member(node, i, &member);
        if (rc == WEIR_ERR_NOT_FOUND && i != 0) {
            continue; /* it was removed: no workers */
        }
        if (rc != WEIR_OK) {
            return wi_exec_fail(err, rc,
                                "member %u of %u is not there (any more); a "
                                "plan gives its result to member 0",
                                i, l->n_members);
        }
        if (i == l->self) {
            l->first_part = l->n_workers;
        }
        l->workers[i] = member.workers;
        l->n_workers += member.workers;
    }
    return WEIR_OK;
}

weir_err wi_layout_init(struct wi_layout *l, const struct weir_plan *plan,
                        const weir_node *node, struct weir_error *err)
{
    *l = (struct wi_layout){.plan = plan};
    weir_err rc = find_members(l, node, err);
    return rc == WEIR_OK ? find_cuts(l, err) : rc;
}

void wi_layout_fini(struct wi_layout *l)
{
    free(l->workers);
    free(l->live);
    free(l->one);
    free(l->cut);
    free(l->exchange);
}

bool wi_layout_present(const struct wi_layout *l, uint32_t op, uint32_t worker)
{
    return !l->one[op] || (l->self == 0 && worker == 0);
}

/* ---- its shuffles -------------------------------------------------------- */

static void fill_exchange(struct wi_layout *l, uint32_t i)
{
    const struct wi_plan_op *op = l->plan->ops[i];
    struct wi_exchange *x = &l->exchange[i];
    bool from_one = l->one[op->inputs[0]];
    x->send.columns = &op->columns;
    x->receive.columns = &op->columns;
    x->merge = (struct wi_merge_params){
        .columns = &op->columns,
        .n_keys = op->p.shuffle.n_order,
        .keys = op->p.shuffle.order,
        .n_members = from_one ? 1 : l->n_members,
        .n_workers = from_one ? one_worker : l->workers,
    };
}

static weir_err open_shuffle(struct wi_layout *l, uint32_t i,
                             struct weir_error *err)
{
    const struct wi_plan_op *op = l->plan->ops[i];
    const struct wi_plan_shuffle *s = &op->p.shuffle;
    struct ArrowSchema schema;
    struct ArrowArray bounds = s->bounds; /* borrowed, perhaps shortened */
    struct weir_shuffle_params p = {.id = i + 1,
                                    .name =
                                        op->notes.hidden ? "result" : op->name,
                                    .schema = &schema,
                                    .partitioning = s->partitioning,
                                    .keys = s->n_keys != 0 ? s->keys : NULL,
                                    .n_keys = s->n_keys,
                                    .seed = s->seed};
    if (s->partitioning == WEIR_RANGE) {
        if (bounds.length >= l->n_workers) {
            bounds.length = l->n_workers - 1;
        }
        p.bounds = &bounds;
    }
    if (l->one[op->inputs[0]]) {
        p.producers = first_member;
        p.n_producers = 1;
        p.producer_workers = 1;
    }
    if (l->one[i]) {
        p.consumers = first_member;
        p.n_consumers = 1;
        p.consumer_workers = 1;
    }
    weir_err rc = wi_columns_to_arrow(&op->columns, &schema, err);
    if (rc == WEIR_OK) {
        rc = weir_shuffle_open(l->query, &p, &l->exchange[i].shuffle, err);
        schema.release(&schema);
    }
    return rc;
}

/* From member 0 to all others: see wi_layout_shuffles. */
static weir_err open_end(struct wi_layout *l, struct weir_error *err)
{
    static const struct weir_field nothing = {"nothing", "c", 0};
    struct ArrowSchema schema;
    uint32_t *others = calloc(l->n_members, sizeof(*others));
    if (others == NULL) {
        return wi_exec_no_memory(err, l->n_members * sizeof(*others));
    }
    uint32_t n_others = 0;
    for (uint32_t i = 1; i < l->n_members; i++) {
        if (l->workers[i] != 0) {
            others[n_others++] = i;
        }
    }
    const struct weir_shuffle_params p = {.id = l->plan->n_ops + 1,
                                          .name = "end of the run",
                                          .schema = &schema,
                                          .partitioning = WEIR_BROADCAST,
                                          .producers = first_member,
                                          .n_producers = 1,
                                          .producer_workers = 1,
                                          .consumers = others,
                                          .n_consumers = n_others,
                                          .consumer_workers = 1};
    if (n_others == 0) {
        free(others);
        return WEIR_OK;
    }
    weir_err rc = weir_schema_build(&nothing, 1, &schema, err);
    if (rc == WEIR_OK) {
        rc = weir_shuffle_open(l->query, &p, &l->end, err);
        schema.release(&schema);
    }
    free(others);
    return rc;
}

weir_err wi_layout_shuffles(struct wi_layout *l, weir_query *query,
                            struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    l->query = query;
    for (uint32_t k = 0; k < l->n_cuts && rc == WEIR_OK; k++) {
        fill_exchange(l, l->cut[k]);
        rc = open_shuffle(l, l->cut[k], err);
    }
    return rc == WEIR_OK && l->n_members > 1 ? open_end(l, err) : rc;
}
