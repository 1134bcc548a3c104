/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The tcp transport: one socket per endpoint, one epoll instance per
 * transport.
 *
 *   worker or engine, post lock held           engine (poll)
 *
 *   send ---> staging --+                      +--> look (headers, messages)
 *   write -> pieces ----+- sendmsg  ~~>  readv +
 *   read                                       +--> granted memory (payload)
 *
 * On the wire, after a greeting of 16 bytes in each direction, records:
 *
 *   0 type u8 | 1 zero[3] | 4 bytes u32 | 8 key u64 | 16 offset u64 | payload
 *
 *   MESSAGE    payload of `bytes`
 *   WRITE      payload of `bytes` for `offset` in the memory granted as `key`
 *   READ       no payload: asks for `bytes` from `offset` of `key`
 *   READ_DATA  payload of `bytes`: the next bytes of the oldest READ
 *
 * All integers are little-endian. Payload of WRITE and READ_DATA is read by the
 * kernel straight into its place, except for what arrived together with a
 * header (less than LOOK_AHEAD bytes per system call).
 *
 * Who touches what
 *   tx, posted     the holder of the link's post lock; before CONNECTED or
 *                  ACCEPTED the engine
 *   rx, state      the engine
 *   blocked, sent, reads, answers: shared, edges E4, E41 to E44
 *
 * An answer to a READ has to be queued under the post lock, which poll does
 * not hold: poll leaves it in `answers` and reports SENDABLE, and the kick
 * that the core answers with sends it, piece by piece: a write of our own finds
 * at most TCP_TURNS pieces of answers before it, and takes turns with the rest.
 */
#ifndef WI_TCP_H
#define WI_TCP_H

#include <sys/uio.h>

#include "core/base/cc.h"
#include "core/base/inet.h"
#include "core/base/list.h"
#include "core/transport.h"
#include "transport/tcp/tcp_tls.h"

enum {
    TCP_GREETING_BYTES = 16,
    TCP_HEADER_BYTES = 24,
    TCP_MESSAGE_BYTES = 4096, /* longest message */
    TCP_PIECES = 64,          /* queued pieces, a power of two */
    TCP_STAGE_BYTES = 32768,  /* queued headers and messages, likewise */
    TCP_READS = 64,           /* reads on their way, per direction, likewise */
    TCP_TURN_BYTES = 1 << 17, /* of an answer, between two writes of our own */
    TCP_TURNS = 4,            /* of answers, per system call */
    TCP_KICK_CALLS = 8,       /* for answers, before others have their turn */
    TCP_LOOK_BYTES = 16384,   /* received, not yet handed out */
    TCP_LOOK_AHEAD = 256,     /* read beyond a payload: trades copied bytes
                                 against system calls; a notification and the
                                 next two headers fit */
    TCP_MAX_GREETING = 64,    /* accepted, not yet known to be a node */
    TCP_MAX_LINGER = 64,      /* disconnected, peer has not closed yet */
};

#define TCP_GREETING_NS UINT64_C(5000000000) /* a stranger may be silent */
#define TCP_LINGER_NS UINT64_C(2000000000)   /* wait for the peer's end */
#define TCP_PAUSE_NS UINT64_C(100000000)     /* between accepts without fds */
#define TCP_REFUSED_NS UINT64_C(1000000000)  /* between lines in the log */

enum tcp_record { TCP_MESSAGE = 1, TCP_WRITE, TCP_READ, TCP_READ_DATA };

enum tcp_state {
    TCP_LOOKING,    /* the name is being looked up; there is no socket yet */
    TCP_CONNECTING, /* connect(2) is under way */
    TCP_TLS,        /* both ends find out who the other one is */
    TCP_GREETING,   /* waiting for the peer's greeting */
    TCP_UP,
    TCP_DEAD,   /* CLOSED was or will be reported; out of epoll */
    TCP_LINGER, /* disconnected: reads and drops until the peer's end */
};

/** Something to do for an endpoint, found by epoll or left from before. */
enum {
    TCP_TODO_IN = 1u << 0,    /* the socket may be readable */
    TCP_TODO_OUT = 1u << 1,   /* the socket may be writable */
    TCP_TODO_PARSE = 1u << 2, /* `look` may hold a whole record */
    TCP_TODO_UP = 1u << 3,    /* report CONNECTED or ACCEPTED */
    TCP_TODO_READ_DONE = 1u << 4,
    TCP_TODO_SENDABLE = 1u << 5,
    TCP_TODO_CLOSED = 1u << 6,
};

struct tcp_transport {
    struct wi_transport base;
    int epoll_fd;
    int listen_fd;
    int timer_fd;
    uint32_t max_links;
    uint32_t silent_ms; /* 0: as the system has it */
    const struct wi_log *log;
    struct wi_tls *tls; /* NULL: plain */
    char address[WI_ADDRESS_BYTES];

    /* written by: engine */
    uint64_t now_ns;
    uint64_t paused_until_ns; /* 0: listening; else out of descriptors */
    bool pause_reported;      /* once until an accept succeeds */
    bool full_reported;       /* once until there was room for a link */
    uint64_t refused_ns;      /* TLS: no such line in the log before that */
    uint32_t refused;         /* since the last one */
    uint32_t links;           /* endpoints, ungreeted ones included */
    uint32_t greeting_count;
    uint32_t linger_count;
    struct wi_list eps;          /* all that are not in one of the next two */
    struct wi_list greeting;     /* accepted, oldest first */
    struct wi_list linger;       /* oldest first */
    struct wi_list ready;        /* endpoints with something to do */
    struct wi_list trash;        /* freed when poll has finished */
    struct tcp_lookups *lookups; /* NULL: no name came up yet */
};

/** One piece of the stream: a range of staging, or payload. */
struct tcp_piece {
    uint32_t stage_pos; /* staging is free up to here once it is sent */
    uint32_t ops;       /* operations that are sent once it is */
    uint32_t grant;     /* of an answer: index of its memory, plus 1; else 0 */
};

/** Send side. pieces are cumulative positions head .. tail; iov[] is kept in
 *  the form that sendmsg takes, so nothing is built per system call. */
struct tcp_tx {
    uint32_t head;
    uint32_t tail;
    uint32_t stage_head; /* staging in use: head .. tail, cumulative */
    uint32_t stage_tail;
    struct iovec iov[TCP_PIECES];
    struct tcp_piece piece[TCP_PIECES];
    uint8_t stage[TCP_STAGE_BYTES];
};

/** A read of ours on its way. */
struct tcp_read {
    void *local;
    uint32_t bytes;
    uint64_t op; /* its number among the operations of the endpoint */
};

/** An answer that a READ of the peer waits for. */
struct tcp_answer {
    const void *base;
    uint32_t bytes;
    uint32_t grant; /* index of its memory, plus 1 */
};

/** Receive side. */
struct tcp_rx {
    uint8_t *into;  /* payload in progress goes here */
    uint32_t left;  /* bytes of it to come */
    bool answer;    /* it is READ_DATA */
    uint32_t grant; /* WRITE: index of its memory */
    uint32_t read;  /* bytes of the oldest read that have come */
    uint32_t head;  /* look: taken up to head, filled up to tail */
    uint32_t tail;
    uint8_t look[TCP_LOOK_BYTES];
};

struct tcp_ep {
    struct wi_ep base;

    /* written by: engine */
    struct wi_list all;         /* in one list of the transport */
    struct wi_list ready;       /* in t->ready, or alone */
    struct tcp_lookup *lookup;  /* state LOOKING */
    int fd;                     /* -1: none yet */
    struct wi_tls_session *tls; /* NULL: plain */
    uint32_t turn;              /* of TLS: wi_tls_turns() */
    enum tcp_state state;
    bool accepted;
    bool hung_up;        /* the peer closed before it greeted */
    bool refused;        /* either side by the other, in the handshake of TLS */
    uint32_t todo;       /* TCP_TODO_ bits */
    uint32_t reads_done; /* READ_DONE events to report */
    uint64_t until_ns;   /* GREETING (accepted) and LINGER end then */
    struct wi_grants grants;
    char host[WI_ADDRESS_BYTES]; /* connecting: base.host */
    char peer[WI_ADDRESS_BYTES]; /* "HOST:PORT" */
    char reason[WI_REASON_BYTES];

    /* shared, see the edges in tcp_send.c */
    _Atomic bool blocked;          /* EPOLLOUT is armed: no use in sending */
    _Atomic int send_errno;        /* sending failed for good */
    _Atomic uint64_t sent;         /* operations whose bytes are sent */
    _Atomic uint32_t reads_tail;   /* written by: post lock */
    _Atomic uint32_t reads_head;   /* written by: engine */
    _Atomic uint32_t answers_tail; /* written by: engine */
    _Atomic uint32_t answers_head; /* written by: post lock */
    struct tcp_read reads[TCP_READS];
    struct tcp_answer answers[TCP_READS];

    /* written by: post lock */
    uint64_t posted;   /* operations queued so far */
    uint32_t answered; /* bytes of the oldest answer that are queued */
    struct tcp_tx tx;

    struct tcp_rx rx;
};

static inline struct tcp_transport *tcp_of(struct wi_transport *t)
{
    return wi_container_of(t, struct tcp_transport, base);
}

static inline struct tcp_ep *tcp_ep_of(struct wi_ep *ep)
{
    return wi_container_of(ep, struct tcp_ep, base);
}

static inline struct tcp_transport *tcp_home(const struct tcp_ep *ep)
{
    return tcp_of(ep->base.transport);
}

/* ---- tcp_addr.c ---------------------------------------------------------- */

/** If addr is a wildcard, replace it by an address that others can reach. */
void wi_tcp_addr_reachable(union wi_inet *addr);

/* ---- tcp.c --------------------------------------------------------------- */
extern const struct wi_transport_ops wi_tcp_ops;

/** A descriptor was closed: accept again if there were too few to do so. */
void wi_tcp_resume(struct tcp_transport *t);

/* ---- tcp_ep.c ------------------------------------------------------------ */

/** New endpoint around a socket, or none, in list `eps`. NULL: no memory. */
struct tcp_ep *wi_tcp_ep_open(struct tcp_transport *t, int fd,
                              enum tcp_state state);

/** Close the socket and free, at once. */
void wi_tcp_ep_close(struct tcp_ep *ep);

/** As close, at the end of the present poll: epoll may still name it. */
void wi_tcp_ep_trash(struct tcp_ep *ep);

/** What epoll is to watch for. */
void wi_tcp_ep_watch(struct tcp_ep *ep, int op, uint32_t events);

/** Something is to be done at the next poll. */
void wi_tcp_ep_todo(struct tcp_ep *ep, uint32_t todo);

/** The endpoint is lost; the reason is formatted. Engine only. */
void wi_tcp_ep_lose(struct tcp_ep *ep, const char *fmt, ...)
    WI_PRINTF(2, 3) WI_COLD;

/** The look-up of the name has ended (state LOOKING); addr NULL: why. */
void wi_tcp_ep_found(struct tcp_ep *ep, const union wi_inet *addr,
                     const char *why);

/** Connect once more, to the same address. */
void wi_tcp_ep_again(struct tcp_ep *ep);

/** Drop what arrives (state LINGER). True if the peer's end has come. */
bool wi_tcp_ep_linger(struct tcp_ep *ep);

weir_err wi_tcp_check(struct wi_transport *t, const char *address,
                      struct weir_error *err);
weir_err wi_tcp_connect(struct wi_transport *t, const char *address,
                        struct wi_ep **ep_out, struct weir_error *err);
void wi_tcp_disconnect(struct wi_ep *base);

/* ---- tcp_greet.c --------------------------------------------------------- */

/** Connection is there or has failed (state CONNECTING). */
void wi_tcp_ep_connected(struct tcp_ep *ep);

/** Begin TLS, if the node has it, else greet. False: lost */
bool wi_tcp_ep_begin(struct tcp_ep *ep);

/** Go on with the handshake of TLS (state TLS). */
void wi_tcp_ep_shake(struct tcp_ep *ep);

/** Read the peer's greeting (state GREETING). */
void wi_tcp_ep_greeted(struct tcp_ep *ep);

/* ---- tcp_lookup.c: engine ------------------------------------------------ */

/** Look up the name in HOST:PORT for an endpoint; ends in wi_tcp_ep_found(). */
weir_err wi_tcp_lookup_start(struct tcp_ep *ep, const char *text,
                             struct weir_error *err);

/** The endpoint goes: nobody waits for its look-up any more. */
void wi_tcp_lookup_drop(struct tcp_ep *ep);

/** Hand out what was found. */
void wi_tcp_lookup_poll(struct tcp_transport *t);

/** Let go of all look-ups, and of the threads. Every endpoint is gone. */
void wi_tcp_lookup_close(struct tcp_transport *t);

/* ---- tcp_mem.c ----------------------------------------------------------- */

weir_err wi_tcp_mem_open(struct wi_transport *t, size_t bytes,
                         struct wi_mem *out, struct weir_error *err);
weir_err wi_tcp_mem_reserve(struct wi_transport *t, size_t bytes,
                            struct wi_mem *out, struct weir_error *err);
weir_err wi_tcp_mem_take(struct wi_transport *t, const struct wi_mem_part *part,
                         struct weir_error *err);
void wi_tcp_mem_close(struct wi_transport *t, struct wi_mem *mem);
weir_err wi_tcp_mem_borrow(struct wi_transport *t, const struct wi_borrow *what,
                           uint32_t access, struct wi_mem *out,
                           struct weir_error *err);
weir_err wi_tcp_grant(struct wi_ep *base, const struct wi_mem *mem,
                      uint32_t access, uint64_t *key_out,
                      struct weir_error *err);
weir_err wi_tcp_ungrant(struct wi_ep *base, const struct wi_mem *mem,
                        uint64_t key);

/* ---- tcp_send.c ---------------------------------------------------------- */

weir_err wi_tcp_send(struct wi_ep *base, const void *bytes, uint32_t len);
weir_err wi_tcp_write(struct wi_ep *base, const struct wi_rma *op);
weir_err wi_tcp_read(struct wi_ep *base, const struct wi_rma *op);
weir_err wi_tcp_kick(struct wi_ep *base);

/** The socket can take more: disarm. SENDABLE is to be reported after this. */
void wi_tcp_unblock(struct tcp_ep *ep);

/** Bring base.completed up to date. */
void wi_tcp_complete(struct tcp_ep *ep);

/** Does an answer from this memory wait to be sent? Index, plus 1; under the
 *  post lock, by the engine. */
bool wi_tcp_answers(const struct tcp_ep *ep, uint32_t grant);

/* ---- tcp_recv.c ---------------------------------------------------------- */

/** Read and hand out, at most max events. Returns how many. */
uint32_t wi_tcp_receive(struct tcp_ep *ep, struct wi_event *events,
                        uint32_t max);

#endif /* WI_TCP_H */
