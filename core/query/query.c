/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/query.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/link/engine.h"
#include "core/link/send.h"
#include "core/query/shuffle.h"

struct weir_query *wi_query_find(struct wi_engine *e, uint64_t id)
{
    wi_list_each(n, &e->queries_of[wi_query_list(id)])
    {
        struct weir_query *q = wi_container_of(n, struct weir_query, on_list);
        if (q->id == id) {
            return q;
        }
    }
    return NULL;
}

bool wi_query_has(const struct weir_query *q, uint32_t member)
{
    for (uint32_t i = 0; i < q->n_members; i++) {
        if (q->members[i] == member) {
            return true;
        }
    }
    return false;
}

weir_err weir_query_status(weir_query *query, struct weir_error *err)
{
    if (wi_unlikely(query == NULL)) {
        return wi_fail_null(err, "query");
    }
    weir_err code = wi_query_code(query);
    if (code == WEIR_ERR_STATE) {
        return wi_engine_check_own(query->engine, err);
    }
    if (code != WEIR_OK && err != NULL) {
        *err = query->error;
    }
    return code;
}

weir_err wi_error_of(struct weir_query *q, const struct weir_error *noted,
                     struct weir_error *err)
{
    weir_err rc = weir_query_status(q, err);
    if (rc == WEIR_OK && err != NULL) {
        *err = *noted;
    }
    return rc != WEIR_OK ? rc : noted->code;
}

/* ---- what could not be opened -------------------------------------------- */

void wi_query_refused(struct weir_query *q, enum wi_part part, uint32_t shuffle,
                      uint32_t worker, const struct weir_error *why)
{
    struct wi_refused *r = &q->refused;
    bool whole = part == WI_PART_SHUFFLE;
    bool none = !whole && why->code != WEIR_ERR_NO_MEMORY;
    if (none || q->failing || r->text[0] != '\0') {
        return; /* no such end, or it was open */
    }
    *r =
        (struct wi_refused){.part = part, .shuffle = shuffle, .worker = worker};
    if (whole) {
        (void)snprintf(r->text, sizeof(r->text),
                       "shuffle %u could not be opened: %.180s", shuffle,
                       why->message);
    } else {
        (void)snprintf(r->text, sizeof(r->text),
                       "the %s of shuffle %u, worker %u, could not be opened: "
                       "%.150s",
                       part == WI_PART_READER ? "reader" : "writer", shuffle,
                       worker, why->message);
    }
}

void wi_query_opened(struct weir_query *q, enum wi_part part, uint32_t shuffle,
                     uint32_t worker)
{
    struct wi_refused *r = &q->refused;
    if (r->part == part && r->shuffle == shuffle && r->worker == worker) {
        r->text[0] = '\0';
    }
    if (part != WI_PART_SHUFFLE && q->unopened > 0) {
        q->unopened--;
    }
    if (q->unopened == 0) {
        wi_links_flush(q->engine);
    }
}

/* ---- the last hold ------------------------------------------------------- */

void wi_query_free(struct weir_query *q)
{
    free(q->members);
    free(q->lost);
    free(q->opened);
    free(q);
}

void wi_query_drop(struct weir_query *q)
{
    if (--q->holds != 0) {
        return;
    }
    wi_list_each(n, &q->shuffles)
    {
        wi_shuffle_free(wi_container_of(n, struct weir_shuffle, on_query));
    }
    wi_query_free(q);
}
