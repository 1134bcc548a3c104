/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of texts are copied out of rings that a peer can write to
 * (core/query/attach.c), into memory that may be refused. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "core/base/atomic.h"
#include "core/base/cc.h"
#include "test/support/flow.h"

static _Atomic uint32_t refuses;
static _Atomic uint32_t refused;

/* In place of libc's: whole pages are refused while the test says so. */
void *aligned_alloc(size_t align, size_t bytes)
{
    typedef void *(*fn)(size_t, size_t);
    fn real = (fn)dlsym(RTLD_NEXT, "aligned_alloc");
    /* rlx: set while the engine does not need any */
    if (wi_load_rlx(&refuses) != 0 && align == WI_PAGE) {
        (void)wi_add_rlx(&refused, 1u); /* rlx: a count */
        return NULL;
    }
    return real(align, bytes);
}

/* Whatever opens late may find that its query has failed. */
static void open_shuffles(const struct wt_query *q)
{
    static const struct weir_field fields[] = {{"id", "l", 0}, {"t", "u", 0}};
    static const char *const keys[] = {"id"};
    struct weir_shuffle *shuffle[2];
    struct weir_error err = {0};
    struct ArrowSchema schema;
    weir_err rc = weir_schema_build(fields, 2, &schema, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    const struct weir_shuffle_params params = {.partitioning = WEIR_HASH,
                                               .schema = &schema,
                                               .keys = keys,
                                               .n_keys = 1};
    for (uint32_t i = 0; i < 2; i++) {
        rc = weir_shuffle_open(q->query[i], &params, &shuffle[i], &err);
        cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    }
    schema.release(&schema);
    for (uint32_t i = 0; i < 2; i++) {
        weir_writer *w = NULL;
        rc = weir_writer_open(shuffle[i], 0, &w, &err);
        cr_assert(rc == WEIR_OK || rc == WEIR_ERR_QUERY_MEMORY, "%s",
                  err.message);
    }
}

Test(offsets, no_memory_for_them_fails_the_query_and_no_other, .timeout = 60)
{
    static const struct wt_place shm = {.transport = "shm"};
    const struct wt_cluster_params params = {.nodes = 2};
    struct wt_cluster c;
    struct wt_query q;
    wt_cluster_open(&c, &shm, &params);
    wi_store_rlx(&refuses, 1); /* rlx: as above */
    wt_query_open(&q, &c, 1, NULL);
    open_shuffles(&q);
    bool failed = wt_until(&c, wt_query_has_failed, &q);
    cr_assert(failed);
    wt_query_failed(&q, WEIR_ERR_QUERY_MEMORY, "no memory for the offsets");
    cr_assert_gt(wi_load_rlx(&refused), 0u); /* rlx: as above */
    wt_query_close(&q);
    wi_store_rlx(&refuses, 0); /* rlx: as above */
    wt_flow_run(&c, 2, NULL);
    wt_cluster_close(&c);
}
