/* SPDX-License-Identifier: Apache-2.0 */
/* Gets from one thread, posted and taken as a program would. What is timed does
 * nothing else but to add up two words of each. */
#define _GNU_SOURCE 1
#include "bench/lib/get_read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/base/err.h"
#include "launch/clock.h"

#define SAMPLES 20000u
#define CLOCKED 16u /* gets between two looks at the clock */
#define MOST_CHECKED (UINT64_C(64) << 20)

const struct weir_name wb_get_name = {.space = 1, .id = 1};

/* Where get k begins: anywhere, at a multiple of 8. */
static uint64_t off_of(const struct wb_gets *g, uint64_t k)
{
    uint64_t places = (g->params->span - g->bytes) / 8 + 1;
    uint64_t random = (k * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    return ((random * places) >> 32) * 8;
}

static uint64_t word_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static weir_err failed(const struct wb_gets *g, weir_err rc,
                       struct weir_error *err)
{
    return wi_fail(err, rc, "%s", weir_fetch_error(g->fetch));
}

/* ---- posting and taking -------------------------------------------------- */

/* At most as many as there are places. */
static void post(struct wb_gets *g, uint32_t n)
{
    struct weir_get gets[WB_GET_IN_FLIGHT];
    uint32_t taken = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = g->free[g->n_free - 1 - i];
        uint8_t *to = g->to + place * g->bytes;
        gets[i] = (struct weir_get){
            .name = wb_get_name,
            .off = off_of(g, g->taken + i),
            .bytes = g->bytes,
            .dst = g->way == WB_GET_COPIED ? to : NULL,
            .tag = place,
        };
    }
    (void)weir_fetch_get(g->fetch, g->peer, gets, n, &taken);
    g->taken += taken;
    g->n_free -= taken;
}

/* The next that has ended. */
static weir_err take(struct wb_gets *g, struct weir_got *got,
                     struct weir_error *err)
{
    weir_err rc;
    while ((rc = weir_fetch_next(g->fetch, got)) == WEIR_AGAIN) {
        (void)weir_worker_wait(g->node, 0, WEIR_FOREVER);
    }
    if (rc != WEIR_OK || got->code != WEIR_OK) {
        return failed(g, rc != WEIR_OK ? rc : got->code, err);
    }
    g->done++;
    return WEIR_OK;
}

static weir_err take_timed(struct wb_gets *g, struct weir_error *err)
{
    struct weir_got got;
    weir_err rc = take(g, &got, err);
    if (rc == WEIR_OK) {
        const uint8_t *at = got.ptr;
        g->sum += word_at(at) + word_at(at + g->bytes - 8);
        g->free[g->n_free++] = (uint32_t)got.tag;
        weir_fetch_release(g->fetch, &got);
    }
    return rc;
}

static weir_err one(struct wb_gets *g, struct weir_error *err)
{
    post(g, 1);
    return take_timed(g, err);
}

/* Are the words right that were added up since the last time? */
static weir_err check_sum(struct wb_gets *g, struct weir_error *err)
{
    uint64_t must = 0;
    for (uint64_t k = 0; k < g->done; k++) {
        uint64_t off = off_of(g, k);
        must += wb_get_word(off / 8) + wb_get_word((off + g->bytes) / 8 - 1);
    }
    if (must != g->sum) {
        return wi_fail(err, WEIR_ERR_INTEGRITY,
                       "%" PRIu64 " gets of %" PRIu64 " bytes: the words add "
                       "up to %" PRIx64 ", must be %" PRIx64,
                       g->done, g->bytes, g->sum, must);
    }
    return WEIR_OK;
}

static void begin(struct wb_gets *g)
{
    g->taken = 0;
    g->done = 0;
    g->sum = 0;
    g->n_free = g->params->in_flight;
    for (uint32_t i = 0; i < g->n_free; i++) {
        g->free[i] = i;
    }
}

static uint64_t end_ns(const struct wb_gets *g)
{
    return wl_now_ns() + g->params->ms * UINT64_C(1000000);
}

/* ---- what is timed ------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Each get by itself. */
static weir_err sample(struct wb_gets *g, struct wb_get_figures *out,
                       struct weir_error *err)
{
    uint32_t *ns = malloc(SAMPLES * sizeof(*ns));
    uint64_t then = wl_now_ns();
    uint64_t until = end_ns(g);
    weir_err rc = WEIR_OK;
    uint32_t n = 0;
    if (ns == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for samples");
    }
    begin(g);
    while (rc == WEIR_OK && n < SAMPLES && then < until) {
        rc = one(g, err);
        uint64_t now = wl_now_ns();
        ns[n++] = (uint32_t)wi_min_u64(now - then, UINT32_MAX);
        then = now;
    }
    if (rc == WEIR_OK) {
        qsort(ns, n, sizeof(*ns), by_value);
        out->median_ns = ns[n / 2];
        out->p99_ns = ns[n - 1 - n / 100];
        rc = check_sum(g, err);
    }
    free(ns);
    return rc;
}

weir_err wb_gets_single(struct wb_gets *g, struct wb_get_figures *out,
                        struct weir_error *err)
{
    weir_err rc = sample(g, out, err);
    uint64_t begin_ns = wl_now_ns();
    uint64_t until = end_ns(g);
    uint64_t now = begin_ns;
    begin(g);
    while (rc == WEIR_OK && now < until) {
        for (uint32_t i = 0; rc == WEIR_OK && i < CLOCKED; i++) {
            rc = one(g, err);
        }
        now = wl_now_ns();
    }
    if (rc == WEIR_OK) {
        out->mean_ns = (double)(now - begin_ns) / (double)g->done;
        rc = check_sum(g, err);
    }
    return rc;
}

weir_err wb_gets_many(struct wb_gets *g, struct wb_get_figures *out,
                      struct weir_error *err)
{
    uint32_t most = g->params->in_flight;
    uint64_t begin_ns = wl_now_ns();
    uint64_t until = end_ns(g);
    uint64_t now = begin_ns;
    weir_err rc = WEIR_OK;
    begin(g);
    while (rc == WEIR_OK && (now < until || g->done < g->taken)) {
        if (now < until) {
            post(g, g->n_free);
        }
        uint64_t half = wi_min_u64(g->taken, g->done + (most + 1) / 2);
        while (rc == WEIR_OK && g->done < half) {
            rc = take_timed(g, err);
        }
        now = wl_now_ns();
    }
    if (rc == WEIR_OK) {
        out->mb_per_s =
            (double)g->done * (double)g->bytes * 1e3 / (double)(now - begin_ns);
        rc = check_sum(g, err);
    }
    return rc;
}

/* ---- what is not --------------------------------------------------------- */

static weir_err compare(const struct weir_got *got, struct weir_error *err)
{
    const uint8_t *at = got->ptr;
    for (uint64_t i = 0; i < got->bytes / 8; i++) {
        uint64_t k = got->tag / 8 + i;
        if (word_at(at + i * 8) != wb_get_word(k)) {
            return wi_fail(err, WEIR_ERR_INTEGRITY,
                           "word %" PRIu64 " is %" PRIx64 ", must be %" PRIx64,
                           k, word_at(at + i * 8), wb_get_word(k));
        }
    }
    return WEIR_OK;
}

weir_err wb_gets_check(struct wb_gets *g, struct weir_error *err)
{
    uint64_t step = wi_max_u64(g->bytes, 4096); /* of small ones, some */
    uint64_t most = wi_min_u64(g->params->span, MOST_CHECKED);
    weir_err rc = WEIR_OK;
    begin(g);
    for (uint64_t off = 0; rc == WEIR_OK && off + g->bytes <= most;
         off += step) {
        struct weir_got got;
        const struct weir_get get = {
            .name = wb_get_name,
            .off = off,
            .bytes = g->bytes,
            .dst = g->way == WB_GET_COPIED ? g->to : NULL,
            .tag = off,
        };
        uint32_t taken;
        rc = weir_fetch_get(g->fetch, g->peer, &get, 1, &taken);
        rc = rc == WEIR_OK ? take(g, &got, err) : failed(g, rc, err);
        if (rc == WEIR_OK) {
            rc = compare(&got, err);
            weir_fetch_release(g->fetch, &got);
        }
    }
    return rc;
}
