/* SPDX-License-Identifier: Apache-2.0 */
/* Members of the cluster of a node: joining, coming and going, looking. */
#include <weir/node.h>

#include <errno.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/link/grow.h"
#include "core/link/join.h"
#include "core/link/lock.h"
#include "core/link/members.h"
#include "core/node/node_os.h"

#define SECOND 1000000000ull

/* ---- joining ------------------------------------------------------------- */

weir_err weir_node_join(weir_node *node, const struct weir_member *members,
                        uint32_t n, struct weir_error *err)
{
    weir_err rc = wi_check_args(err, WI_ARG(node), WI_ARG(members));
    rc = rc == WEIR_OK ? wi_engine_check_own(&node->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_node_lock(node);
    rc = wi_members_join(&node->engine, members, n, err);
    wi_engine_kick(&node->engine);
    wi_node_unlock(node);
    return rc;
}

weir_err weir_node_join_seed(weir_node *node, const char *seed_address,
                             uint32_t n_members, uint64_t timeout_ns,
                             struct weir_error *err)
{
    const struct weir_seed seed = {.address = seed_address};
    return weir_node_join_seed_named(node, seed_address != NULL ? &seed : NULL,
                                     n_members, timeout_ns, err);
}

weir_err weir_node_join_seed_named(weir_node *node,
                                   const struct weir_seed *seed,
                                   uint32_t n_members, uint64_t timeout_ns,
                                   struct weir_error *err)
{
    weir_err rc = wi_check_args(err, WI_ARG(node));
    rc = rc == WEIR_OK ? wi_engine_check_own(&node->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    if (seed != NULL && seed->address == NULL) {
        return wi_fail_null(err, "seed->address");
    }
    if (!node->os->thread_runs) {
        return wi_fail(err, WEIR_ERR_STATE,
                       "a manual node joins with weir_node_join");
    }
    uint64_t until = wi_time_add(wi_clock_now(), timeout_ns);
    struct timespec ts = {.tv_sec = (time_t)(until / SECOND),
                          .tv_nsec = (long)(until % SECOND)};
    struct wi_node_os *os = node->os;
    wi_node_lock(node);
    rc = wi_join_start(&node->engine, seed, n_members, err);
    wi_engine_kick(&node->engine);
    os->waiters++;
    while (rc == WEIR_OK && wi_join_result(&node->engine, err) == WEIR_AGAIN) {
        if (pthread_cond_timedwait(&os->moved, &node->lock, &ts) != 0) {
            rc = wi_join_timeout(&node->engine, err);
        }
    }
    if (rc == WEIR_OK) {
        rc = wi_join_result(&node->engine, err);
    }
    os->waiters--;
    wi_join_end(&node->engine, rc == WEIR_OK);
    wi_engine_kick(&node->engine);
    wi_node_unlock(node);
    return rc;
}

/* ---- coming and going ---------------------------------------------------- */

weir_err weir_node_add_member(weir_node *node, uint32_t idx,
                              const struct weir_member *member,
                              struct weir_error *err)
{
    weir_err rc = wi_check_args(err, WI_ARG(node), WI_ARG(member));
    rc = rc == WEIR_OK ? wi_engine_check_own(&node->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_node_lock(node);
    rc = wi_member_add(&node->engine, idx, member, err);
    wi_engine_kick(&node->engine); /* it may wait to be let in */
    wi_node_unlock(node);
    return rc;
}

weir_err weir_node_remove_member(weir_node *node, uint32_t idx,
                                 struct weir_error *err)
{
    weir_err rc = wi_check_args(err, WI_ARG(node));
    rc = rc == WEIR_OK ? wi_engine_check_own(&node->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    wi_node_lock(node);
    rc = wi_member_remove(&node->engine, idx, err);
    wi_node_unlock(node);
    return rc;
}

/* ---- looking ------------------------------------------------------------- */

/* To look at the members takes the lock, which is no part of what the program
 * sees as const. */
static struct weir_node *locked(const weir_node *node)
{
    struct weir_node *n = (struct weir_node *)(uintptr_t)node;
    wi_node_lock(n);
    return n;
}

uint32_t weir_node_members(const weir_node *node)
{
    if (node == NULL || wi_engine_inherited(&node->engine)) {
        return 0;
    }
    struct weir_node *n = locked(node);
    uint32_t count = n->engine.n_members;
    wi_node_unlock(n);
    return count;
}

uint32_t weir_node_self(const weir_node *node)
{
    if (node == NULL || wi_engine_inherited(&node->engine)) {
        return UINT32_MAX;
    }
    struct weir_node *n = locked(node);
    uint32_t self = n->engine.self;
    wi_node_unlock(n);
    return self;
}

weir_err weir_node_member(const weir_node *node, uint32_t idx,
                          struct weir_member *member_out)
{
    if (node == NULL || member_out == NULL) {
        return WEIR_ERR_ARG;
    }
    if (wi_engine_inherited(&node->engine)) {
        return WEIR_ERR_STATE;
    }
    struct weir_node *n = locked(node);
    bool here = wi_member_here(&n->engine, idx);
    if (here) {
        const struct wi_member *m = &n->engine.members[idx];
        *member_out = (struct weir_member){
            .name = m->name, .address = m->address, .workers = m->workers};
    }
    wi_node_unlock(n);
    return here ? WEIR_OK : WEIR_ERR_NOT_FOUND;
}
