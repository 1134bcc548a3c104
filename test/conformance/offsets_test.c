/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of texts are copied out of rings that a peer can write to (core/query/
 * attach.c), into memory that may be refused. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/cc.h"
#include "test/support/flow.h"

static atomic_bool refuses;
static atomic_uint refused;

/* In place of libc's: whole pages are refused while the test says so. */
void *aligned_alloc(size_t align, size_t bytes)
{
    typedef void *(*fn)(size_t, size_t);
    fn real = (fn)dlsym(RTLD_NEXT, "aligned_alloc");
    if (atomic_load(&refuses) && align == WI_PAGE) {
        atomic_fetch_add(&refused, 1);
        return NULL;
    }
    return real(align, bytes);
}

Test(offsets, no_memory_for_them_fails_the_query_and_no_other, .timeout = 60)
{
    static const struct wt_place shm = {.transport = "shm"};
    const struct wt_cluster_params params = {.nodes = 2};
    struct wt_cluster c;
    struct wt_query q;
    struct wt_flow f;
    wt_cluster_open(&c, &shm, &params);
    atomic_store(&refuses, true);
    wt_query_open(&q, &c, 1, NULL);
    wt_flow_open(&f, &q, NULL);
    (void)wt_cluster_run(&c);
    bool failed = wt_until(&c, wt_query_has_failed, &q);
    cr_assert(failed);
    wt_query_failed(&q, WEIR_ERR_QUERY_MEMORY, "no memory for the offsets");
    cr_assert_gt(atomic_load(&refused), 0);
    wt_query_close(&q);
    wt_flow_close(&f);
    atomic_store(&refuses, false);
    c.why[0] = '\0';
    c.n_tasks = 0;
    wt_flow_run(&c, 2, NULL);
    wt_cluster_close(&c);
}
