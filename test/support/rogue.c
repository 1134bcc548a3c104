/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/rogue.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void wt_must_fail(const char *file, int line, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)fprintf(stderr, "%s:%d: ", file, line);
    (void)vfprintf(stderr, fmt, args);
    (void)fputc('\n', stderr);
    va_end(args);
    abort();
}

/* ---- connections --------------------------------------------------------- */

static struct wt_rogue_link *new_link(struct wt_rogue *r)
{
    uint32_t i = 0;
    while (i < WT_ROGUE_LINKS && r->link[i].used) {
        i++;
    }
    WT_MUST(i < WT_ROGUE_LINKS, "too many connections");
    struct wt_rogue_link *l = &r->link[i];
    memset(l, 0, sizeof(*l));
    l->rogue = r;
    l->used = true;
    l->fd = -1;
    l->peer = UINT32_MAX;
    return l;
}

struct wt_rogue_link *wt_rogue_dial(struct wt_rogue *r, uint32_t peer,
                                    const char *address)
{
    struct wt_rogue_link *l = new_link(r);
    l->peer = peer;
    r->carrier->connect(l, address);
    return l;
}

struct wt_rogue_link *wt_rogue_accept(struct wt_rogue *r)
{
    return r->welcomes ? new_link(r) : NULL;
}

void wt_rogue_hang_up(struct wt_rogue_link *l)
{
    if (l->used) {
        l->rogue->carrier->close(l);
        free(l->in);
        l->in = NULL;
        l->used = false;
        l->up = false;
    }
}

/* ---- messages ------------------------------------------------------------ */

struct wt_msg wt_rogue_hello(const struct wt_rogue_link *l,
                             enum wt_msg_type type)
{
    const struct wt_rogue *r = l->rogue;
    struct wt_msg m = wt_msg(type);
    wt_set(&m, 4, 4, 0x31524557);
    wt_set(&m, 8, 4, 1);
    wt_set(&m, 12, 4, 1);
    wt_set(&m, 16, 4, r->without_regions ? 3 : 7);
    wt_set(&m, 20, 4, r->self);
    wt_set(&m, 24, 4, l->peer);
    wt_set(&m, 28, 4, r->n_members);
    wt_set(&m, 32, 8, r->incarnation);
    wt_set(&m, 40, 4, r->workers);
    wt_set(&m, 44, 4, r->frame_bytes);
    wt_set(&m, 48, 8, WT_ROGUE_AREA);
    wt_set(&m, 56, 4, r->unit_bytes);
    wt_set(&m, 60, 4, WT_ROGUE_AREA / (r->unit_bytes + 128));
    wt_set(&m, 64, 8, type == WT_HELLO ? 0 : l->key);
    wt_set_text(&m, 104, 64, r->name);
    return m;
}

void wt_rogue_send(struct wt_rogue_link *l, const struct wt_msg *m)
{
    if (l->used && l->up && !l->closed && m->len != 0) {
        l->rogue->carrier->send(l, m->at, m->len);
    }
}

void wt_rogue_write(struct wt_rogue_link *l, uint64_t off, const void *bytes,
                    uint32_t len)
{
    if (l->used && l->up && !l->closed) {
        l->rogue->carrier->write(l, l->peer_key, off, bytes, len);
    }
}

uint64_t wt_rogue_ring(const struct wt_rogue_link *l, uint32_t unit)
{
    return 128ull * l->peer_units + (uint64_t)unit * l->rogue->unit_bytes;
}

struct wt_msg wt_rogue_edge_msg(enum wt_msg_type type, uint32_t edge,
                                uint32_t epoch, uint32_t arg)
{
    struct wt_msg m = wt_msg(type);
    wt_set(&m, 4, 4, edge);
    wt_set(&m, 8, 4, epoch);
    wt_set(&m, 12, 4, arg);
    return m;
}

struct wt_msg wt_rogue_pos(enum wt_msg_type type, uint32_t edge, uint32_t epoch,
                           uint64_t pos)
{
    struct wt_msg m = wt_rogue_edge_msg(type, edge, epoch, 0);
    wt_set(&m, 16, 8, pos);
    return m;
}

/* ---- what came ----------------------------------------------------------- */

static void take_peer(struct wt_rogue_link *l, const uint8_t *at)
{
    l->peer = (uint32_t)wt_get(at + 20, 4);
    l->peer_bytes = wt_get(at + 48, 8);
    l->peer_units = (uint32_t)wt_get(at + 60, 4);
    l->peer_key = wt_get(at + 64, 8);
}

static void take_edge(struct wt_rogue_link *l, const uint8_t *at)
{
    if (l->n_edges < WT_ROGUE_EDGES) {
        l->edge[l->n_edges++] =
            (struct wt_rogue_edge){.edge = (uint32_t)wt_get(at + 4, 4),
                                   .epoch = (uint32_t)wt_get(at + 8, 4),
                                   .shuffle = (uint32_t)wt_get(at + 12, 4),
                                   .query = wt_get(at + 16, 8),
                                   .ring_bytes = (uint32_t)wt_get(at + 40, 4)};
    }
}

static struct wt_rogue_edge *find_edge(struct wt_rogue_link *l,
                                       const uint8_t *at)
{
    for (uint32_t i = 0; i < l->n_edges; i++) {
        struct wt_rogue_edge *e = &l->edge[i];
        if (e->edge == wt_get(at + 4, 4) && e->epoch == wt_get(at + 8, 4)) {
            return e;
        }
    }
    return NULL;
}

static void answer(struct wt_rogue_link *l, const uint8_t *at, uint32_t type)
{
    struct wt_msg m;
    if (type == WT_HELLO) {
        m = wt_rogue_hello(l, WT_ACCEPT);
        wt_rogue_send(l, &m);
    } else if (type == WT_ACCEPT) {
        m = wt_rogue_hello(l, WT_READY);
        wt_rogue_send(l, &m);
    } else if (type == WT_PING && wt_get(at + 4, 4) == 1) {
        m = wt_msg(WT_PING);
        wt_rogue_send(l, &m);
    }
}

static void take_one(struct wt_rogue_link *l, const uint8_t *at, uint32_t len)
{
    uint32_t type = (uint32_t)wt_get(at, 2) % WT_MSG_TYPES;
    struct wt_rogue_edge *e = NULL;
    l->seen[type]++;
    l->last[type].len = len;
    memcpy(l->last[type].at, at, len);
    if (type == WT_HELLO || type == WT_ACCEPT || type == WT_READY) {
        take_peer(l, at);
        l->open = l->open || type != WT_HELLO;
    } else if (type == WT_EDGE_OPEN) {
        take_edge(l, at);
    } else if (type == WT_NOTIFY && (e = find_edge(l, at)) != NULL) {
        e->pos = wt_get(at + 16, 8);
    } else if (type == WT_EDGE_ABANDON && (e = find_edge(l, at)) != NULL) {
        e->gone = true;
    }
    if (!l->mute) {
        answer(l, at, type);
    }
}

void wt_rogue_take(struct wt_rogue_link *l, const uint8_t *bytes, uint32_t len)
{
    uint32_t at = 0;
    while (at + 4 <= len) {
        uint32_t n = (uint32_t)wt_get(bytes + at + 2, 2);
        WT_MUST(n >= 4 && n <= len - at, "a node sends %u bytes of %u", n,
                len - at);
        take_one(l, bytes + at, n);
        at += n;
    }
    WT_MUST(at == len, "a node sends %u bytes too many", len - at);
}
