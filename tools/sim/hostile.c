/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/hostile.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/format/frame.h"
#include "core/format/wire.h"
#include "core/link/engine.h"
#include "core/link/lock.h"
#include "tools/sim/forge.h"
#include "transport/sim/harness.h"

enum { MOST_BYTES = 512 };

/* The last message of each type that a node has said to another. */
struct ws_heard {
    uint32_t len[WI_MSG_TYPES]; /* 0: none */
    union wi_msg said[WI_MSG_TYPES];
};

void ws_hostile_open(struct ws_world *w)
{
    if (ws_shape_has(&w->shape, WS_FAULT_hostile)) {
        w->heard = calloc((size_t)WS_NODES * WS_NODES, sizeof(*w->heard));
    }
}

void ws_hostile_close(struct ws_world *w)
{
    free(w->heard);
    w->heard = NULL;
}

bool ws_hostile_alone(const struct ws_world *w)
{
    const struct ws_schedule *s = &w->shape.schedule;
    bool any = false;
    for (uint32_t i = 0; i < s->n; i++) {
        const enum ws_fault_kind kind = s->fault[i].kind;
        const bool hostile = kind == WS_FAULT_hostile;
        /* Who has left may be refused a link for a get. */
        if (kind == WS_FAULT_leave ||
            (!hostile && ws_fault_group(kind) != WS_BEARABLE)) {
            return false;
        }
        any = any || hostile;
    }
    return any;
}

/* ---- what a node may send ------------------------------------------------ */

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

static const struct wi_engine *engine_of(struct ws_world *w, uint32_t node)
{
    weir_node *n = weir_sim_node(w->sim, node);
    return n != NULL ? &n->engine : NULL;
}

/* What anybody has said to somebody, in a type that is drawn: as likely a rare
 * one as a common one. What it has said to this one itself comes first. */
static const struct ws_heard *find_said(const struct ws_world *w,
                                        const struct ws_fault *f, uint32_t type)
{
    const struct ws_heard *h = &w->heard[f->node * WS_NODES + f->peer];
    for (uint32_t i = 0; i < WS_NODES * WS_NODES && h->len[type] == 0; i++) {
        h = &w->heard[i];
    }
    return h->len[type] != 0 ? h : NULL;
}

/* As nobody has said it yet. */
static uint32_t make_blank(struct ws_random *r, const struct wi_engine *e,
                           uint32_t type, uint8_t *bytes)
{
    const uint16_t len = wi_msg_bytes((uint16_t)type);
    memset(bytes, 0, len);
    bytes[0] = (uint8_t)type;
    bytes[2] = (uint8_t)len;
    bytes[3] = (uint8_t)(len >> 8);
    for (uint32_t i = 0; i < 3; i++) {
        ws_forge_message(r, e, bytes, len);
    }
    return len;
}

/* Something that was said before, but for a field. */
static uint32_t make_forged(struct ws_world *w, const struct ws_fault *f,
                            struct ws_random *r, uint8_t *bytes)
{
    const struct wi_engine *e = engine_of(w, f->peer);
    const uint32_t type = 1 + ws_pick(r, WI_MSG_TYPES - 1);
    if (w->heard == NULL || e == NULL) {
        return make_message(r, bytes);
    }
    const struct ws_heard *h = find_said(w, f, type);
    if (h == NULL) {
        return make_blank(r, e, type, bytes);
    }
    memcpy(bytes, &h->said[type], h->len[type]);
    ws_forge_message(r, e, bytes, h->len[type]);
    return h->len[type];
}

/* That a query has failed, perhaps one that is none of its business. */
static uint32_t make_fail(struct ws_random *r, uint32_t node, uint8_t *bytes)
{
    static const weir_err codes[] = {WEIR_ERR_CANCELLED, WEIR_ERR_PEER_LOST,
                                     WEIR_ERR_QUERY_DATA, WEIR_ERR_ARG};
    char text[WI_TEXT_BYTES];
    union wi_msg m;
    wi_msg_init(&m, WI_MSG_FAIL);
    (void)snprintf(text, sizeof(text), "n%u: says the hostile one", node);
    m.fail.code = codes[ws_pick(r, 4)];
    m.fail.query = 1 + ws_pick(r, WS_QUERIES);
    wi_text_put(m.fail.text, WI_TEXT_BYTES, text);
    memcpy(bytes, &m, m.head.len);
    return m.head.len;
}

/* ---- strikes ------------------------------------------------------------- */

/* FAIL may say anything about a query, and is believed. */
static void note_fail(struct ws_world *w, const uint8_t *bytes, uint32_t len)
{
    uint32_t at = 0;
    uint32_t n = 0;
    while ((n = ws_forge_next(bytes, len, at)) != 0) {
        w->false_fail = w->false_fail || bytes[at] == WI_MSG_FAIL;
        at += n;
    }
}

static void send(struct ws_world *w, const struct ws_fault *f,
                 const uint8_t *bytes, uint32_t len)
{
    note_fail(w, bytes, len);
    (void)wi_simnet_inject(wi_sim_net(w->sim), f->node, f->peer, bytes, len);
}

void ws_hostile_strike(struct ws_world *w, const struct ws_fault *f)
{
    struct ws_random r = ws_random_of(f->value, f->at_ns);
    struct ws_tamper *t = &w->tamper[f->node][f->peer];
    uint8_t bytes[sizeof(union wi_msg) + MOST_BYTES];
    if (f->kind == WS_FAULT_damage) {
        t->write = 1 + (uint32_t)f->value;
        w->node[f->node].damages = true;
        return;
    }
    w->node[f->node].hostile = true;
    switch (ws_pick(&r, 14)) {
    case 0:
        send(w, f, bytes, make_message(&r, bytes));
        break;
    case 1:
        send(w, f, bytes, make_noise(&r, bytes));
        break;
    case 2:
        t->repeat = true;
        break;
    case 3:
        t->message = 1 + (uint32_t)f->value;
        break;
    case 4:
        t->frame = 1 + (uint32_t)f->value;
        break;
    case 5:
    case 6:
        t->field = 1 + (uint32_t)f->value;
        break;
    case 7:
        send(w, f, bytes, make_fail(&r, f->node, bytes));
        break;
    default:
        send(w, f, bytes, make_forged(w, f, &r, bytes));
        break;
    }
}

/* ---- what lands ---------------------------------------------------------- */

static void remember(struct ws_heard *h, const uint8_t *bytes, uint32_t len)
{
    uint32_t at = 0;
    uint32_t n = 0;
    while ((n = ws_forge_next(bytes, len, at)) != 0) {
        h->len[bytes[at]] = n;
        memcpy(&h->said[bytes[at]], bytes + at, n);
        at += n;
    }
}

/* The first message of a type that is drawn, so that the rare ones have their
 * turn, too: false if the packet has none. Or the first of all. */
static bool forge_one(struct ws_world *w, uint32_t to, uint32_t how,
                      uint8_t *bytes, uint32_t len)
{
    struct ws_random r = ws_random_of(how, 0);
    const struct wi_engine *e = engine_of(w, to);
    const uint32_t type = 1 + ws_pick(&r, WI_MSG_TYPES - 1);
    const bool any = ws_pick(&r, 3) == 0;
    uint32_t at = 0;
    uint32_t n = ws_forge_next(bytes, len, at);
    while (n != 0 && !any && bytes[at] != type) {
        at += n;
        n = ws_forge_next(bytes, len, at);
    }
    if (n != 0 && e != NULL) {
        ws_forge_message(&r, e, bytes + at, n);
    }
    return n != 0;
}

static void tamper_message(struct ws_world *w, uint32_t from, uint32_t to,
                           uint8_t *bytes, uint32_t len)
{
    struct ws_tamper *t = &w->tamper[from][to];
    if (t->repeat) {
        t->repeat = false;
        note_fail(w, bytes, len);
        (void)wi_simnet_inject(wi_sim_net(w->sim), from, to, bytes, len);
    }
    if (t->message != 0) {
        bytes[(t->message - 1) / 8 % len] ^=
            (uint8_t)(1u << (t->message - 1) % 8);
        t->message = 0;
        note_fail(w, bytes, len);
    }
    if (t->field != 0 && forge_one(w, to, t->field, bytes, len)) {
        t->field = 0;
        note_fail(w, bytes, len);
    }
}

/* A link of one that has lied about what it can has none, nor have forged
 * frames: nothing tells of their damage. */
static bool has_checksum(const uint8_t *frame, uint32_t len)
{
    uint64_t sum = 0;
    if (len >= sizeof(struct wi_frame_header)) {
        memcpy(&sum, frame + offsetof(struct wi_frame_header, checksum),
               sizeof(sum));
    }
    return sum != 0;
}

static bool has_liar(const struct ws_world *w, uint32_t a, uint32_t b)
{
    return w->node[a].hostile || w->node[b].hostile;
}

static void tamper_write(struct ws_world *w, uint32_t from, uint32_t to,
                         uint8_t *bytes, uint32_t len)
{
    struct ws_tamper *t = &w->tamper[from][to];
    const struct wi_engine *e = engine_of(w, to);
    if (t->frame != 0 && e != NULL) {
        struct ws_random r = ws_random_of(t->frame, len);
        ws_forge_frame(&r, e, bytes, len);
        t->frame = 0;
    } else if (t->write != 0 &&
               (!has_liar(w, from, to) || has_checksum(bytes, len))) {
        bytes[(t->write - 1) / 8 % len] ^= (uint8_t)(1u << (t->write - 1) % 8);
        t->write = 0;
    }
}

void ws_hostile_landed(struct ws_world *w, uint32_t from, uint32_t to,
                       bool message, uint8_t *bytes, uint32_t len)
{
    if (!message) {
        tamper_write(w, from, to, bytes, len);
        return;
    }
    if (w->heard != NULL) {
        remember(&w->heard[from * WS_NODES + to], bytes, len);
    }
    tamper_message(w, from, to, bytes, len);
}
