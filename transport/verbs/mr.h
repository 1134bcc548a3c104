/* SPDX-License-Identifier: Apache-2.0 */
/** Memory, registrations, grants, buffers for messages. */
#ifndef WI_VERBS_MR_H
#define WI_VERBS_MR_H

#include "transport/verbs/verbs.h"

enum { VB_ACCESSES = 4 }; /* sets of WI_ACCESS_ */

/** A registration for peers, as long as grants use it. */
struct vb_reg {
    struct ibv_mr *mr; /* NULL: none */
    uint64_t base;     /* of the memory, as the device knows it */
    uint32_t grants;   /* that use it */
};

/** Memory of mem_open or mem_borrow. */
struct vb_mem {
    struct wi_list on_transport;
    uint8_t *base;
    size_t bytes;
    bool borrowed;
    struct ibv_mr *mr; /* for our own writes and reads; NULL: borrowed, or the
                          device has gone */
    struct vb_reg regs[VB_ACCESSES]; /* written by: engine, but for the first
                                        of borrowed memory */
    struct wi_list grants;           /* written by: engine */
};

/** A grant. Written by: engine. */
struct vb_grant {
    struct wi_list on_mem;
    struct wi_list on_ep;
    const struct vb_ep *ep;
    struct vb_mem *mem;
    uint64_t key;
    uint32_t access;
};

weir_err wi_vb_mem_open(struct wi_transport *t, size_t bytes,
                        struct wi_mem *out, struct weir_error *err);
void wi_vb_mem_close(struct wi_transport *t, struct wi_mem *mem);
weir_err wi_vb_mem_borrow(struct wi_transport *t, const struct wi_borrow *what,
                          uint32_t access, struct wi_mem *out,
                          struct weir_error *err);
weir_err wi_vb_grant(struct wi_ep *base, const struct wi_mem *mem,
                     uint32_t access, uint64_t *key_out,
                     struct weir_error *err);
weir_err wi_vb_ungrant(struct wi_ep *base, const struct wi_mem *mem,
                       uint64_t key);

/** Local key of memory of mem_open; false: that is not such memory. */
bool wi_vb_lkey(struct vb_ep *ep, const void *at, size_t bytes,
                uint32_t *lkey_out);

/** Take back what was granted through an endpoint. */
void wi_vb_revoke(struct vb_ep *ep);

/** Registration of bytes that the transport itself uses; NULL and an error
 *  that names the limit of locked memory. */
struct ibv_mr *wi_vb_register(struct vb_transport *t, void *base, size_t bytes,
                              struct weir_error *err);

/** Buffers for one more link. NULL and an error: no memory. */
struct vb_slab *wi_vb_slab_take(struct vb_transport *t, struct weir_error *err);

/** Buffers of a link that is gone. */
void wi_vb_slab_put(struct vb_transport *t, struct vb_slab *slab);

/** Free all buffers. */
void wi_vb_slabs_close(struct vb_transport *t);

/** Deregister everything of a device that has gone. */
void wi_vb_mems_release(struct vb_transport *t);

#endif /* WI_VERBS_MR_H */
