/* SPDX-License-Identifier: Apache-2.0 */
#include "core/node/stager.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/thread.h"
#include "core/link/lock.h"
#include "core/node/node_os.h"
#include "core/region/extent.h"
#include "core/region/gone.h"

/* ---- copying, without the lock ------------------------------------------- */

/* So old are the times of a file whose next change has certainly another time:
 * file systems count in as little as nanoseconds and as much as two seconds. */
#define SETTLED_NS 3000000000ll

static int64_t ns_of(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000ll + t->tv_nsec;
}

static struct wi_stamp stamp_of(int fd)
{
    struct timespec now;
    struct stat st;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || fstat(fd, &st) != 0) {
        return (struct wi_stamp){.settled = false};
    }
    struct wi_stamp s = {.bytes = (uint64_t)st.st_size,
                         .modified_ns = ns_of(&st.st_mtim),
                         .changed_ns = ns_of(&st.st_ctim)};
    s.settled = s.changed_ns < ns_of(&now) - SETTLED_NS &&
                s.modified_ns < ns_of(&now) - SETTLED_NS;
    return s;
}

static bool stamps_equal(const struct wi_stamp *a, const struct wi_stamp *b)
{
    return a->settled && a->bytes == b->bytes &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

static uint64_t read_file(struct wi_extent *p)
{
    const struct weir_region *r = p->region;
    uint64_t got = 0;
    p->stamp = stamp_of(r->fd);
    while (got < p->span) {
        uint64_t at = r->file_off + p->off + got;
        ssize_t n =
            pread(r->fd, (char *)p->mem.base + got, p->span - got, (off_t)at);
        if (n > 0) {
            got += (uint64_t)n;
        } else if (n == 0) {
            (void)wi_fail(&p->why, WEIR_ERR_DATA,
                          "the region's file ends at its byte %" PRIu64, at);
            break;
        } else if (errno != EINTR) {
            (void)wi_fail_errno(&p->why, errno,
                                "the region's file, at its byte %" PRIu64, at);
            break;
        }
    }
    return got;
}

/* The kernel copies, and says so where memory cannot be read. It may go as far
 * as it can in one call, or stop early: then page by page. */
static uint64_t read_memory(struct wi_extent *p)
{
    uint8_t *from = p->region->base + p->off;
    uint8_t *to = p->mem.base;
    uint64_t got = 0;
    bool by_page = false;
    while (got < p->span) {
        uint64_t rest = p->span - got;
        uint64_t page = WI_PAGE - (uintptr_t)(from + got) % WI_PAGE;
        struct iovec src = {from + got,
                            by_page ? wi_min_u64(page, rest) : rest};
        struct iovec dst = {to + got, src.iov_len};
        ssize_t n = process_vm_readv(getpid(), &dst, 1, &src, 1, 0);
        if (n > 0) {
            got += (uint64_t)n;
        } else if (n == 0 || errno == EFAULT) {
            if (by_page) {
                (void)wi_fail(&p->why, WEIR_ERR_DATA,
                              "the region's memory cannot be read at its byte "
                              "%" PRIu64,
                              p->off + got);
                break;
            }
            by_page = true;
        } else { /* the call is not allowed here */
            memcpy(to + got, from + got, rest);
            got = p->span;
        }
    }
    return got;
}

static uint64_t copy(struct wi_extent *p)
{
    return p->region->fd >= 0 ? read_file(p) : read_memory(p);
}

/* ---- comparing, likewise ------------------------------------------------- */

/* As pread(2), of what the part is made of. */
static ssize_t read_some(const struct wi_extent *p, uint64_t off, void *to,
                         size_t bytes)
{
    const struct weir_region *r = p->region;
    if (r->fd >= 0) {
        return pread(r->fd, to, bytes, (off_t)(r->file_off + p->off + off));
    }
    struct iovec src = {r->base + p->off + off, bytes};
    struct iovec dst = {to, bytes};
    ssize_t n = process_vm_readv(getpid(), &dst, 1, &src, 1, 0);
    if (n < 0 && errno != EFAULT) { /* the call is not allowed here */
        memcpy(to, src.iov_base, bytes);
        n = (ssize_t)bytes;
    }
    return n;
}

/* Are these the bytes of the copy, which are all that there are? */
static bool has_bytes(const struct wi_extent *p)
{
    uint8_t bytes[16384];
    uint64_t got = 0;
    while (got < p->span) {
        ssize_t n =
            read_some(p, got, bytes, wi_min_u64(p->span - got, sizeof(bytes)));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0 && got == p->bytes;
        }
        if ((uint64_t)n > p->bytes - got ||
            memcmp(bytes, (const char *)p->mem.base + got, (size_t)n) != 0) {
            return false;
        }
        got += (uint64_t)n;
    }
    return got == p->bytes;
}

/* The times of a file tell that it has not changed; that it has, its bytes. */
static bool is_stale(struct wi_extent *p)
{
    if (p->region->fd >= 0) {
        struct wi_stamp now = stamp_of(p->region->fd);
        if (stamps_equal(&p->stamp, &now)) {
            return false;
        }
        p->stamp = now;
    }
    return !has_bytes(p);
}

/* Make it, or look whether it is still as its file is. */
struct result {
    bool stale;
    uint64_t bytes;
};

static struct result make_or_compare(struct wi_extent *p)
{
    if (p->bytes == 0) {
        return (struct result){false, copy(p)};
    }
    return (struct result){is_stale(p), p->bytes};
}

static void say(struct wi_extent *p, const struct result *res)
{
    if (res->stale) {
        wi_extent_stale(p);
    } else {
        wi_extent_filled(p, res->bytes);
    }
}

/* ---- who does it --------------------------------------------------------- */

static void fill_here(struct wi_engine *e)
{
    struct wi_extent *p;
    struct wi_gone *g;
    while ((p = wi_extent_take(e)) != NULL) {
        const struct result res = make_or_compare(p);
        say(p, &res);
    }
    while ((g = wi_gone_take(e)) != NULL) {
        wi_gone_end(g);
    }
}

/* Somebody waits for copies, and nobody for what is gone. */
static bool do_next(struct weir_node *n)
{
    struct wi_extent *p = wi_extent_take(&n->engine);
    struct wi_gone *g = p == NULL ? wi_gone_take(&n->engine) : NULL;
    if (p == NULL && g == NULL) {
        return false;
    }
    struct result res = {false, 0};
    wi_node_unlock(n);
    if (p != NULL) {
        res = make_or_compare(p);
    }
    if (g != NULL) {
        wi_gone_end(g);
    }
    wi_node_lock(n);
    if (p != NULL) {
        say(p, &res);
    }
    return true;
}

static void *run(void *arg)
{
    struct weir_node *n = arg;
    wi_node_lock(n);
    while (!n->os->stager_stop) {
        if (!do_next(n)) {
            (void)pthread_cond_wait(&n->os->fill, &n->lock);
        }
    }
    wi_node_unlock(n);
    return NULL;
}

void wi_stager_fill(void *arg)
{
    struct weir_node *n = arg;
    struct wi_node_os *os = n->os;
    if (!n->engine.cfg.manual && !os->stager_runs && !os->stager_stop) {
        os->stager_runs = wi_thread_start(&os->stager_id, run, n,
                                          "copies of regions", NULL) == WEIR_OK;
    }
    if (os->stager_runs) {
        (void)pthread_cond_signal(&os->fill);
    } else { /* slower for others */
        fill_here(&n->engine);
    }
}

void wi_stager_stop(struct weir_node *n)
{
    wi_node_lock(n);
    bool runs = n->os->stager_runs;
    n->os->stager_stop = true;
    (void)pthread_cond_signal(&n->os->fill);
    wi_node_unlock(n);
    if (runs) {
        (void)pthread_join(n->os->stager_id, NULL);
        n->os->stager_runs = false;
    }
    wi_node_lock(n);
    fill_here(&n->engine);
    wi_node_unlock(n);
}
