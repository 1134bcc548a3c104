/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A client of a scan server, inside.
 *
 *   the program's thread                         the server
 *     weir_scan_open ... get_next
 *       ask (client_call.c) ------------------->
 *       pump  <-------- answers, ends of gets
 *         call is over --> its stream, or who waits for it
 *       nothing to do: weir_worker_wait
 *
 *   call     1---1  payload (client_lend.c)   memory of the server, or a copy
 *   stream   1---n  call    (client_stream.c) NEXTs under way, then in order
 *   ArrowArray n--1 payload                   released by any thread
 *
 * Rules:
 *  - No thread of its own: whatever call the program makes moves all streams of
 *    the client on.
 *  - The lock is for what releases of arrays change, and cancels; all else
 *    belongs to the worker's thread.
 *  - Memory of the server that is lent is at most half of max_bytes; payloads
 *    beyond that are copied, and their slots go back at once.
 */
#ifndef WI_SCAN_CLIENT_H
#define WI_SCAN_CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <weir/fetch.h>
#include <weir/scan_client.h>

#include "services/scan/proto.h"

struct wi_scan_call;
struct wi_scan_given;
struct wi_scan_memory;
struct wi_scan_payload;
struct wi_scan_stream;

TAILQ_HEAD(wi_scan_calls, wi_scan_call);
TAILQ_HEAD(wi_scan_givens, wi_scan_given);
TAILQ_HEAD(wi_scan_memories, wi_scan_memory);
TAILQ_HEAD(wi_scan_payloads, wi_scan_payload);
TAILQ_HEAD(wi_scan_streams, wi_scan_stream);

/** A region of the server that this client writes to. */
struct wi_scan_put_room {
    uint64_t id; /* 0: none */
    uint64_t bytes;
};

enum { WI_SCAN_PUT_ROOMS = 4 };

struct weir_scan_client {
    /* constant after connect */
    pid_t pid; /* of the process: a child that it forks may use nothing */
    weir_node *node;
    weir_peer *peer;
    weir_fetch *fetch;
    struct weir_scan_client_params p; /* defaults filled in; no texts */
    /* the worker's thread */
    uint64_t number[2];         /* a new one with each HOLD */
    struct wi_scan_call *hold;  /* it waits; NULL: none does */
    struct weir_error hold_err; /* how the last one ended */
    bool begun;                 /* it was answered, once */
    uint64_t last_call;
    struct wi_scan_calls calls;  /* under way */
    struct wi_scan_calls to_get; /* answered: gets that wait for memory */
    struct wi_scan_streams streams;
    struct wi_scan_put_room rooms[WI_SCAN_PUT_ROOMS];
    uint64_t room_in_use; /* the server may still read it */
    struct weir_scan_fault fault;
    uint64_t getting_bytes; /* of gets under way */
    uint64_t n_gives;       /* asks that gave slots back */
    bool copies; /* the transport does not lend the server's memory */
    /* under the lock */
    pthread_mutex_t lock;
    uint32_t holds;   /* the program's, and payloads */
    uint32_t cancels; /* so far */
    bool closed;
    struct wi_scan_payloads lent; /* the server's memory */
    uint64_t lent_bytes;
    uint32_t n_lent;
    struct wi_scan_givens given;  /* slots to be given back */
    struct wi_scan_memories free; /* for copies, to be used again */
    uint64_t free_bytes;
};

/** A call of the program that may wait. */
struct wi_scan_wait {
    struct weir_scan_client *client;
    uint32_t cancels; /* as it was when the call, or its stream, began */
    uint64_t until_ns;
};

/** Is this a child of the process that connected it? Then its lock may be held
 *  by a thread that is not here, and what it lends is the parent's as well. */
bool wi_scan_client_inherited(const struct weir_scan_client *c);

/** Begin one that may be cancelled from now on. */
struct wi_scan_wait wi_scan_wait_begin(struct weir_scan_client *c);

/**
 * Wait until something has happened.
 *
 * Errors: WEIR_ERR_CANCELLED, WEIR_ERR_TIMEOUT.
 * Blocks: shortly before either
 * Threads: the worker's.  Ownership: nothing
 */
weir_err wi_scan_wait_for(const struct wi_scan_wait *w, struct weir_error *err);

/** Was it cancelled? */
bool wi_scan_wait_cancelled(const struct wi_scan_wait *w);

/** One hold less; frees with the last. Any thread. */
void wi_scan_client_drop(struct weir_scan_client *c);

/** What went wrong, for weir_scan_last_fault: text is copied; fault may be
 *  NULL. */
void wi_scan_client_fault(struct weir_scan_client *c, const char *text,
                          const struct weir_scan_fault *fault);

#endif /* WI_SCAN_CLIENT_H */
