/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As fault_kill, but the third node lives on and breaks the rules of RDMA
 * towards node 0: query A has to fail on both others with its name, unless
 * there is nothing to harm where it wrote; B and C have to be exact. It uses
 * the queue pair of its own link, and its own library does not know.
 */
#define KILL_ON_VERBS 1
#include "test/integration/fault_kill.c"

#include "core/link/edge.h"
#include "core/link/link.h"
#include "core/link/lock.h"
#include "core/link/send.h"
#include "test/support/verbs.h"
#include "transport/verbs/verbs.h"

__attribute__((constructor)) static void on_device(void)
{
    listen_at = wt_verbs_listen();
}

static struct vb_ep *ep_to_0(weir_node *node)
{
    return vb_ep_of(node->engine.members[0].link->ep);
}

/* Post n equal requests; of many, the device may refuse some, and node 0 may
 * cut the connection before all are posted. */
static void post(struct wt_proc *p, struct vb_ep *ep, struct ibv_send_wr wr,
                 uint32_t n)
{
    struct ibv_sge sge = {.addr = (uintptr_t)ep->slab->base,
                          .length = 64,
                          .lkey = ep->slab->mr->lkey};
    struct ibv_send_wr *bad = NULL;
    int rc = 0;
    wr.wr_id = vb_send_id(ep, ep->tx.wr_end);
    wr.sg_list = &sge;
    wr.num_sge = 1;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = ibv_post_send(ep->qp, &wr, &bad);
        wt_proc_check(p, rc == 0 || i > 0, "post: %s", strerror(rc));
    }
}

/* A write of 64 bytes to the memory that node 0 granted. */
static void write_at(struct wt_proc *p, weir_node *node, uint64_t off,
                     uint32_t rkey_xor)
{
    wi_node_lock(node);
    struct vb_key key = vb_key_decode(node->engine.members[0].link->peer_key);
    post(p, ep_to_0(node),
         (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE,
                              .wr.rdma = {.remote_addr = key.base + off,
                                          .rkey = key.rkey ^ rkey_xor}},
         1);
    wi_node_unlock(node);
}

static void write_with_a_wrong_key(struct wt_proc *p, weir_node *node)
{
    write_at(p, node, 0, 0x5a5a00);
}

/* Of node 0's memory for this one's rings; that of this node is as large. */
static void write_beyond_the_grant(struct wt_proc *p, weir_node *node)
{
    write_at(p, node, node->engine.members[0].link->area.bytes, 0);
}

/* The memory begins with the control blocks, which only mapped rings use. */
static void write_over_the_control_blocks(struct wt_proc *p, weir_node *node)
{
    write_at(p, node, 0, 0);
}

static void overrun_the_receives(struct wt_proc *p, weir_node *node)
{
    wi_node_lock(node);
    struct vb_ep *ep = ep_to_0(node);
    /* A sound acknowledgement, but sent without end. */
    const struct vb_head head = {
        .kind = VB_ACK,
        .got = htole16((uint16_t)wi_load_rlx(&ep->told_got)),
        .freed = htole16((uint16_t)wi_load_rlx(&ep->told_freed))};
    memcpy(ep->slab->base, &head, sizeof(head));
    post(p, ep, (struct ibv_send_wr){.opcode = IBV_WR_SEND}, 4 * VB_WINDOW);
    wi_node_unlock(node);
}

/* "There are more bytes in the ring than you gave me room for." */
static void notify_beyond_the_credit(struct wt_proc *p, weir_node *node)
{
    union wi_msg m;
    wi_node_lock(node);
    struct wi_link *l = node->engine.members[0].link;
    wt_proc_check(p, !wi_list_empty(&l->outs), "no ring to node 0");
    const struct wi_out *o =
        wi_container_of(l->outs.next, struct wi_out, item.on_link);
    wi_msg_init(&m, WI_MSG_NOTIFY);
    m.pos.edge = o->edge;
    m.pos.epoch = o->epoch;
    m.pos.pos = o->posted + o->size + WI_RING_ALIGN;
    wi_link_send(l, &m);
    wi_node_unlock(node);
}

#define OFFENCE_TEST(name, ends_with)                                          \
    Test(fault_offend, name, .timeout = 100)                                   \
    {                                                                          \
        play((struct scene){.transport = "verbs",                              \
                            .phase = BY_OFFENCE,                               \
                            .offend = (name),                                  \
                            .code = (ends_with)});                             \
    }

OFFENCE_TEST(write_with_a_wrong_key, WEIR_ERR_PEER_LOST)
OFFENCE_TEST(write_beyond_the_grant, WEIR_ERR_PEER_LOST)
OFFENCE_TEST(write_over_the_control_blocks, WEIR_DONE)
OFFENCE_TEST(overrun_the_receives, WEIR_ERR_PEER_LOST)
OFFENCE_TEST(notify_beyond_the_credit, WEIR_ERR_PEER_PROTOCOL)
