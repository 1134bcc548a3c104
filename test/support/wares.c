/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/wares.h"

#include <stdio.h>

#include "core/link/lock.h"
#include "core/region/regions.h"

enum { HONEST_GETS = 64, PATIENCE_S = 60, LEN = 100 };

static uint8_t byte_of(uint64_t id, uint64_t off)
{
    return (uint8_t)((off * 2654435761u + id * 97) >> 7);
}

/* ---- opening ------------------------------------------------------------- */

static void must(weir_err rc, const struct weir_error *err, const char *what)
{
    WT_MUST(rc == WEIR_OK, "%s: %s", what, err->message);
}

static weir_region *publish(struct wt_lab *lab, uint64_t id, int writable)
{
    const struct weir_region_params p = {.bytes = WT_WARES_BYTES,
                                         .writable = writable};
    const struct weir_name name = {7, id};
    struct weir_error err;
    weir_region *r = NULL;
    must(weir_region_open(lab->node[0], &p, &r, &err), &err, "region");
    uint8_t *base = weir_region_base(r);
    for (uint64_t i = 0; i < WT_WARES_BYTES; i++) {
        base[i] = byte_of(id, i);
    }
    must(weir_region_publish(r, &name, &err), &err, "publish");
    return r;
}

static weir_fetch *fetch_of(struct wt_lab *lab, uint32_t node,
                            const char *address, weir_peer **peer_out)
{
    struct weir_error err;
    weir_fetch *f = NULL;
    must(weir_fetch_open(lab->node[node], NULL, &f, &err), &err, "fetch");
    must(weir_peer_open(lab->node[node], address, peer_out, &err), &err,
         "peer");
    return f;
}

static void next_honest(struct wt_wares *w)
{
    uint64_t off = (w->honest_left * 1237ull) % 5000;
    const struct weir_get get = {.name = {7, 1 + w->honest_left % 2},
                                 .off = off,
                                 .bytes = WT_WARES_BYTES - 5000,
                                 .dst = w->honest_dst,
                                 .tag = off};
    uint32_t taken;
    WT_MUST(weir_fetch_get(w->honest, w->owner, &get, 1, &taken) == WEIR_OK,
            "no honest get");
}

static uint64_t held(weir_node *n)
{
    struct weir_node_stats s;
    weir_node_stats_get(n, &s);
    return s.memory_bytes;
}

void wt_wares_open(struct wt_lab *lab, struct wt_wares *w)
{
    struct weir_error err;
    memset(w, 0, sizeof(*w));
    for (uint32_t i = 0; i < 2; i++) {
        w->was[i] = held(lab->node[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        w->region[i] = publish(lab, i + 1, i == 1);
        must(weir_asks_open(lab->node[0], 8 + i, 0, &w->asks[i], &err), &err,
             "asks");
    }
    w->honest = fetch_of(lab, 1, weir_node_address(lab->node[0]), &w->owner);
    w->victim = fetch_of(lab, 0, lab->rogue.address, &w->rogue);
    w->honest_left = HONEST_GETS;
    next_honest(w);
    lab->wares = w;
}

/* ---- the victim ---------------------------------------------------------- */

static void get_at(struct wt_lab *lab, uint64_t off)
{
    struct wt_wares *w = lab->wares;
    const struct weir_get get = {
        .name = {7, 5}, .off = off, .bytes = LEN, .dst = w->victim_dst};
    uint32_t taken;
    WT_MUST(weir_fetch_get(w->victim, w->rogue, &get, 1, &taken) == WEIR_OK,
            "no get");
    w->begun++;
}

void wt_wares_get(struct wt_lab *lab)
{
    get_at(lab, 1000);
}

void wt_wares_far_get(struct wt_lab *lab)
{
    get_at(lab, 8000);
}

void wt_wares_put(struct wt_lab *lab)
{
    struct wt_wares *w = lab->wares;
    const struct weir_put put = {
        .name = {7, 6}, .off = 1000, .bytes = LEN, .src = w->victim_dst};
    uint32_t taken;
    WT_MUST(weir_fetch_put(w->victim, w->rogue, &put, 1, &taken) == WEIR_OK,
            "no put");
    w->begun++;
}

void wt_wares_ask(struct wt_lab *lab)
{
    struct wt_wares *w = lab->wares;
    const struct weir_name name = {5, 1};
    WT_MUST(weir_fetch_ask(w->victim, w->rogue, &name, "?", 1, 0) == WEIR_OK,
            "no ask");
    w->begun++;
}

static void take_victim(struct wt_lab *lab, const struct weir_got *got)
{
    struct wt_wares *w = lab->wares;
    w->ended++;
    WT_MUST(w->ended <= w->begun, "an operation ended twice");
    w->end = got->code;
    (void)snprintf(w->error, sizeof(w->error), "%s",
                   weir_fetch_error(w->victim));
    weir_fetch_release(w->victim, got);
    if (got->code != WEIR_OK) {
        WT_MUST(strstr(w->error, lab->rogue.name) != NULL ||
                    strstr(w->error, lab->rogue.address) != NULL,
                "it names nobody: %s", w->error);
        for (const char *c = w->error; *c != '\0'; c++) {
            WT_MUST((unsigned char)*c >= ' ' && *c != 127,
                    "control character in: %s", w->error);
        }
    }
}

/* ---- moving -------------------------------------------------------------- */

static void take_honest(struct wt_wares *w, const struct weir_got *got)
{
    uint64_t id = 1 + w->honest_left % 2;
    WT_MUST(got->code == WEIR_OK, "an honest get: %s",
            weir_fetch_error(w->honest));
    for (uint64_t i = 0; i < got->bytes; i += 97) {
        WT_MUST(w->honest_dst[i] == byte_of(id, got->tag + i),
                "an honest get brings other bytes");
    }
    w->honest_left--;
    if (w->honest_left != 0) {
        next_honest(w);
    }
}

bool wt_wares_move(struct wt_lab *lab)
{
    struct wt_wares *w = lab->wares;
    struct weir_got got;
    struct weir_ask ask;
    bool moved = false;
    while (weir_asks_next(w->asks[0], &ask) == WEIR_OK) {
        (void)weir_ask_answer(&ask, WEIR_OK, "yes", 3);
        moved = true;
    }
    while (weir_fetch_next(w->honest, &got) == WEIR_OK) {
        take_honest(w, &got);
        moved = true;
    }
    while (w->victim != NULL && weir_fetch_next(w->victim, &got) == WEIR_OK) {
        take_victim(lab, &got);
        moved = true;
    }
    return moved;
}

bool wt_wares_ended(struct wt_lab *lab)
{
    return lab->wares->ended == lab->wares->begun;
}

bool wt_wares_at_rest(struct wt_lab *lab)
{
    return wt_wares_ended(lab) && lab->wares->honest_left == 0;
}

/* ---- the end ------------------------------------------------------------- */

static void check_bytes(const struct wt_wares *w, const char *after)
{
    for (uint32_t i = 0; i < 2; i++) {
        const uint8_t *base = weir_region_base(w->region[i]);
        for (uint64_t k = 0; k < WT_WARES_BYTES; k++) {
            WT_MUST(base[k] == byte_of(i + 1, k), "%s: byte %llu has changed",
                    after, (unsigned long long)k);
        }
    }
}

static bool is_given_back(struct wt_lab *lab)
{
    bool all = true;
    for (uint32_t i = 0; i < WT_LAB_NODES; i++) {
        struct wi_regions *rs = lab->node[i]->engine.regions;
        wi_node_lock(lab->node[i]);
        all = all && wi_list_empty(&rs->regions) &&
              wi_list_empty(&rs->fetches) && wi_list_empty(&rs->waiting) &&
              wi_list_empty(&rs->asks);
        wi_node_unlock(lab->node[i]);
    }
    return all;
}

void wt_wares_close(struct wt_lab *lab, const char *after)
{
    struct wt_wares *w = lab->wares;
    WT_MUST(wt_lab_until(lab, wt_wares_at_rest, PATIENCE_S),
            "%s: %u of %u operations have ended, %u honest gets are left",
            after, w->ended, w->begun, w->honest_left);
    check_bytes(w, after);
    lab->wares = NULL;
    for (uint32_t i = 0; i < 2; i++) {
        weir_asks_close(w->asks[i]);
        weir_region_close(w->region[i]);
    }
    weir_fetch_close(w->honest);
    weir_fetch_close(w->victim);
    weir_peer_close(w->owner);
    weir_peer_close(w->rogue);
    WT_MUST(wt_lab_until(lab, is_given_back, PATIENCE_S),
            "%s: regions or fetches are left", after);
}
