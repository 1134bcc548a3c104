/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer says of our rings to it, on a link that is made by hand. */
#include <criterion/criterion.h>

#include <string.h>

#include "core/link/edge.h"
#include "core/link/edge_out.h"
#include "core/link/engine.h"
#include "core/link/link.h"

enum { UNITS = 2, EPOCH = 5 };

/* Behind the table of the peer's units lies something that must not be taken
 * for one of them. */
static struct wi_engine engine;
static struct wi_bell bell;
static struct wi_worker worker = {.bell = &bell, .engine = &engine};
static struct wi_out stranger = {.worker = &worker, .epoch = EPOCH};
static struct wi_out *table[UNITS + 1] = {NULL, NULL, &stranger};
static struct wi_link peer = {
    .engine = &engine, .out = table, .peer_units = UNITS};

static union wi_msg about(enum wi_msg_type type, uint32_t edge)
{
    union wi_msg m;
    wi_msg_init(&m, type);
    if (type == WI_MSG_CREDIT) {
        m.pos.edge = edge;
        m.pos.epoch = EPOCH;
        m.pos.hint = 1;
    } else {
        m.edge.edge = edge;
        m.edge.epoch = EPOCH;
    }
    return m;
}

Test(edge_out, messages_of_edges_that_the_peer_has_not_change_nothing)
{
    struct weir_error err = {0};
    struct wi_out was;
    stranger.ctl = &stranger.own_ctl;
    wi_store_rlx(&stranger.reader_waited, 1); /* rlx: one thread */
    memcpy(&was, &stranger, sizeof(was));
    for (uint32_t edge = 0; edge <= UNITS; edge++) {
        union wi_msg m = about(WI_MSG_EDGE_CLOSED, edge);
        cr_expect_eq(wi_out_on_closed(&peer, &m, &err), WEIR_ERR_PEER_PROTOCOL);
        m = about(WI_MSG_EDGE_STOP, edge);
        cr_expect_eq(wi_out_on_stop(&peer, &m, &err), WEIR_OK);
        m = about(WI_MSG_CREDIT, edge);
        cr_expect_eq(wi_out_on_credit(&peer, &m, &err), WEIR_OK);
        cr_expect_eq(memcmp(&was, &stranger, sizeof(was)), 0, "edge %u", edge);
        cr_expect_eq(table[UNITS], &stranger);
    }
}
