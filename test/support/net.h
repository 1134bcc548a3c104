/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A network namespace for each member, joined by a bridge, so that wires can be
 * cut and plugged in again.
 *
 *   member k: 10.78.0.(k+1) on eK == vK, on the bridge `wires` of the parent's
 *   own namespace
 *
 * All of it ends with the processes that are in it. Needs root and ip(8). None
 * of these may be called while the process has several threads.
 */
#ifndef WT_NET_H
#define WT_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WT_NET_MEMBERS = 16 };

/** Make n of them. NULL, or why that is not possible here; this process is then
 *  where it was. */
const char *wt_net_open(uint32_t n);

/** This process, which has one thread, goes into the namespace of member k. */
bool wt_net_enter(uint32_t k);

/** Where member k listens: "ADDRESS:0". */
void wt_net_listen(uint32_t k, char *text, size_t bytes);

/** Cut the wire of member k, or plug it in again. False: ip(8) has failed. */
bool wt_net_cut(uint32_t k, bool cut);

/** Members a and b cannot reach each other any more, or can again. */
bool wt_net_part(uint32_t a, uint32_t b, bool part);

#endif /* WT_NET_H */
