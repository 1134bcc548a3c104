/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/members.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/link/engine.h"
#include "core/link/guest.h"
#include "core/link/worker.h"
#include "core/transport.h"

static weir_err check_member(const struct wi_engine *e,
                             const struct weir_member *members, uint32_t i,
                             struct weir_error *err)
{
    const struct weir_member *m = &members[i];
    struct weir_error why;
    if (m->name == NULL || m->address == NULL || m->workers == 0 ||
        m->workers > WI_WORKERS_MAX || m->name[0] == '\0' ||
        strlen(m->name) >= WI_NAME_BYTES ||
        strlen(m->address) >= WI_ADDRESS_BYTES) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "member %u (name %.70s, address %.100s, %u workers): "
                       "needs a name (< %u bytes), an address (< %u) and 1 to "
                       "%u workers",
                       i, m->name != NULL ? m->name : "NULL",
                       m->address != NULL ? m->address : "NULL", m->workers,
                       WI_NAME_BYTES, WI_ADDRESS_BYTES, WI_WORKERS_MAX);
    }
    for (uint32_t k = 0; k < i; k++) {
        if (strcmp(members[k].name, m->name) == 0) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "members %u and %u are both called %s", k, i,
                           m->name);
        }
    }
    if (e->ops->check(e->transport, m->address, &why) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_ARG, "member %u (%s): %.300s", i, m->name,
                       why.message);
    }
    return WEIR_OK;
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
        if (strcmp(members[i].name, e->name) == 0) {
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

void wi_members_free(struct wi_engine *e)
{
    for (uint32_t i = 0; e->members != NULL && i < e->n_members; i++) {
        free(e->members[i].name);
        free(e->members[i].address);
    }
    free(e->members);
    e->members = NULL;
    e->n_members = 0;
}

static weir_err copy_members(struct wi_engine *e,
                             const struct weir_member *members, uint32_t n)
{
    e->members = calloc(n, sizeof(*e->members));
    for (uint32_t i = 0; e->members != NULL && i < n; i++) {
        struct wi_member *m = &e->members[i];
        e->n_members = i + 1;
        m->name = strdup(members[i].name);
        m->address = strdup(members[i].address);
        m->workers = members[i].workers;
        if (m->name == NULL || m->address == NULL) {
            wi_members_free(e);
        }
    }
    return e->members != NULL ? WEIR_OK : WEIR_ERR_NO_MEMORY;
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

const char *wi_member_name(const struct wi_engine *e, uint32_t idx)
{
    return idx < e->n_members ? e->members[idx].name : "?";
}
