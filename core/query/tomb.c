/* SPDX-License-Identifier: Apache-2.0 */
/* Tombs and notes: queries that are over, and those that are not yet open. */
#include "core/query/tomb.h"

#include <stdlib.h>
#include <string.h>

#include "core/link/engine.h"
#include "core/query/query.h"

/* ---- tombs --------------------------------------------------------------- */

weir_err wi_tombs_init(struct wi_engine *e)
{
    e->tombs = calloc(1, sizeof(*e->tombs));
    if (e->tombs == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    e->tombs->notes = calloc(e->cfg.max_members, sizeof(*e->tombs->notes));
    return e->tombs->notes != NULL ? WEIR_OK : WEIR_ERR_NO_MEMORY;
}

uint32_t wi_tombs(const struct wi_engine *e)
{
    return wi_min_u32(e->tombs->n, WI_TOMBS);
}

struct wi_tomb *wi_tomb_at(const struct wi_engine *e, uint32_t i)
{
    return &e->tombs->ring[i];
}

struct wi_tomb *wi_tomb_oldest(const struct wi_engine *e)
{
    struct wi_tombs *all = e->tombs;
    return all->n >= WI_TOMBS ? &all->ring[all->n % WI_TOMBS] : NULL;
}

struct wi_tomb *wi_tomb_find(const struct wi_engine *e, uint64_t id)
{
    for (uint32_t i = 0; i < wi_tombs(e); i++) {
        if (e->tombs->ring[i].id == id) {
            return &e->tombs->ring[i];
        }
    }
    return NULL;
}

static void empty(struct wi_tomb *t)
{
    free(t->members);
    free(t->lost);
    free(t->shuffles);
    free(t->unserved);
    memset(t, 0, sizeof(*t));
}

struct wi_tomb *wi_tomb_add(struct wi_engine *e, uint64_t id)
{
    struct wi_tomb *t = &e->tombs->ring[e->tombs->n++ % WI_TOMBS];
    empty(t);
    t->id = id;
    return t;
}

void wi_tomb_close(struct weir_query *q)
{
    struct wi_tomb *t = wi_tomb_add(q->engine, q->id);
    t->members = q->members;
    t->lost = q->lost;
    t->n_members = q->n_members;
    t->shuffles = q->opened;
    t->n_shuffles = q->n_opened;
    q->members = NULL;
    q->lost = NULL;
    q->n_members = 0;
    q->opened = NULL;
    if (q->failing) {
        t->code = q->error.code;
        wi_text_put(t->text, WI_TEXT_BYTES, q->error.message);
    } else if (q->report.code != WEIR_OK) {
        t->report = q->report.code;
        t->answer_ns = q->answer_ns;
        wi_text_put(t->text, WI_TEXT_BYTES, q->report.message);
        q->engine->tombs->n_asking++;
    }
}

static bool holds(const uint32_t *list, uint32_t n, uint32_t value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == value) {
            return true;
        }
    }
    return false;
}

bool wi_tomb_has(const struct wi_tomb *t, uint32_t member)
{
    return t->members == NULL || holds(t->members, t->n_members, member);
}

bool wi_tomb_ended(const struct wi_tomb *t, uint32_t shuffle)
{
    return holds(t->shuffles, t->n_shuffles, shuffle);
}

void wi_tomb_unserve(struct wi_tomb *t, uint32_t member)
{
    if (wi_tomb_unserved(t, member)) {
        return;
    }
    uint32_t *p = realloc(t->unserved, (t->n_unserved + 1) * sizeof(*p));
    if (p != NULL) { /* else it waits until its deadline */
        t->unserved = p;
        t->unserved[t->n_unserved++] = member;
    }
}

bool wi_tomb_unserved(const struct wi_tomb *t, uint32_t member)
{
    return holds(t->unserved, t->n_unserved, member);
}

void wi_tombs_fini(struct wi_engine *e)
{
    struct wi_tombs *all = e->tombs;
    for (uint32_t i = 0; all != NULL && i < WI_TOMBS; i++) {
        empty(&all->ring[i]);
    }
    for (uint32_t i = 0;
         all != NULL && all->notes != NULL && i < e->cfg.max_members; i++) {
        free(all->notes[i].ring);
    }
    free(all != NULL ? all->notes : NULL);
    free(all);
    e->tombs = NULL;
}

/* ---- notes --------------------------------------------------------------- */

struct wi_note *wi_note_add(struct wi_engine *e, uint32_t member, uint64_t id,
                            weir_err code, const char *text)
{
    struct wi_notes *all = &e->tombs->notes[member];
    if (all->ring == NULL) {
        all->ring = calloc(WI_NOTES, sizeof(*all->ring));
    }
    if (all->ring == NULL) {
        return NULL;
    }
    struct wi_note *n = &all->ring[all->n++ % WI_NOTES];
    *n = (struct wi_note){.id = id, .age = e->tombs->n_notes++, .code = code};
    wi_text_put(n->text, WI_TEXT_BYTES, text);
    return n;
}

struct wi_note *wi_note_find(const struct wi_engine *e, uint32_t member,
                             uint64_t id)
{
    const struct wi_notes *all = &e->tombs->notes[member];
    for (uint32_t i = 0; i < wi_min_u32(all->n, WI_NOTES); i++) {
        if (all->ring[i].id == id) {
            return &all->ring[i];
        }
    }
    return NULL;
}

static const struct wi_note *earlier(const struct wi_note *a,
                                     const struct wi_note *b)
{
    return b == NULL || (a != NULL && a->age < b->age) ? a : b;
}

const struct wi_note *wi_note_first(const struct wi_engine *e, uint64_t id)
{
    const struct wi_note *first = NULL;
    for (uint32_t i = 0; i < e->n_members; i++) {
        first = earlier(first, wi_note_find(e, i, id));
    }
    return first;
}

const struct wi_note *wi_note_of(const struct weir_query *q)
{
    const struct wi_note *first = NULL;
    for (uint32_t i = 0; i < q->n_members; i++) {
        first = earlier(first, wi_note_find(q->engine, q->members[i], q->id));
    }
    return first;
}

void wi_notes_unanswered(struct wi_engine *e, uint32_t member)
{
    struct wi_notes *all = &e->tombs->notes[member];
    for (uint32_t i = 0; i < wi_min_u32(all->n, WI_NOTES); i++) {
        all->ring[i].answered = false;
    }
}
