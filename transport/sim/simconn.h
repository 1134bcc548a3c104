/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Connections of the simulated network.
 *
 *   end[0] connector                                  end[1] acceptor
 *   posted --kick--> out --wire--> flying --lands--> inbox, granted memory
 *                                                       |
 *   poll  <-- flags, inbox of the ends in the port's ready list
 *
 * One operation is one `wi_simop`; it moves from list to list and is copied
 * nowhere. A connection is one block with both its ends. It is freed when
 * nothing refers to it any more: its two endpoints, its transfers on the wire,
 * its place in a ready list or in the turn of a port.
 *
 *   end state      reached by                      may
 *   UNUSED         (acceptor before CONNECT lands)
 *   CONNECTING     connect                         disconnect
 *   OPEN           CONNECT or ACCEPT lands         everything
 *   BROKEN         peer's FIN, refusal, a fault    disconnect
 *   GONE           disconnect                      (its kicked writes go on)
 */
#ifndef WI_SIM_SIMCONN_H
#define WI_SIM_SIMCONN_H

#include "core/base/cc.h"
#include "core/transport.h"
#include "transport/sim/simnet.h"
#include "transport/sim/simpool.h"
#include "transport/sim/simwire.h"

enum {
    WI_SIM_MAX_MESSAGE = 4096,
    WI_SIM_QUEUE_OPS = 64, /* outstanding per endpoint, then AGAIN */
};

enum wi_simop_kind {
    WI_SIMOP_CONNECT,
    WI_SIMOP_ACCEPT,
    WI_SIMOP_REFUSE,
    WI_SIMOP_FIN,
    WI_SIMOP_MESSAGE,
    WI_SIMOP_WRITE,
    WI_SIMOP_READ,
    WI_SIMOP_ANSWER, /* the bytes of a READ */
    /* not operations, but alarms, which share the pool */
    WI_SIMOP_CUT,
    WI_SIMOP_DROP,
    WI_SIMOP_DROP_END,
    WI_SIMOP_WAKE,
};

struct wi_simend;

struct wi_simop {
    struct wi_simxfer x;   /* used in the first operation of a transfer */
    struct wi_simop *next; /* in the list, or in the transfer */
    struct wi_simop *next_flying; /* first of a transfer: the next one */
    struct wi_simend *end;        /* that posted it */
    void *local;                  /* WRITE, READ */
    uint32_t len;
    uint8_t kind;
    uint8_t pool_size;
    bool owns_local; /* local is malloc'ed: its endpoint is gone */
    union {
        struct {
            uint64_t key;
            uint64_t remote_off;
            uint64_t seq; /* number among writes and reads, from 0 */
        };
        struct { /* CUT, DROP */
            uint32_t a;
            uint32_t b;
            uint64_t until_ns;
        };
        uint8_t data[24]; /* MESSAGE: len bytes, in a block that is larger */
    };
};

struct wi_simops {
    struct wi_simop *head;
    struct wi_simop *tail;
};

enum wi_simend_state {
    WI_SIMEND_UNUSED,
    WI_SIMEND_CONNECTING,
    WI_SIMEND_OPEN,
    WI_SIMEND_BROKEN,
    WI_SIMEND_GONE,
};

/* What poll has to report, besides inbox and reads_done. */
enum {
    WI_SIMFLAG_ACCEPTED = 1u << 0,
    WI_SIMFLAG_CONNECTED = 1u << 1,
    WI_SIMFLAG_SENDABLE = 1u << 2,
    WI_SIMFLAG_CLOSED = 1u << 3,
};

struct wi_simconn;

struct wi_simend {
    struct wi_ep ep; /* first: the core's handle */
    struct wi_simflow flow;
    struct wi_simconn *conn;
    struct wi_simops posted;
    struct wi_simops out;
    struct wi_simops flying; /* by next_flying */
    struct wi_simops reads;  /* at the peer; their answers come in this order */
    struct wi_simops inbox;
    struct wi_simend *next_ready;
    struct wi_grants grants; /* of this side's memory to the peer */
    uint64_t n_rma;          /* writes and reads posted */
    uint64_t rma_pos;        /* the last that is done, plus 1 */
    uint32_t reads_done;     /* not yet reported */
    uint16_t n_outstanding;
    uint8_t state;
    uint8_t flags;
    bool ready;
    bool again; /* owes a SENDABLE */
};

static_assert(sizeof(struct wi_simop) <= 96, "the pool's smallest block");
static_assert(sizeof(struct wi_simend) < 512, "thousands of links must fit");

struct wi_simnet;

struct wi_simconn {
    struct wi_simnet *net;
    struct wi_simconn *prev;
    struct wi_simconn *next;
    char *reason; /* why it broke; NULL: no memory for it, or not broken */
    uint32_t refs;
    bool broken; /* what still flies is lost */
    struct wi_simend end[2];
};

struct wi_simport {
    struct wi_transport *transport; /* NULL: nothing listens */
    struct wi_simend *ready_head;   /* ends that have something to report */
    struct wi_simend *ready_tail;
    uint64_t memory_bytes; /* that its node has for what travels */
    uint64_t skew_ns;      /* of its node's clock */
    bool refuses_memory;
    bool taken;          /* some transport was opened here */
    uint32_t next_ready; /* port, plus 1; list of ports for take_ready */
    bool ready;
};

struct wi_simnet {
    struct wi_simnet_params params;
    struct wi_simnet_watch watch;
    struct wi_simwire wire;
    struct wi_simpool pool;
    struct wi_simport *ports;
    struct wi_simconn *conns;
    uint32_t ready_head; /* port, plus 1 */
    uint32_t ready_tail;
};

static inline struct wi_simend *wi_simend_peer(struct wi_simend *e)
{
    return e == &e->conn->end[0] ? &e->conn->end[1] : &e->conn->end[0];
}

static inline void wi_simops_append(struct wi_simops *l, struct wi_simop *op)
{
    op->next = NULL;
    if (l->head == NULL) {
        l->head = op;
    } else {
        l->tail->next = op;
    }
    l->tail = op;
}

/** Where a message's bytes are: they run past the end of the struct. */
static inline uint8_t *wi_simop_data(struct wi_simop *op)
{
    return (uint8_t *)op + offsetof(struct wi_simop, data);
}

/** Take the first of a list, NULL if it is empty. */
static inline struct wi_simop *wi_simops_take(struct wi_simops *l)
{
    struct wi_simop *op = l->head;
    if (op != NULL) {
        l->head = op->next;
    }
    return op;
}

/** A new operation or alarm with room for n bytes of data, not in any list.
 *  NULL: no memory; the network is marked as failed. */
struct wi_simop *wi_simop_open(struct wi_simnet *net, enum wi_simop_kind kind,
                               struct wi_simend *end, uint32_t n);
void wi_simop_close(struct wi_simnet *net, struct wi_simop *op);
void wi_simops_clear(struct wi_simnet *net, struct wi_simops *l);

/** Begin a connection between two ports: end[0] is CONNECTING and belongs to
 *  the caller. NULL: no memory. */
struct wi_simconn *wi_simconn_open(struct wi_simnet *net, uint32_t from,
                                   uint32_t to);
void wi_simconn_hold(struct wi_simconn *c);
void wi_simconn_drop(struct wi_simconn *c); /* the last one frees it */

/** Break a connection: both ends learn it, what flies is lost. */
void wi_simconn_break(struct wi_simconn *c, const char *fmt, ...)
    WI_PRINTF(2, 3) WI_COLD;

/** Send what is in end->out. */
void wi_simend_start(struct wi_simend *e);

/** Send an operation that carries nothing. */
void wi_simend_post(struct wi_simend *e, enum wi_simop_kind kind);

/** Bytes of an operation on the wire. */
uint32_t wi_simop_wire_bytes(const struct wi_simop *op);

/** Take a transfer out of the list of those that fly; its first operation. */
struct wi_simop *wi_simconn_take_flying(struct wi_simxfer *x);

/** Have poll report a flag, or just look at the end (flag 0). */
void wi_simend_report(struct wi_simend *e, unsigned flag);

/** One operation of the end is over: its bytes have landed, or for a message,
 *  poll of the peer has taken it (a peer that does not poll stops its senders,
 *  as one that posts no receives does). */
void wi_simend_done(struct wi_simend *e);

/** The endpoint is done with: rule 5 of core/transport.h. */
void wi_simend_leave(struct wi_simend *e);

/* for the table of simwire.h */
struct wi_simxfer *wi_simconn_take(struct wi_simflow *flow);
void wi_simconn_lose(struct wi_simxfer *x);

/* ---- simland.c: what operations do where they arrive --------------------- */

/** For the table of simwire.h. */
void wi_simland(struct wi_simxfer *x);

/** Place a random part of a transfer that is just being received. */
void wi_simland_torn(struct wi_simxfer *x);

#endif /* WI_SIM_SIMCONN_H */
