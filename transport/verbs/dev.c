/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices, and all that differs between them. The rest of the transport asks
 * struct vb_device and knows no driver by name.
 *
 * Asked of the device: shared receive queues, depths, outstanding reads, and
 * by trying, inline data. Known by the kind of transport:
 *
 *   iWARP    a completed write may still lie in TCP (acks_complete); the
 *            target of a read needs REMOTE_WRITE (RFC 5040, section 5.2: its
 *            STag goes to the peer); the kernel moves queue pairs itself
 *
 * Known by the maker, where the interface has no question for it:
 *
 *   siw      0x626d74 (drivers/infiniband/sw/siw): takes pages of unsignaled
 *            requests of 4096 bytes and more without a copy, hence
 *            acks_complete is faster than signaled writes; ignores the I/O
 *            address of a registration; a read needs LOCAL_WRITE only;
 *            answers short reads across the end of a page with other bytes
 *            (torn_bytes), as is to be expected of the peers of a siw, too
 *
 * Not used at all, so not asked for: atomics, writes with immediate data (no
 * iWARP has them), more than one gather element, relaxed ordering (a message
 * must not overtake a write).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/forks.h"
#include "transport/verbs/verbs.h"

enum { SIW_VENDOR = 0x626d74, SIW_TORN_BYTES = 64, MOST_READS = 16 };

WI_COLD weir_err wi_vb_dev_none(const char *what, struct weir_error *err)
{
    char names[96] = "";
    int n = 0;
    size_t used = 0;
    struct ibv_device **list = ibv_get_device_list(&n);
    for (int i = 0; list != NULL && i < n && used < sizeof(names) - 1; i++) {
        int k = snprintf(names + used, sizeof(names) - used, "%s%s",
                         i > 0 ? ", " : "", ibv_get_device_name(list[i]));
        used += k > 0 ? (size_t)k : 0;
    }
    if (list != NULL) {
        ibv_free_device_list(list);
    }
    if (n == 0) {
        return wi_fail(
            err, WEIR_ERR_SYSTEM,
            "no RDMA device here; verbs: %s; load the device's driver until "
            "`ibv_devices` shows it, or make a software one (`rdma link add "
            "rxe0 type rxe netdev ETH`), or use the transport tcp",
            what);
    }
    return wi_fail(err, WEIR_ERR_SYSTEM,
                   "no RDMA device at that address; verbs: %s; here are: %s; "
                   "give the network device of one an IP address and bring it "
                   "up (`rdma link` names it), and listen there",
                   what, names);
}

static uint8_t least_u8(int a, int b)
{
    int least = a < b ? a : b;
    least = least < MOST_READS ? least : MOST_READS;
    return (uint8_t)(least > 0 ? least : 0);
}

static void fill_device(struct vb_device *d, const struct ibv_device *device,
                        const struct ibv_device_attr *attr, bool no_srq)
{
    bool siw = attr->vendor_id == SIW_VENDOR;
    d->iwarp = device->transport_type == IBV_TRANSPORT_IWARP;
    d->acks_complete = d->iwarp;
    d->iova = !siw;
    d->sink_remote_write = d->iwarp && !siw;
    d->torn_bytes = siw ? SIW_TORN_BYTES : 0;
    d->srq = attr->max_srq > 0 && !no_srq;
    d->max_srq_wr = attr->max_srq_wr > 0 ? (uint32_t)attr->max_srq_wr : 0;
    d->max_cqe = (uint32_t)attr->max_cqe;
    d->max_qp_wr = (uint32_t)attr->max_qp_wr;
    d->max_reads = least_u8(attr->max_qp_init_rd_atom, attr->max_qp_rd_atom);
    d->max_answers = least_u8(attr->max_qp_rd_atom, attr->max_qp_rd_atom);
}

weir_err wi_vb_dev_open(struct vb_transport *t, struct rdma_cm_id *id,
                        bool no_srq, struct weir_error *err)
{
    struct ibv_device *device = id->verbs->device;
    struct ibv_device_attr attr;
    (void)snprintf(t->dev.name, sizeof(t->dev.name), "%s",
                   ibv_get_device_name(device));
    t->dev.port = id->port_num;
    /* A context of our own: that of rdma_cm is shared by all transports of a
     * process, asynchronous events and all, and inherited by fork. */
    t->ctx = ibv_open_device(device);
    if (t->ctx == NULL) {
        return wi_fail_errno(err, errno,
                             "verbs: open %s (are /dev/infiniband/uverbs* "
                             "readable and writable for this user?)",
                             t->dev.name);
    }
    (void)wi_fd_keep(t->ctx->cmd_fd);
    int why = ibv_query_device(t->ctx, &attr); /* leaves errno alone */
    if (why != 0) {
        return wi_fail_errno(err, why, "verbs: ask %s what it can",
                             t->dev.name);
    }
    fill_device(&t->dev, device, &attr, no_srq);
    t->pd = ibv_alloc_pd(t->ctx);
    if (t->pd == NULL) {
        return wi_fail_errno(err, errno, "verbs: protection domain of %s",
                             t->dev.name);
    }
    return WEIR_OK;
}

/* The interface does not say how much can be inlined: queue pairs are tried. */
void wi_vb_dev_probe(struct vb_transport *t)
{
    static const uint32_t sizes[] = {256, 192, 128, 96, 80, 64, 32};
    t->dev.inline_bytes = 0;
    for (size_t i = 0; i < WI_ARRAY_LEN(sizes); i++) {
        struct ibv_qp_init_attr attr = {
            .send_cq = t->cq,
            .recv_cq = t->cq,
            .srq = t->srq,
            .cap = {.max_send_wr = 1,
                    .max_recv_wr = t->srq != NULL ? 0 : 1,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = sizes[i]},
            .qp_type = IBV_QPT_RC,
        };
        struct ibv_qp *qp = ibv_create_qp(t->pd, &attr);
        if (qp != NULL) {
            t->dev.inline_bytes = sizes[i];
            (void)ibv_destroy_qp(qp);
            return;
        }
    }
}

void wi_vb_dev_close(struct vb_transport *t)
{
    if (t->srq != NULL) {
        (void)ibv_destroy_srq(t->srq);
    }
    if (t->cq != NULL) {
        ibv_ack_cq_events(t->cq, t->unacked);
        (void)ibv_destroy_cq(t->cq);
    }
    if (t->channel != NULL) {
        wi_fd_leave(t->channel->fd);
        (void)ibv_destroy_comp_channel(t->channel);
    }
    if (t->pd != NULL) {
        (void)ibv_dealloc_pd(t->pd);
    }
    if (t->ctx != NULL) {
        wi_fd_leave(t->ctx->cmd_fd);
        wi_fd_leave(t->ctx->async_fd);
        (void)ibv_close_device(t->ctx);
    }
    t->srq = NULL;
    t->cq = NULL;
    t->channel = NULL;
    t->pd = NULL;
    t->ctx = NULL;
    t->unacked = 0;
}
