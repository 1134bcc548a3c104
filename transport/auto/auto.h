/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The transport "auto": the best way to each peer.
 *
 *              core
 *               |  connect, poll, arm, ...        send, write, kick, ...
 *        +------v-------+                               |
 *        |     auto     |  picks, hands endpoints out   |
 *        +--+----+----+-+                               |
 *           |    |    |                                 |
 *          shm verbs tcp   <----------------------------+
 *
 * A composite (rule 8 of core/transport.h): endpoints are those of the
 * transports below, and the core uses them without a detour. What is left to
 * do here is to open the transports that work on this machine, to give the
 * node one address that holds all of theirs, to pick the way to a peer by the
 * two addresses, and to poll and sleep on all of them.
 *
 *   auto:HOST[;NAME=ADDRESS]...   HOST is BOOT-NET: a hash of the host's boot
 *                                 id and the number of the network namespace,
 *                                 both in hex
 *   auto:HOST:PORT                tcp alone; to name a seed before it runs
 *   tcp:..., shm:..., ...         that transport and no other
 *
 * The order of preference is the order of the table in auto.c: shm where both
 * ends share host and network namespace (its sockets belong to one), verbs
 * where both have a device, else tcp. A way that fails before it is up is
 * followed by the next (`connect_next`).
 */
#ifndef WI_AUTO_H
#define WI_AUTO_H

#include "core/base/cc.h"
#include "core/base/log.h"
#include "core/transport.h"

enum {
    AUTO_PARTS = 3,
    AUTO_HOST_BYTES = 40, /* "BOOT-NET" with its NUL */
    AUTO_WORD_BYTES = 96, /* why a way is taken or not, with its NUL */
    AUTO_NOTE_SHORT = 32, /* why a part is not usable, beside others */
};

/** A transport below. Constant after open. */
struct auto_part {
    const struct wi_transport_ops *ops; /* NULL: not in this build */
    struct wi_transport *t;             /* NULL: not usable here */
    char note[AUTO_WORD_BYTES];         /* why not */
};

struct auto_transport {
    struct wi_transport base;
    /* constant after open */
    struct auto_part parts[AUTO_PARTS];
    struct auto_part *home; /* whose memory `mem_open` gives */
    int epoll_fd;
    char host[AUTO_HOST_BYTES];
    char address[WI_ADDRESS_BYTES];
    const struct wi_log *log;
    /* written by: engine */
    uint32_t first; /* whose turn it is to be polled first */
};

/** An address taken apart. */
struct auto_peer {
    char text[WI_ADDRESS_BYTES];
    const char *host;              /* "BOOT-NET", or NULL: not told */
    const char *parts[AUTO_PARTS]; /* in text; NULL: not offered */
    bool plain;                    /* names one transport */
};

/** Names of the parts, best first. */
extern const char *const wi_auto_names[AUTO_PARTS];

static inline struct auto_transport *wi_auto_of(struct wi_transport *t)
{
    return wi_container_of(t, struct auto_transport, base);
}

/* ---- auto_addr.c --------------------------------------------------------- */

/** Identity of host and network namespace: "BOOT-NET". */
void wi_auto_host(char *text);

/** Compose the node's address from those of its parts.
 *  WEIR_ERR_ARG: longer than WI_ADDRESS_BYTES. */
weir_err wi_auto_address_put(struct auto_transport *t, struct weir_error *err);

/** Take an address apart. WEIR_ERR_ARG says what is expected. */
weir_err wi_auto_address_get(const char *address, struct auto_peer *out,
                             struct weir_error *err);

/** Number of a part by a name of len bytes; AUTO_PARTS: there is none. */
uint32_t wi_auto_part(const char *name, size_t len);

/* ---- auto_way.c ---------------------------------------------------------- */

/**
 * Can part i be taken to a peer?
 *
 * @param word  [out] AUTO_WORD_BYTES: why, or why not
 */
bool wi_auto_way(const struct auto_transport *t, const struct auto_peer *peer,
                 uint32_t i, char *word);

weir_err wi_auto_check(struct wi_transport *t, const char *address,
                       struct weir_error *err);
weir_err wi_auto_connect(struct wi_transport *t, const char *address,
                         struct wi_ep **ep_out, struct weir_error *err);
weir_err wi_auto_connect_next(struct wi_transport *t, const char *address,
                              const struct wi_ep *failed, struct wi_ep **ep_out,
                              struct weir_error *err);
void wi_auto_why(struct wi_transport *t, const char *address,
                 const struct wi_ep *ep, char *text);

extern const struct wi_transport_ops wi_auto_ops;

#endif /* WI_AUTO_H */
