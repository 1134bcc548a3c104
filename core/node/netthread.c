/* SPDX-License-Identifier: Apache-2.0 */
#include "core/node/netthread.h"

#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "core/node/duty.h"
#include "core/node/node_os.h"
#include "core/node/step.h"

static void *run(void *arg)
{
    struct weir_node *n = arg;
    struct wi_engine *e = &n->engine;
    while (wi_load_sc(&n->os->stop) == 0) { /* E11 sc: see wi_duty_sleep() */
        uint64_t look_ns = UINT64_MAX;
        uint32_t moved = 0;
        (void)pthread_mutex_lock(&n->lock);
        uint64_t now_ns = wi_clock_now();
        bool watch = wi_duty_watch(n, now_ns, &look_ns);
        if (watch) {
            moved = wi_duty_step_locked(n, now_ns);
        } else if (wi_engine_next(e) <= now_ns) {
            moved = wi_duty_help_locked(n, now_ns);
        }
        uint64_t next_ns = wi_engine_next(e);
        (void)pthread_mutex_unlock(&n->lock);
        if (moved == 0) {
            wi_duty_sleep(n, &n->os->thread, watch,
                          wi_min_u64(next_ns, look_ns));
        }
    }
    return NULL;
}

weir_err wi_netthread_start(struct weir_node *n, struct weir_error *err)
{
    weir_err rc = wi_thread_start(&n->os->thread_id, run, n,
                                  "the network of a node", err);
    n->os->thread_runs = rc == WEIR_OK;
    return rc;
}

void wi_netthread_stop(struct weir_node *n)
{
    if (n->os->thread_runs) {
        uint64_t one = 1;
        wi_store_sc(&n->os->stop, 1); /* E11 sc: see wi_duty_sleep() */
        (void)!write(n->os->thread.fd, &one, sizeof(one));
        (void)pthread_join(n->os->thread_id, NULL);
        n->os->thread_runs = false;
    }
}
