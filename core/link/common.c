/* SPDX-License-Identifier: Apache-2.0 */
#include "core/link/common.h"

#include "core/link/engine.h"
#include "core/link/scan.h"
#include "core/link/worker.h"

/* ---- who is woken -------------------------------------------------------- */

static bool any_ready(struct wi_common *c)
{
    for (uint32_t i = 0; i < c->n_words; i++) {
        /* E17 sc: after a bit of `hungry` was set, or before one is looked at;
         * pairs with E17 sc in set_ready() */
        if (wi_load_sc(&c->ready[i]) != 0) {
            return true;
        }
    }
    return false;
}

/* Take a worker's bit off `hungry`. False: it is not there any more. */
static bool feed(struct wi_common *c, uint32_t worker)
{
    uint64_t bit = 1ull << worker;
    /* E17 sc: one of those who make rings ready gets the worker */
    return (wi_and_sc(&c->hungry, ~bit) & bit) != 0;
}

/* One of the hungry is woken; true if there was one. */
static bool wake_one(struct wi_common *c, uint64_t hungry)
{
    for (; hungry != 0; hungry &= hungry - 1) {
        uint32_t w = (uint32_t)__builtin_ctzll(hungry);
        if (feed(c, w)) {
            /* E17 sc: before it can ask; the bell orders `fed` of the worker,
             * rlx: a hint where to look */
            (void)wi_or_sc(&c->fed, 1ull << w);
            wi_store_rlx(&c->engine->workers[w].fed, 1); /* rlx: as above */
            wi_worker_notify(&c->engine->workers[w], WI_ATTN_EVENT);
            return true;
        }
    }
    return false;
}

/* Of these workers, those that sleep: others may be at something else. */
static uint64_t asleep(const struct wi_common *c, uint64_t workers)
{
    uint64_t sleep = 0;
    for (; workers != 0; workers &= workers - 1) {
        uint32_t w = (uint32_t)__builtin_ctzll(workers);
        sleep |= (uint64_t)wi_bell_asleep(c->engine->workers[w].bell) << w;
    }
    return sleep;
}

bool wi_common_share(struct wi_common *c, uint32_t self)
{
    /* E17 sc: after the ring was made ready; pairs with E17 sc in
     * wi_common_hunger() */
    uint64_t hungry = wi_load_sc(&c->hungry);
    if (hungry == 0 || !any_ready(c)) {
        return false;
    }
    if (self != WI_ANY_WORKER && (hungry >> self & 1) != 0 && feed(c, self)) {
        return true;
    }
    if (!wake_one(c, asleep(c, hungry))) {
        (void)wake_one(c, hungry);
    }
    return false;
}

/* The worker was woken for rows here, and has not asked since. */
static bool was_fed(struct wi_common *c, uint32_t worker)
{
    uint64_t bit = 1ull << worker;
    /* rlx: a look; the exchange orders (E17 sc) */
    return (wi_load_rlx(&c->fed) & bit) != 0 &&
           (wi_and_sc(&c->fed, ~bit) & bit) != 0;
}

void wi_common_asks(struct wi_common *c, uint32_t worker)
{
    (void)was_fed(c, worker);
}

void wi_common_pass_on(struct wi_common *c, uint32_t worker)
{
    if (was_fed(c, worker)) {
        (void)wi_common_share(c, WI_ANY_WORKER);
    }
}

bool wi_common_forget(struct wi_common *c, uint32_t worker)
{
    return feed(c, worker);
}

bool wi_common_hunger(struct wi_common *c, uint32_t worker)
{
    /* E17 sc: hungry, then a last look; pairs with E17 sc in set_ready() and
     * wi_common_ended(): ready, or ended, and then the look at `hungry` */
    (void)wi_or_sc(&c->hungry, 1ull << worker);
    if (any_ready(c) || wi_common_complete(c)) {
        (void)feed(c, worker); /* if another took it off, we come anyway */
        return false;
    }
    return true;
}

/* ---- turns --------------------------------------------------------------- */

static void set_ready(struct wi_common *c, uint32_t number)
{
    /* E17 sc: ready, then the look at `hungry` in wi_common_share() */
    (void)wi_or_sc(&c->ready[number / 64], 1ull << (number % 64));
}

void wi_common_mark(struct wi_common *c, struct wi_in *in)
{
    uint32_t is = wi_load_rlx(&in->turn); /* rlx: the exchange orders */
    for (;;) {
        uint32_t next =
            is == WI_TURN_TAKEN ? WI_TURN_AGAIN : (uint32_t)WI_TURN_READY;
        if (is == WI_TURN_READY || is == WI_TURN_AGAIN) {
            /* E17 acq-rel: whoever takes it next sees the tail that we saw */
            next = is;
        }
        if (wi_cas_ar(&in->turn, &is, next)) { /* E17: as above */
            break;
        }
    }
    if (is == WI_TURN_IDLE) {
        set_ready(c, in->number);
    }
}

/* The ring of a bit that this worker has taken off. */
static struct wi_stream *begin(struct wi_common *c, uint32_t number)
{
    struct wi_stream *st = c->streams[number];
    /* E17 acquire: what the last taker left; pairs with E17 release in
     * wi_common_leave(), through the bit as well */
    uint32_t ready = WI_TURN_READY;
    (void)wi_cas_ar(&st->in->turn, &ready, WI_TURN_TAKEN);
    return st;
}

/* The first bit of a word from `from` on, else the first of all. */
static uint64_t pick(uint64_t word, uint32_t from)
{
    uint64_t later = word >> from << from;
    word = later != 0 ? later : word;
    return word & -word;
}

struct wi_stream *wi_common_take(struct wi_common *c, uint32_t *turn)
{
    uint32_t first = *turn / 64;
    for (uint32_t i = 0; i <= c->n_words; i++) {
        uint32_t at = (first + i) % c->n_words;
        /* rlx: a look; the exchange below orders */
        uint64_t word = wi_load_rlx(&c->ready[at]);
        while (word != 0) {
            uint64_t bit = pick(word, i == 0 ? *turn % 64 : 0);
            /* E17 sc: the ring is ours if the bit was there */
            if ((wi_and_sc(&c->ready[at], ~bit) & bit) != 0) {
                uint32_t number = at * 64 + (uint32_t)__builtin_ctzll(bit);
                *turn = (number + 1) % (c->n_words * 64);
                return begin(c, number);
            }
            word &= ~bit;
        }
    }
    return NULL;
}

/* True: nobody has marked it meanwhile. `more`: do as if. */
static bool leave(struct wi_common *c, struct wi_stream *st, bool more)
{
    struct wi_in *in = st->in;
    uint32_t taken = WI_TURN_TAKEN;
    /* E17 release: the scan's fields; pairs with E17 acquire in begin() */
    if (!more && wi_cas_ar(&in->turn, &taken, WI_TURN_IDLE)) {
        return true;
    }
    wi_store_rel(&in->turn, WI_TURN_READY); /* E17: as above */
    set_ready(c, in->number);
    return false;
}

bool wi_common_leave(struct wi_common *c, struct wi_stream *st, bool fed)
{
    struct wi_in *in = st->in;
    /* The tail itself: what came while the ring was ready marked nothing, and
     * the scanner has not looked again. rlx: only the taker writes `scan`; what
     * comes after this look marks the ring again */
    bool more =
        fed && wi_load_rlx(&in->scan) != wi_load_rlx(&in->ctl->tail); /* rlx */
    uint32_t at = c->n_words + in->number / 64;
    uint64_t bit = 1ull << (in->number % 64);
    bool posted = !in->mapped && !wi_load_rlx(&st->ended); /* rlx: as above */
    bool owes = leave(c, st, more) && posted;
    /* rlx: a hint; who pays looks again */
    if (owes && (wi_load_rlx(&c->ready[at]) & bit) == 0) {
        (void)wi_or_sc(&c->ready[at], bit); /* E17: who pays takes it off */
    }
    return owes;
}

void wi_common_pay(struct wi_common *c)
{
    bool again = false;
    for (uint32_t i = 0; i < c->n_words; i++) {
        /* rlx: a look; the exchange orders */
        if (wi_load_rlx(&c->ready[c->n_words + i]) == 0) {
            continue;
        }
        /* E17 sc: as above */
        uint64_t drained = wi_xchg_sc(&c->ready[c->n_words + i], 0);
        for (; drained != 0; drained &= drained - 1) {
            uint32_t number = i * 64 + (uint32_t)__builtin_ctzll(drained);
            struct wi_stream *st = c->streams[number];
            uint32_t idle = WI_TURN_IDLE;
            /* E17 acquire: as in begin(). Else it has come to more. */
            if (wi_cas_ar(&st->in->turn, &idle, WI_TURN_TAKEN)) {
                wi_in_reader_waits(st->in);
                again = !leave(c, st, false) || again;
            }
        }
    }
    if (again) { /* marked meanwhile: whoever did woke nobody */
        (void)wi_common_share(c, WI_ANY_WORKER);
    }
}

void wi_common_look(struct wi_common *c)
{
    /* E9 acquire: streams[]; pairs with E9 release in wi_common_start() */
    uint32_t n = wi_load_acq(&c->n_streams);
    for (uint32_t i = 0; i < n; i++) {
        struct wi_stream *st = c->streams[i];
        struct wi_in *in = st->in;
        if (!in->mapped || wi_load_rlx(&st->ended)) { /* rlx: only a look */
            continue;
        }
        /* E17 sc: after the worker has said that it sleeps, if it has; pairs
         * with E17 sc in wi_lane_put(): the tail, and then the look at who
         * sleeps. rlx: whoever has the turn looks after this */
        if (wi_load_sc(&in->ctl->tail) != wi_load_rlx(&in->scan) &&
            wi_load_rlx(&in->turn) == WI_TURN_IDLE) { /* rlx: as above */
            wi_common_mark(c, in);
        }
    }
}

void wi_common_ended(struct wi_common *c)
{
    /* E17 sc: the end, then the look at `hungry`; pairs with E17 sc in
     * wi_common_hunger() */
    if (wi_add_sc(&c->n_ended, 1) + 1 != c->n_expected) {
        return;
    }
    uint64_t hungry = wi_xchg_sc(&c->hungry, 0); /* E17 sc: as above */
    for (; hungry != 0; hungry &= hungry - 1) {
        uint32_t w = (uint32_t)__builtin_ctzll(hungry);
        wi_worker_notify(&c->engine->workers[w], WI_ATTN_EVENT);
    }
}
