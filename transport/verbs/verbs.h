/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The verbs transport: RDMA through libibverbs and librdmacm, on InfiniBand,
 * RoCE and iWARP.
 *
 *   worker or engine, post lock held          engine (poll, arm)
 *
 *   write --+                                +-- ibv_poll_cq: receives, errors
 *   read  --+-> chain --kick--> queue pair   +-- rdma_cm: connect, disconnect
 *   send  --+    one ibv_post_send per kick  +-- shared receive queue, refilled
 *
 * One queue pair per link, made by rdma_cm. A write is an RDMA WRITE from
 * memory of mem_open; a message is a SEND out of a small registered pool,
 * inlined where the device can. All links share one completion queue and one
 * shared receive queue (one receive queue each where the device has none).
 *
 * Every SEND begins with 8 bytes (struct vb_head), all integers little-endian:
 *
 *   0 kind u8 | 1 flags u8 | 2 got u16 | 4 freed u16 | 6 zero u16
 *
 *   got    messages of yours that have arrived here, modulo 2^16
 *   freed  of these, how many receive buffers are posted again
 *
 * Flow control. A side may have `window` messages more under way than the peer
 * has freed. Each side posts that many receives per link, so a receive is
 * always there when a message comes: InfiniBand never answers "receiver not
 * ready", iWARP never ends the connection for it. The last VB_RESERVE places
 * are for acknowledgements (vb_window_room() in vb_flow.h says why nothing can
 * block). A peer that sends beyond its window is cut off.
 *
 * Completion. ep->completed may count a write when its memory will not be read
 * again. On InfiniBand that is when a later completion of the queue pair says
 * so: the last request of a kick is signaled. An iWARP completion says less:
 * TCP has taken the bytes, and Soft-iWARP takes pages of unsignaled requests
 * without copying them. There, `got` of a message that was posted after the
 * write says so: the write has been placed at the peer by then. A kick whose
 * last write has no message after it adds a message of its own. A read is
 * complete, on every device, when its own completion comes: Soft-iWARP
 * completes a message that was posted behind a read while the read's bytes are
 * still under way (siw_qp_sq_process() of Linux 6.1).
 *
 * Keys. One 64-bit word holds all that a peer needs to write to a grant:
 *
 *   63    58 57           32 31            0
 *   +--------+---------------+--------------+   base of the grant as the peer's
 *   |  tag   | base / 2 MiB  |     rkey     |   device knows it; tag: of the
 *   +--------+---------------+--------------+   endpoint that granted
 *
 * Borrowed memory begins within its 2 MiB; wi_mem.origin says where.
 *
 * What protects what. A grant is a registration with the access that was asked
 * for and no more; grants of one memory for the same access share it, so that a
 * region is registered once and not once per peer. The device checks rkey and
 * bounds of every access; memory that was not granted has no remote rights
 * (mr.c names the one exception). All registrations are in one protection
 * domain, so an rkey is not bound to a queue pair: it is a secret, told to the
 * peers of the grant. To guess one takes 32 bits of rkey, random with
 * Soft-iWARP, and where the device translates addresses 26 random bits of base;
 * each wrong guess costs the peer its connection. (A domain per link would need
 * every page of outgoing memory registered, and locked, once per link.) Rings
 * are memory of one link, to be written and not to be read; Soft-iWARP answers
 * reads of them all the same (seen with Linux 6.1).
 *
 * Who touches what
 *   tx             the holder of the link's post lock; before the endpoint is
 *                  reported, and after it is disconnected, the engine
 *   rx, state      the engine
 *   shared         edges E50 to E54, see qp.c
 */
#ifndef WI_VERBS_H
#define WI_VERBS_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>

#include "core/base/cc.h"
#include "core/base/inet.h"
#include "core/base/list.h"
#include "core/transport.h"
#include "transport/verbs/vb_flow.h"

enum {
    VB_MESSAGE_BYTES = WI_MIN_MESSAGE_BYTES, /* longest message */
    VB_BUF_BYTES = 2112, /* head and message, whole cache lines */
    VB_WINDOW = 64,      /* receives per link, messages under way */
    VB_SLOTS = 128,      /* send buffers per link, a power of two */
    VB_SLACK = 32,       /* receives beyond the sum of the windows */
    VB_SQ = 128,         /* deepest send queue, a power of two */
    VB_SQ_LEAST = 64,    /* shallowest that works */
    VB_PAGE = 4096,
    VB_SQ_SPARE = 4,      /* requests kept for our own messages */
    VB_MARKS = 256,       /* completions awaited, a power of two */
    VB_SIGNAL_EVERY = 16, /* requests between signaled ones */
    VB_WC = 64,           /* completions per ibv_poll_cq */
    VB_MAX_GREETING = 64,
    VB_MAX_LINGER = 64,
    VB_PORT_TRIES = 32, /* TCP may have a port that rdma_cm thinks is free */
};

#define VB_GREETING_NS UINT64_C(5000000000) /* a stranger may be silent */
#define VB_LINGER_NS UINT64_C(2000000000)   /* for the last message to go */
#define VB_ACK_DELAY_NS UINT64_C(100000000) /* an acknowledgement may wait */
#define VB_ACK_SOON_NS UINT64_C(20000000)   /* or go before a sleep */
#define VB_NUDGE_NS UINT64_C(20000000)      /* see nudge() in verbs.c */
#define VB_LOOK_NS UINT64_C(1000000)        /* between looks at rdma_cm */

/** params->arg of `open`, or NULL. */
struct wi_vb_options {
    bool no_srq; /* receive queues per link also where they could be shared */
};

/** What differs between devices; filled by dev.c, constant after open. */
struct vb_device {
    char name[64];
    uint8_t port;
    bool iwarp;
    bool acks_complete;     /* `got` completes writes, see above */
    bool iova;              /* the device translates addresses of grants */
    bool sink_remote_write; /* the target of a read needs REMOTE_WRITE */
    bool srq;
    uint32_t torn_bytes;   /* reads up to these must not cross a page's end */
    uint32_t inline_bytes; /* most that a SEND can carry inlined */
    uint32_t max_srq_wr;
    uint32_t max_cqe;
    uint32_t max_qp_wr;
    uint8_t max_reads;   /* that we may have under way per queue pair */
    uint8_t max_answers; /* that the peer may */
};

/** Sent in the private data of connect and accept. */
struct vb_hello {
    uint32_t magic; /* little-endian, all of them */
    uint8_t version;
    uint8_t tag; /* of keys that this end grants */
    uint16_t window;
};
#define VB_MAGIC 0x56524557u /* "WERV" */
#define VB_VERSION 1

enum vb_kind {
    VB_DATA = 1, /* a message of the core follows */
    VB_ACK,      /* nothing follows */
    VB_FIRST,    /* the connecting side's first: the other may send now */
    VB_BYE,      /* nothing comes after this */
};
enum { VB_PROMPT = 1 }; /* flags: acknowledge without delay */

struct vb_head {
    uint8_t kind;
    uint8_t flags;
    uint16_t got;
    uint16_t freed;
    uint16_t zero;
};
static_assert(sizeof(struct vb_head) == 8, "what travels");

/** Receive and send buffers of one link; kept for the next link when the link
 *  is gone, because receives cannot be taken back from a shared queue. */
struct vb_slab {
    struct wi_list on_transport; /* in t->slabs */
    struct wi_list spare;        /* in t->spare_slabs, or alone */
    struct ibv_mr *mr;
    uint8_t *base; /* VB_SLOTS send buffers, then receive buffers */
    size_t bytes;
    uint32_t first_buf; /* number of its first receive buffer */
    uint32_t n_bufs;
};

struct vb_transport {
    struct wi_transport base;
    struct vb_device dev;
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct rdma_event_channel *cm;
    struct rdma_cm_id *listen_id;
    int epoll_fd;
    int timer_fd;
    int wake_fd;
    uint32_t max_links;
    uint32_t max_eps; /* max_links and those that come or go */
    uint32_t sq_depth;
    char address[WI_ADDRESS_BYTES];
    union wi_inet local; /* listening address */

    /* any thread, under mem_lock */
    pthread_mutex_t mem_lock;
    struct wi_list mems;
    _Atomic uint32_t mem_gen; /* grows when a memory is closed */

    /* written by: engine */
    uint64_t now_ns;
    uint64_t looked_ns; /* last look at the descriptors */
    uint64_t timer_ns;  /* when the timer fires; 0: not set */
    bool napped;        /* armed since that look */
    bool notify;        /* the completion queue will notify */
    bool event_due;     /* it did or will have, and was not read */
    uint32_t unacked;   /* notifications read, not acknowledged */
    bool dead;          /* the device has gone */
    bool released;      /* and we hold nothing of it any more */
    char dead_reason[WI_REASON_BYTES];
    uint32_t next_tag;
    uint32_t n_eps;
    uint32_t n_links; /* of these, those that the core may know */
    uint32_t n_greeting;
    uint32_t n_linger;
    struct wi_list eps;      /* all that are not in one of the next two */
    struct wi_list greeting; /* accepted, not yet reported; oldest first */
    struct wi_list linger;   /* disconnected, last message under way */
    struct wi_list ready;    /* endpoints with something to report */
    struct wi_list owing;    /* endpoints that owe an acknowledgement */
    uint64_t owing_ns;       /* when these go without a message */
    struct wi_list unheard;  /* connected, and the peer has said nothing */
    struct vb_ep **by_idx;   /* max_eps */
    struct vb_ep **by_qp;    /* hash of queue pair numbers */
    uint32_t by_qp_mask;

    struct wi_list slabs;
    struct wi_list spare_slabs;
    uint8_t **bufs; /* receive buffers by number */
    uint32_t *buf_lkey;
    uint32_t n_bufs;
    uint32_t max_bufs;
    uint32_t *held; /* receive buffers to be posted again */
    struct vb_ep **held_by;
    uint32_t n_held;

    struct ibv_wc wc[VB_WC]; /* polled, not yet looked at: begin .. end */
    uint32_t wc_begin;
    uint32_t wc_end;
    struct ibv_wc *stash; /* before these, kept by a disconnect */
    uint32_t stash_begin;
    uint32_t stash_end;
    uint32_t stash_room;
    bool cq_empty; /* the last ibv_poll_cq took everything */
};

/** What poll wants kick to add. */
enum vb_ack {
    VB_ACK_NONE,
    VB_ACK_DUE,   /* counters, unless the peer knows them */
    VB_ACK_NUDGE, /* a message that asks for an answer */
};

enum vb_state {
    VB_RESOLVING,  /* address, then route */
    VB_CONNECTING, /* rdma_connect or rdma_accept is under way */
    VB_UP,
    VB_LOST,   /* CLOSED was or will be reported */
    VB_LINGER, /* disconnected by the core; the last message goes */
};

enum {
    VB_TODO_UP = 1u << 0,
    VB_TODO_READ_DONE = 1u << 1,
    VB_TODO_SENDABLE = 1u << 2,
    VB_TODO_CLOSED = 1u << 3,
};

/** What says that a mark is reached. */
enum vb_mark_by {
    VB_BY_REQUEST, /* `at` requests are complete */
    VB_BY_READ,    /* `at` reads are complete: messages may be, before them */
    VB_BY_GOT,     /* the peer has got `at` messages */
};

/** A completion to come; `ops` operations are then complete. */
struct vb_mark {
    uint64_t ops;
    uint32_t at;
    enum vb_mark_by by;
};

/** Send side. Requests, messages: cumulative counts. */
struct vb_tx {
    uint32_t wr_end;    /* requests queued */
    uint32_t wr_posted; /* requests posted */
    uint32_t signaled;  /* the last signaled one, plus 1 */
    uint32_t msg_posted;
    uint32_t msg_end; /* messages queued */
    uint32_t reads;   /* reads queued */
    uint64_t ops;     /* writes and reads queued */
    uint64_t covered; /* of these, those with a mark */
    uint32_t lkey;    /* of the memory used last, and its range */
    uint32_t mem_gen;
    uintptr_t mem_base;
    size_t mem_bytes;
    uint32_t slot_wr[VB_SLOTS]; /* request that used a buffer, plus 1 */
    struct ibv_send_wr wr[VB_SQ];
    struct ibv_sge sge[VB_SQ];
};

struct vb_ep {
    struct wi_ep base;

    /* written by: engine */
    struct wi_list all;
    struct wi_list ready;
    struct wi_list owing;
    struct wi_list unheard;
    uint32_t idx;        /* in t->by_idx */
    uint32_t port_tries; /* of connecting, each from another local port */
    struct rdma_cm_id *id;
    struct ibv_qp *qp; /* constant once the endpoint is reported */
    struct vb_slab *slab;
    enum vb_state state;
    bool accepted;
    bool refused;  /* connecting: by the peer's transport */
    bool reported; /* the core knows it */
    bool deaf;     /* nothing that it says counts any more */
    bool bye;      /* it said that nothing comes any more */
    uint8_t tag;
    uint8_t peer_tag;
    uint16_t peer_window;
    uint32_t todo;
    uint32_t reads_to_report; /* of reads_complete */
    uint64_t until_ns;
    uint32_t nudges;
    uint32_t bye_wr; /* lingering ends when this request is complete */
    uint32_t peer_got;
    uint32_t reads_complete;
    struct wi_list grants;
    char peer[WI_ADDRESS_BYTES];
    char reason[WI_REASON_BYTES];

    /* shared */
    _Atomic bool lost;  /* send and kick refuse */
    _Atomic bool fault; /* posting failed: the engine is to cut the link */
    _Atomic uint32_t hungry;
    _Atomic uint32_t ack_now;     /* enum vb_ack */
    _Atomic uint32_t wr_done;     /* written by: engine */
    _Atomic uint32_t msg_freed;   /* written by: engine */
    _Atomic uint32_t msg_sent;    /* written by: post lock */
    _Atomic uint32_t rx_got;      /* written by: engine */
    _Atomic uint32_t rx_freed;    /* written by: engine */
    _Atomic uint32_t told_got;    /* written by: post lock */
    _Atomic uint32_t told_freed;  /* written by: post lock */
    _Atomic uint32_t marks_begin; /* written by: engine */
    _Atomic uint32_t marks_end;   /* written by: post lock */
    struct vb_mark marks[VB_MARKS];

    struct vb_tx tx;
};

static inline struct vb_transport *vb_of(struct wi_transport *t)
{
    return wi_container_of(t, struct vb_transport, base);
}

static inline struct vb_ep *vb_ep_of(struct wi_ep *ep)
{
    return wi_container_of(ep, struct vb_ep, base);
}

static inline struct vb_transport *vb_home(const struct vb_ep *ep)
{
    return vb_of(ep->base.transport);
}

/* wr_id of a send request: endpoint and number. Of a receive: its buffer. */
#define VB_ID_SEND (UINT64_C(1) << 63)
#define VB_ID_READ (UINT64_C(1) << 62)

static inline uint64_t vb_send_id(const struct vb_ep *ep, uint32_t wr)
{
    return VB_ID_SEND | (uint64_t)ep->idx << 32 | wr;
}

/* ---- status.c ------------------------------------------------------------ */

/** One line for a completion that failed. */
const char *wi_vb_status_text(enum ibv_wc_status status);

/* ---- dev.c --------------------------------------------------------------- */

/** Open the device that an rdma_cm id is bound to, and find out what it can.
 *
 *  Errors:     WEIR_ERR_SYSTEM: what it lacks */
weir_err wi_vb_dev_open(struct vb_transport *t, struct rdma_cm_id *id,
                        bool no_srq, struct weir_error *err);

/** Find out by trying what cannot be asked; needs the completion queue. */
void wi_vb_dev_probe(struct vb_transport *t);

/** Say why there is no device to listen at, and what to do. */
weir_err wi_vb_dev_none(const char *what, struct weir_error *err) WI_COLD;

/** Free queues, domain and context. */
void wi_vb_dev_close(struct vb_transport *t);

/* ---- qp.c ---------------------------------------------------------------- */

/** Make the queue pair of an endpoint whose id knows its device. */
weir_err wi_vb_qp_open(struct vb_ep *ep, struct weir_error *err);

/** Take the queue pair to a state, as rdma_cm says (not on iWARP, where the
 *  kernel does). False, with errno: it would not go. */
bool wi_vb_qp_move(struct vb_ep *ep, enum ibv_qp_state state, uint8_t reads);

/** End it: nothing is sent or received by it any more. */
void wi_vb_qp_close(struct vb_ep *ep);

weir_err wi_vb_send(struct wi_ep *base, const void *bytes, uint32_t len);
weir_err wi_vb_write(struct wi_ep *base, const struct wi_rma *op);
weir_err wi_vb_read(struct wi_ep *base, const struct wi_rma *op);
weir_err wi_vb_kick(struct wi_ep *base);

/** Queue and post a message of our own (FIRST, BYE); engine only, while nobody
 *  else posts. False: no room, or the device refused. */
bool wi_vb_say(struct vb_ep *ep, enum vb_kind kind);

/* ---- listen.c ------------------------------------------------------------ */

/** Listen; sets cm, listen_id, local and address. */
weir_err wi_vb_listen(struct vb_transport *t, const char *text,
                      const char *advertise, struct weir_error *err);

/* ---- cm.c ---------------------------------------------------------------- */

weir_err wi_vb_check(struct wi_transport *t, const char *address,
                     struct weir_error *err);
weir_err wi_vb_connect(struct wi_transport *t, const char *address,
                       struct wi_ep **ep_out, struct weir_error *err);

/** Take the events of rdma_cm. */
void wi_vb_cm_poll(struct vb_transport *t);

/* ---- ep.c ---------------------------------------------------------------- */

/** New endpoint, in list `eps` or (accepted) `greeting`. Where all places are
 *  taken, one that lingers or greets is closed for it. NULL: no memory, or too
 *  many. */
struct vb_ep *wi_vb_ep_open(struct vb_transport *t, struct rdma_cm_id *id,
                            bool accepted);

/** Free it, with its queue pair and grants, at once. */
void wi_vb_ep_close(struct vb_ep *ep);

/** Endpoint of a queue pair, or NULL. */
struct vb_ep *wi_vb_ep_find(struct vb_transport *t, uint32_t qp_num);

/** Make the queue pair known to the above. */
void wi_vb_ep_index(struct vb_transport *t);

/** Something is to be reported at the next poll. */
void wi_vb_ep_todo(struct vb_ep *ep, uint32_t todo);

/** The connecting or accepting is over; reports CONNECTED (ACCEPTED is reported
 *  by the caller, before the messages that follow). */
void wi_vb_ep_up(struct vb_ep *ep);

/** The endpoint is lost; the reason is formatted. Engine only. The first
 *  reason stands. */
void wi_vb_ep_lose(struct vb_ep *ep, const char *fmt, ...)
    WI_PRINTF(2, 3) WI_COLD;

/** The device has gone: all endpoints are lost. */
void wi_vb_all_lost(struct vb_transport *t, const char *fmt, ...)
    WI_PRINTF(2, 3) WI_COLD;

void wi_vb_disconnect(struct wi_ep *base);

/* ---- verbs.c ------------------------------------------------------------- */
extern const struct wi_transport_ops wi_verbs_ops;

#endif /* WI_VERBS_H */
