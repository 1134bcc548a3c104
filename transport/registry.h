/* SPDX-License-Identifier: Apache-2.0 */
/** The only list of transports. Core reaches it through core/transport.h. */
#ifndef WI_REGISTRY_H
#define WI_REGISTRY_H

#include "core/transport.h"

extern const struct wi_transport_ops wi_auto_ops;
extern const struct wi_transport_ops wi_shm_ops;
extern const struct wi_transport_ops wi_sim_ops;
extern const struct wi_transport_ops wi_tcp_ops;
extern const struct wi_transport_ops wi_verbs_ops; /* with WEIR_HAVE_VERBS */

#endif /* WI_REGISTRY_H */
