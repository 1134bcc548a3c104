/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Transport "shm": processes of one user on one host, in the same namespaces or
 * with a secret in common.
 *
 *      node A                                        node B
 *   +------------+   SOCK_SEQPACKET, abstract    +------------+
 *   |  endpoint  |===============================|  endpoint  |
 *   +------------+   greeting, messages, grants  +------------+
 *         \                                            /
 *          `------------ memfd, mapped twice ---------'
 *                   rings: written by the core itself
 *
 * "shm:NAME" is the socket "weir/NAME" in the abstract namespace of the
 * network namespace: the kernel forgets it with its last descriptor, so a
 * killed process leaves nothing and its name can be taken again.
 * Memory is a memfd: no file system, and so no size of /dev/shm, is involved.
 *
 * Packets, in host byte order since both ends are one host:
 *
 *   struct shm_head | body of head.bytes
 *     SHM_GREET     struct shm_greeting; the first packet in each direction
 *     SHM_REFUSE    text, instead of a greeting; the socket is closed after it
 *     SHM_MESSAGES  one or more { u32 length, u32 zero, bytes, pad to 8 }
 *     SHM_GRANT     u64 key, with one descriptor as ancillary data
 *     SHM_UNGRANT   u64 key: will not be mapped any more
 *
 * Memory that the peer may only read goes to it as a descriptor that was opened
 * to read: neither mmap nor mprotect makes a writable mapping of it. (The two
 * processes are one user's, in the same namespaces, who could always open
 * /proc/PID/mem: this keeps out mistakes, not malice.) It may be a file's; then
 * wi_mem.origin is where it begins in the file, which the peer maps from its
 * first byte on.
 *
 * Who writes what: the send side of an endpoint (struct shm_tx) belongs to the
 * holder of the link's post lock; the rest to the engine thread, which sends
 * grants by itself. The two meet in tx_errno (edge E40), and in the kernel:
 *  - mapped bytes before a message: edge E4, the lock of the socket's queue;
 *  - EPOLLOUT: armed after an attempt failed; epoll_ctl looks at the socket
 *    again, so room that came in between is reported. The engine disarms
 *    *before* it reports SENDABLE: if it undoes the arming of a kick, a
 *    SENDABLE follows, and the kick that answers it arms again.
 */
#ifndef WI_SHM_H
#define WI_SHM_H

#include <stdalign.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "core/base/cc.h"
#include "core/transport.h"

enum {
    SHM_MESSAGE_BYTES = 8192, /* longest message */
    SHM_PACKET_BYTES = 16384, /* longest packet, its head included */
    SHM_STAGE_BYTES = 65536,  /* queued and not yet sent, per endpoint */
    SHM_UNMAPPED = 256,       /* grants that came and were not mapped */
    SHM_SLOTS = 16,           /* packets that one poll takes */
    SHM_TURN = 4,             /* of these, from one endpoint */
    SHM_READY = 64,           /* endpoints looked at in one poll */
    SHM_STRANGERS = 64,       /* accepted and without greeting */
    SHM_NAME_BYTES = 103,     /* longest NAME with its NUL: sun_path */
};

#define SHM_VERSION 1u
#define SHM_MAGIC UINT64_C(0x316d687352494557) /* "WEIRshm1" */

#define SHM_RETRY_NS UINT64_C(1000000)        /* connect: backlog full */
#define SHM_PAUSE_NS UINT64_C(50000000)       /* accept: no descriptors */
#define SHM_STRANGER_NS UINT64_C(10000000000) /* accepted: greeting due */
#define SHM_CONNECT_NS UINT64_C(60000000000)  /* connecting: greeting due */

enum shm_kind {
    SHM_GREET = 1,
    SHM_REFUSE,
    SHM_MESSAGES,
    SHM_GRANT,
    SHM_UNGRANT,
};

struct shm_head {
    uint32_t kind;
    uint32_t bytes; /* of the body */
};

struct shm_greeting {
    uint64_t magic;
    uint32_t version;
    uint32_t packet_bytes;
};

enum shm_state {
    SHM_RETRYING, /* connect found the backlog full */
    SHM_GREETING, /* connected; the peer's greeting is not here yet */
    SHM_OPEN,
    SHM_DOOMED, /* dead, CLOSED not reported yet */
    SHM_CLOSED,
};

struct shm;

/** Send side. Written by: holder of the link's post lock. */
struct shm_tx {
    bool dead;         /* a send failed for good */
    bool hungry;       /* `send` said AGAIN: SENDABLE is owed */
    uint32_t head_off; /* first byte in stage not sent */
    uint32_t tail_off;
};

/** A descriptor that came and was not mapped yet. */
struct shm_in {
    uint64_t key;
    int fd; /* -1: there was no room for it among the open files */
};

struct shm_ep {
    struct wi_ep base;
    /* constant after connect or accept */
    struct shm *t;
    int fd;
    bool accepted;
    /* written by: engine */
    bool hung_up; /* by the peer, before its greeting */
    enum shm_state state;
    pid_t pid;       /* of the peer; 0 = not known */
    uint64_t due_ns; /* greeting due; 0 = clock not started */
    uint64_t retry_ns;
    struct shm_ep *next, **link; /* in shm.waiting, else link is NULL */
    uint64_t last_key;           /* of our grants */
    uint64_t *ungranted;         /* keys that the socket did not take yet */
    uint32_t n_ungranted, ungranted_room;
    uint32_t n_in, in_room;
    struct shm_in *in;
    char name[SHM_NAME_BYTES]; /* connecting: whom */
    char reason[WI_REASON_BYTES];
    /* written by: send side, once, before it shuts the socket down */
    _Atomic int tx_errno;
    /* written by: send side */
    alignas(WI_CACHE_LINE) struct shm_tx tx;
    alignas(8) uint8_t stage[SHM_STAGE_BYTES];
};

/** Where a process lives: namespaces(7) of users, processes and mounts, by the
 *  numbers of their files. */
enum { SHM_SPACES = 3 };
struct shm_spaces {
    bool known;
    uint64_t number[SHM_SPACES];
};

struct shm {
    struct wi_transport base;
    /* constant after open */
    int epoll_fd, listen_fd, timer_fd;
    uint32_t max_links;
    char name[SHM_NAME_BYTES];
    struct shm_spaces own;
    bool proved; /* peers prove a secret before they are told a key */
    /* written by: engine */
    uint64_t now_ns;        /* of the poll that runs */
    bool all_read;          /* by it: nothing waits in a socket */
    uint64_t due_ns;        /* when `waiting` needs a look; 0 = now */
    uint64_t resume_ns;     /* when accept goes on; 0 = not paused */
    struct shm_ep *waiting; /* retrying, greeting, doomed */
    uint32_t n_strangers;
    uint32_t n_accepted;   /* and not CLOSED */
    uint32_t n_slots;      /* slots that events of this poll point into */
    struct shm_rest {      /* messages that found no room in `events` */
        struct shm_ep *ep; /* NULL = none */
        uint32_t slot, off, end;
    } rest;
    uint8_t *slots[SHM_SLOTS];
    uint8_t *slab; /* what slots point into */
    /* written by: any thread */
    _Atomic uint64_t spare_bytes; /* may be taken before room is looked for */
};

/** Events of the poll that runs. */
struct shm_events {
    struct wi_event *list;
    uint32_t n, max;
};

static inline bool wi_shm_full(const struct shm_events *out)
{
    return out->n == out->max;
}

static inline void wi_shm_event(struct shm_events *out, struct wi_event event)
{
    assert(out->n < out->max);
    out->list[out->n++] = event;
}

/* ---- shm_addr.c --------------------------------------------------------- */

/** Address of a socket. false: not a name (empty, too long, white space). */
bool wi_shm_sockaddr(const char *name, struct sockaddr_un *sa, socklen_t *len);

/** wi_fail_errno that explains EMFILE and ENFILE with the limit. */
weir_err wi_shm_fail_fd(struct weir_error *err, int errno_value,
                        const char *what);

/** Soft limit of descriptors, "ulimit -n". */
unsigned long long wi_shm_fd_limit(void);

/* ---- shm_ep.c: life of an endpoint, engine only ------------------------- */

weir_err wi_shm_check(struct wi_transport *t, const char *address,
                      struct weir_error *err);
weir_err wi_shm_connect(struct wi_transport *t, const char *address,
                        struct wi_ep **ep_out, struct weir_error *err);
void wi_shm_disconnect(struct wi_ep *ep);

/** Take what has come to the listening socket. */
void wi_shm_accept(struct shm *t);

/** Retry, time out and report the endpoints that wait; sets t->due_ns. */
void wi_shm_step_waiting(struct shm *t, struct shm_events *out);

/** The peer's greeting was right: tell the core. */
void wi_shm_greeted(struct shm_ep *ep, struct shm_events *out);

/** The endpoint is dead; CLOSED follows. The first reason stands. */
void wi_shm_doom(struct shm_ep *ep, const char *fmt, ...)
    WI_PRINTF(2, 3) WI_COLD;

/** Free an endpoint and all it holds. */
void wi_shm_ep_free(struct shm_ep *ep);

/* ---- shm_peer.c: who is there ------------------------------------------- */

/** Those of this process. */
void wi_shm_own_spaces(struct shm_spaces *out);

/**
 * May the process at the other end of a socket have memory of this one? Both
 * ends ask, before either greets.
 *
 * @param pid_out  [out] its number, 0: not known here
 * @param why      [out] WI_REASON_BYTES; set if not
 */
bool wi_shm_may_be_peer(const struct shm *t, int fd, pid_t *pid_out, char *why);

/* ---- shm_send.c --------------------------------------------------------- */

weir_err wi_shm_send(struct wi_ep *ep, const void *bytes, uint32_t len);
weir_err wi_shm_kick(struct wi_ep *ep);
/** Watch the socket for room. After a failed attempt, never before it: see
 *  above. */
void wi_shm_arm_out(struct shm_ep *ep);

/** Send a packet without ancillary data on a fresh socket; best effort. */
void wi_shm_send_now(int fd, enum shm_kind kind, const void *body,
                     uint32_t bytes);

/* ---- shm_recv.c: engine only -------------------------------------------- */

/** Read a few packets of one endpoint into events. */
void wi_shm_read(struct shm_ep *ep, struct shm_events *out);

/** Hand out what the last poll had no room for. */
void wi_shm_take_rest(struct shm *t, struct shm_events *out);

/* ---- shm_grant.c: engine only ------------------------------------------- */

weir_err wi_shm_grant(struct wi_ep *ep, const struct wi_mem *mem,
                      uint32_t access, uint64_t *key_out,
                      struct weir_error *err);
weir_err wi_shm_ungrant(struct wi_ep *ep, const struct wi_mem *mem,
                        uint64_t key);

/** There is room in the socket: send what `ungrant` could not. */
void wi_shm_ungrant_rest(struct shm_ep *ep);

/** The peer granted memory; fd, or -1, is the endpoint's from now on. False:
 *  the key is in use. */
bool wi_shm_granted(struct shm_ep *ep, uint64_t key, int fd);

/** A grant of the peer has ended. */
void wi_shm_ungranted(struct shm_ep *ep, uint64_t key);

weir_err wi_shm_map(struct wi_ep *ep, uint64_t key, size_t bytes,
                    uint32_t access, void **base_out, struct weir_error *err);

/** Close what was not mapped, and forget the rest. */
void wi_shm_grants_fini(struct shm_ep *ep);

/* ---- shm_mem.c ---------------------------------------------------------- */

weir_err wi_shm_mem_open(struct wi_transport *t, size_t bytes,
                         struct wi_mem *out, struct weir_error *err);
weir_err wi_shm_mem_reserve(struct wi_transport *t, size_t bytes,
                            struct wi_mem *out, struct weir_error *err);
weir_err wi_shm_mem_take(struct wi_transport *t, const struct wi_mem_part *part,
                         struct weir_error *err);
weir_err wi_shm_mem_borrow(struct wi_transport *t, const struct wi_borrow *what,
                           uint32_t access, struct wi_mem *out,
                           struct weir_error *err);
void wi_shm_mem_close(struct wi_transport *t, struct wi_mem *mem);
/** Map shared memory, to read and perhaps to write. */
weir_err wi_shm_map_fd(int fd, size_t bytes, uint32_t access, void **base_out,
                       struct weir_error *err);
void wi_shm_unmap(struct wi_transport *t, void *base, size_t bytes);

/* ---- shm_room.c --------------------------------------------------------- */

/**
 * How many bytes can be had before the system starts to kill for memory:
 * the least of what is available and what the control groups (v2) allow.
 *
 * @param root   "" or, in tests, a directory that stands for "/"
 * @param limit  [out] static: the limit that decided
 *
 * Errors:     none; what cannot be read does not limit
 * Blocks:     shortly.  Threads: any.  Ownership: nothing
 */
uint64_t wi_shm_room(const char *root, const char **limit);

extern const struct wi_transport_ops wi_shm_ops;

#endif /* WI_SHM_H */
