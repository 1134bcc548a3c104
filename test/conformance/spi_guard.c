/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance cases of guards (WI_CAP_GUARD): see spi.h. What the guard of
 * memory says changes with the messages that its owner has handled. */
#include "test/conformance/spi.h"

enum { LARGE = 16 << 20, SMALL = 4096 };

struct gate {
    bool open;
    bool after; /* what it is once the message was handled */
    bool handled;
    uint64_t asked;
};

static bool may_write(void *arg, uint64_t off, uint64_t bytes)
{
    struct gate *g = arg;
    cr_assert(off + bytes <= LARGE);
    g->asked++;
    return g->open;
}

static void turn(struct wt_end *end, const uint8_t *bytes, uint32_t len)
{
    struct gate *g = end->arg;
    (void)bytes;
    (void)len;
    g->handled = true;
    g->open = g->after;
}

/* A message, then a write, in one kick; the message turns the gate. */
struct visit {
    struct wt_spi spi;
    struct wt_end *from;
    struct wt_end *to;
    struct wi_mem local;
    struct wi_mem remote;
    struct gate gate;
};

static void begin(struct visit *v, const struct wt_spi_fixture *fixture,
                  uint32_t bytes)
{
    wt_spi_open(&v->spi, fixture, 2);
    wt_spi_connect(&v->spi, 0, 1, &v->from, &v->to);
    v->local = wt_mem_open(&v->spi, 0, LARGE);
    v->remote = wt_mem_open(&v->spi, 1, LARGE);
    v->remote.guard =
        (struct wi_guard){.may_write = may_write, .arg = &v->gate};
    v->to->on_message = turn;
    v->to->arg = &v->gate;
    struct wi_rma op = {.local = v->local.base,
                        .bytes = bytes,
                        .key = wt_end_grant(v->to, &v->remote)};
    wt_fill(v->local.base, bytes, 7);
    cr_assert(wt_end_send(v->from, "turn", 4));
    cr_assert(wt_end_write(v->from, &op));
    cr_assert(wt_end_kick(v->from));
}

static void end(struct visit *v)
{
    const struct wi_transport_ops *ops = wt_spi_ep_ops(v->spi.fixture);
    wt_end_drop(v->from);
    wt_end_drop(v->to);
    ops->mem_close(v->spi.t[0], &v->local);
    ops->mem_close(v->spi.t[1], &v->remote);
    wt_spi_close(&v->spi);
}

void wt_spi_guard_keeps_a_write_out(const struct wt_spi_fixture *fixture)
{
    struct visit v = {.gate = {.open = false, .after = false}};
    begin(&v, fixture, SMALL);
    WT_UNTIL(&v.spi, v.to->closed);
    cr_assert_neq(v.gate.asked, 0);
    cr_assert_eq(v.to->reason[0] != '\0', true);
    for (uint32_t i = 0; i < SMALL; i++) {
        cr_assert_eq(((const uint8_t *)v.remote.base)[i], 0, "byte %u", i);
    }
    end(&v);
}

/* The message that opens the gate may come in the same poll. */
void wt_spi_guard_waits_for_messages_before_a_write(
    const struct wt_spi_fixture *fixture)
{
    struct visit v = {.gate = {.open = false, .after = true}};
    begin(&v, fixture, SMALL);
    cr_assert(wt_end_send(v.from, "written", 7) && wt_end_kick(v.from));
    WT_UNTIL(&v.spi, v.to->closed || v.to->messages == 2);
    cr_assert_not(v.to->closed, "%s", v.to->reason);
    cr_assert(wt_is_filled(v.remote.base, SMALL, 7));
    WT_UNTIL(&v.spi, wt_end_completed(v.from) == 1);
    end(&v);
}

/* It closes when the message is handled, and the write is still coming. */
void wt_spi_guard_keeps_the_rest_of_a_write_out(
    const struct wt_spi_fixture *fixture)
{
    struct visit v = {.gate = {.open = true, .after = false}};
    begin(&v, fixture, LARGE);
    WT_UNTIL(&v.spi, v.to->closed);
    cr_assert(v.gate.handled);
    cr_assert_not(wt_is_filled(v.remote.base, LARGE, 7));
    end(&v);
}
