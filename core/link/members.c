/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/members.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/link/engine.h"
#include "core/link/guest.h"
#include "core/link/worker.h"
#include "core/transport.h"

weir_err wi_members_open(struct wi_engine *e)
{
    e->members = calloc(wi_engine_entries(e), sizeof(*e->members));
    return e->members != NULL ? WEIR_OK : WEIR_ERR_NO_MEMORY;
}

static void empty(struct wi_member *m)
{
    free(m->name);
    free(m->address);
    free(m->server_name);
    *m = (struct wi_member){0};
}

void wi_members_close(struct wi_engine *e)
{
    for (uint32_t i = 0; e->members != NULL && i < wi_engine_entries(e); i++) {
        empty(&e->members[i]);
    }
    free(e->members);
    while (e->old_texts != NULL) {
        struct wi_old_text *old = e->old_texts;
        e->old_texts = old->next;
        free(old->text);
        free(old);
    }
}

/* ---- one entry ----------------------------------------------------------- */

weir_err wi_member_check(const struct wi_engine *e, uint32_t idx,
                         const struct weir_member *m, struct weir_error *err)
{
    struct weir_error why;
    if (m->name == NULL || m->address == NULL || m->workers == 0 ||
        m->workers > WI_WORKERS_MAX || m->name[0] == '\0' ||
        strlen(m->name) >= WI_NAME_BYTES ||
        strlen(m->address) >= WI_ADDRESS_BYTES) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "member %u (name %.70s, address %.100s, %u workers): "
                       "needs a name (< %u bytes), an address (< %u) and 1 to "
                       "%u workers",
                       idx, m->name != NULL ? m->name : "NULL",
                       m->address != NULL ? m->address : "NULL", m->workers,
                       WI_NAME_BYTES, WI_ADDRESS_BYTES, WI_WORKERS_MAX);
    }
    if (e->ops->check(e->transport, m->address, &why) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_ARG, "member %u (%s): %.300s", idx,
                       m->name, why.message);
    }
    return WEIR_OK;
}

weir_err wi_member_copy(struct wi_engine *e, uint32_t idx,
                        const struct weir_member *from)
{
    struct wi_member *m = &e->members[idx];
    m->name = strdup(from->name);
    m->address = strdup(from->address);
    m->workers = from->workers;
    if (m->name == NULL || m->address == NULL) {
        empty(m);
        return WEIR_ERR_NO_MEMORY;
    }
    return WEIR_OK;
}

weir_err wi_member_move(struct wi_engine *e, uint32_t idx, const char *address)
{
    struct wi_old_text *old = malloc(sizeof(*old));
    char *copy = strdup(address);
    if (old == NULL || copy == NULL) {
        free(old);
        free(copy);
        return WEIR_ERR_NO_MEMORY;
    }
    *old = (struct wi_old_text){.next = e->old_texts,
                                .text = e->members[idx].address};
    e->old_texts = old;
    e->members[idx].address = copy;
    return WEIR_OK;
}

bool wi_member_here(const struct wi_engine *e, uint32_t idx)
{
    return idx < e->n_members && e->members[idx].name != NULL &&
           !e->members[idx].removed;
}

const char *wi_member_name(const struct wi_engine *e, uint32_t idx)
{
    return idx < wi_engine_entries(e) && e->members[idx].name != NULL
               ? e->members[idx].name
               : "?";
}

void wi_member_call(struct wi_engine *e, uint32_t idx, const char *name)
{
    char *copy = name[0] != '\0' ? strdup(name) : NULL;
    if (copy != NULL) {
        free(e->members[idx].name);
        e->members[idx].name = copy;
    }
}

uint32_t wi_member_free_entry(const struct wi_engine *e, uint32_t idx,
                              uint32_t n)
{
    uint32_t i = idx;
    while (i < idx + n && e->members[i].name != NULL) {
        i++;
    }
    return i < idx + n ? i : UINT32_MAX;
}

void wi_member_unlinked(struct wi_engine *e, uint32_t idx)
{
    e->members[idx].n_links--;
    wi_member_rest(e, idx);
}

void wi_member_rest(struct wi_engine *e, uint32_t idx)
{
    struct wi_member *m = &e->members[idx];
    if (idx >= e->cfg.max_members && m->n_links == 0 && m->holds == 0) {
        empty(m);
    }
}

/* ---- joining ------------------------------------------------------------- */

/* A number that is not in use. */
static bool is_hole(const struct weir_member *m)
{
    return m->name == NULL && m->address == NULL && m->workers == 0;
}

static weir_err check_member(const struct wi_engine *e,
                             const struct weir_member *members, uint32_t i,
                             struct weir_error *err)
{
    const struct weir_member *m = &members[i];
    weir_err rc = is_hole(m) ? WEIR_OK : wi_member_check(e, i, m, err);
    for (uint32_t k = 0; k < i && rc == WEIR_OK; k++) {
        if (!is_hole(m) && !is_hole(&members[k]) &&
            strcmp(members[k].name, m->name) == 0) {
            rc = wi_fail(err, WEIR_ERR_ARG,
                         "members %u and %u are both called "
                         "%s",
                         k, i, m->name);
        }
    }
    return rc;
}

static weir_err check_members(const struct wi_engine *e,
                              const struct weir_member *members, uint32_t n,
                              uint32_t *self_out, struct weir_error *err)
{
    if (e->n_members != 0) {
        return wi_fail(err, WEIR_ERR_STATE, "%s has joined already", e->name);
    }
    if (n > e->cfg.max_members) {
        return wi_fail(err, WEIR_ERR_BUDGET,
                       "%u members, the memory plan is for max_members = %u: "
                       "raise it",
                       n, e->cfg.max_members);
    }
    uint32_t self = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        weir_err rc = check_member(e, members, i, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        if (!is_hole(&members[i]) && strcmp(members[i].name, e->name) == 0) {
            self = i;
        }
    }
    if (self == UINT32_MAX) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "none of the %u members is called %s, which is this "
                       "node: the list has what weir_node_name says of each",
                       n, e->name);
    }
    if (members[self].workers != e->cfg.workers) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "member %u is this node, %s: the list says %u workers, "
                       "it was opened with %u",
                       self, e->name, members[self].workers, e->cfg.workers);
    }
    *self_out = self;
    return WEIR_OK;
}

static weir_err copy_members(struct wi_engine *e,
                             const struct weir_member *members, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (is_hole(&members[i]) ||
            wi_member_copy(e, i, &members[i]) == WEIR_OK) {
            continue;
        }
        while (i-- > 0) {
            empty(&e->members[i]);
        }
        return WEIR_ERR_NO_MEMORY;
    }
    e->n_members = n;
    return WEIR_OK;
}

weir_err wi_members_join(struct wi_engine *e, const struct weir_member *members,
                         uint32_t n, struct weir_error *err)
{
    uint32_t self = 0;
    weir_err rc = check_members(e, members, n, &self, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (copy_members(e, members, n) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u members", n);
    }
    e->self = self;
    wi_guests_greet(e);
    return WEIR_OK;
}
