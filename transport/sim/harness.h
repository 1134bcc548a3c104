/* SPDX-License-Identifier: Apache-2.0 */
/** What tests may reach below include/weir/sim.h. */
#ifndef WI_SIM_HARNESS_H
#define WI_SIM_HARNESS_H

#include "transport/sim/simnet.h"

struct weir_sim;

/** The network of a simulation, for its trace and its seeded faults.
 *  Ownership: the sim's. */
struct wi_simnet *wi_sim_net(struct weir_sim *sim);

#endif /* WI_SIM_HARNESS_H */
