/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and grants of the tcp transport. Sockets need no registration: a
 * grant is an entry in a table of the endpoint, and the bounds check. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "core/base/err.h"
#include "transport/tcp/tcp.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14, linux/mman.h */
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26) /* asm-generic/hugetlb_encode.h */
#endif
#define HUGE_BYTES ((size_t)2 << 20)

static WI_COLD weir_err no_memory(int why, size_t bytes, struct weir_error *err)
{
    struct rlimit lim = {RLIM_INFINITY, RLIM_INFINITY};
    char limit[32] = "unlimited";
    (void)getrlimit(RLIMIT_AS, &lim);
    if (lim.rlim_cur != RLIM_INFINITY) {
        (void)snprintf(limit, sizeof(limit), "%llu bytes",
                       (unsigned long long)lim.rlim_cur);
    }
    return wi_fail(err, WEIR_ERR_NO_MEMORY,
                   "no memory for %zu bytes of buffers: %s; the limit of the "
                   "address space is %s (ulimit -v): raise it or lower "
                   "memory_bytes",
                   bytes, strerror(why), limit);
}

static void *map_pages(size_t bytes, bool huge)
{
    const int prot = PROT_READ | PROT_WRITE;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (huge && bytes % HUGE_BYTES == 0) {
        void *base =
            mmap(NULL, bytes, prot, flags | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
        if (base != MAP_FAILED) {
            return base;
        }
    }
    void *base = mmap(NULL, bytes, prot, flags, -1, 0);
    if (base != MAP_FAILED && huge) {
        (void)madvise(base, bytes, MADV_HUGEPAGE); /* a wish */
    }
    return base;
}

/* Make every page be there now. Kernels without the advice are made to by
 * touching; they have no way to say no. */
static int populate(void *base, size_t bytes)
{
    if (madvise(base, bytes, MADV_POPULATE_WRITE) == 0) {
        return 0;
    }
    if (errno != EINVAL) {
        return errno;
    }
    volatile uint8_t *page = base; /* volatile: the stores have no reader */
    for (size_t off = 0; off < bytes; off += WI_PAGE) {
        page[off] = 0;
    }
    return 0;
}

weir_err wi_tcp_mem_open(struct wi_transport *t, size_t bytes,
                         struct wi_mem *out, struct weir_error *err)
{
    if (bytes == 0 || bytes % WI_PAGE != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "%zu bytes of buffers: not a multiple of %u", bytes,
                       WI_PAGE);
    }
    void *base = map_pages(bytes, tcp_of(t)->huge_pages);
    if (base == MAP_FAILED) {
        return no_memory(errno, bytes, err);
    }
    int why = populate(base, bytes);
    if (why != 0) {
        (void)munmap(base, bytes);
        return no_memory(why, bytes, err);
    }
    *out = (struct wi_mem){.base = base, .bytes = bytes};
    return WEIR_OK;
}

void wi_tcp_mem_close(struct wi_transport *t, struct wi_mem *mem)
{
    (void)t;
    (void)munmap(mem->base, mem->bytes);
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
    ep->grants[n] = (struct tcp_grant){key, mem->base, mem->bytes};
    ep->n_grants = n + 1;
    *key_out = key;
    return WEIR_OK;
}

uint8_t *wi_tcp_granted(const struct tcp_ep *ep, uint64_t key, uint64_t off,
                        uint64_t bytes)
{
    uint64_t index = key & (TCP_MAX_GRANTS - 1);
    if (index >= ep->n_grants || ep->grants[index].key != key) {
        return NULL;
    }
    const struct tcp_grant *grant = &ep->grants[index];
    if (bytes > grant->bytes || off > grant->bytes - bytes) {
        return NULL;
    }
    return grant->base + off;
}
