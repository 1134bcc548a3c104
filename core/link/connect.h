/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Connecting, until the link has an endpoint that is up: ways and new attempts.
 * Engine only, under the node's lock.
 *
 *   dial --CONNECTED--> wi_link_connected()
 *     |  failed, or no answer for half of connect_ns
 *     |--> the next way, if the transport knows one
 *     |--> hung up by a peer that runs: the same again after a pause, until
 *     |    connect_ns is over
 *     `--> lost
 */
#ifndef WI_CONNECT_H
#define WI_CONNECT_H

#include "core/link/engine.h"
#include "core/link/link.h"

/** Begin to connect to the member. */
weir_err wi_link_dial(struct wi_link *l, struct weir_error *err);

/** The member has another address: an attempt of ours that is not over begins
 *  again there. False: there is none. */
bool wi_link_begin_again(struct wi_link *l);

/** CLOSED before the link was up: does it go on over another way, or again? */
bool wi_link_goes_on(struct wi_link *l, const struct wi_event *ev);

/** Note the way that the link took, and why those before it failed. */
void wi_link_say_way(struct wi_link *l);

/** Timers of a link that is not up yet. An error: the link is lost, for it. */
weir_err wi_link_connect_tick(struct wi_link *l, uint64_t now_ns,
                              struct weir_error *err);

#endif /* WI_CONNECT_H */
