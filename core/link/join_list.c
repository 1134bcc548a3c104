/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/join_list.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/link/engine.h"
#include "core/link/members.h"
#include "core/link/worker.h"

void wi_join_fill_self(const struct wi_engine *e, struct wi_msg_member *m)
{
    union wi_msg u;
    wi_msg_init(&u, WI_MSG_JOIN);
    u.member.magic = WI_WIRE_MAGIC;
    u.member.version_min = WI_WIRE_VERSION_MIN;
    u.member.version_max = WI_WIRE_VERSION_MAX;
    u.member.workers = e->cfg.workers;
    u.member.n_members = e->join != NULL && !e->join->any ? e->join->n : 0;
    wi_text_put(u.member.name, WI_NAME_BYTES, e->name);
    wi_text_put(u.member.address, WI_ADDR_BYTES, e->address);
    *m = u.member;
}

void wi_join_fill_entry(const struct wi_engine *e, uint32_t idx,
                        union wi_msg *m)
{
    wi_msg_init(m, WI_MSG_MEMBER);
    m->member.magic = WI_WIRE_MAGIC;
    m->member.version_min = WI_WIRE_VERSION_MIN;
    m->member.version_max = WI_WIRE_VERSION_MAX;
    m->member.idx = idx;
    if (wi_member_here(e, idx)) {
        const struct wi_member *it = &e->members[idx];
        m->member.workers = it->workers;
        wi_text_put(m->member.name, WI_NAME_BYTES, it->name);
        wi_text_put(m->member.address, WI_ADDR_BYTES, it->address);
    }
}

void wi_join_finish(struct wi_join *j, weir_err code, const char *text)
{
    if (j->code == WEIR_AGAIN) {
        j->code = wi_fail(&j->error, code, "%s", text);
    }
}

bool wi_join_is_hole(const struct wi_msg_member *m)
{
    return m->name[0] == '\0' && m->address[0] == '\0' && m->workers == 0;
}

void wi_join_complete(struct wi_engine *e, struct wi_join *j)
{
    struct weir_member *list = calloc(j->n, sizeof(*list));
    if (list == NULL) {
        wi_join_finish(j, WEIR_ERR_NO_MEMORY, "no memory for the member list");
        return;
    }
    for (uint32_t i = 0; i < j->n; i++) {
        if (wi_join_is_hole(&j->entries[i].m)) {
            continue;
        }
        list[i] = (struct weir_member){.name = j->entries[i].m.name,
                                       .address = j->entries[i].m.address,
                                       .workers = j->entries[i].m.workers};
    }
    j->code = wi_members_join(e, list, j->n, &j->error);
    e->seed = j->seed && j->code == WEIR_OK;
    free(list);
}

uint32_t wi_join_find_name(const struct wi_join *j, const char *name)
{
    uint32_t i = 0;
    while (i < j->n &&
           !(j->entries[i].known && strcmp(j->entries[i].m.name, name) == 0)) {
        i++;
    }
    return i;
}

weir_err wi_join_check_entry(const struct wi_engine *e,
                             const struct wi_msg_member *m,
                             struct weir_error *err)
{
    struct weir_error why;
    if (m->name[0] == '\0' || m->workers == 0 || m->workers > WI_WORKERS_MAX) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED,
                       "\"%s\" with %u workers: a member needs a name and 1 "
                       "to %u workers",
                       m->name, m->workers, WI_WORKERS_MAX);
    }
    if (e->ops->check(e->transport, m->address, &why) != WEIR_OK) {
        return wi_fail(err, WEIR_ERR_PEER_REFUSED, "%s: %.160s", m->name,
                       why.message);
    }
    return WEIR_OK;
}
