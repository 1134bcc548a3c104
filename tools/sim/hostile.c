/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/hostile.h"

#include <string.h>

#include "core/format/wire.h"
#include "transport/sim/harness.h"

enum { WAYS = 4, MOST_BYTES = 512 };

/* One that wi_msg knows, with anything in it. */
static uint32_t make_message(struct ws_random *r, uint8_t *bytes)
{
    const uint16_t type = (uint16_t)(1 + ws_pick(r, WI_MSG_TYPES - 1));
    const uint16_t len = wi_msg_bytes(type);
    for (uint32_t i = 4; i < len; i++) {
        bytes[i] = ws_pick(r, 2) == 0 ? 0 : (uint8_t)ws_pick(r, 256);
    }
    bytes[0] = (uint8_t)type;
    bytes[1] = 0;
    bytes[2] = (uint8_t)len;
    bytes[3] = (uint8_t)(len >> 8);
    return len;
}

static uint32_t make_noise(struct ws_random *r, uint8_t *bytes)
{
    const uint32_t len = 1 + ws_pick(r, MOST_BYTES);
    for (uint32_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)ws_pick(r, 256);
    }
    return len;
}

/* What waits to be done to what next goes from a node to another. */
static struct ws_tamper *tamper_of(struct ws_world *w, uint32_t from,
                                   uint32_t to)
{
    return &w->tamper[from][to];
}

void ws_hostile_strike(struct ws_world *w, const struct ws_fault *f)
{
    struct ws_random r = ws_random_of(f->value, f->at_ns);
    struct ws_tamper *t = tamper_of(w, f->node, f->peer);
    uint8_t bytes[sizeof(union wi_msg) + MOST_BYTES];
    uint32_t len = 0;
    if (f->kind == WS_FAULT_damage) {
        t->write = 1 + (uint32_t)f->value;
        w->node[f->node].damages = true;
        return;
    }
    w->node[f->node].hostile = true;
    switch (ws_pick(&r, WAYS)) {
    case 0:
        len = make_message(&r, bytes);
        break;
    case 1:
        len = make_noise(&r, bytes);
        break;
    case 2:
        t->repeat = true;
        return;
    default:
        t->message = 1 + (uint32_t)f->value;
        return;
    }
    (void)wi_simnet_inject(wi_sim_net(w->sim), f->node, f->peer, bytes, len);
}

void ws_hostile_landed(struct ws_world *w, uint32_t from, uint32_t to,
                       bool message, uint8_t *bytes, uint32_t len)
{
    struct ws_tamper *t = tamper_of(w, from, to);
    uint32_t *how = message ? &t->message : &t->write;
    if (message && t->repeat) {
        t->repeat = false;
        (void)wi_simnet_inject(wi_sim_net(w->sim), from, to, bytes, len);
    }
    if (*how != 0) {
        bytes[(*how - 1) / 8 % len] ^= (uint8_t)(1u << (*how - 1) % 8);
        *how = 0;
    }
}
