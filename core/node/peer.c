/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of peers. */
#include <weir/peer.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/link/lock.h"
#include "core/link/peer.h"

weir_err weir_peer_open(weir_node *node, const char *address,
                        weir_peer **peer_out, struct weir_error *err)
{
    return weir_peer_open_named(node, address, NULL, peer_out, err);
}

weir_err weir_peer_open_named(weir_node *node, const char *address,
                              const char *server_name, weir_peer **peer_out,
                              struct weir_error *err)
{
    weir_err rc =
        wi_check_args(err, WI_ARG(node), WI_ARG(address), WI_ARG(peer_out));
    rc = rc == WEIR_OK ? wi_engine_check_own(&node->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    struct weir_peer *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a peer");
    }
    p->node = node;
    p->engine = &node->engine;
    wi_node_lock(node);
    rc = wi_peer_hold(p->engine, address, server_name, &p->member, err);
    wi_node_unlock(node);
    if (rc != WEIR_OK) {
        free(p);
        return rc;
    }
    wi_text_put(p->address, WI_ADDRESS_BYTES, address);
    *peer_out = p;
    return WEIR_OK;
}

void weir_peer_close(weir_peer *peer)
{
    if (peer == NULL || wi_engine_inherited(peer->engine)) {
        return;
    }
    wi_node_lock(peer->node);
    wi_peer_drop(peer->engine, peer->member);
    wi_node_unlock(peer->node);
    free(peer);
}

const char *weir_peer_address(const weir_peer *peer)
{
    return peer != NULL ? peer->address : "";
}
