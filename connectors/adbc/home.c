/* SPDX-License-Identifier: Apache-2.0 */
/* The node of a database, and its workers. */
#include "connectors/adbc/home.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "connectors/adbc/error.h"

struct wi_adbc_home {
    weir_node *node;
    pid_t process;
    pthread_mutex_t lock; /* of what follows */
    uint64_t taken;       /* one bit per worker */
    uint32_t holds;
};

_Static_assert(WI_ADBC_WORKERS == 64, "bits of `taken`");

AdbcStatusCode wi_adbc_home_open(const struct weir_node_params *who,
                                 struct wi_adbc_home **home_out,
                                 struct AdbcError *error)
{
    struct weir_error err;
    struct wi_adbc_home *home = calloc(1, sizeof(*home));
    if (home == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory");
    }
    /* It joins no cluster, and has no shuffles: they would take memory. */
    struct weir_node_params params = *who;
    params.max_members = 1;
    params.max_shuffles = 1;
    params.workers = WI_ADBC_WORKERS;
    params.log_level = WEIR_LOG_ERROR;
    weir_err code = weir_node_open(&params, &home->node, &err);
    if (code != WEIR_OK) {
        free(home);
        return wi_adbc_pass(error, &err, code, NULL);
    }
    pthread_mutex_init(&home->lock, NULL);
    home->holds = 1;
    home->process = getpid();
    *home_out = home;
    return ADBC_STATUS_OK;
}

bool wi_adbc_home_here(const struct wi_adbc_home *home)
{
    return home->process == getpid();
}

AdbcStatusCode wi_adbc_home_refuse(const struct wi_adbc_home *home,
                                   struct AdbcError *error)
{
    return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                        "this database is process %d's, which has forked: open "
                        "one in each process",
                        (int)home->process);
}

void wi_adbc_home_hold(struct wi_adbc_home *home)
{
    if (!wi_adbc_home_here(home)) {
        return;
    }
    pthread_mutex_lock(&home->lock);
    home->holds++;
    pthread_mutex_unlock(&home->lock);
}

void wi_adbc_home_drop(void *arg)
{
    struct wi_adbc_home *home = arg;
    if (!wi_adbc_home_here(home)) {
        return;
    }
    pthread_mutex_lock(&home->lock);
    uint32_t left = --home->holds;
    pthread_mutex_unlock(&home->lock);
    if (left == 0) {
        weir_node_close(home->node);
        pthread_mutex_destroy(&home->lock);
        free(home);
    }
}

weir_node *wi_adbc_home_node(const struct wi_adbc_home *home)
{
    return home->node;
}

AdbcStatusCode wi_adbc_home_take(struct wi_adbc_home *home,
                                 uint32_t *worker_out, struct AdbcError *error)
{
    if (!wi_adbc_home_here(home)) {
        return wi_adbc_home_refuse(home, error);
    }
    pthread_mutex_lock(&home->lock);
    uint64_t free_ones = ~home->taken;
    home->taken |= free_ones & -free_ones; /* the lowest */
    pthread_mutex_unlock(&home->lock);
    if (free_ones == 0) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                            "a database has at most %d connections at a time: "
                            "open another database for more",
                            WI_ADBC_WORKERS);
    }
    *worker_out = (uint32_t)__builtin_ctzll(free_ones);
    return ADBC_STATUS_OK;
}

void wi_adbc_home_put(struct wi_adbc_home *home, uint32_t worker)
{
    pthread_mutex_lock(&home->lock);
    home->taken &= ~(1ull << worker);
    pthread_mutex_unlock(&home->lock);
}
