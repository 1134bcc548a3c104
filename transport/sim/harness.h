/* SPDX-License-Identifier: Apache-2.0 */
/** What tests may reach below include/weir/sim.h. */
#ifndef WI_SIM_HARNESS_H
#define WI_SIM_HARNESS_H

#include <weir/sim.h>

#include "transport/sim/simnet.h"

struct weir_sim;

/** The network of a simulation, for its trace and its seeded faults.
 *  Ownership: the sim's. */
struct wi_simnet *wi_sim_net(struct weir_sim *sim);

/** As weir_sim_open, but that only the first n_joined nodes know each other.
 *  The others join later: wi_sim_join(). */
weir_err wi_sim_open(const struct weir_sim_params *params, uint32_t n_joined,
                     struct weir_sim **sim_out, struct weir_error *err);

/** A node joins, with all those that have. They are to be told by
 *  weir_node_add_member. Between two calls of weir_sim_run. */
weir_err wi_sim_join(struct weir_sim *sim, uint32_t node,
                     struct weir_error *err);

/** Something happens at that time: the simulation goes on until then, though
 *  its tasks wait and nothing else is on its way. */
void wi_sim_look(struct weir_sim *sim, uint32_t node, uint64_t at_ns);

/** Have fn called whenever a node has made its steps and its tasks theirs. */
void wi_sim_watch(struct weir_sim *sim, void (*fn)(void *arg, uint32_t node),
                  void *arg);

#endif /* WI_SIM_HARNESS_H */
