/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and grants of the tcp transport. Sockets need no registration: a
 * grant is an entry in a table of the endpoint, and the bounds check. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/base/err.h"
#include "core/base/pages.h"
#include "transport/tcp/tcp.h"

weir_err wi_tcp_mem_open(struct wi_transport *t, size_t bytes,
                         struct wi_mem *out, struct weir_error *err)
{
    (void)t;
    void *base = NULL;
    weir_err rc = wi_pages_open(bytes, &base, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    *out = (struct wi_mem){.base = base, .bytes = bytes};
    return WEIR_OK;
}

void wi_tcp_mem_close(struct wi_transport *t, struct wi_mem *mem)
{
    (void)t;
    wi_pages_close(mem->base, mem->bytes);
    *mem = (struct wi_mem){0};
}

/* ---- grants -------------------------------------------------------------- */

/* A key is the index of its entry in the low bits and noise above, so that a
 * peer cannot name a grant that it was not told of. */
static weir_err make_key(uint32_t index, uint64_t *key_out,
                         struct weir_error *err)
{
    uint64_t noise;
    if (getrandom(&noise, sizeof(noise), 0) != (ssize_t)sizeof(noise)) {
        return wi_fail_errno(err, errno, "getrandom for a memory key");
    }
    *key_out = (noise & ~(uint64_t)(TCP_MAX_GRANTS - 1)) | index;
    return WEIR_OK;
}

weir_err wi_tcp_grant(struct wi_ep *base, const struct wi_mem *mem,
                      uint64_t *key_out, struct weir_error *err)
{
    struct tcp_ep *ep = tcp_ep_of(base);
    uint32_t n = ep->n_grants;
    uint64_t key = 0;
    weir_err rc = make_key(n, &key, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (n == TCP_MAX_GRANTS) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "more than %d grants to %s on one link", TCP_MAX_GRANTS,
                       ep->peer);
    }
    if ((n & (n - 1)) == 0) { /* full at every power of two */
        size_t room = n == 0 ? 1 : (size_t)n * 2;
        void *grants = realloc(ep->grants, room * sizeof(*ep->grants));
        if (!grants) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY,
                           "no memory for %zu grants to %s", room, ep->peer);
        }
        ep->grants = grants;
    }
    ep->grants[n] = (struct tcp_grant){key, mem->base, mem->bytes, mem->guard};
    ep->n_grants = n + 1;
    *key_out = key;
    return WEIR_OK;
}

uint32_t wi_tcp_granted(const struct tcp_ep *ep, uint64_t key, uint64_t off,
                        uint64_t bytes)
{
    uint32_t index = (uint32_t)(key & (TCP_MAX_GRANTS - 1));
    if (index >= ep->n_grants || ep->grants[index].key != key) {
        return TCP_MAX_GRANTS;
    }
    const struct tcp_grant *grant = &ep->grants[index];
    if (bytes > grant->bytes || off > grant->bytes - bytes) {
        return TCP_MAX_GRANTS;
    }
    return index;
}
