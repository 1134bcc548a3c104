/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The interface that a transport implements (SPI).
 *
 *        engine (one thread)                 workers (many threads)
 *   poll arm connect disconnect            send write read kick
 *            |                                     |  holding the link's
 *            v                                     v  post lock
 *   +-----------------------------------------------------------+
 *   | wi_transport   one per node: listens, sleeps, has memory  |
 *   |   wi_ep        one per link: a reliable ordered channel   |
 *   +-----------------------------------------------------------+
 *
 * A transport moves two things over an endpoint, in one order:
 *
 *   message   at most max_message_bytes, copied by `send`, handed to the
 *             peer's engine as an event
 *   write     bytes from local memory into memory that the peer granted; no
 *             event at the peer. A message sent after a write is delivered
 *             after the written bytes are readable there. That is the whole
 *             ordering contract (edge E4 of docs/concurrency.md).
 *
 * Rules
 *  1. Nothing here blocks, except `open`, `close` and `mem_open`.
 *  2. `send`, `write`, `read` only queue; `kick` starts what is queued (verbs:
 *     one post of a chain; tcp: one writev). They are called for one endpoint
 *     by one thread at a time, and may run beside `poll` in another thread.
 *  3. Writes and reads of one endpoint complete in the order they were posted.
 *     The transport counts completions in ep->completed: local memory of the
 *     first `completed` operations may be reused. It is increased inside
 *     `kick`, or before a WI_EV_SENDABLE is reported, never silently.
 *  4. A transport that returned WEIR_AGAIN reports WI_EV_SENDABLE for that
 *     endpoint as soon as calling again is worth it. The core answers every
 *     WI_EV_SENDABLE with `kick`, also one it did not wait for.
 *  5. After WI_EV_CLOSED nothing more is reported for that endpoint; the core
 *     answers with `disconnect`, which frees it. `disconnect` may also come
 *     first. When it returns, no call will touch local memory of operations
 *     in flight, and the peer can no longer write to what was granted through
 *     this endpoint (verbs: the queue pair is in the error state). A transport
 *     with WI_CAP_MAP cannot promise that and says so with
 *     WI_CAP_GRANT_STICKS; the core then never reuses granted memory.
 *  6. Bytes from the network are untrusted: a write outside granted memory, or
 *     one that its guard refuses (WI_CAP_GUARD), an unknown key, an oversized
 *     message close the endpoint with a reason.
 *  7. A slot that a transport has no use for points to a named stub of
 *     transport/registry.c, never NULL.
 *  8. An endpoint is used through its own transport, ep->transport, which need
 *     not be the one that connected or reported it: a *composite* (auto) lends
 *     out the endpoints of the transports below it. What an endpoint can do is
 *     in ep->transport->ops->caps; memory that is granted or written from over
 *     it is opened at ep->transport. A composite's own caps say what some of
 *     its endpoints can do, and memory opened at a composite is for its
 *     endpoints with WI_CAP_MAP, if it can have any.
 */
#ifndef WI_TRANSPORT_H
#define WI_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

#include "core/base/borrow.h"
#include "core/base/grant.h"
#include "core/base/tls_params.h"

/* Capability bits of wi_transport_ops.caps; of a composite: see rule 8. */
enum {
    WI_CAP_WRITE = 1u << 0,        /* `write` works */
    WI_CAP_READ = 1u << 1,         /* `read` works */
    WI_CAP_MAP = 1u << 2,          /* `map` works: peer memory is addressable */
    WI_CAP_GRANT_STICKS = 1u << 3, /* a grant outlives the endpoint */
    WI_CAP_FD = 1u << 4,           /* `fd` can be slept on */
    WI_CAP_VIRTUAL = 1u << 5,   /* time is virtual: engine is stepped by hand */
    WI_CAP_GUARD = 1u << 6,     /* asks the guard of memory before each write */
    WI_CAP_LAZY = 1u << 7,      /* `mem_reserve` leaves pages to `mem_take` */
    WI_CAP_LOCAL_ANY = 1u << 8, /* wi_rma.local may be any memory at all */
    WI_CAP_TALLY = 1u << 9,     /* reads bring the peer's tally with them */
};

/* What a peer may do with granted memory, and how a mapping may be used. */
enum {
    WI_ACCESS_READ = 1u << 0,
    WI_ACCESS_WRITE = 1u << 1,
    WI_ACCESS_BOTH = WI_ACCESS_READ | WI_ACCESS_WRITE,
};

enum {
    WI_ADDRESS_BYTES = 256,      /* longest address with its NUL */
    WI_REASON_BYTES = 192,       /* longest reason text with its NUL */
    WI_MIN_MESSAGE_BYTES = 2048, /* every transport takes messages this long */
    WI_RMA_BYTES = 16 << 20,     /* longest write or read */

    /* Default of the real transports: small ones make processes switch more. */
    WI_USUAL_FRAME_BYTES = 61440,
};

struct wi_log;

/** What the core tells a transport when it opens it. */
struct wi_transport_params {
    const char *listen; /* address to listen at, without "name:"; NULL = any */
    const char *advertise; /* what peers are told instead [as it listens] */
    const char *name;      /* name of the node, for messages */
    uint32_t max_links;    /* most endpoints of known peers at a time */
    const struct wi_tls_params *tls; /* NULL: plain. Only tcp heeds it */
    bool proved; /* peers prove a secret before they are told a key. For shm */
    uint64_t silent_ns; /* of a peer that is lost, also at rest [never]; tcp */
    void *arg;          /* transport's own (sim: the simulated network) */
    const struct wi_log *log; /* for faults that no call returns; NULL: none */
};

/** Memory that travels. Constant after mem_open or mem_borrow, but for the
 *  guard, which the core sets before it grants the memory. */
struct wi_mem {
    void *base;
    size_t bytes;
    uint64_t origin; /* wi_rma.remote_off of the first byte: 0, unless
                        mem_borrow says another */
    uint64_t handle; /* transport's own */
    struct wi_guard guard;
};

/** Bytes [from, to) of memory of `bytes` at `base`, of which mem_reserve or map
 *  gave the whole. */
struct wi_mem_part {
    void *base;
    size_t bytes;
    size_t from;
    size_t to;
};

struct wi_transport_ops;
/** First member of every transport's own struct. Constant after open. */
struct wi_transport {
    const struct wi_transport_ops *ops;
    bool networked; /* other machines can connect to it */
};

/** First member of every transport's own endpoint struct. */
struct wi_ep {
    struct wi_transport *transport; /* constant after open */
    void *user;                     /* core's; NULL until the core sets it */
    void *proof;                    /* likewise: core/link/prove.h */
    const char *names; /* of the peer, with NULs, then ""; NULL: not sure */
    const char *ips;   /* then: its IP addresses, likewise; as inet_ntop(3) */
    const char *host;  /* in the address of `connect`; NULL: none */
    _Atomic uint64_t completed;   /* written by: transport, see rule 3 */
    _Atomic uint64_t tally_told;  /* WI_CAP_TALLY: sent with each READ_DATA */
    _Atomic uint64_t tally_heard; /* the largest, before its read is complete */
};

enum wi_event_kind {
    WI_EV_ACCEPTED,  /* a peer connected: ep is new, user is NULL */
    WI_EV_CONNECTED, /* our connect succeeded: send and write may start */
    WI_EV_MESSAGE,   /* bytes, len: valid until the next poll */
    WI_EV_SENDABLE,  /* completed grew, or an AGAIN of this ep has ended */
    WI_EV_READ_DONE, /* a read is complete (its bytes are in place) */
    WI_EV_CLOSED,    /* the endpoint is dead; reason says why */
};

struct wi_event {
    enum wi_event_kind kind;
    struct wi_ep *ep;
    const uint8_t *bytes;
    uint32_t len;
    const char *reason; /* CLOSED: one line, valid until the next poll */
    bool hung_up;       /* CLOSED, not CONNECTED: it may have room later */
    bool refused;       /* likewise: one of the two is not whom it has to be */
};

/** One one-sided operation. */
struct wi_rma {
    void *local;         /* inside memory of mem_open; any, if
                            WI_CAP_LOCAL_ANY. Any alignment */
    uint32_t bytes;      /* 1 .. WI_RMA_BYTES */
    uint64_t key;        /* what the peer's `grant` gave */
    uint64_t remote_off; /* of the granted memory, from wi_mem.origin on */
};

struct wi_transport_ops {
    const char *name; /* "shm", "tcp", ...: the word before ':' in addresses */
    uint32_t caps;
    uint32_t max_message_bytes; /* >= WI_MIN_MESSAGE_BYTES */
    uint32_t usual_frame_bytes; /* default of a node's frame_bytes */
    uint32_t write_bytes; /* of one request at most: a multiple of 64; 0: any */

    /* ---- node ------------------------------------------------------------ */

    /**
     * Start listening.
     *
     * Errors:     WEIR_ERR_ARG (address), WEIR_ERR_SYSTEM (says which call and
     *             what to change), WEIR_ERR_NO_MEMORY
     * Blocks:     shortly; to look up names in `listen`, as long as that takes
     * Called by:  node open; locks held: none.  Threads: one
     * Ownership:  *out is freed by close
     */
    weir_err (*open)(const struct wi_transport_params *params,
                     struct wi_transport **out, struct weir_error *err);

    /** Stop listening and free everything. Every endpoint was disconnected and
     *  every memory closed before.
     *  Errors: none.  Blocks: shortly.  Threads: one.  Ownership: frees t */
    void (*close)(struct wi_transport *t);

    /**
     * Address at which peers reach this node, with "name:" in front.
     *
     * Errors: none.  Blocks: never.  Threads: any.
     * Ownership:  text is the caller's, WI_ADDRESS_BYTES long
     */
    void (*address)(struct wi_transport *t, char *text);

    /* ---- memory ---------------------------------------------------------- */

    /**
     * Get zeroed, page-aligned memory that can travel. The pages are
     * guaranteed: running out of memory is an error here, never a signal at
     * the first touch.
     *
     * @param bytes  multiple of 4096
     *
     * Errors:     WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM: says how much was asked
     *             for, which limit stood in the way and how to raise it
     * Blocks:     yes (page faults, registration).  Threads: any
     * Ownership:  mem_close
     */
    weir_err (*mem_open)(struct wi_transport *t, size_t bytes,
                         struct wi_mem *out, struct weir_error *err);

    /**
     * The same, for memory of which perhaps little is ever used: nothing of it
     * may be touched before mem_take, here or by a peer that maps it. Without
     * WI_CAP_LAZY: mem_open itself.
     */
    weir_err (*mem_reserve)(struct wi_transport *t, size_t bytes,
                            struct wi_mem *out, struct weir_error *err);

    /**
     * Take the pages of a part of memory that mem_reserve or map gave, so that
     * they may be touched, by everybody who maps it. Taking them twice does no
     * harm, and a part that is not small may take its neighbours as well, where
     * that makes huge pages. Without WI_CAP_LAZY: wi_all_taken.
     *
     * Errors:     as mem_open
     * Blocks:     while the kernel clears pages.  Called by: engine; workers,
     *             once for each place of a ring.  Threads: any
     * Ownership:  the pages stay until mem_close
     */
    weir_err (*mem_take)(struct wi_transport *t, const struct wi_mem_part *part,
                         struct weir_error *err);

    /**
     * Let memory of the program travel, without a copy: it can be granted. (To
     * be written from and read into it needs WI_CAP_LOCAL_ANY.)
     *
     * @param access  what it will be granted for: bits of WI_ACCESS_
     *
     * Errors:     WEIR_ERR_UNSUPPORTED (shm, but for files: the pages are
     *             nobody else's), WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM: which
     *             limit stood in the way and how to raise it
     * Blocks:     yes (registration).  Threads: any
     * Ownership:  what is borrowed stays the program's, and as it is until
     *             mem_close
     */
    weir_err (*mem_borrow)(struct wi_transport *t, const struct wi_borrow *what,
                           uint32_t access, struct wi_mem *out,
                           struct weir_error *err);

    /** Give memory back; of borrowed memory, end the borrowing. Never fails.
     *  Nothing in flight may use it, and no grant of it stand. */
    void (*mem_close)(struct wi_transport *t, struct wi_mem *mem);

    /**
     * Let the peer of ep write to, read from, or map this memory. The key is
     * sent to the peer by the core, in a message after this call. Only memory
     * bounds the number of grants.
     *
     * @param access  bits of WI_ACCESS_; no more than these is allowed
     *
     * Returns:    WEIR_OK | WEIR_AGAIN (the peer has to take earlier ones, more
     *             than a few, first: WI_EV_SENDABLE follows)
     * Errors:     WEIR_ERR_SYSTEM, WEIR_ERR_PEER_LOST, WEIR_ERR_NO_MEMORY: of
     *             this grant, the endpoint lives on
     * Blocks:     never, but to register memory for an access for the first
     *             time.  Called by: engine, while the endpoint is up
     * Ownership:  the grant ends with `ungrant` or the endpoint; mem must
     *             outlive it
     */
    weir_err (*grant)(struct wi_ep *ep, const struct wi_mem *mem,
                      uint32_t access, uint64_t *key_out,
                      struct weir_error *err);

    /**
     * End a grant of mem, after the peer has said that it is done with it. What
     * it still tries with this key ends its endpoint; where grants of several
     * peers share a registration, when the last of them has ended. What is
     * mapped stays mapped (WI_CAP_GRANT_STICKS).
     *
     * Returns:    WEIR_OK: over this endpoint nothing touches the memory
     * Errors:     WEIR_ERR_PEER_LOST: an operation of the peer was under way
     *             all the same; CLOSED follows, and the memory has to stay
     *             until `disconnect`
     * Blocks:     never.  Called by: engine, holding the link's post lock
     * Ownership:  the key may be given out again
     */
    weir_err (*ungrant)(struct wi_ep *ep, const struct wi_mem *mem,
                        uint64_t key);

    /**
     * Map memory that the peer granted (WI_CAP_MAP), once per key. Called after
     * the message with the key has arrived. What the peer may not have taken is
     * not touched before mem_take.
     *
     * @param bytes   as the peer has opened it
     * @param access  bits of WI_ACCESS_: without WRITE, the mapping is one to
     *                read only
     *
     * Errors:     WEIR_ERR_PEER_PROTOCOL (unknown key, other size, or less
     *             access granted), WEIR_ERR_SYSTEM, WEIR_ERR_UNSUPPORTED
     * Blocks:     shortly.  Threads: engine
     * Ownership:  `unmap`, which may come after disconnect
     */
    weir_err (*map)(struct wi_ep *ep, uint64_t key, size_t bytes,
                    uint32_t access, void **base_out, struct weir_error *err);

    /** Undo map. Never fails. */
    void (*unmap)(struct wi_transport *t, void *base, size_t bytes);

    /* ---- connections, engine only ---------------------------------------- */

    /**
     * Check the form of an address that connect takes; no name is looked up.
     *
     * @param address  with "name:"
     *
     * Errors:     WEIR_ERR_ARG: what is expected
     * Blocks:     never.  Threads: any.  Ownership: nothing
     */
    weir_err (*check)(struct wi_transport *t, const char *address,
                      struct weir_error *err);

    /**
     * Begin to connect. Ends in WI_EV_CONNECTED or WI_EV_CLOSED, within the
     * time that the operating system gives it; the core has its own deadline.
     * Nothing may be sent before WI_EV_CONNECTED.
     *
     * @param address  with "name:"
     *
     * Errors:     WEIR_ERR_ARG (not an address), WEIR_ERR_SYSTEM (out of file
     *             descriptors: says the limit), WEIR_ERR_NO_MEMORY
     * Blocks:     never: what takes time (looking up a name) is done
     *             elsewhere and ends in an event
     * Ownership:  *ep_out is freed by disconnect
     */
    weir_err (*connect)(struct wi_transport *t, const char *address,
                        struct wi_ep **ep_out, struct weir_error *err);

    /**
     * Begin to connect another way, after one has failed. Called upon CLOSED
     * without CONNECTED, or when the core has waited long enough; the core
     * disconnects `failed` afterwards.
     *
     * @param failed  what connect or connect_next gave for this address
     *
     * Returns:    WEIR_OK (as connect) | WEIR_DONE (no further way)
     * Errors:     as connect
     * Blocks:     never.  Ownership: as connect
     */
    weir_err (*connect_next)(struct wi_transport *t, const char *address,
                             const struct wi_ep *failed, struct wi_ep **ep_out,
                             struct weir_error *err);

    /**
     * Say in one line how an address is reached, and why so.
     * @param address  with "name:"; NULL: what this node can use at all
     * @param ep       the endpoint in use; NULL: the way that connect takes
     * @param text     WI_REASON_BYTES long; begins with the transport's name,
     *                 a colon and a space
     *
     * Errors: none.  Blocks: never.  Threads: any; ep lives meanwhile
     * Ownership:  text is the caller's
     */
    void (*why)(struct wi_transport *t, const char *address,
                const struct wi_ep *ep, char *text);

    /** Close and free an endpoint, see rule 5. Never fails or blocks. Called
     *  with the link's post lock held for good. What was kicked before is
     *  still delivered if the peer lives (tcp: no reset). */
    void (*disconnect)(struct wi_ep *ep);

    /* ---- send side, under the link's post lock --------------------------- */

    /**
     * Queue one message.
     *
     * @param len  1 .. max_message_bytes
     *
     * Returns:    WEIR_OK | WEIR_AGAIN (queue full: kick, then wait for
     *             WI_EV_SENDABLE)
     * Errors:     WEIR_ERR_PEER_LOST (a CLOSED event follows)
     * Blocks:     never.  Cost: a copy of len bytes, no allocation
     * Ownership:  bytes are copied
     */
    weir_err (*send)(struct wi_ep *ep, const void *bytes, uint32_t len);

    /**
     * Queue a write of op->bytes from op->local to the peer's memory.
     *
     * Returns:    WEIR_OK | WEIR_AGAIN (as send)
     * Errors:     WEIR_ERR_PEER_LOST, WEIR_ERR_UNSUPPORTED
     * Blocks:     never.  Cost: no copy, no allocation
     * Ownership:  op is copied; op->local is the transport's until completed
     */
    weir_err (*write)(struct wi_ep *ep, const struct wi_rma *op);

    /** Queue a read from the peer's memory into op->local; as write, and
     *  WI_EV_READ_DONE tells the engine, once for each, in order. */
    weir_err (*read)(struct wi_ep *ep, const struct wi_rma *op);

    /**
     * Start everything queued.
     *
     * Returns:    WEIR_OK (all handed over) | WEIR_AGAIN (the rest goes on
     *             when the device allows; WI_EV_SENDABLE follows, upon which
     *             the core kicks again)
     * Errors:     WEIR_ERR_PEER_LOST
     * Blocks:     never
     */
    weir_err (*kick)(struct wi_ep *ep);

    /* ---- receive side, engine only --------------------------------------- */

    /**
     * Collect events.
     *
     * @param now_ns  engine's clock
     * @param max     >= 1
     *
     * Returns:    number of events written, 0 if nothing happened
     * Blocks:     never
     * Ownership:  bytes and reasons of events are valid until the next poll
     *             or the disconnect of their endpoint
     */
    uint32_t (*poll)(struct wi_transport *t, uint64_t now_ns,
                     struct wi_event *events, uint32_t max);

    /**
     * Get ready to sleep: after WEIR_OK `fd` becomes readable with the next
     * event. WEIR_AGAIN: events are there, poll first.
     */
    weir_err (*arm)(struct wi_transport *t);

    /** Descriptor to sleep on with poll(2) (WI_CAP_FD), else -1. Constant. */
    int (*fd)(struct wi_transport *t);
};

/* ---- what the registry offers to the core -------------------------------- */

/**
 * Find a transport by its name or by an address that begins with "name:".
 * Errors:     NULL: no such transport
 * Blocks:     never.  Threads: any.  Ownership: static
 */
const struct wi_transport_ops *wi_transport_find(const char *name);

/** Add a transport that is not part of the library, for benchmarks: ops stay
 *  valid, and pass wi_transport_check. One, before any node is opened. */
void wi_transport_add(const struct wi_transport_ops *ops);

/** Names of all transports, separated by commas. Static. */
const char *wi_transport_names(void);

/** Check a table: mandatory slots set, capability bits agree with slots. */
weir_err wi_transport_check(const struct wi_transport_ops *ops,
                            struct weir_error *err);

/* Named stubs for slots that a transport does not support (registry.c). */
weir_err wi_no_borrow(struct wi_transport *t, const struct wi_borrow *what,
                      uint32_t access, struct wi_mem *out,
                      struct weir_error *err);
weir_err wi_no_map(struct wi_ep *ep, uint64_t key, size_t bytes,
                   uint32_t access, void **base_out, struct weir_error *err);
void wi_no_unmap(struct wi_transport *t, void *base, size_t bytes);
weir_err wi_no_rma(struct wi_ep *ep, const struct wi_rma *op);
weir_err wi_all_taken(struct wi_transport *t, const struct wi_mem_part *part,
                      struct weir_error *err);
int wi_no_fd(struct wi_transport *t);
/* One way to every address: WEIR_DONE, and "NAME: the only transport ...". */
weir_err wi_no_next(struct wi_transport *t, const char *address,
                    const struct wi_ep *failed, struct wi_ep **ep_out,
                    struct weir_error *err);
void wi_plain_why(struct wi_transport *t, const char *address,
                  const struct wi_ep *ep, char *text);

#endif /* WI_TRANSPORT_H */
