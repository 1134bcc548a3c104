/* SPDX-License-Identifier: Apache-2.0 */
/* A transport "shm" of which nobody has said how large it is to be. */
#include "test/unit/transport/shm_support.h"

#include "core/base/cc.h"

static const struct wi_transport_ops *const ops = &wi_shm_ops;

static struct wi_transport *open_any(const char *name)
{
    const struct wi_transport_params params = {.name = name};
    struct weir_error err = {0};
    struct wi_transport *t = NULL;
    cr_assert_eq(ops->open(&params, &t, &err), WEIR_OK, "%s", err.message);
    return t;
}

Test(shm_open, shared_memory_is_whole_pages)
{
    static const size_t bad[] = {0, 1, WI_PAGE - 1, WI_PAGE + 1};
    struct wi_transport *t = open_any("any");
    struct weir_error err = {0};
    struct wi_mem mem = {0};
    for (size_t i = 0; i < WI_ARRAY_LEN(bad); i++) {
        cr_expect_eq(ops->mem_open(t, bad[i], &mem, &err), WEIR_ERR_ARG,
                     "%zu bytes", bad[i]);
        cr_expect_null(mem.base);
    }
    cr_assert_eq(ops->mem_open(t, 2 * WI_PAGE, &mem, &err), WEIR_OK, "%s",
                 err.message);
    ops->mem_close(t, &mem);
    ops->close(t);
}

Test(shm_open, links_have_no_limit_unless_one_is_given)
{
    struct wt_node a;
    struct wt_node b;
    wt_node_init(&a, "caller", 0);
    wt_node_init(&b, "callee", 0);
    struct wi_ep *ep = wt_link(&a, &b);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->close(a.t);
    ops->close(b.t);
}
