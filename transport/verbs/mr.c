/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: pages that are there, registrations, grants, buffers for messages.
 *
 * Memory of mem_open is registered at once, without remote rights, so that it
 * can be written from. (Exception: the target of a read on iWARP devices other
 * than siw needs remote rights by the standard; there all of it has
 * REMOTE_WRITE, under a key that nobody is told.) The first grant for an access
 * registers it again, with that access; later ones, of any peer, share this,
 * and with the last it ends. Granted memory is therefore counted twice against
 * the limit of locked memory, or three times if some may write and others only
 * read. Borrowed memory is registered for its peers alone.
 *
 * The base of every memory is a multiple of 2 MiB, which lets a key hold it;
 * of borrowed memory, that of the 2 MiB in which it begins.
 */
#include "transport/verbs/mr.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "core/base/atomic.h"
#include "core/base/err.h"
#include "core/base/pages.h"
#include "transport/verbs/receive.h"

/* ---- registration -------------------------------------------------------- */

static WI_COLD weir_err not_registered(const struct vb_transport *t, int why,
                                       size_t bytes, struct weir_error *err)
{
    char limit[32];
    wi_limit_put(RLIMIT_MEMLOCK, limit, sizeof(limit));
    return wi_fail(err, WEIR_ERR_NO_MEMORY,
                   "%s did not register %zu bytes: %s; the limit of locked "
                   "memory is %s (ulimit -l): raise it (`ulimit -l "
                   "unlimited`, LimitMEMLOCK=infinity of a systemd unit, or "
                   "memlock in /etc/security/limits.conf) or lower "
                   "memory_bytes",
                   t->dev.name, bytes, strerror(why), limit);
}

struct ibv_mr *wi_vb_register(struct vb_transport *t, void *base, size_t bytes,
                              struct weir_error *err)
{
    unsigned access = IBV_ACCESS_LOCAL_WRITE;
    if (t->dev.sink_remote_write) {
        access |= IBV_ACCESS_REMOTE_WRITE;
    }
    struct ibv_mr *mr = ibv_reg_mr(t->pd, base, bytes, access);
    if (mr == NULL) {
        (void)not_registered(t, errno, bytes, err);
    }
    return mr;
}

/* ---- memory that travels ------------------------------------------------- */

static weir_err map_and_register(struct vb_transport *t, size_t bytes,
                                 struct vb_mem *m, struct weir_error *err)
{
    void *base = NULL;
    weir_err rc = wi_pages_open(bytes, &base, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    m->base = base;
    m->bytes = bytes;
    m->mr = wi_vb_register(t, base, bytes, err);
    if (m->mr == NULL) {
        wi_pages_close(base, bytes);
        return WEIR_ERR_NO_MEMORY;
    }
    return WEIR_OK;
}

static struct vb_mem *mem_of(const struct wi_mem *mem)
{
    return (struct vb_mem *)(uintptr_t)mem->handle;
}

static uint64_t origin_of(const struct vb_mem *m)
{
    return (uintptr_t)m->base % WI_HUGE_PAGE;
}

/* Where the peers' requests say that the memory is: a random place where the
 * device can translate, so that a key of 32 bits does not open it alone. */
static weir_err choose_base(const struct vb_transport *t,
                            const struct vb_mem *m, uint64_t *base_out,
                            struct weir_error *err)
{
    uint64_t base = (uintptr_t)m->base - origin_of(m);
    uint64_t bytes = origin_of(m) + m->bytes;
    uint64_t noise = 0;
    if (m->bytes > VB_KEY_SPAN / 2 || (!t->dev.iova && base >= VB_KEY_SPAN)) {
        return wi_fail(err, WEIR_ERR_UNSUPPORTED,
                       "%zu bytes at %p cannot be granted: keys of verbs name "
                       "places below 2^47",
                       m->bytes, (void *)m->base);
    }
    if (t->dev.iova) {
        if (getrandom(&noise, sizeof(noise), 0) != (ssize_t)sizeof(noise)) {
            return wi_fail_errno(err, errno, "getrandom for a grant");
        }
        uint64_t places = (VB_KEY_SPAN - bytes) / WI_HUGE_PAGE - 1;
        base = (1 + noise % places) * WI_HUGE_PAGE;
    }
    *base_out = base;
    return WEIR_OK;
}

/* Memory that is only read needs no right to write to its pages. */
static unsigned verbs_access(uint32_t access)
{
    unsigned flags = 0;
    if ((access & WI_ACCESS_READ) != 0) {
        flags |= IBV_ACCESS_REMOTE_READ;
    }
    if ((access & WI_ACCESS_WRITE) != 0) {
        flags |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
    }
    return flags;
}

/* Make regs[access], unless it is there. */
static weir_err register_for_peers(struct vb_transport *t, struct vb_mem *m,
                                   uint32_t access, struct weir_error *err)
{
    struct vb_reg *reg = &m->regs[access];
    uint64_t base = 0;
    if (reg->mr != NULL) {
        return WEIR_OK;
    }
    weir_err rc = choose_base(t, m, &base, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    reg->mr = ibv_reg_mr_iova(t->pd, m->base, m->bytes, base + origin_of(m),
                              verbs_access(access));
    reg->base = base;
    return reg->mr != NULL ? WEIR_OK : not_registered(t, errno, m->bytes, err);
}

static void deregister(struct ibv_mr **mr)
{
    if (*mr != NULL) {
        (void)ibv_dereg_mr(*mr);
        *mr = NULL;
    }
}

static void deregister_all(struct vb_mem *m)
{
    deregister(&m->mr);
    for (uint32_t i = 0; i < VB_ACCESSES; i++) {
        deregister(&m->regs[i].mr);
    }
}

/* Make memory known to the transport. */
static struct wi_mem mem_put(struct vb_transport *t, struct vb_mem *m)
{
    wi_list_init(&m->grants);
    (void)pthread_mutex_lock(&t->mem_lock);
    wi_list_push_back(&t->mems, &m->on_transport);
    (void)pthread_mutex_unlock(&t->mem_lock);
    return (struct wi_mem){.base = m->base,
                           .bytes = m->bytes,
                           .origin = origin_of(m),
                           .handle = (uintptr_t)m};
}

weir_err wi_vb_mem_open(struct wi_transport *base, size_t bytes,
                        struct wi_mem *out, struct weir_error *err)
{
    struct vb_transport *t = vb_of(base);
    if (t->released) {
        return wi_fail(err, WEIR_ERR_SYSTEM, "verbs: %s", t->dead_reason);
    }
    struct vb_mem *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a memory");
    }
    weir_err rc = map_and_register(t, bytes, m, err);
    if (rc != WEIR_OK) {
        free(m);
        return rc;
    }
    *out = mem_put(t, m);
    return WEIR_OK;
}

weir_err wi_vb_mem_borrow(struct wi_transport *base,
                          const struct wi_borrow *what, uint32_t access,
                          struct wi_mem *out, struct weir_error *err)
{
    struct vb_transport *t = vb_of(base);
    if (t->released) {
        return wi_fail(err, WEIR_ERR_SYSTEM, "verbs: %s", t->dead_reason);
    }
    if (what->file) { /* Linux 6.1 pins no pages of a file: EFAULT */
        return wi_no_borrow(base, what, access, out, err);
    }
    struct vb_mem *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a memory");
    }
    m->base = what->base;
    m->bytes = what->bytes;
    m->borrowed = true;
    weir_err rc = register_for_peers(t, m, access, err);
    if (rc != WEIR_OK) {
        free(m);
        return rc;
    }
    *out = mem_put(t, m);
    return WEIR_OK;
}

void wi_vb_mem_close(struct wi_transport *base, struct wi_mem *mem)
{
    struct vb_transport *t = vb_of(base);
    struct vb_mem *m = mem_of(mem);
    assert(wi_list_empty(&m->grants));
    (void)pthread_mutex_lock(&t->mem_lock);
    wi_list_remove(&m->on_transport);
    /* Relaxed: whoever writes from other memory at this place has learned of
     * it after this. */
    (void)wi_add_rlx(&t->mem_gen, 1);
    (void)pthread_mutex_unlock(&t->mem_lock);
    deregister_all(m);
    if (!m->borrowed) {
        wi_pages_close(m->base, m->bytes);
    }
    free(m);
    *mem = (struct wi_mem){0};
}

void wi_vb_mems_release(struct vb_transport *t)
{
    (void)pthread_mutex_lock(&t->mem_lock);
    wi_list_each(n, &t->mems)
    {
        deregister_all(wi_container_of(n, struct vb_mem, on_transport));
    }
    (void)pthread_mutex_unlock(&t->mem_lock);
}

/* Once per memory and link, as a rule; then the endpoint remembers. The lock
 * is held for the steps of a list only. */
static WI_COLD bool look_up(struct vb_ep *ep, uintptr_t at, size_t bytes)
{
    struct vb_transport *t = vb_home(ep);
    bool found = false;
    (void)pthread_mutex_lock(&t->mem_lock);
    wi_list_each(n, &t->mems)
    {
        struct vb_mem *m = wi_container_of(n, struct vb_mem, on_transport);
        uintptr_t off = at - (uintptr_t)m->base;
        if (off < m->bytes && bytes <= m->bytes - off && m->mr != NULL) {
            ep->tx.mem_base = (uintptr_t)m->base;
            ep->tx.mem_bytes = m->bytes;
            ep->tx.lkey = m->mr->lkey;
            ep->tx.mem_gen = wi_load_rlx(&t->mem_gen); /* rlx: as above */
            found = true;
            break;
        }
    }
    (void)pthread_mutex_unlock(&t->mem_lock);
    return found;
}

bool wi_vb_lkey(struct vb_ep *ep, const void *local, size_t bytes,
                uint32_t *lkey_out)
{
    const struct vb_tx *tx = &ep->tx;
    uintptr_t at = (uintptr_t)local;
    size_t off = at - tx->mem_base;
    /* Relaxed: see wi_vb_mem_close(). */
    bool fresh = tx->mem_gen == wi_load_rlx(&vb_home(ep)->mem_gen);
    if (wi_unlikely(!fresh || off >= tx->mem_bytes ||
                    bytes > tx->mem_bytes - off) &&
        !look_up(ep, at, bytes)) {
        return false;
    }
    *lkey_out = tx->lkey;
    return true;
}

/* ---- grants -------------------------------------------------------------- */

weir_err wi_vb_grant(struct wi_ep *ep_base, const struct wi_mem *mem,
                     uint32_t access, uint64_t *key_out, struct weir_error *err)
{
    struct vb_ep *ep = vb_ep_of(ep_base);
    struct vb_transport *t = vb_home(ep);
    struct vb_mem *m = mem_of(mem);
    if (t->released) {
        return wi_fail(err, WEIR_ERR_PEER_LOST, "%s", t->dead_reason);
    }
    struct vb_grant *g = malloc(sizeof(*g));
    if (g == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a grant to %s",
                       ep->peer);
    }
    weir_err rc = register_for_peers(t, m, access, err);
    if (rc != WEIR_OK) {
        free(g);
        return rc;
    }
    struct vb_reg *reg = &m->regs[access];
    reg->grants++;
    *g = (struct vb_grant){.ep = ep, .mem = m, .access = access};
    g->key = vb_key_encode((struct vb_key){
        .base = reg->base, .rkey = reg->mr->rkey, .tag = ep->tag});
    wi_list_push_back(&m->grants, &g->on_mem);
    wi_list_push_back(&ep->grants, &g->on_ep);
    *key_out = g->key;
    return WEIR_OK;
}

/* What was registered for grants of this kind ends with the last of them. */
static void drop(struct vb_grant *g)
{
    struct vb_reg *reg = &g->mem->regs[g->access];
    wi_list_remove(&g->on_mem);
    wi_list_remove(&g->on_ep);
    if (--reg->grants == 0) {
        deregister(&reg->mr);
    }
    free(g);
}

weir_err wi_vb_ungrant(struct wi_ep *base, const struct wi_mem *mem,
                       uint64_t key)
{
    wi_list_each(n, &mem_of(mem)->grants)
    {
        struct vb_grant *g = wi_container_of(n, struct vb_grant, on_mem);
        if (g->ep == vb_ep_of(base) && g->key == key) {
            drop(g);
            break;
        }
    }
    return WEIR_OK;
}

void wi_vb_revoke(struct vb_ep *ep)
{
    wi_list_each(n, &ep->grants)
    {
        drop(wi_container_of(n, struct vb_grant, on_ep));
    }
}

/* ---- buffers for messages ------------------------------------------------ */

/* In a shared queue, receives of the first link bring the slack along. */
static uint32_t bufs_of_next(const struct vb_transport *t)
{
    bool first = wi_list_empty(&t->slabs);
    return VB_WINDOW + (t->srq != NULL && first ? (uint32_t)VB_SLACK : 0);
}

static struct vb_slab *slab_make(struct vb_transport *t, struct weir_error *err)
{
    struct vb_slab *s = calloc(1, sizeof(*s));
    uint32_t n = bufs_of_next(t);
    size_t bytes = wi_align_up((size_t)(VB_SLOTS + n) * VB_BUF_BYTES, WI_PAGE);
    void *base = NULL;
    if (s == NULL) {
        (void)wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a link");
        return NULL;
    }
    if (wi_pages_open(bytes, &base, err) != WEIR_OK) {
        free(s);
        return NULL;
    }
    s->base = base;
    s->mr = wi_vb_register(t, base, bytes, err);
    if (s->mr == NULL) {
        wi_pages_close(base, bytes);
        free(s);
        return NULL;
    }
    s->bytes = bytes;
    s->first_buf = t->n_bufs;
    s->n_bufs = n;
    for (uint32_t i = 0; i < n; i++) {
        t->bufs[t->n_bufs] = s->base + (size_t)(VB_SLOTS + i) * VB_BUF_BYTES;
        t->buf_lkey[t->n_bufs++] = s->mr->lkey;
    }
    wi_list_init(&s->spare);
    wi_list_push_back(&t->slabs, &s->on_transport);
    return s;
}

struct vb_slab *wi_vb_slab_take(struct vb_transport *t, struct weir_error *err)
{
    struct wi_list *n = wi_list_take(&t->spare_slabs);
    if (n != NULL) {
        return wi_container_of(n, struct vb_slab, spare);
    }
    if (t->n_bufs + bufs_of_next(t) > t->max_bufs) {
        (void)wi_fail(err, WEIR_ERR_NO_MEMORY, "more than %u links",
                      t->max_eps);
        return NULL;
    }
    struct vb_slab *s = slab_make(t, err);
    if (s != NULL && t->srq != NULL) {
        wi_vb_feed(t, NULL, s);
    }
    return s;
}

void wi_vb_slab_put(struct vb_transport *t, struct vb_slab *slab)
{
    wi_list_push_back(&t->spare_slabs, &slab->spare);
}

void wi_vb_slabs_close(struct vb_transport *t)
{
    struct wi_list *n;
    while ((n = wi_list_take(&t->slabs)) != NULL) {
        struct vb_slab *s = wi_container_of(n, struct vb_slab, on_transport);
        (void)ibv_dereg_mr(s->mr);
        wi_pages_close(s->base, s->bytes);
        free(s);
    }
    wi_list_init(&t->spare_slabs);
}
