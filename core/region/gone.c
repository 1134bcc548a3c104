/* SPDX-License-Identifier: Apache-2.0 */
#include "core/region/gone.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/forks.h"
#include "core/transport.h"

static void let_go(const struct wi_gone *g)
{
    if (g->home != NULL) {
        g->home->ops->unmap(g->home, g->base, g->bytes);
    } else if (g->base != NULL) {
        (void)munmap(g->base, g->bytes);
    }
    wi_fd_close(g->fd);
}

void wi_gone_let(struct wi_engine *e, const struct wi_gone *what)
{
    struct wi_gone *g =
        what->bytes >= WI_STAGED_BYTES ? malloc(sizeof(*g)) : NULL;
    if (g == NULL) { /* small, or there is no other way */
        let_go(what);
        return;
    }
    *g = *what;
    wi_list_init(&g->on_gone);
    wi_list_push_back(&e->regions->gone, &g->on_gone);
    wi_engine_kick(e); /* the step tells the stager */
}

struct wi_gone *wi_gone_take(struct wi_engine *e)
{
    struct wi_list *n = wi_list_take(&e->regions->gone);
    return n != NULL ? wi_container_of(n, struct wi_gone, on_gone) : NULL;
}

void wi_gone_end(struct wi_gone *g)
{
    let_go(g);
    free(g);
}
