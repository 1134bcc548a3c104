/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both ends of an edge have in common, engine side: messages, and the edges
 * that are over. The ends are in edge_out.c and edge_in.c; everything here runs
 * under the node's lock.
 */
#include "core/query/shuffle.h"

/* ---- messages ------------------------------------------------------------------ */

void wi_edge_send(struct wi_link *l, enum wi_msg_type type, uint32_t edge,
                  uint32_t epoch)
{
    union wi_msg m;
    wi_msg_init(&m, type);
    m.edge.edge = edge;
    m.edge.epoch = epoch;
    wi_link_send(l, &m);
}

weir_err wi_edge_message(struct wi_link *l, const union wi_msg *m,
                         struct weir_error *err)
{
    switch (m->head.type) {
    case WI_MSG_EDGE_STOP:
    case WI_MSG_EDGE_CLOSED:
    case WI_MSG_CREDIT:
        return wi_out_message(l, m, err);
    default:
        return wi_in_message(l, m, err);
    }
}

/* ---- limbo and dead links -------------------------------------------------------- */

static void free_item(struct wi_item *it)
{
    if (it->kind == WI_ITEM_OUT) {
        wi_out_free(wi_container_of(it, struct wi_out, item));
    } else {
        wi_in_free(wi_container_of(it, struct wi_in, item));
    }
}

static struct wi_link *link_of(struct wi_item *it)
{
    return it->kind == WI_ITEM_OUT
               ? wi_container_of(it, struct wi_out, item)->link
               : wi_container_of(it, struct wi_in, item)->link;
}

void wi_edges_limbo(struct wi_engine *e)
{
    wi_list_each(n, &e->limbo)
    {
        struct wi_item *it = wi_container_of(n, struct wi_item, on_link);
        struct wi_link *l = link_of(it);
        if (l->sealed || l->mapped || wi_link_quiet(l, it)) {
            free_item(it);
        } /* else the send side kicks us when it has moved */
    }
}

static bool all_over(const struct wi_list *items)
{
    wi_list_each(n, items)
    {
        struct wi_item *it = wi_container_of(n, struct wi_item, on_link);
        if (it->kind == WI_ITEM_OUT
                ? !wi_container_of(it, struct wi_out, item)->released
                : !wi_in_released(wi_container_of(it, struct wi_in, item))) {
            return false;
        }
    }
    return true;
}

static void free_all(struct wi_list *items)
{
    wi_list_each(n, items)
    {
        free_item(wi_container_of(n, struct wi_item, on_link));
    }
}

bool wi_edges_bury(struct wi_link *l)
{
    if (!all_over(&l->waiting) || !all_over(&l->outs) || !all_over(&l->ins)) {
        return false;
    }
    wi_edges_limbo(l->engine);
    free_all(&l->waiting);
    free_all(&l->outs);
    free_all(&l->ins);
    return true;
}
