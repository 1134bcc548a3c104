/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Who is on duty: makes the engine's steps, and sleeps on the transport.
 *
 *             wi_duty_take()            wi_duty_leave()
 *   thread -------------------> worker -----------------> nobody
 *     ^                            ^                        | |
 *     |                            +------------------------+ |
 *     +--- nobody took it for a lease, or wi_duty_return() ---+
 *
 * A worker that waits has nothing better to do than to receive, and what it
 * receives is then in its cache; handing that to the network thread costs two
 * switches for each wake-up. While the worker computes, what arrives stays in
 * the transport, and after at most two leases the network thread looks after it
 * as it does when there are no workers. A worker that leaves while others of
 * its node sleep wakes one of them, which takes the duty; if those that sleep
 * do so on their descriptors, it is the network thread's at once.
 *
 * Not where peers map memory (WI_CAP_MAP): they wake workers by the futex.
 */
#ifndef WI_DUTY_H
#define WI_DUTY_H

#include <stdbool.h>
#include <stdint.h>

struct weir_node;
struct wi_worker;
struct wi_sleeper;

/** So long what arrives may wait for the worker to come back. */
#define WI_LEASE_NS 2000000u

/** Take the duty. False: another worker has it, or the transport is the network
 *  thread's alone. */
bool wi_duty_take(struct weir_node *n, struct wi_worker *w);

/** Leave it to whoever comes next. */
void wi_duty_leave(struct weir_node *n);

/** There is no worker that will come back: the network thread's from now on.
 *  Not while on duty. */
void wi_duty_return(struct weir_node *n);

/** A worker has said that it sleeps: is there something in the rings that it
 *  has in common with others? */
bool wi_duty_last_look(struct weir_node *n, struct wi_worker *w);

/** Not on duty: sleep as wi_bell_park() does, but not while the duty is free.
 */
bool wi_duty_park(struct weir_node *n, struct wi_worker *w,
                  uint64_t timeout_ns);

/** On duty: a step of the engine. Returns what it moved. */
uint32_t wi_duty_step(struct weir_node *n);

/** On duty: sleep until the transport has something, the engine has something
 *  to do, the worker is woken, or `until_ns`. */
void wi_duty_nap(struct weir_node *n, struct wi_worker *w, uint64_t until_ns);

/** Under the node's lock: is it the network thread's, perhaps because nobody
 *  took it for a lease? Otherwise *until_ns becomes when to look again. */
bool wi_duty_watch(struct weir_node *n, uint64_t now_ns, uint64_t *until_ns);

/** A step under the node's lock. Returns what it moved. */
uint32_t wi_duty_step_locked(struct weir_node *n, uint64_t now_ns);

/** The same by the network thread while it is not on duty. It may take what the
 *  transport was armed for, so a worker on duty does not sleep on. */
uint32_t wi_duty_help_locked(struct weir_node *n, uint64_t now_ns);

/** Sleep until `until_ns` or until woken; with `watch` also until the transport
 *  has something. */
void wi_duty_sleep(struct weir_node *n, struct wi_sleeper *s, bool watch,
                   uint64_t until_ns);

/** The engine has something to do: wake whoever makes its steps. Hook of the
 *  engine, `arg` is the node. */
void wi_duty_wake(void *arg);

/** Wake a worker that sleeps on a descriptor, its own or on duty. Hook of the
 *  engine, `arg` is the node. */
void wi_duty_ring(void *arg, uint32_t worker);

#endif /* WI_DUTY_H */
