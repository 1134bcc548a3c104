/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A node: this process as a member of a cluster, and its workers.
 *
 *   weir_node_open ---> listens; memory budget checked and fixed
 *   weir_node_join ---> knows its members; links open when first needed
 *      weir_query_open ... weir_query_close           (query.h)
 *   weir_node_close
 *
 * One thread of the library per node (the network thread) looks after links,
 * timers and failures. Query work runs in the program's own threads, which
 * are numbered 0 .. workers-1: everything that belongs to worker w (its
 * writers, its readers, weir_worker_wait) is used by one thread at a time.
 *
 * Waiting without losing a wake-up:
 *
 *     for (;;) {
 *         moved = try every writer and reader of this worker;   // non-blocking
 *         if (!moved) {
 *             weir_worker_wait(node, w, timeout_ns);
 *         }
 *     }
 *
 * weir_worker_wait returns at once if anything happened since the last time it
 * returned, so nothing that arrives between the try and the wait is missed.
 *
 * A child of fork(2) may open nodes of its own. Of what its parent opened
 * (nodes, and all that is opened on them) it has the memory only: the library
 * closes the descriptors in it, calls with a code answer WEIR_ERR_STATE, and
 * those that close, release or look do nothing, or as for NULL. It may exec or
 * exit.
 *
 * An argument that must not be NULL and is, or a number that is out of range,
 * gives WEIR_ERR_ARG in all of these headers, and a message with its name where
 * there is a struct weir_error. Calls that return no code do nothing then, and
 * getters answer 0, UINT32_MAX for numbers of members and destinations, and ""
 * for texts.
 */
#ifndef WEIR_NODE_H
#define WEIR_NODE_H

#include <stdint.h>

#include <weir/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_node weir_node;
struct weir_identity; /* identity.h */

/** Wait forever. */
#define WEIR_FOREVER UINT64_MAX

typedef enum weir_log_level {
    WEIR_LOG_ERROR,
    WEIR_LOG_WARN,
    WEIR_LOG_INFO,
    WEIR_LOG_DEBUG,
} weir_log_level;

/** Takes one line without newline; called from any thread, must not call back
 *  into the library, nor block: links stand still meanwhile. */
typedef void (*weir_log_fn)(void *arg, weir_log_level level, const char *line);

/** Options of a node. Zero means the default in brackets. */
struct weir_node_params {
    const char *name; /* unique in the cluster, <= 63 bytes ["HOST-PID", from
                              the second node of a process on "HOST-PID-2"] */
    const char *transport; /* "shm", "verbs", "tcp", "auto", "sim" ["shm"];
                              "auto" takes the best way to each peer */
    const char *listen;    /* where to listen, as the transport has it
                              ["127.0.0.1:0" for tcp and auto, any address of
                              an RDMA device for verbs, the name for shm] */
    uint32_t workers;      /* worker threads [1], 1..64 */
    uint32_t max_members;  /* most members, this node included [8], 1..4096;
                              a number of one that was removed counts */
    uint32_t max_shuffles; /* most shuffles open at a time, 1..1024 [no limit:
                              memory is planned for 8, those beyond share what
                              is left of a quarter of memory_bytes, and wait
                              where that is not enough; with rings
                              thread-to-node 8, see weir_node_plan] */
    uint32_t frame_bytes;  /* largest frame [61440; "verbs" 65408, "sim" 16384],
                              1024..1048576, times 64 */
    uint32_t ring_frames;  /* frames in a ring when there is room [4], 2..64,
                              even */
    uint64_t memory_bytes; /* hard cap on buffers that travel [512 MiB; where a
                              cluster of max_members needs more, frames are
                              smaller, see weir_node_plan] */
    uint64_t max_row_bytes; /* largest row [64 MiB]; rows over a frame travel
                               in chunks and are reassembled outside the cap */
    uint64_t detect_ns;     /* a silent peer is lost after [5 s] */
    uint64_t connect_ns;    /* a link must be up within [5 s] */
    uint64_t idle_close_ns; /* an unused link is closed after [30 s] */
    int no_checksum;        /* 1: do not check frame contents end to end */
    int trust_batches;      /* 1: do not look at the offsets of utf8 and binary
                               columns before they are pushed; wrong ones may
                               then crash the process */
    int manual;             /* 1: no network thread; call weir_node_step */
    weir_log_level log_level; /* most verbose level to log [WEIR_LOG_ERROR] */
    weir_log_fn log;          /* [one line to stderr; none if descriptor 2 was
                                 closed and is now a file or socket of the
                                 program's] */
    void *log_arg;
    void *transport_arg;   /* for transports that need it (sim) */
    uint64_t stall_ns;     /* a query in which nothing moves logs what it waits
                             for after [30 s]; WEIR_FOREVER: never */
    const char *advertise; /* tcp, verbs, auto: HOST:PORT at which peers reach
                              this node, where that is not what it listens at
                              (containers, NAT); port 0: the one it listens at
                              [as it listens]. auto: of its tcp */
    uint64_t max_peers; /* most nodes that are no members of its cluster which
                              this one talks to (peer.h), and as many more that
                              talk to it [16], 1..4096 */
    const char *secret_file; /* the cluster's secret: peers prove that they
                              know it, see identity.h [none: whoever reaches
                              the address can be a peer] */
    const struct weir_identity *identity; /* the same in other ways [none];
                                             until weir_node_open returns */
    uint64_t reserved[3];                 /* must be zero */
};

/** One member of a cluster. */
struct weir_member {
    const char *name;
    const char *address; /* from weir_node_address() of that node */
    uint32_t workers;
};

/**
 * Open a node: listen, and fix the memory plan.
 *
 * Rings are thread-to-thread (one per pair of workers) while they fit the
 * budget, else thread-to-node. weir_node_plan() says which, with the sum.
 *
 * @param params    NULL for all defaults
 * @param node_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG (names the option), WEIR_ERR_BUDGET (the sum, and
 *             what to change), WEIR_ERR_SYSTEM (also: others may read
 *             secret_file), WEIR_ERR_NO_MEMORY,
 *             WEIR_ERR_NOT_FOUND (transport; lists the known ones)
 * Blocks:     shortly; with a name in `listen`, while that is looked up
 * Threads:    any; a process may hold several nodes
 * Ownership:  weir_node_close
 */
WEIR_API weir_err weir_node_open(const struct weir_node_params *params,
                                 weir_node **node_out, struct weir_error *err);

/**
 * Close a node: what was sent is delivered first, for at most detect_ns; links
 * are closed; memory is freed. Every query was closed before.
 *
 * Errors:     none; a node that still has queries aborts them and logs it
 * Blocks:     until the peers have taken what was sent, at most detect_ns
 * Threads:    one; no other call on this node may run
 * Ownership:  frees node; NULL is allowed
 */
WEIR_API void weir_node_close(weir_node *node);

/** Address at which peers reach this node, e.g. "tcp:127.0.0.1:4711".
 *  Errors: none. Blocks: never. Threads: any. Ownership: the node's. */
WEIR_API const char *weir_node_address(const weir_node *node);

/** Name of this node.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the node's. */
WEIR_API const char *weir_node_name(const weir_node *node);

/** The memory plan as one line of text: the sum, the cap, the kind of rings.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the node's. */
WEIR_API const char *weir_node_plan(const weir_node *node);

/**
 * Join a cluster whose members are all known (a static list). The list is the
 * same on every node; an index in it is the number of that member everywhere.
 * An entry that is all zero is a number that nobody has: of a member that was
 * removed, or that comes later (weir_node_add_member).
 *
 * Names of hosts in addresses are looked up when the link is needed.
 *
 * @param members    n entries, copied; one of them has this node's name
 *
 * Errors:     WEIR_ERR_ARG (own name not in the list, a name twice, not an
 *             address of this transport: names the member),
 *             WEIR_ERR_BUDGET (more than max_members), WEIR_ERR_STATE (joined)
 * Blocks:     never; links open when first needed
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API weir_err weir_node_join(weir_node *node,
                                 const struct weir_member *members, uint32_t n,
                                 struct weir_error *err);

/**
 * Join a cluster through one known member, the seed. The seed numbers the
 * members in the order in which they come (itself 0) and tells everyone.
 *
 * While it runs the seed takes newcomers, up to max_members: they say 0 for
 * n_members, and get the list as it is. The others are told over links of the
 * seed, a moment later; a member that the seed cannot reach is tried again
 * every connect_ns. So a cluster may begin with one node (a seed with n_members
 * 1) and grow. A newcomer with the name of a member is that member, started
 * again: it gets its old number and what was open to the old one fails, so
 * names must be unique. What the seed's own program adds is told in the same
 * way; what it removes is not, and numbers are never used again.
 *
 * @param seed_address  NULL on the seed itself
 * @param n_members     how many members there will be, the same everywhere; 0,
 *                      not on the seed: the cluster runs, or will
 *
 * Errors:     as weir_node_join, and WEIR_ERR_TIMEOUT (says who is there),
 *             WEIR_ERR_PEER_LOST, WEIR_ERR_PEER_REFUSED (also: the cluster has
 *             max_members, the name was that of one that was removed, it is
 *             not whom a node with a certificate expects there),
 *             WEIR_ERR_PEER_VERSION
 * Blocks:     until all members are there, or timeout_ns
 * Threads:    any; not on a manual node
 * Ownership:  nothing
 */
WEIR_API weir_err weir_node_join_seed(weir_node *node, const char *seed_address,
                                      uint32_t n_members, uint64_t timeout_ns,
                                      struct weir_error *err);

/** A seed, and whom a node with a certificate expects there. */
struct weir_seed {
    const char *address;     /* copied */
    const char *server_name; /* a name or an IP address in the seed's
                                certificate, copied [the host of the address] */
};

/**
 * Join through a seed of which another name is known than the host of its
 * address (weir/identity.h, "Whom a guest expects").
 *
 * @param seed  NULL on the seed itself
 *
 * Errors:     as weir_node_join_seed, and WEIR_ERR_ARG (a server_name, and this
 *             node has no certificate)
 * Blocks:     as weir_node_join_seed
 * Threads:    any; not on a manual node
 * Ownership:  nothing
 */
WEIR_API weir_err weir_node_join_seed_named(weir_node *node,
                                            const struct weir_seed *seed,
                                            uint32_t n_members,
                                            uint64_t timeout_ns,
                                            struct weir_error *err);

/**
 * A member comes, after this node has joined: the cluster has one more node, or
 * one that was started again under its name is at another address. Every node
 * is told by its own program, in any order and while queries run: a node that
 * gets a connection from a member that it does not know yet waits half of
 * connect_ns to be told. A query keeps the members that it was opened with.
 *
 * @param idx     number of the member, the same on every node, below
 *                max_members. Numbers are not used again, also not those of
 *                members that were removed; the same name at the same number
 *                is the same member, in a new *incarnation* if its process was
 *                started again. What was open to the old one fails with its
 *                name
 * @param member  copied. To say the same again does nothing
 *
 * Errors:     WEIR_ERR_ARG (as weir_node_join; the number is another member's,
 *             the name is at another number, other workers),
 *             WEIR_ERR_BUDGET (max_members), WEIR_ERR_STATE (not joined)
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API weir_err weir_node_add_member(weir_node *node, uint32_t idx,
                                       const struct weir_member *member,
                                       struct weir_error *err);

/**
 * A member leaves: queries that are opened from now on cannot have it. Those
 * that are open, here or there, keep it, and its link while they need it.
 *
 * Errors:     WEIR_ERR_NOT_FOUND (no such member), WEIR_ERR_ARG (this node)
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API weir_err weir_node_remove_member(weir_node *node, uint32_t idx,
                                          struct weir_error *err);

/** One above the highest number of a member, 0 before join. Errors: none.
 *  Blocks: shortly. Threads: any. Ownership: nothing. */
WEIR_API uint32_t weir_node_members(const weir_node *node);

/** Own number in the member list. Errors: none; UINT32_MAX before join.
 *  Blocks: shortly. Threads: any. Ownership: nothing. */
WEIR_API uint32_t weir_node_self(const weir_node *node);

/** A member by number. Errors: WEIR_ERR_NOT_FOUND (nobody here has it, or it
 *  was removed), WEIR_ERR_ARG. Blocks: shortly. Threads: any. Ownership: the
 *  strings are the node's, until its close. */
WEIR_API weir_err weir_node_member(const weir_node *node, uint32_t idx,
                                   struct weir_member *member_out);

/**
 * Park until something happened for this worker: rows arrived, ring space was
 * returned, a query ended or failed. Spins briefly before it sleeps. Publishes
 * what the worker's writers hold in partly filled frames before it sleeps.
 *
 * A signal does not end it: handlers run, with and without SA_RESTART, and the
 * wait goes on for what is left of timeout_ns. The worker notices what a
 * handler has done after a timeout, or when another thread wakes it
 * (weir_query_cancel).
 *
 * @param timeout_ns  relative; 0 = only look, WEIR_FOREVER = no limit
 *
 * Returns:    WEIR_OK (something happened, or may have) | WEIR_AGAIN (timeout)
 * Errors:     WEIR_ERR_ARG (no such worker)
 * Blocks:     at most timeout_ns
 * Threads:    the thread of that worker
 * Ownership:  nothing
 */
WEIR_API weir_err weir_worker_wait(weir_node *node, uint32_t worker,
                                   uint64_t timeout_ns);

/**
 * End a wait of a worker, or its next one if it is not waiting: for what other
 * threads of the program have to tell it.
 *
 * Errors:     WEIR_ERR_ARG (no such worker)
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API weir_err weir_worker_wake(weir_node *node, uint32_t worker);

/**
 * A descriptor for foreign event loops (epoll, libuv, asyncio): readable when
 * weir_worker_wait would return at once. The pattern is: try everything until
 * nothing moves, weir_worker_arm, and if that says WEIR_OK sleep on the
 * descriptor; when it is readable, start again.
 *
 * Errors:     a negative code: WEIR_ERR_ARG (no such worker), WEIR_ERR_SYSTEM
 *             (out of descriptors)
 * Blocks:     never
 * Threads:    the thread of that worker
 * Ownership:  the node's; do not read, write or close it
 */
WEIR_API int weir_worker_fd(weir_node *node, uint32_t worker);

/**
 * Arm the descriptor of weir_worker_fd.
 *
 * Returns:    WEIR_OK (armed: sleep) | WEIR_AGAIN (something happened since the
 *             last arm or wait: try again instead of sleeping)
 * Errors:     WEIR_ERR_ARG (no such worker), WEIR_ERR_STATE (weir_worker_fd was
 *             not called before)
 * Blocks:     never
 * Threads:    the thread of that worker
 * Ownership:  nothing
 */
WEIR_API weir_err weir_worker_arm(weir_node *node, uint32_t worker);

/**
 * Run the network thread's work once, on a node opened with `manual`.
 *
 * @param now_ns       any clock that never goes back
 * @param next_ns_out  [out] when to call again if nothing happens before
 *
 * Returns:    WEIR_OK (something was done) | WEIR_AGAIN (nothing to do)
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_STATE (not manual), WEIR_ERR_NODE
 * Blocks:     never
 * Threads:    one at a time
 * Ownership:  nothing
 */
WEIR_API weir_err weir_node_step(weir_node *node, uint64_t now_ns,
                                 uint64_t *next_ns_out);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_NODE_H */
