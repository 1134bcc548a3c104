/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A server of scans, inside: what it has, and who changes it.
 *
 *   who leads takes asks (serve.c)         who runs tasks (work.c)
 *     HOLD GIVE END ......... at once
 *     OPEN RANGE NEXT ---> reader is ready
 *                          scan is queued --> opened (open.c)
 *                                             batches taken (payload.c)
 *                                             copied into a slot (slots.c)
 *                                             oldest ask answered (reader.c)
 *     ROOM LOAD ---------> errand is queued -> (slots.c, load.c)
 *     FILL --------------> load -------------> engine's get_next (load.c)
 *
 *   session (one client)  1---n  reader  n---1  scan (one stream of an engine)
 *           |                      |             one reader, or several that
 *           1---n slot, room  <----+ out         share it
 *           1---n load
 *           1---1 state (what engines keep for it) n---1 scan
 *
 * Rules:
 *  - All of it is under the server's lock, but for what says otherwise. Engines
 *    run, bytes are copied and regions are opened without it.
 *  - One thread at a time takes batches of a scan (scan.busy), one serves a
 *    reader (reader.busy). A reader waits in scan.ready for its turn.
 *  - Readers and scans are freed by who runs tasks: what an engine made is
 *    released there, and who leads never waits for one.
 *  - A reader that is *over* is in no table; it has no asks, and is freed when
 *    its turn comes.
 */
#ifndef WI_SCAN_SERVER_H
#define WI_SCAN_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <weir/scan_server.h>

#include "services/scan/ids.h"
#include "services/scan/keep.h"
#include "services/scan/proto.h"
#include "services/scan/work.h"

enum {
    WI_SCAN_ROOMS_MAX = 4, /* of a client */
    WI_SCAN_LOADS_MAX = 4,
};

/** An ask that waits. */
struct wi_scan_parked {
    TAILQ_ENTRY(wi_scan_parked) next;
    struct weir_ask ask;
};
TAILQ_HEAD(wi_scan_asks, wi_scan_parked);

TAILQ_HEAD(wi_scan_readers, wi_scan_reader);
TAILQ_HEAD(wi_scan_sessions, wi_scan_session);
TAILQ_HEAD(wi_scan_slots, wi_scan_slot);
TAILQ_HEAD(wi_scan_loads, wi_scan_load);
TAILQ_HEAD(wi_scan_scans, wi_scan_scan);

/** What engines keep for a client: of its session, and of scans that were
 *  opened in it. The last one that leaves has it closed, by a task. */
struct wi_scan_state {
    struct wi_scan_task task; /* first */
    struct weir_scan_server *server;
    struct wi_scan_keep keep;
    uint32_t holders;
};

/** A client, as long as its HOLD waits, and then until all of it is freed. */
struct wi_scan_session {
    struct wi_scan_key key; /* its own number; first */
    TAILQ_ENTRY(wi_scan_session) on_server;
    char *peer; /* who it is: name and life of its node */
    uint64_t incarnation;
    struct weir_ask hold;
    struct wi_scan_state *state;
    struct wi_scan_share *share; /* of threads */
    uint64_t bytes;              /* of slots */
    uint64_t last_call;
    struct wi_scan_readers readers;
    struct wi_scan_slots slots; /* rooms too */
    struct wi_scan_loads loads;
    uint32_t n_rooms;
    uint32_t n_loads;
    uint32_t users; /* threads that work for it, besides its readers' */
    bool gone;
};

struct weir_scan_server {
    /* constant after open */
    pid_t pid; /* of the process: a child that it forks has no threads of it */
    weir_node *node;
    weir_asks *asks;
    struct weir_scan_server_params p; /* no zero that means a default */
    struct weir_scan_source *sources; /* p.n_sources, names too */
    /* under lock */
    pthread_mutex_t lock;
    struct wi_scan_work work;
    struct wi_scan_ids sessions_by_key;
    struct wi_scan_ids readers_by_id;
    struct wi_scan_ids scans_by_id; /* shared ones that have ranges left */
    struct wi_scan_ids slots_by_id;
    struct wi_scan_sessions sessions;
    struct wi_scan_scans shared; /* those */
    uint32_t n_shared;
    struct weir_scan_stats stats;
    bool stopping;
    /* who leads, also without the lock */
    uint64_t checked_ns; /* when it last looked who is gone or idle */
    bool woken;          /* by an ask, or because somebody is gone */
    bool unchecked;      /* asks came, perhaps somebody has gone, too */
};

/** Monotonic time. */
uint64_t wi_scan_now_ns(void);

#endif /* WI_SCAN_SERVER_H */
