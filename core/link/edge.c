/* SPDX-License-Identifier: Apache-2.0 */
/* Edges that are over: what both ends have in common. */
#include "core/link/edge.h"

#include "core/link/edge_out.h"
#include "core/link/engine.h"
#include "core/link/in_end.h"
#include "core/link/link.h"
#include "core/link/post.h"

static void free_item(struct wi_item *it)
{
    if (it->kind == WI_ITEM_OUT) {
        wi_out_free(wi_container_of(it, struct wi_out, item));
    } else {
        wi_in_free(wi_container_of(it, struct wi_in, item));
    }
}

/* Edges that waited for its units are placed. */
static void leave_limbo(struct wi_link *l, struct wi_item *it)
{
    bool out = it->kind == WI_ITEM_OUT;
    free_item(it);
    if (out) {
        wi_out_place(l);
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
            leave_limbo(l, it);
        } /* else the send side kicks us after its round */
    }
}

static bool all_released(const struct wi_list *items)
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
    if (!all_released(&l->waiting) || !all_released(&l->outs) ||
        !all_released(&l->ins)) {
        return false;
    }
    wi_edges_limbo(l->engine);
    free_all(&l->waiting);
    free_all(&l->outs);
    free_all(&l->ins);
    return true;
}
