/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that travels: a memfd whose pages are taken before they are touched
 * and that is sealed against shrinking. Without either, a touch could end in
 * SIGBUS, here or in the peer. Of a file the program has promised as much.
 *
 * Rings are taken piece by piece, by the producers that first use them: of the
 * rings of a query with many shuffles most carry a few rows. A piece that is
 * not small makes a huge page, which its neighbours then find there: clearing
 * 2 MiB in one go takes as long as some sixty small pages one by one. Regions
 * are taken at once, likewise in huge pages.
 */
#include "transport/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/err.h"
#include "core/base/forks.h"
#include "core/base/pages.h"

/* Newer than the C library's headers may be. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
/* Of the room there is, that is used before it is looked at again. */
enum { SPARE_PART = 64 };

static const size_t chunk_bytes = (size_t)8 << 20;
static const size_t huge_from_bytes = (size_t)16 << 10;

static int memfd_open(const char *name)
{
    char label[SHM_NAME_BYTES + 8];
    (void)snprintf(label, sizeof(label), "weir-%s", name);
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = wi_fd_open(memfd_create(label, flags | MFD_NOEXEC_SEAL));
    if (fd < 0 && errno == EINVAL) { /* Linux before 6.3 */
        fd = wi_fd_open(memfd_create(label, flags));
    }
    return fd;
}

/* A limit that would end in a signal instead of an error. */
static weir_err check_file_size(size_t bytes, struct weir_error *err)
{
    struct rlimit file = {.rlim_cur = RLIM_INFINITY};
    (void)getrlimit(RLIMIT_FSIZE, &file);
    if (file.rlim_cur != RLIM_INFINITY && bytes > file.rlim_cur) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "%zu bytes of shared memory: file sizes are limited to "
                       "%llu bytes; raise \"ulimit -f\"",
                       bytes, (unsigned long long)file.rlim_cur);
    }
    return WEIR_OK;
}

/* Is there room? The answer takes some files of /proc and of the control
 * groups, so the next question waits until a small part of it is used up. */
static weir_err check_room(struct shm *t, size_t bytes, struct weir_error *err)
{
    /* rlx: a count; of two threads at once one may not be counted */
    uint64_t spare = wi_load_rlx(&t->spare_bytes);
    if (bytes <= spare) {
        wi_store_rlx(&t->spare_bytes, spare - bytes); /* rlx: as above */
        return WEIR_OK;
    }
    const char *limit;
    uint64_t room = wi_shm_room("", &limit);
    if (bytes > room) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "%zu bytes of shared memory: %s leaves %llu bytes; "
                       "lower memory_bytes or make room",
                       bytes, limit, (unsigned long long)room);
    }
    /* rlx: as above */
    wi_store_rlx(&t->spare_bytes, (room - bytes) / SPARE_PART);
    return WEIR_OK;
}

/* Piece by piece: a signal makes fallocate start its piece again. */
static int take_pages(int fd, size_t bytes)
{
    for (size_t off = 0; off < bytes; off += chunk_bytes) {
        size_t len = wi_min_u64(chunk_bytes, bytes - off);
        while (fallocate(fd, 0, (off_t)off, (off_t)len) != 0) {
            if (errno != EINTR) {
                return errno;
            }
        }
    }
    return 0;
}

static weir_err fail_pages(size_t bytes, int errno_value,
                           struct weir_error *err)
{
    const char *limit;
    uint64_t room = wi_shm_room("", &limit);
    return wi_fail(err, WEIR_ERR_NO_MEMORY,
                   "%zu bytes of shared memory: %s (%s leaves %llu bytes); "
                   "lower memory_bytes or make room",
                   bytes, strerror(errno_value), limit,
                   (unsigned long long)room);
}

/* Huge pages for [from, to), where whole ones fit into the mapping. One that
 * has no page at all cannot be made: take one. */
static void make_huge(const struct wi_mem_part *part, size_t from, size_t to)
{
    char *base = part->base;
    if ((uintptr_t)base % WI_HUGE_PAGE != 0) {
        return;
    }
    size_t begin = from / WI_HUGE_PAGE * WI_HUGE_PAGE;
    for (size_t h = begin; h < to && part->bytes - h >= WI_HUGE_PAGE;
         h += WI_HUGE_PAGE) {
        size_t page = wi_max_u64(h, from);
        if (wi_pages_populate(base + page, WI_PAGE) != 0 ||
            wi_pages_collapse(base + h, WI_HUGE_PAGE) != 0) {
            return; /* small ones will do */
        }
    }
}

/* Without laziness, and on systems that cannot take a part of it later. Huge
 * pages first: fallocate leaves those as they are and adds what lacks. */
static weir_err take_all(int fd, void *base, size_t bytes,
                         struct weir_error *err)
{
    const struct wi_mem_part whole = {.base = base, .bytes = bytes};
    make_huge(&whole, 0, bytes);
    int errno_value = take_pages(fd, bytes);
    if (errno_value == 0) {
        errno_value = wi_pages_populate(base, bytes);
    }
    return errno_value == 0 ? WEIR_OK : fail_pages(bytes, errno_value, err);
}

/* Give the memfd its size, and pages if they are wanted now. *base_out is set
 * as soon as it is mapped, also on failure. */
static weir_err fill(int fd, size_t bytes, bool now, void **base_out,
                     struct weir_error *err)
{
    if (ftruncate(fd, (off_t)bytes) != 0) {
        return wi_fail_errno(err, errno, "%zu bytes of shared memory", bytes);
    }
    weir_err rc = wi_shm_map_fd(fd, bytes, WI_ACCESS_BOTH, base_out, err);
    if (rc == WEIR_OK && now) {
        rc = take_all(fd, *base_out, bytes, err);
    }
    if (rc != WEIR_OK) {
        return rc;
    }
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (fcntl(fd, F_ADD_SEALS, seals) != 0) {
        return wi_fail_errno(err, errno, "sealing shared memory");
    }
    return WEIR_OK;
}

static weir_err open_memory(struct shm *t, size_t bytes, bool now,
                            struct wi_mem *out, struct weir_error *err)
{
    if (bytes == 0 || bytes % WI_PAGE != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "%zu bytes of shared memory: not a multiple of %u",
                       bytes, WI_PAGE);
    }
    weir_err rc = check_file_size(bytes, err);
    rc = rc == WEIR_OK ? check_room(t, bytes, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    int fd = memfd_open(t->name);
    if (fd < 0) {
        return wi_shm_fail_fd(err, errno, "memfd_create");
    }
    struct wi_mem mem = {.bytes = bytes, .handle = (uint64_t)fd};
    rc = fill(fd, bytes, now, &mem.base, err);
    if (rc != WEIR_OK) {
        if (mem.base != NULL) {
            (void)munmap(mem.base, bytes);
        }
        wi_fd_close(fd);
        return rc;
    }
    *out = mem;
    return WEIR_OK;
}

weir_err wi_shm_mem_open(struct wi_transport *base, size_t bytes,
                         struct wi_mem *out, struct weir_error *err)
{
    return open_memory(wi_container_of(base, struct shm, base), bytes, true,
                       out, err);
}

weir_err wi_shm_mem_reserve(struct wi_transport *base, size_t bytes,
                            struct wi_mem *out, struct weir_error *err)
{
    return open_memory(wi_container_of(base, struct shm, base), bytes,
                       !wi_pages_can_populate(), out, err);
}

/* What make_huge() takes at most. */
static size_t huge_bytes(const struct wi_mem_part *part, size_t from, size_t to)
{
    size_t end = wi_min_u64(wi_align_up(to, WI_HUGE_PAGE), part->bytes);
    return end - from / WI_HUGE_PAGE * WI_HUGE_PAGE;
}

weir_err wi_shm_mem_take(struct wi_transport *base,
                         const struct wi_mem_part *part, struct weir_error *err)
{
    struct shm *t = wi_container_of(base, struct shm, base);
    size_t from = part->from / WI_PAGE * WI_PAGE;
    size_t to = wi_min_u64(wi_align_up(part->to, WI_PAGE), part->bytes);
    char *at = (char *)part->base + from;
    bool there = wi_pages_are_there(at, to - from);
    if (!there && to - from >= huge_from_bytes &&
        check_room(t, huge_bytes(part, from, to), NULL) == WEIR_OK) {
        make_huge(part, from, to);
    } else if (!there) {
        weir_err rc = check_room(t, to - from, err);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    int errno_value = wi_pages_populate(at, to - from);
    return errno_value == 0 ? WEIR_OK : fail_pages(to - from, errno_value, err);
}

/* Only a constant file: it has no base, by which mem_close knows it. */
weir_err wi_shm_mem_borrow(struct wi_transport *t, const struct wi_borrow *what,
                           uint32_t access, struct wi_mem *out,
                           struct weir_error *err)
{
    if (what->fd < 0 || access != WI_ACCESS_READ) {
        return wi_no_borrow(t, what, access, out, err);
    }
    *out = (struct wi_mem){
        .bytes = wi_align_up(what->fd_off + what->bytes, WI_PAGE),
        .origin = what->fd_off,
        .handle = (uint64_t)what->fd,
    };
    return WEIR_OK;
}

void wi_shm_mem_close(struct wi_transport *t, struct wi_mem *mem)
{
    (void)t;
    if (mem->base != NULL) {
        (void)munmap(mem->base, mem->bytes);
        wi_fd_close((int)mem->handle);
    }
}

weir_err wi_shm_map_fd(int fd, size_t bytes, uint32_t access, void **base_out,
                       struct weir_error *err)
{
    void *base =
        wi_pages_map_shared(fd, bytes, (access & WI_ACCESS_WRITE) != 0);
    if (base == MAP_FAILED && errno == ENOMEM) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "mapping %zu bytes of shared memory: address space or "
                       "mappings are used up; raise \"ulimit -v\" or the "
                       "sysctl vm.max_map_count",
                       bytes);
    }
    if (base == MAP_FAILED && (errno == EACCES || errno == EPERM)) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "peer granted memory to be read, and it is to be "
                       "written");
    }
    if (base == MAP_FAILED) {
        return wi_fail_errno(err, errno, "mapping %zu bytes of shared memory",
                             bytes);
    }
    *base_out = base;
    return WEIR_OK;
}

void wi_shm_unmap(struct wi_transport *t, void *base, size_t bytes)
{
    (void)t;
    (void)munmap(base, bytes);
}
