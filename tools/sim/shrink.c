/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/shrink.h"

#include "core/base/cc.h"

/* Returns true, and takes the smaller one over, if it fails, too. */
static bool try_this(struct ws_shrinking *s, struct ws_options *o,
                     const struct ws_options *smaller)
{
    if (s->trials >= s->most) {
        return false;
    }
    s->trials++;
    if (!s->fails(s->arg, smaller)) {
        return false;
    }
    *o = *smaller;
    return true;
}

/* Without the faults first .. first + n - 1. */
static bool try_without(struct ws_shrinking *s, struct ws_options *o,
                        uint32_t first, uint32_t n)
{
    struct ws_options less = *o;
    struct ws_schedule *to = &less.schedule;
    to->n = 0;
    for (uint32_t i = 0; i < o->schedule.n; i++) {
        if (i < first || i >= first + n) {
            to->fault[to->n++] = o->schedule.fault[i];
        }
    }
    return try_this(s, o, &less);
}

/* Leave out parts of this length wherever that is possible. */
static bool leave_out(struct ws_shrinking *s, struct ws_options *o, uint32_t n)
{
    bool any = false;
    for (uint32_t at = 0; at < o->schedule.n;) {
        if (try_without(s, o, at, n)) {
            any = true;
        } else {
            at += n;
        }
    }
    return any;
}

static void shrink_schedule(struct ws_shrinking *s, struct ws_options *o)
{
    for (uint32_t n = o->schedule.n; n > 0; n /= 2) {
        while (leave_out(s, o, n)) {
        }
    }
}

static bool names_node(const struct ws_schedule *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->fault[i].node >= node || s->fault[i].peer >= node) {
            return true;
        }
    }
    return false;
}

/* From few nodes up: the first number that fails is the least. */
static void shrink_nodes(struct ws_shrinking *s, struct ws_options *o,
                         uint32_t nodes)
{
    for (uint32_t n = 2; n < nodes; n++) {
        struct ws_options fewer = *o;
        fewer.nodes = n;
        if (!names_node(&o->schedule, n) && try_this(s, o, &fewer)) {
            return;
        }
    }
}

static void shrink_rows(struct ws_shrinking *s, struct ws_options *o)
{
    struct ws_options fewer = *o;
    fewer.rows = o->rows != 0 ? o->rows : WS_MOST_ROWS;
    while (fewer.rows > 1) {
        fewer.rows /= 2;
        if (!try_this(s, o, &fewer)) {
            break;
        }
    }
}

void ws_shrink(struct ws_shrinking *s, struct ws_options *o)
{
    struct ws_shape shape;
    shrink_schedule(s, o);
    ws_shape_draw(&shape, o);
    shrink_nodes(s, o, shape.nodes);
    shrink_rows(s, o);
    shrink_schedule(s, o);
}
