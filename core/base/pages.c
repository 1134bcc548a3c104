/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/pages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core/base/cc.h"
#include "core/base/err.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14, linux/mman.h */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1, linux/mman.h */
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26) /* asm-generic/hugetlb_encode.h */
#endif

void wi_limit_put(int resource, char *text, size_t room)
{
    struct rlimit lim = {RLIM_INFINITY, RLIM_INFINITY};
    (void)getrlimit((__rlimit_resource_t)resource, &lim);
    if (lim.rlim_cur == RLIM_INFINITY) {
        (void)snprintf(text, room, "unlimited");
    } else {
        (void)snprintf(text, room, "%llu bytes",
                       (unsigned long long)lim.rlim_cur);
    }
}

static WI_COLD weir_err no_pages(int why, size_t bytes, struct weir_error *err)
{
    char limit[32];
    wi_limit_put(RLIMIT_AS, limit, sizeof(limit));
    return wi_fail(err, WEIR_ERR_NO_MEMORY,
                   "no memory for %zu bytes of buffers: %s; the limit of the "
                   "address space is %s (ulimit -v): raise it or lower "
                   "memory_bytes",
                   bytes, strerror(why), limit);
}

static void *map(size_t bytes, int flags)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

/* Map more than is needed, and give back what does not fit the alignment. */
static void *map_aligned(size_t bytes)
{
    size_t room = bytes + WI_HUGE_PAGE;
    if (room < bytes) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    uint8_t *all = map(room, 0);
    if (all == MAP_FAILED) {
        return MAP_FAILED;
    }
    uint8_t *base = all + (-(uintptr_t)all & (WI_HUGE_PAGE - 1));
    size_t before = (size_t)(base - all);
    if (before > 0) {
        (void)munmap(all, before);
    }
    (void)munmap(base + bytes, room - before - bytes);
    return base;
}

bool wi_pages_can_populate(void)
{
    return madvise(NULL, 0, MADV_POPULATE_WRITE) == 0;
}

int wi_pages_populate(void *base, size_t bytes)
{
    int rc;
    do {
        rc = madvise(base, bytes, MADV_POPULATE_WRITE);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 || errno == EINVAL ? 0 : errno;
}

void *wi_pages_map_shared(int fd, size_t bytes, bool write)
{
    int prot = write ? PROT_READ | PROT_WRITE : PROT_READ;
    void *room = bytes < WI_HUGE_PAGE ? MAP_FAILED : map_aligned(bytes);
    bool found = room != MAP_FAILED;
    void *base = mmap(found ? room : NULL, bytes, prot,
                      MAP_SHARED | (found ? MAP_FIXED : 0), fd, 0);
    if (base == MAP_FAILED && found) {
        int why = errno;
        (void)munmap(room, bytes);
        errno = why;
    }
    return base;
}

int wi_pages_collapse(void *base, size_t bytes)
{
    size_t whole = bytes & ~(WI_HUGE_PAGE - 1);
    return whole == 0 || madvise(base, whole, MADV_COLLAPSE) == 0 ? 0 : errno;
}

bool wi_pages_are_there(void *base, size_t bytes)
{
    enum { LOOK = 64 }; /* pages at a time */
    unsigned char there[LOOK];
    for (size_t off = 0; off < bytes; off += (size_t)LOOK * WI_PAGE) {
        size_t len = wi_min_u64(bytes - off, (size_t)LOOK * WI_PAGE);
        if (mincore((char *)base + off, len, there) != 0) {
            return false;
        }
        for (size_t i = 0; i < len / WI_PAGE; i++) {
            if ((there[i] & 1) == 0) {
                return false;
            }
        }
    }
    return true;
}

/* Populate a new mapping, or unmap it. Returns 0 or errno. */
static int fill(void *base, size_t bytes)
{
    if (base == MAP_FAILED) {
        return errno;
    }
    int why = wi_pages_populate(base, bytes);
    if (why != 0) {
        (void)munmap(base, bytes);
    }
    return why;
}

static weir_err make(size_t bytes, bool lazy, void **base_out,
                     struct weir_error *err)
{
    if (bytes == 0 || bytes % WI_PAGE != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "%zu bytes of buffers: not a multiple of %u", bytes,
                       WI_PAGE);
    }
    void *base = MAP_FAILED;
    if (bytes % WI_HUGE_PAGE == 0) {
        /* Limits of a control group show only when pages are populated. */
        base = map(bytes, MAP_HUGETLB | MAP_HUGE_2MB);
        if (fill(base, bytes) == 0) {
            *base_out = base;
            return WEIR_OK;
        }
    }
    base = map_aligned(bytes);
    int why = lazy && base != MAP_FAILED ? 0 : fill(base, bytes);
    if (why != 0) {
        return no_pages(why, bytes, err);
    }
    *base_out = base;
    return WEIR_OK;
}

weir_err wi_pages_open(size_t bytes, void **base_out, struct weir_error *err)
{
    return make(bytes, false, base_out, err);
}

weir_err wi_pages_reserve(size_t bytes, void **base_out, struct weir_error *err)
{
    return make(bytes, wi_pages_can_populate(), base_out, err);
}

weir_err wi_pages_secret_open(size_t bytes, void **base_out,
                              struct weir_error *err)
{
    void *base = map(bytes, 0);
    if (base == MAP_FAILED) {
        return no_pages(errno, bytes, err);
    }
    if (madvise(base, bytes, MADV_DONTDUMP) != 0) {
        int why = errno;
        (void)munmap(base, bytes);
        return wi_fail_errno(err, why, "keeping secrets out of core dumps");
    }
    (void)madvise(base, bytes, MADV_WIPEONFORK); /* Linux 4.14 */
    (void)mlock(base, bytes);
    *base_out = base;
    return WEIR_OK;
}

void wi_pages_close(void *base, size_t bytes)
{
    (void)munmap(base, bytes);
}
