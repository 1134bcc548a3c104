/* SPDX-License-Identifier: Apache-2.0 */
#include <weir/region.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/forks.h"
#include "core/region/extent.h"
#include "core/region/owner.h"
#include "core/transport.h"

static weir_err check(const struct weir_region_params *p,
                      struct weir_error *err)
{
    if ((unsigned)p->kind > WEIR_REGION_BORROWED) {
        return wi_fail(err, WEIR_ERR_ARG, "kind = %d, allowed is 0 to %d",
                       (int)p->kind, (int)WEIR_REGION_BORROWED);
    }
    if (p->bytes == 0 || p->bytes > INT64_MAX - WI_PAGE) {
        return wi_fail(err, WEIR_ERR_ARG, "bytes = %" PRIu64, p->bytes);
    }
    if (p->kind == WEIR_REGION_BORROWED && p->base == NULL) {
        return wi_fail_null(err, "base");
    }
    if (p->kind == WEIR_REGION_FILE && p->writable) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "writable = 1: peers do not write to files");
    }
    if (p->kind != WEIR_REGION_FILE && p->constant) {
        return wi_fail(err, WEIR_ERR_ARG, "constant = 1: only of files");
    }
    if (p->kind == WEIR_REGION_FILE && p->off > INT64_MAX - p->bytes) {
        return wi_fail(err, WEIR_ERR_ARG, "off = %" PRIu64, p->off);
    }
    for (size_t i = 0; i < WI_ARRAY_LEN(p->reserved); i++) {
        if (p->reserved[i] != 0) {
            return wi_fail(err, WEIR_ERR_ARG, "reserved[%zu] is not zero", i);
        }
    }
    return WEIR_OK;
}

/* The pages are made without the lock, so the budget is taken first. */
static weir_err open_new(struct weir_region *r, struct weir_error *err)
{
    struct weir_node *n = r->node;
    struct wi_engine *e = &n->engine;
    uint64_t bytes = wi_align_up(r->bytes, WI_PAGE);
    wi_node_lock(n);
    uint64_t held = e->mem_bytes;
    bool fits =
        bytes <= e->cfg.memory_bytes - wi_min_u64(held, e->cfg.memory_bytes);
    e->mem_bytes += fits ? bytes : 0;
    e->mem_peak = wi_max_u64(e->mem_peak, e->mem_bytes);
    wi_node_unlock(n);
    if (!fits) {
        return wi_fail(err, WEIR_ERR_BUDGET,
                       "%" PRIu64 " bytes for a region, on top of %" PRIu64
                       " held, pass memory_bytes = %" PRIu64 ": raise it",
                       bytes, held, e->cfg.memory_bytes);
    }
    weir_err rc = e->ops->mem_open(e->transport, bytes, &r->mem, err);
    if (rc != WEIR_OK) {
        wi_node_lock(n);
        e->mem_bytes -= bytes;
        wi_node_unlock(n);
        r->mem.base = NULL;
    }
    r->base = r->mem.base;
    return rc;
}

/* From its first byte on: then no page size matters. */
static weir_err map_file(struct weir_region *r, uint64_t file_bytes,
                         struct weir_error *err)
{
    uint64_t end = r->file_off + r->bytes;
    if (file_bytes < end) {
        return wi_fail(err, WEIR_ERR_DATA,
                       "a constant file of %" PRIu64 " bytes, of which bytes "
                       "%" PRIu64 " to %" PRIu64 " are to be a region",
                       file_bytes, r->file_off, end);
    }
    uint8_t *base = mmap(NULL, end, PROT_READ, MAP_SHARED, r->fd, 0);
    if (base == MAP_FAILED) {
        return wi_fail_errno(err, errno,
                             "mapping %" PRIu64 " bytes of a file (mappings "
                             "used up? raise the sysctl vm.max_map_count)",
                             end);
    }
    r->base = base + r->file_off;
    r->constant = true;
    if ((r->node->engine.ops->caps & WI_CAP_MAP) == 0) { /* no peer maps it */
        wi_fd_close(r->fd);
        r->fd = -1;
    }
    return WEIR_OK;
}

static weir_err open_file(struct weir_region *r,
                          const struct weir_region_params *p,
                          struct weir_error *err)
{
    struct stat st;
    int flags = fcntl(p->fd, F_GETFL);
    if (flags < 0 || fstat(p->fd, &st) != 0) {
        return wi_fail_errno(err, errno, "fd = %d", p->fd);
    }
    if ((flags & O_ACCMODE) == O_WRONLY || !S_ISREG(st.st_mode)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "fd = %d is not a regular file open for reading", p->fd);
    }
    r->file_off = p->off;
    r->fd = wi_fd_open(fcntl(p->fd, F_DUPFD_CLOEXEC, 0));
    if (r->fd < 0) {
        return wi_fail_errno(
            err, errno, "fd = %d (out of descriptors? raise ulimit -n)", p->fd);
    }
    weir_err rc =
        p->constant ? map_file(r, (uint64_t)st.st_size, err) : WEIR_OK;
    if (rc != WEIR_OK) {
        wi_fd_close(r->fd);
    }
    return rc;
}

weir_err weir_region_open(weir_node *node,
                          const struct weir_region_params *params,
                          weir_region **region_out, struct weir_error *err)
{
    weir_err rc =
        wi_check_args(err, WI_ARG(node), WI_ARG(params), WI_ARG(region_out));
    rc = rc == WEIR_OK ? wi_engine_check_own(&node->engine, err) : rc;
    rc = rc == WEIR_OK ? check(params, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_region *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a region");
    }
    r->node = node;
    r->kind = params->kind;
    r->bytes = params->bytes;
    r->writable = params->writable != 0;
    r->fd = -1;
    wi_list_init(&r->parts);
    if (r->kind == WEIR_REGION_NEW) {
        rc = open_new(r, err);
    } else if (r->kind == WEIR_REGION_BORROWED) {
        r->base = params->base;
        r->release = params->release;
        r->release_arg = params->release_arg;
    } else {
        rc = open_file(r, params, err);
    }
    if (rc != WEIR_OK) {
        free(r);
        return rc;
    }
    wi_node_lock(node);
    r->handle = ++node->engine.regions->last_handle;
    wi_list_push_back(&node->engine.regions->regions, &r->on_regions);
    wi_node_unlock(node);
    *region_out = r;
    return WEIR_OK;
}

weir_err weir_region_publish(weir_region *region, const struct weir_name *name,
                             struct weir_error *err)
{
    weir_err rc = wi_check_args(err, WI_ARG(region), WI_ARG(name));
    rc = rc == WEIR_OK ? wi_engine_check_own(&region->node->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    struct wi_engine *e = &region->node->engine;
    wi_node_lock(region->node);
    if (region->published) {
        rc = wi_fail(err, WEIR_ERR_STATE, "the region is published already");
    } else if (wi_region_by_name(e, name) != NULL) {
        rc = wi_fail(err, WEIR_ERR_DUPLICATE,
                     "a region %" PRIu64 "/%" PRIu64 " is published already",
                     name->space, name->id);
    } else {
        wi_owner_name(region, name);
    }
    wi_node_unlock(region->node);
    return rc;
}

void *weir_region_base(const weir_region *region)
{
    return region != NULL && region->kind != WEIR_REGION_FILE ? region->base
                                                              : NULL;
}

uint64_t weir_region_bytes(const weir_region *region)
{
    return region != NULL ? region->bytes : 0;
}

void weir_region_close(weir_region *region)
{
    if (region == NULL || wi_engine_inherited(&region->node->engine)) {
        return;
    }
    struct weir_node *n = region->node;
    struct wi_engine *e = &n->engine;
    wi_node_lock(n);
    wi_owner_unname(region);
    region->closed = true;
    region->until_ns = wi_time_add(e->now_ns, e->cfg.detect_ns);
    wi_engine_due(e, region->until_ns);
    wi_region_revoke(region);
    wi_region_settle(region);
    wi_engine_kick(e);
    wi_node_unlock(n);
}
