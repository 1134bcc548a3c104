/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and grants of the tcp transport. Sockets need no registration: a
 * grant is an entry in a table of the endpoint, which checks bounds. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/err.h"
#include "core/base/pages.h"
#include "transport/tcp/tcp.h"

enum { BORROWED = 1 }; /* wi_mem.handle */

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

weir_err wi_tcp_mem_reserve(struct wi_transport *t, size_t bytes,
                            struct wi_mem *out, struct weir_error *err)
{
    (void)t;
    void *base = NULL;
    weir_err rc = wi_pages_reserve(bytes, &base, err);
    if (rc == WEIR_OK) {
        *out = (struct wi_mem){.base = base, .bytes = bytes};
    }
    return rc;
}

weir_err wi_tcp_mem_take(struct wi_transport *t, const struct wi_mem_part *part,
                         struct weir_error *err)
{
    (void)t;
    size_t from = part->from / WI_PAGE * WI_PAGE;
    size_t to = wi_min_u64(wi_align_up(part->to, WI_PAGE), part->bytes);
    int why = wi_pages_populate((char *)part->base + from, to - from);
    if (why == 0) {
        return WEIR_OK;
    }
    return wi_fail(err, WEIR_ERR_NO_MEMORY,
                   "no memory for %zu bytes of a ring: %s; raise the limit of "
                   "the process or its control group, or lower memory_bytes",
                   to - from, strerror(why));
}

weir_err wi_tcp_mem_borrow(struct wi_transport *t, const struct wi_borrow *what,
                           uint32_t access, struct wi_mem *out,
                           struct weir_error *err)
{
    (void)t;
    (void)access;
    (void)err;
    *out = (struct wi_mem){
        .base = what->base, .bytes = what->bytes, .handle = BORROWED};
    return WEIR_OK;
}

void wi_tcp_mem_close(struct wi_transport *t, struct wi_mem *mem)
{
    (void)t;
    if (mem->handle != BORROWED) {
        wi_pages_close(mem->base, mem->bytes);
    }
    *mem = (struct wi_mem){0};
}

/* ---- grants -------------------------------------------------------------- */

weir_err wi_tcp_grant(struct wi_ep *base, const struct wi_mem *mem,
                      uint32_t access, uint64_t *key_out,
                      struct weir_error *err)
{
    struct tcp_ep *ep = tcp_ep_of(base);
    const struct wi_granted what = {.base = mem->base,
                                    .bytes = mem->bytes,
                                    .guard = mem->guard,
                                    .access = access};
    uint32_t noise;
    if (getrandom(&noise, sizeof(noise), 0) != (ssize_t)sizeof(noise)) {
        return wi_fail_errno(err, errno, "getrandom for a memory key");
    }
    return wi_grants_add(&ep->grants, &what, noise, key_out, err);
}

weir_err wi_tcp_ungrant(struct wi_ep *base, const struct wi_mem *mem,
                        uint64_t key)
{
    struct tcp_ep *ep = tcp_ep_of(base);
    const struct tcp_rx *rx = &ep->rx;
    uint32_t index = wi_grant_index(key);
    (void)mem;
    bool writing = rx->left > 0 && !rx->answer && rx->grant == index;
    bool reading = wi_tcp_answers(ep, index + 1);
    wi_grants_drop(&ep->grants, key);
    if (!writing && !reading) {
        return WEIR_OK;
    }
    wi_tcp_ep_lose(ep, "%s gave memory back while it still %s it", ep->peer,
                   reading ? "read" : "wrote");
    return WEIR_ERR_PEER_LOST;
}
