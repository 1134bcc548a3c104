/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/shuffle.h"

#include <stdlib.h>

#include "core/link/common_rings.h"
#include "core/link/engine.h"
#include "core/partition/partition.h"
#include "core/query/filter.h"
#include "core/query/query.h"

uint32_t wi_shuffle_workers(const struct weir_shuffle *s, uint32_t member,
                            uint32_t limit)
{
    uint32_t n = s->query->engine->members[member].workers;
    return limit == 0 ? n : wi_min_u32(n, limit);
}

uint32_t wi_shuffle_dests(const struct weir_shuffle *s, uint32_t member)
{
    return s->to_node ? 1 : wi_shuffle_workers(s, member, s->consumer_workers);
}

/* Workers of some members, each member's `limit` first ones (0: all). */
struct side {
    const uint32_t *members;
    uint32_t n_members;
    uint32_t limit;
};

/* Number of a worker among those of a side; UINT32_MAX: it is none of them. */
static uint32_t number_of(const struct weir_shuffle *s, const struct side *side,
                          uint32_t member, uint32_t worker)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < side->n_members; i++) {
        uint32_t n = wi_shuffle_workers(s, side->members[i], side->limit);
        if (side->members[i] == member) {
            return worker < n ? first + worker : UINT32_MAX;
        }
        first += n;
    }
    return UINT32_MAX;
}

uint32_t wi_shuffle_source(const struct weir_shuffle *s, uint32_t member,
                           uint32_t worker)
{
    const struct side side = {s->producers, s->n_producers,
                              s->producer_workers};
    return number_of(s, &side, member, worker);
}

uint32_t wi_shuffle_dest(const struct weir_shuffle *s, uint32_t member,
                         uint32_t worker)
{
    const struct side side = {s->consumers, s->n_consumers,
                              s->consumer_workers};
    return s->to_node ? UINT32_MAX : number_of(s, &side, member, worker);
}

struct weir_shuffle *wi_shuffle_find(const struct weir_query *q, uint32_t id)
{
    wi_list_each(n, &q->shuffles)
    {
        struct weir_shuffle *s =
            wi_container_of(n, struct weir_shuffle, on_query);
        if (s->id == id) {
            return s;
        }
    }
    return NULL;
}

uint32_t weir_shuffle_destinations(const weir_shuffle *shuffle)
{
    return shuffle != NULL ? shuffle->n_dest : 0;
}

void wi_shuffle_let_go(struct weir_shuffle *s)
{
    if (s->common != NULL) {
        wi_common_close(s->common);
        s->common = NULL;
    }
}

void wi_shuffle_free(struct weir_shuffle *s)
{
    wi_list_remove(&s->on_query);
    for (uint32_t i = 0;
         s->partitions != NULL && i < s->query->engine->cfg.workers; i++) {
        if (s->partitions[i] != NULL) {
            wi_partition_close(s->partitions[i]);
        }
    }
    if (s->schema != NULL) {
        wi_schema_close(s->schema);
    }
    wi_shuffle_let_go(s);
    wi_filters_free(s);
    free(s->key_columns);
    free(s->partitions);
    free(s->writers);
    free(s->readers);
    free(s->producers);
    free(s->consumers);
    free(s);
}
