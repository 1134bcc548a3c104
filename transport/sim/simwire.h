/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The wire of the simulated network: ports, transfers, and the virtual clock.
 *
 *   flow --+                                                 +--> land
 *   flow --+--> port of sender --> latency --> port of receiver
 *   flow --+    (one at a time,    + jitter    (one at a time,
 *                turn by turn)                  first come first served)
 *
 * A flow is one direction of one connection. Its transfers stay in order; the
 * flows of a port take turns, one transfer each, as the queue pairs of a
 * network card do. A transfer is received as a whole before it lands, so it
 * takes bytes / bandwidth twice and the latency once.
 *
 * This file knows no connection and no memory: what a transfer carries, and
 * what its landing means, is the business of the layer above (simnet.c), which
 * hands in a table of functions. One thread.
 */
#ifndef WI_SIM_SIMWIRE_H
#define WI_SIM_SIMWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/sim/evheap.h"

enum { WI_SIMWIRE_SLOWEST = 1000 };

struct wi_simwire_params {
    uint32_t ports;
    uint64_t seed;
    uint64_t bandwidth; /* bytes per second, each port, each direction */
    uint64_t latency_ns;
    uint64_t jitter_ns;      /* up to this much more, even distribution */
    uint32_t overhead_bytes; /* added to every transfer */
    uint32_t delay_ppm;      /* transfers per million that are held up ... */
    uint64_t delay_ns;       /* ... by up to this much */
};

struct wi_simflow {
    struct wi_simflow *next; /* next in turn at its port */
    uint64_t last_arrival_ns;
    uint32_t from;
    uint32_t to;
    bool active; /* waits for its turn, or has it */
};

struct wi_simxfer {
    struct wi_simxfer *next; /* queue at the receiver's port */
    struct wi_simflow *flow;
    uint32_t bytes; /* without overhead */
};

/** What the layer above does; each is called from wi_simwire_advance or
 *  wi_simwire_start (take only). */
struct wi_simwire_ops {
    /** Next transfer of a flow. NULL: none; the flow loses its turn and is not
     *  touched again before the next start. */
    struct wi_simxfer *(*take)(struct wi_simflow *flow);
    /** All bytes are in; frees x. */
    void (*land)(struct wi_simxfer *x);
    /** Lost without a word; frees x. */
    void (*lose)(struct wi_simxfer *x);
    /** The time given to wi_simwire_alarm has come. */
    void (*alarm)(void *arg, void *what);
};

/** Port rate arithmetic is exact: `frac` carries what is below 1 ns. */
struct wi_simlane {
    uint64_t free_ns;
    uint64_t frac; /* in units of 1 / bandwidth ns */
};

struct wi_simwire_port {
    struct wi_simflow *turn_head;
    struct wi_simflow *turn_tail;
    struct wi_simxfer *out;     /* on its way out */
    struct wi_simxfer *in_head; /* head is being received */
    struct wi_simxfer *in_tail;
    struct wi_simlane egress;
    struct wi_simlane ingress;
    uint64_t sent_bytes; /* overhead included */
    uint32_t slowdown;   /* bytes take so many times as long; 0: once */
    bool dead;
};

struct wi_simdrop {
    uint32_t a;
    uint32_t b;
};

struct wi_simwire {
    struct wi_simwire_params params;
    const struct wi_simwire_ops *ops;
    void *arg;
    struct wi_evheap heap;
    struct wi_simwire_port *ports;
    struct wi_simdrop *drops; /* pairs that lose everything now */
    uint32_t n_drops;
    uint64_t now_ns;
    uint64_t random; /* state of the generator */
    uint64_t trace;  /* hash of every event so far */
    uint64_t events;
    bool no_memory; /* an event was lost: no memory; the run is void */
};

/** Set up; false: no memory. fini takes a wire after either. */
bool wi_simwire_init(struct wi_simwire *w,
                     const struct wi_simwire_params *params,
                     const struct wi_simwire_ops *ops, void *arg);

/** Loses every transfer that is on its way; alarms are dropped. */
void wi_simwire_fini(struct wi_simwire *w);

/** The flow has something to send. */
void wi_simwire_start(struct wi_simwire *w, struct wi_simflow *flow);

/** Time of the next event, WI_NEVER if none. */
uint64_t wi_simwire_next(const struct wi_simwire *w);

/** Let everything happen up to and including to_ns; the clock shows to_ns
 *  afterwards. */
void wi_simwire_advance(struct wi_simwire *w, uint64_t to_ns);

/** Have ops->alarm(arg, what) called at that time (now, if it is past). */
void wi_simwire_alarm(struct wi_simwire *w, uint64_t at_ns, void *what);

/** From now on the port neither sends nor receives. */
void wi_simwire_crash(struct wi_simwire *w, uint32_t port);

/** From now on the port is so many times slower, 1..WI_SIMWIRE_SLOWEST. */
void wi_simwire_slow(struct wi_simwire *w, uint32_t port, uint32_t slowdown);

/** Begin or end losing what arrives at a from b, and at b from a. */
void wi_simwire_drop(struct wi_simwire *w, uint32_t a, uint32_t b, bool on);

/** What the port is receiving at this moment, or NULL. */
struct wi_simxfer *wi_simwire_incoming(struct wi_simwire *w, uint32_t port);

/** Next number of the seeded generator. */
uint64_t wi_simwire_random(struct wi_simwire *w);

/** True for `ppm` of a million calls. Draws only if ppm is not 0. */
bool wi_simwire_chance(struct wi_simwire *w, uint32_t ppm);

#endif /* WI_SIM_SIMWIRE_H */
