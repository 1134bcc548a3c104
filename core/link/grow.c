/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/grow.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/link/connect.h"
#include "core/link/guest.h"
#include "core/link/life.h"
#include "core/link/link.h"
#include "core/link/members.h"
#include "core/link/news.h"
#include "core/transport.h"

static weir_err check_name(const struct wi_engine *e, uint32_t idx,
                           const char *name, struct weir_error *err)
{
    for (uint32_t i = 0; i < e->n_members; i++) {
        const struct wi_member *m = &e->members[i];
        if (i != idx && m->name != NULL && strcmp(m->name, name) == 0) {
            return wi_fail(err, WEIR_ERR_ARG, "member %u is %scalled %s", i,
                           m->removed ? "gone, and was " : "already ", name);
        }
    }
    return WEIR_OK;
}

/* The number is in use: is it the same member? */
static weir_err check_again(const struct wi_engine *e, uint32_t idx,
                            const struct weir_member *member,
                            struct weir_error *err)
{
    const struct wi_member *m = &e->members[idx];
    if (m->removed || strcmp(m->name, member->name) != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "number %u %s %s: numbers are not used again, take "
                       "another one for %s",
                       idx, m->removed ? "was that of" : "is that of", m->name,
                       member->name);
    }
    if (m->workers != member->workers) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "member %u, %s, has %u workers, not %u: a member keeps "
                       "their number, add it under another name",
                       idx, m->name, m->workers, member->workers);
    }
    if (idx == e->self && strcmp(m->address, member->address) != 0) {
        return wi_fail(err, WEIR_ERR_ARG, "member %u, %s, is this node", idx,
                       m->name);
    }
    return WEIR_OK;
}

static weir_err check(const struct wi_engine *e, uint32_t idx,
                      const struct weir_member *member, struct weir_error *err)
{
    if (e->n_members == 0) {
        return wi_fail(err, WEIR_ERR_STATE, "%s has not joined a cluster yet",
                       e->name);
    }
    if (idx >= e->cfg.max_members) {
        return wi_fail(err, WEIR_ERR_BUDGET,
                       "member %u, the memory plan is for max_members = %u: "
                       "raise it",
                       idx, e->cfg.max_members);
    }
    weir_err rc = wi_member_check(e, idx, member, err);
    if (rc == WEIR_OK) {
        rc = check_name(e, idx, member->name, err);
    }
    return rc == WEIR_OK && e->members[idx].name != NULL
               ? check_again(e, idx, member, err)
               : rc;
}

/* Nobody is at the old address any more: an attempt to connect begins again at
 * the new one, and a link that this node opened there is of the incarnation
 * that was there. One that the member opened may well be of the new one, which
 * is quicker than those who tell of it. */
static void leave_old_address(struct wi_engine *e, uint32_t idx)
{
    char why[WI_REASON_BYTES];
    struct wi_link *l = e->members[idx].link;
    if (l == NULL || !l->initiator || wi_link_begin_again(l)) {
        return;
    }
    (void)snprintf(why, sizeof(why), "it has moved to %.150s",
                   e->members[idx].address);
    wi_link_down(l, false, WEIR_ERR_PEER_LOST, why);
}

static weir_err move(struct wi_engine *e, uint32_t idx, const char *address,
                     struct weir_error *err)
{
    if (strcmp(e->members[idx].address, address) == 0) {
        return WEIR_OK;
    }
    if (wi_member_move(e, idx, address) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a member");
    }
    leave_old_address(e, idx);
    wi_news_changed(e, idx);
    return WEIR_OK;
}

weir_err wi_member_add(struct wi_engine *e, uint32_t idx,
                       const struct weir_member *member, struct weir_error *err)
{
    weir_err rc = check(e, idx, member, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (e->members[idx].name != NULL) {
        return move(e, idx, member->address, err);
    }
    if (wi_member_copy(e, idx, member) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a member");
    }
    e->n_members = wi_max_u32(e->n_members, idx + 1);
    wi_guests_greet(e);
    wi_news_changed(e, idx);
    return WEIR_OK;
}

weir_err wi_member_remove(struct wi_engine *e, uint32_t idx,
                          struct weir_error *err)
{
    if (idx == e->self) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "member %u is this node: to leave, close it", idx);
    }
    if (!wi_member_here(e, idx)) {
        return wi_fail(err, WEIR_ERR_NOT_FOUND, "there is no member %u", idx);
    }
    struct wi_member *m = &e->members[idx];
    m->removed = true;
    if (m->link != NULL && !wi_link_needed(m->link)) {
        wi_link_bye(m->link);
    }
    return WEIR_OK;
}
