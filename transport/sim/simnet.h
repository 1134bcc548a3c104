/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The simulated network: what the harness and tests see of it.
 *
 *   net = wi_simnet_open(params)
 *   wi_sim_ops.open(... params.arg = &(struct wi_simport_ref){net, i})
 *   ... connect, send, write, kick ...
 *   wi_simnet_advance(net, wi_simnet_next(net))   // something happens
 *   wi_simnet_take_ready(net)                     // at this port: poll there
 *
 * Model, beyond the one of simwire.h: the operations of an endpoint that were
 * kicked and wait for the port share one transfer, and so one overhead: up to
 * 16 operations, one of which may have more than 1 KiB. A frame with its
 * notifications is one transfer. A write is complete for its poster
 * when it has landed; the acknowledgement is not simulated. Written bytes are
 * copied when the transfer lands, read bytes when the answer lands.
 *
 * Bytes of one write are placed at once, except when a link is cut: then a
 * random part of what is just being received is placed, from the front.
 *
 * One thread uses a network and everything on it.
 */
#ifndef WI_SIM_SIMNET_H
#define WI_SIM_SIMNET_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/error.h>

#include "transport/sim/evheap.h"

struct wi_simnet;

enum { WI_SIMNET_MAX_PORTS = 65536 };

#define WI_SIMPORT_ANY UINT32_MAX

/** Seeded faults; 0 = never. */
struct wi_simnet_faults {
    uint32_t cut_ppm;   /* transfers per million that break their link */
    uint32_t again_ppm; /* sends and writes per million refused with AGAIN */
    uint32_t delay_ppm; /* transfers per million that are held up ... */
    uint64_t delay_ns;  /* ... by up to this much */
};

struct wi_simnet_params {
    uint32_t ports; /* 1..WI_SIMNET_MAX_PORTS */
    uint64_t seed;
    uint64_t bandwidth;      /* bytes per second of each port, 1..10^15 */
    uint64_t latency_ns;     /* one way */
    uint64_t jitter_ns;      /* up to this much more, per transfer */
    uint32_t overhead_bytes; /* per transfer */
    struct wi_simnet_faults faults;
};

/** Who looks on, for checks and for peers that lie. NULL: nobody. */
struct wi_simnet_watch {
    void *arg;
    /** `len` bytes of a write are about to be placed at `at`, memory of the
     *  node at port `to`. */
    void (*write)(void *arg, uint32_t from, uint32_t to, const uint8_t *at,
                  uint32_t len);
    /** A write or a message has landed, and may be changed. */
    void (*landed)(void *arg, uint32_t from, uint32_t to, bool message,
                   uint8_t *bytes, uint32_t len);
};

/** What wi_transport_params.arg of the transport "sim" points to; copied. */
struct wi_simport_ref {
    struct wi_simnet *net;
    uint32_t port; /* WI_SIMPORT_ANY: the first that was never taken */
};

/** Build a network. Errors: WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY. */
weir_err wi_simnet_open(const struct wi_simnet_params *params,
                        struct wi_simnet **net_out, struct weir_error *err);

/** Free it. Every transport on it was closed before. NULL is allowed. */
void wi_simnet_close(struct wi_simnet *net);

/** Virtual time. */
uint64_t wi_simnet_now(const struct wi_simnet *net);

/** Time of the next event, WI_NEVER if nothing is on its way. */
uint64_t wi_simnet_next(const struct wi_simnet *net);

/** Let everything happen up to and including to_ns. */
void wi_simnet_advance(struct wi_simnet *net, uint64_t to_ns);

/** A port that has got something to poll since it was last named here;
 *  UINT32_MAX: none. In the order in which it happened. */
uint32_t wi_simnet_take_ready(struct wi_simnet *net);

/** Memory ran out somewhere: the run is void. */
bool wi_simnet_failed(const struct wi_simnet *net);

/** Bytes that the port has put on the wire, overhead included. */
uint64_t wi_simnet_sent_bytes(const struct wi_simnet *net, uint32_t port);

/** Number of events so far, and a hash of them all: equal for equal runs. */
uint64_t wi_simnet_events(const struct wi_simnet *net);
uint64_t wi_simnet_trace(const struct wi_simnet *net);

/* ---- faults: see include/weir/sim.h; a time that is past means now ------- */

/** Change the seeded faults from now on. */
void wi_simnet_set_faults(struct wi_simnet *net,
                          const struct wi_simnet_faults *faults);

/** At once: the port falls silent forever. */
void wi_simnet_crash(struct wi_simnet *net, uint32_t port);

/** At once: all connections of the port break, as when a process is killed. */
void wi_simnet_kill(struct wi_simnet *net, uint32_t port);

/** From now on the port is so many times slower, 1..1000; 1: as it was. */
void wi_simnet_slow(struct wi_simnet *net, uint32_t port, uint32_t slowdown);

/** From now on the node at the port gets no memory that travels, or does. */
void wi_simnet_refuse_memory(struct wi_simnet *net, uint32_t port, bool refuse);

/** Memory that the node at the port has for what travels. */
uint64_t wi_simnet_memory(const struct wi_simnet *net, uint32_t port);

/** The clock of the node at the port shows so much more than virtual time.
 *  Never less than before. */
void wi_simnet_set_skew(struct wi_simnet *net, uint32_t port, uint64_t ns);
uint64_t wi_simnet_skew(const struct wi_simnet *net, uint32_t port);

void wi_simnet_set_watch(struct wi_simnet *net,
                         const struct wi_simnet_watch *watch);

/** Have a port send a message that its node never wrote. False: there is no
 *  connection between the two that is up. */
bool wi_simnet_inject(struct wi_simnet *net, uint32_t from, uint32_t to,
                      const void *bytes, uint32_t len);

void wi_simnet_cut(struct wi_simnet *net, uint32_t a, uint32_t b,
                   uint64_t at_ns);
void wi_simnet_drop(struct wi_simnet *net, uint32_t a, uint32_t b,
                    uint64_t at_ns, uint64_t until_ns);

#endif /* WI_SIM_SIMNET_H */
