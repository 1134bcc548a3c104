/* SPDX-License-Identifier: Apache-2.0 */
/** The inside of the sockets transport: transport, endpoints, records. */
#ifndef WB_SOCKETS_LINK_H
#define WB_SOCKETS_LINK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/list.h"
#include "core/transport.h"

#define WB_LINK_RECORDS 256u /* queued between two kicks */
#define WB_LINK_MESSAGE_BYTES 4096u
#define WB_LINK_WAITING_BYTES (1u << 20) /* of messages that nobody polls */

enum wb_record_kind { WB_RECORD_MESSAGE = 1, WB_RECORD_WRITE = 2 };

/** On the wire: a header, then its bytes. */
struct wb_record {
    uint64_t key; /* of a write: the grant's */
    uint64_t off;
    uint32_t bytes;
    uint32_t kind; /* enum wb_record_kind */
};
_Static_assert(sizeof(struct wb_record) == 24, "wire layout");

/** An event that waits to be polled. */
struct wb_event {
    struct wi_list at;
    struct wi_event event;
    uint8_t bytes[];
};

struct wb_link {
    struct wi_ep base;
    int fd;
    atomic_bool ended;    /* by the reader: CLOSED is on its way */
    bool dead;            /* under the transport's lock: disconnected */
    struct wb_link *gone; /* the next of those that the reader frees */
    /* under the link's post lock */
    struct wb_record queued[WB_LINK_RECORDS];
    const void *from[WB_LINK_RECORDS]; /* of a message: in `text` */
    uint32_t n_queued;
    uint32_t n_sent;     /* of those queued; reset when all are */
    uint64_t sent_bytes; /* of the next one, header included */
    uint8_t text[WB_LINK_RECORDS / 4][WB_LINK_MESSAGE_BYTES];
    uint32_t n_text;
    bool again; /* the queue was full: SENDABLE follows when it is empty */
    /* under the transport's lock */
    bool wants_room;        /* SENDABLE follows when the socket takes more */
    uint32_t waiting_bytes; /* of messages that were not polled yet */
    struct wi_grants grants;
    /* by the reader, under the transport's lock */
    struct wb_record head;
    size_t filled; /* of the head, then of its bytes */
    uint8_t *to;   /* where its bytes go */
    struct wb_event *message;
};

struct wb_sockets_node {
    struct wi_transport base;
    int listen;
    int epoll;
    int stop; /* eventfd: the reader ends */
    int news; /* eventfd: events are there */
    char address[WI_ADDRESS_BYTES];
    pthread_t reader;
    pthread_mutex_t lock;
    struct wi_list events; /* under lock */
    struct wb_link *gone;  /* under lock: disconnected, not freed yet */
    struct wi_list shown;  /* by the engine: those of the last poll */
};

static inline struct wb_sockets_node *wb_node_of(struct wi_transport *t)
{
    return (struct wb_sockets_node *)(void *)t;
}

static inline struct wb_link *wb_link_of(struct wi_ep *ep)
{
    return (struct wb_link *)(void *)ep;
}

/** Make a link of a connected socket, and have it read.
 *  Errors: WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM (the socket is closed). */
weir_err wb_link_open(struct wb_sockets_node *t, int fd, struct wb_link **out,
                      struct weir_error *err);

/** Queue CLOSED with this reason, and tell the peer, once; lock held. */
void wb_link_end(struct wb_sockets_node *t, struct wb_link *link,
                 const char *why);

/** Queue an event for poll; lock held. */
void wb_event_put(struct wb_sockets_node *t, struct wb_event *e);

/** An event with room for bytes. NULL: no memory, the process ends. */
struct wb_event *wb_event_make(enum wi_event_kind kind, struct wb_link *link,
                               uint32_t bytes);

/** The socket has something (epoll's bits): receive what is there, say that
 *  there is room. Lock held. Reader thread. */
void wb_link_ready(struct wb_sockets_node *t, struct wb_link *link,
                   uint32_t events);

/** A message was polled: the peer may have to be read again. Lock held. */
void wb_link_took(struct wb_sockets_node *t, struct wb_link *link,
                  uint32_t bytes);

/* Slots of the send side, see core/transport.h. */
weir_err wb_link_send(struct wi_ep *ep, const void *bytes, uint32_t len);
weir_err wb_link_write(struct wi_ep *ep, const struct wi_rma *op);
weir_err wb_link_kick(struct wi_ep *ep);
weir_err wb_link_grant(struct wi_ep *ep, const struct wi_mem *mem,
                       uint32_t access, uint64_t *key_out,
                       struct weir_error *err);
weir_err wb_link_ungrant(struct wi_ep *ep, const struct wi_mem *mem,
                         uint64_t key);

#endif /* WB_SOCKETS_LINK_H */
