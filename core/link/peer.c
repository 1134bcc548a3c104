/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/peer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/link/prove.h"
#include "core/transport.h"

/* Is whom the entry expects at its address the one that is asked for? A member
 * is expected by its name. */
static bool is_meant(const struct wi_engine *e, uint32_t i,
                     const char *server_name)
{
    const struct wi_member *m = &e->members[i];
    if (i < e->cfg.max_members) {
        return server_name == NULL || strcmp(server_name, m->name) == 0;
    }
    return server_name == NULL || m->server_name == NULL
               ? server_name == m->server_name
               : strcmp(server_name, m->server_name) == 0;
}

/* The entry of an address: a member's before another's. */
static uint32_t find(const struct wi_engine *e, const char *address,
                     const char *server_name)
{
    if (e->n_members != 0 && strcmp(address, e->address) == 0 &&
        is_meant(e, e->self, server_name)) {
        return e->self;
    }
    uint32_t end = e->cfg.max_members + (uint32_t)e->cfg.max_peers;
    for (uint32_t i = 0; i < end; i++) {
        const struct wi_member *m = &e->members[i];
        if (m->name != NULL && !m->removed &&
            strcmp(m->address, address) == 0 && is_meant(e, i, server_name)) {
            return i;
        }
    }
    return UINT32_MAX;
}

static weir_err make(struct wi_engine *e, const char *address,
                     const char *server_name, uint32_t *entry_out,
                     struct weir_error *err)
{
    const struct weir_member m = {.name = address, .address = address};
    uint32_t max = (uint32_t)e->cfg.max_peers;
    uint32_t i = wi_member_free_entry(e, e->cfg.max_members, max);
    if (i == UINT32_MAX) {
        return wi_fail(err, WEIR_ERR_BUDGET,
                       "%s talks to %u nodes that are no members already: "
                       "raise max_peers",
                       e->name, max);
    }
    char *copy = server_name != NULL ? strdup(server_name) : NULL;
    if ((copy == NULL && server_name != NULL) ||
        wi_member_copy(e, i, &m) != WEIR_OK) {
        free(copy);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a peer");
    }
    e->members[i].server_name = copy;
    e->members[i].own = strcmp(address, e->address) == 0;
    *entry_out = i;
    return WEIR_OK;
}

weir_err wi_peer_hold(struct wi_engine *e, const char *address,
                      const char *server_name, uint32_t *entry_out,
                      struct weir_error *err)
{
    struct weir_error why;
    weir_err rc = wi_prove_may_expect(e, server_name, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    uint32_t i = find(e, address, server_name);
    if (i == UINT32_MAX) {
        if (strlen(address) >= WI_ADDRESS_BYTES ||
            e->ops->check(e->transport, address, &why) != WEIR_OK) {
            return wi_fail(err, WEIR_ERR_ARG, "peer at %.100s: %.300s", address,
                           strlen(address) >= WI_ADDRESS_BYTES
                               ? "the address is too long"
                               : why.message);
        }
        rc = make(e, address, server_name, &i, err);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    e->members[i].holds++;
    *entry_out = i;
    return WEIR_OK;
}

/* Nobody has a handle of it any more. What is still on its way, or is not over
 * yet, ends the link when it ends. */
static void let_go(struct wi_link *l)
{
    if (l->state <= WI_LINK_PROOF && !wi_link_busy(l)) {
        wi_link_down(l, true, WEIR_OK, "closed");
        return;
    }
    wi_link_bye(l);
    wi_link_rest(l);
    wi_engine_kick(l->engine); /* a new deadline */
}

void wi_peer_drop(struct wi_engine *e, uint32_t entry)
{
    struct wi_member *m = &e->members[entry];
    m->holds--;
    if (m->holds == 0 && entry >= e->cfg.max_members && m->link != NULL) {
        let_go(m->link); /* others may need the entry */
    }
    wi_member_rest(e, entry);
}
