/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/wares.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    USE_WARES = 900,
    REGION_SPACE = 7, /* read and written */
    AGAIN_SPACE = 8,  /* read, and published again and again */
    ASK_SPACE = 9,
    BYTES = 6000,
    OPS = 4, /* under way at a time */
    MOST_OPS = 24,
    TIMEOUT_NS = 1500000000,
};

enum op_kind { GET, PUT, ASK, GET_AGAIN, KINDS };

struct op {
    bool used;
    enum op_kind kind;
    uint32_t since; /* GET_AGAIN: the version that was published at its begin */
    uint32_t to;
    uint32_t off;
    uint32_t bytes;
    uint8_t memory[BYTES]; /* got, or put */
};

struct ws_ware {
    struct ws_world *world;
    uint32_t node;
    bool open;
    weir_fetch *fetch;
    weir_peer *peer[WS_NODES];
    weir_asks *asks;
    weir_region *region;
    weir_region *again;
    uint32_t version; /* of it */
    uint32_t left;    /* operations that are still to begin */
    uint32_t under_way;
    struct op op[OPS];
    uint8_t memory[BYTES]; /* of the region */
    struct ws_random random;
};

static uint8_t byte_at(uint32_t node, uint32_t i)
{
    return (uint8_t)(node * 37 + i * 11 + i / 256);
}

static uint8_t byte_of(uint32_t node, uint32_t version, uint32_t i)
{
    return (uint8_t)(byte_at(node, i) + version * 101);
}

uint32_t ws_wares_left(const struct ws_world *w)
{
    uint32_t left = 0;
    for (uint32_t i = 0; w->wares != NULL && i < w->shape.nodes; i++) {
        left += w->wares[i].left + w->wares[i].under_way;
    }
    return left;
}

/* Who serves others sleeps until all are served. */
static void wake_all(struct ws_world *w)
{
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        weir_node *node = weir_sim_node(w->sim, i);
        if (node != NULL) {
            (void)weir_worker_wake(node, 0);
        }
    }
}

/* ---- operations ---------------------------------------------------------- */

static weir_err post(struct ws_ware *a, uint32_t i)
{
    struct op *op = &a->op[i];
    const bool asks = op->kind == ASK;
    const struct weir_name name = {asks                    ? ASK_SPACE
                                   : op->kind == GET_AGAIN ? AGAIN_SPACE
                                                           : REGION_SPACE,
                                   op->to};
    const struct weir_get get = {name, op->off, op->bytes, op->memory, i};
    const struct weir_put put = {name, op->off, op->bytes, op->memory, i};
    uint32_t taken = 0;
    weir_peer *peer = a->peer[op->to];
    return asks ? weir_fetch_ask(a->fetch, peer, &name, "why", 3, i)
           : op->kind == PUT ? weir_fetch_put(a->fetch, peer, &put, 1, &taken)
                             : weir_fetch_get(a->fetch, peer, &get, 1, &taken);
}

static bool begin_one(struct ws_ware *a)
{
    uint32_t i = 0;
    while (i < OPS && a->op[i].used) {
        i++;
    }
    if (a->left == 0 || i == OPS) {
        return false;
    }
    struct op *op = &a->op[i];
    op->kind = (enum op_kind)ws_pick(&a->random, KINDS);
    op->to = ws_pick(&a->random, a->world->shape.nodes);
    op->since = a->world->wares[op->to].version;
    op->off = ws_pick(&a->random, BYTES / 2);
    op->bytes = 1 + ws_pick(&a->random, BYTES / 2);
    for (uint32_t k = 0; k < op->bytes; k++) {
        op->memory[k] = op->kind == PUT ? byte_at(op->to, op->off + k) : 0;
    }
    weir_err rc = post(a, i);
    if (rc < 0) {
        ws_violate(a->world, "wares", "node %u: an operation is refused: %s",
                   a->node, weir_err_name(rc));
    }
    op->used = rc == WEIR_OK;
    a->left -= op->used;
    a->under_way += op->used;
    return op->used;
}

static bool is_version(const struct op *op, uint32_t version)
{
    uint32_t i = 0;
    while (i < op->bytes &&
           op->memory[i] == byte_of(op->to, version, op->off + i)) {
        i++;
    }
    return i == op->bytes;
}

/* None that was closed before it began, and nothing of two. */
static bool is_recent(const struct ws_ware *a, const struct op *op)
{
    const uint32_t last = a->world->wares[op->to].version;
    uint32_t version = op->since;
    while (version <= last && !is_version(op, version)) {
        version++;
    }
    return version <= last;
}

static bool is_right(const struct ws_ware *a, const struct op *op,
                     const struct weir_got *got)
{
    if (op->kind == GET_AGAIN) {
        return got->bytes == op->bytes && is_recent(a, op);
    }
    if (op->kind == ASK) {
        return got->bytes == 3 && memcmp(got->ptr, "yes", 3) == 0;
    }
    for (uint32_t i = 0; op->kind == GET && i < op->bytes; i++) {
        if (op->memory[i] != byte_at(op->to, op->off + i)) {
            return false;
        }
    }
    return op->kind == PUT || got->bytes == op->bytes;
}

/* What breaks links or takes memory away may end an operation. */
static bool may_fail(const struct ws_world *w, weir_err code)
{
    const bool known = weir_err_scope(code) == WEIR_SCOPE_PEER ||
                       code == WEIR_ERR_TIMEOUT || code == WEIR_ERR_NOT_FOUND ||
                       code == WEIR_ERR_NO_MEMORY || code == WEIR_ERR_BUDGET;
    const enum ws_group worst = ws_shape_worst(&w->shape);
    if (weir_err_scope(code) == WEIR_SCOPE_PEER &&
        ws_shape_has(&w->shape, WS_FAULT_leave)) {
        return true;
    }
    return worst == WS_DAMAGING || (known && worst != WS_BEARABLE);
}

static void end_one(struct ws_ware *a, const struct weir_got *got)
{
    struct op *op = &a->op[got->tag % OPS];
    if (got->tag >= OPS || !op->used) {
        ws_violate(a->world, "wares", "node %u: an operation ends twice",
                   a->node);
        return;
    }
    /* Puts have no checksums. */
    const bool hostile = ws_shape_worst(&a->world->shape) == WS_DAMAGING;
    const bool was_closed = op->kind == GET_AGAIN &&
                            got->code == WEIR_ERR_NOT_FOUND &&
                            op->since != a->world->wares[op->to].version;
    if (got->code != WEIR_OK && !was_closed && !may_fail(a->world, got->code)) {
        ws_violate(a->world, "wares", "node %u, of node %u: %s: %s", a->node,
                   op->to, weir_err_name(got->code),
                   weir_fetch_error(a->fetch));
    } else if (got->code == WEIR_OK && !hostile && !is_right(a, op, got)) {
        ws_violate(a->world, "wares", "node %u, of node %u: other bytes (%d)",
                   a->node, op->to, (int)op->kind);
    }
    weir_fetch_release(a->fetch, got);
    op->used = false;
    a->under_way--;
}

/* ---- what a node does ---------------------------------------------------- */

/* Its memory lives until nobody reads it any more. */
static weir_err publish_again(struct ws_ware *a, struct weir_error *err)
{
    uint8_t *memory = malloc(BYTES);
    const struct weir_region_params p = {.kind = WEIR_REGION_BORROWED,
                                         .base = memory,
                                         .bytes = BYTES,
                                         .release = free,
                                         .release_arg = memory};
    const struct weir_name name = {AGAIN_SPACE, a->node};
    weir_region *region = NULL;
    if (memory == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < BYTES; i++) {
        memory[i] = byte_of(a->node, a->version + 1, i);
    }
    weir_err rc = weir_region_open(weir_sim_node(a->world->sim, a->node), &p,
                                   &region, err);
    if (rc != WEIR_OK) {
        free(memory);
        return rc;
    }
    weir_region_close(a->again);
    a->again = region;
    a->version++;
    return weir_region_publish(region, &name, err);
}

static bool serve(struct ws_ware *a)
{
    struct weir_ask ask;
    bool any = false;
    while (weir_asks_next(a->asks, &ask) == WEIR_OK) {
        any = true;
        if (weir_ask_answer(&ask, WEIR_OK, "yes", 3) != WEIR_OK) {
            ws_violate(a->world, "wares", "node %u cannot answer", a->node);
        }
    }
    return any;
}

static weir_err task(void *arg, uint64_t now_ns)
{
    struct ws_ware *a = arg;
    struct ws_world *w = a->world;
    struct weir_error err = {0};
    struct weir_got got;
    bool moved = false;
    (void)now_ns;
    if (ws_violated(w) || !a->open) {
        return WEIR_DONE;
    }
    weir_sim_busy(w->sim, 1 + ws_below(&a->random, 10 * w->shape.step_ns));
    while (weir_fetch_next(a->fetch, &got) == WEIR_OK) {
        end_one(a, &got);
        moved = true;
    }
    moved = serve(a) || moved;
    if (ws_pick(&a->random, 6) == 0 && publish_again(a, &err) != WEIR_OK) {
        ws_violate(w, "wares", "node %u: %s", a->node, err.message);
    }
    moved = (ws_pick(&a->random, 2) == 0 && begin_one(a)) || moved;
    if (ws_wares_left(w) == 0) {
        wake_all(w);
        return WEIR_DONE;
    }
    return moved || (a->left > 0 && a->under_way < OPS) ? WEIR_OK : WEIR_AGAIN;
}

static weir_err open_all(struct ws_ware *a, weir_node *node,
                         struct weir_error *err)
{
    const struct weir_fetch_params fetch = {.max_bytes = 3 * BYTES,
                                            .timeout_ns = TIMEOUT_NS};
    const struct weir_region_params region = {.kind = WEIR_REGION_BORROWED,
                                              .base = a->memory,
                                              .bytes = BYTES,
                                              .writable = 1};
    const struct weir_name name = {REGION_SPACE, a->node};
    weir_err rc = weir_fetch_open(node, &fetch, &a->fetch, err);
    rc = rc == WEIR_OK ? weir_asks_open(node, ASK_SPACE, 0, &a->asks, err) : rc;
    rc = rc == WEIR_OK ? weir_region_open(node, &region, &a->region, err) : rc;
    rc = rc == WEIR_OK ? weir_region_publish(a->region, &name, err) : rc;
    rc = rc == WEIR_OK ? publish_again(a, err) : rc;
    for (uint32_t i = 0; i < a->world->shape.nodes && rc == WEIR_OK; i++) {
        char address[32];
        (void)snprintf(address, sizeof(address), "sim:%u", i);
        rc = weir_peer_open(node, address, &a->peer[i], err);
    }
    return rc;
}

static void open_one(struct ws_world *w, uint32_t node)
{
    struct ws_ware *a = &w->wares[node];
    struct weir_error err = {0};
    a->world = w;
    a->node = node;
    a->open = true;
    a->random = ws_random_of(w->shape.seed, USE_WARES + node);
    a->left = 1 + ws_pick(&a->random, MOST_OPS);
    for (uint32_t i = 0; i < BYTES; i++) {
        a->memory[i] = byte_at(node, i);
    }
    weir_err rc = open_all(a, weir_sim_node(w->sim, node), &err);
    if (rc == WEIR_OK) {
        rc = weir_sim_task(w->sim, node, 0, task, a);
    }
    if (rc != WEIR_OK) {
        ws_violate(w, "wares", "cannot open on node %u: %s", node, err.message);
    }
}

void ws_wares_open(struct ws_world *w)
{
    if (!w->shape.wares) {
        return;
    }
    w->wares = calloc(w->shape.nodes, sizeof(*w->wares));
    if (w->wares == NULL) {
        ws_violate(w, "machine", "no memory for regions");
        return;
    }
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        open_one(w, i);
    }
}

void ws_wares_die(struct ws_world *w, uint32_t node)
{
    if (w->wares == NULL || !w->wares[node].open) {
        return;
    }
    struct ws_ware *a = &w->wares[node];
    a->open = false;
    a->left = 0;
    a->under_way = 0;
    weir_fetch_close(a->fetch);
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        weir_peer_close(a->peer[i]);
    }
    weir_asks_close(a->asks);
    weir_region_close(a->region);
    weir_region_close(a->again);
    wake_all(w);
}

void ws_wares_close(struct ws_world *w)
{
    for (uint32_t i = 0; i < w->shape.nodes; i++) {
        ws_wares_die(w, i);
    }
}

void ws_wares_free(struct ws_world *w)
{
    free(w->wares);
    w->wares = NULL;
}
