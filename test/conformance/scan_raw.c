/* SPDX-License-Identifier: Apache-2.0 */
#include "test/conformance/scan_raw.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the server ---------------------------------------------------------- */

struct wt_scan *wt_scan_open(const struct wt_place *place, uint32_t nodes,
                             const struct weir_scan_server_params *params)
{
    struct wt_scan *s = calloc(1, sizeof(*s));
    struct weir_scan_server_params p = {0};
    struct weir_scan_source sources[2] = {{.name = "raw"}};
    struct weir_error err;
    cr_assert_not_null(s);
    if (params != NULL) {
        p = *params;
    }
    s->r = wt_reads_open(place, nodes, NULL);
    wt_scan_engine_init(&s->engine, &sources[0].engine);
    if (p.n_sources > 0) {
        sources[1] = p.sources[0];
    }
    p.sources = sources;
    p.n_sources++;
    cr_assert_eq(weir_scan_server_open(s->r->c.node[WT_SCAN_SERVER], &p,
                                       &s->server, &err),
                 WEIR_OK, "%s", err.message);
    return s;
}

void wt_scan_close(struct wt_scan *s)
{
    weir_scan_server_close(s->server);
    cr_assert_eq(s->engine.streams, 0, "%u streams are left",
                 s->engine.streams);
    wt_scan_engine_fini(&s->engine);
    wt_reads_close(s->r);
    free(s);
}

struct waiting {
    struct wt_scan *s;
    bool (*cond)(const struct weir_scan_stats *stats);
    uint32_t blocked;
};

static bool has_stats(void *arg)
{
    struct waiting *w = arg;
    weir_scan_server_stats(w->s->server, &w->s->stats);
    return w->cond(&w->s->stats);
}

bool wt_scan_until(struct wt_scan *s,
                   bool (*cond)(const struct weir_scan_stats *stats))
{
    struct waiting w = {s, cond, 0};
    return wt_until(&s->r->c, has_stats, &w);
}

bool wt_scan_empty(const struct weir_scan_stats *stats)
{
    return stats->clients == 0 && stats->readers == 0 && stats->bytes == 0;
}

static bool is_blocked(void *arg)
{
    struct waiting *w = arg;
    (void)pthread_mutex_lock(&w->s->engine.lock);
    bool is = w->s->engine.blocked == w->blocked;
    (void)pthread_mutex_unlock(&w->s->engine.lock);
    return is;
}

void wt_scan_until_blocked(struct wt_scan *s, uint32_t n)
{
    struct waiting w = {s, NULL, n};
    cr_assert(wt_until(&s->r->c, is_blocked, &w), "not %u are blocked", n);
}

/* ---- clients ------------------------------------------------------------- */

struct wi_scan_ask wt_scan_ask(const struct wt_scan_client *c, uint16_t kind)
{
    return (struct wi_scan_ask){.version = WI_SCAN_VERSION,
                                .kind = kind,
                                .client = {c->number[0], c->number[1]}};
}

void wt_scan_post(struct wt_scan_client *c, const struct wi_scan_ask *a,
                  const void *bytes, uint32_t n, uint64_t tag)
{
    const struct weir_name name = {WEIR_SCAN_SPACE, WI_SCAN_ASKS};
    uint8_t all[WEIR_ASK_BYTES];
    cr_assert_leq(n, WI_SCAN_ASK_INLINE);
    memcpy(all, a, sizeof(*a));
    if (n > 0) {
        memcpy(all + sizeof(*a), bytes, n);
    }
    cr_assert_eq(weir_fetch_ask(c->fetch, c->peer, &name, all,
                                (uint32_t)sizeof(*a) + n, tag),
                 WEIR_OK);
}

void wt_scan_client_open(struct wt_scan_client *c, struct wt_scan *s,
                         uint32_t node)
{
    static uint64_t serial;
    const struct weir_fetch_params p = {.timeout_ns = WEIR_FOREVER};
    *c = (struct wt_scan_client){.s = s, .number = {7, ++serial}};
    c->fetch = wt_fetch_of(s->r, node, &p);
    c->peer = wt_peer_of(s->r, node, WT_SCAN_SERVER);
    struct wi_scan_ask a = wt_scan_ask(c, WI_SCAN_ASK_HOLD);
    wt_scan_post(c, &a, NULL, 0, 0);
}

void wt_scan_client_close(struct wt_scan_client *c)
{
    weir_fetch_close(c->fetch);
    weir_peer_close(c->peer);
}

/* ---- answers ------------------------------------------------------------- */

static uint8_t *copy_of(const void *bytes, uint64_t n)
{
    uint8_t *copy = aligned_alloc(64, (n + 127) / 64 * 64);
    cr_assert_not_null(copy);
    memcpy(copy, bytes, n);
    return copy;
}

static void get_slot(struct wt_scan_client *c, struct wt_scan_said *said)
{
    const struct weir_get get = {.name = {WEIR_SCAN_SPACE, said->a.region},
                                 .bytes = said->a.n_bytes};
    uint32_t taken;
    cr_assert_eq(weir_fetch_get(c->fetch, c->peer, &get, 1, &taken), WEIR_OK);
    struct weir_got got = wt_next_of(c->s->r, c->fetch);
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(c->fetch));
    said->bytes = copy_of(got.ptr, got.bytes);
    weir_fetch_release(c->fetch, &got);
}

uint64_t wt_scan_next(struct wt_scan_client *c, struct wt_scan_said *said)
{
    struct weir_got got = wt_next_of(c->s->r, c->fetch);
    memset(said, 0, sizeof(*said));
    said->code = got.code;
    if (got.code != WEIR_OK) {
        (void)snprintf(said->why, sizeof(said->why), "%s",
                       weir_fetch_error(c->fetch));
        return got.tag;
    }
    cr_assert_geq(got.bytes, sizeof(said->a));
    memcpy(&said->a, got.ptr, sizeof(said->a));
    said->len = (uint32_t)(got.bytes - sizeof(said->a));
    if (said->a.region == 0) {
        cr_assert_eq(said->len, said->a.n_bytes);
        said->bytes =
            copy_of((const uint8_t *)got.ptr + sizeof(said->a), said->len);
    } else {
        cr_assert_eq(said->len, 0);
    }
    return got.tag;
}

void wt_scan_said_free(struct wt_scan_said *said)
{
    free(said->bytes);
    memset(said, 0, sizeof(*said));
}

void wt_scan_say(struct wt_scan_client *c, const struct wi_scan_ask *a,
                 const void *bytes, struct wt_scan_said *said)
{
    uint32_t n = a->region == 0 && bytes != NULL ? (uint32_t)a->n_bytes : 0;
    wt_scan_post(c, a, bytes, n, 1);
    cr_assert_eq(wt_scan_next(c, said), 1);
    if (said->code == WEIR_OK && said->a.region != 0 &&
        a->kind != WI_SCAN_ASK_ROOM) {
        get_slot(c, said);
    }
}

void wt_scan_expect(struct wt_scan_client *c, const struct wi_scan_ask *a,
                    const void *bytes, weir_err code)
{
    struct wt_scan_said said;
    wt_scan_say(c, a, bytes, &said);
    cr_assert_eq(said.code, code, "kind %u: %s instead of %s (%s)", a->kind,
                 weir_err_name(said.code), weir_err_name(code), said.why);
    wt_scan_said_free(&said);
}

/* ---- kinds --------------------------------------------------------------- */

struct wi_scan_ask wt_scan_request(struct wt_scan_client *c, const char *text,
                                   uint8_t bytes[WI_SCAN_ASK_INLINE])
{
    const struct weir_scan_request request = {.dataset = "raw", .text = text};
    struct wi_scan_buf buf = {0};
    struct weir_error err;
    cr_assert_eq(wi_scan_request_encode(&request, &buf, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_leq(buf.len, WI_SCAN_ASK_INLINE);
    memcpy(bytes, buf.bytes, buf.len);
    struct wi_scan_ask a = wt_scan_ask(c, WI_SCAN_ASK_OPEN);
    a.n_bytes = buf.len;
    a.call = ++c->call;
    free(buf.bytes);
    return a;
}

void wt_scan_open_text(struct wt_scan_client *c, const char *text,
                       struct wt_scan_said *said)
{
    uint8_t bytes[WI_SCAN_ASK_INLINE];
    struct wi_scan_ask a = wt_scan_request(c, text, bytes);
    wt_scan_say(c, &a, bytes, said);
}

void wt_scan_next_of(struct wt_scan_client *c, const uint64_t *id,
                     uint64_t slot, struct wt_scan_said *said)
{
    struct wi_scan_ask a = wt_scan_ask(c, WI_SCAN_ASK_NEXT);
    a.id[0] = id[0];
    a.id[1] = id[1];
    a.n_bytes = slot != 0 ? sizeof(slot) : 0;
    wt_scan_say(c, &a, &slot, said);
}

void wt_scan_end(struct wt_scan_client *c, uint64_t call, uint64_t slot)
{
    struct wi_scan_ask a = wt_scan_ask(c, WI_SCAN_ASK_END);
    a.call = call;
    a.n_bytes = slot != 0 ? sizeof(slot) : 0;
    wt_scan_expect(c, &a, &slot, WEIR_OK);
}

/* ---- payloads ------------------------------------------------------------ */

static void make_shape(struct wi_scan_shape *shape)
{
    static const struct weir_field field = {"n", "l", 1};
    struct ArrowSchema schema;
    struct weir_error err;
    cr_assert_eq(weir_schema_build(&field, 1, &schema, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(wi_scan_shape_init(shape, &schema, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
}

/* What is in a payload: rows, their sum, and whether they count up from first;
 * that is -1 if it does not matter. */
struct counted {
    struct wi_scan_shape shape;
    int64_t first;
    uint64_t rows;
    int64_t sum;
};

static void count(struct counted *k, const struct wi_scan_part_view *view)
{
    const struct wi_scan_body body = {view->body, view->body_bytes, NULL, NULL,
                                      false};
    struct ArrowArray batch;
    struct weir_error err;
    cr_assert_eq(wi_scan_join(&k->shape, view->head, view->head_bytes, &body,
                              &batch, &err),
                 WEIR_OK, "%s", err.message);
    const int64_t *values = batch.children[0]->buffers[1];
    for (int64_t i = 0; i < batch.length; i++) {
        cr_assert(k->first < 0 || values[i] == k->first + (int64_t)k->rows);
        k->sum += values[i];
        k->rows++;
    }
    batch.release(&batch);
}

static void count_all(struct counted *k, const struct wt_scan_said *said)
{
    struct wi_scan_parts parts;
    struct wi_scan_part_view view;
    struct weir_error err;
    cr_assert_eq(said->code, WEIR_OK, "%s", said->why);
    cr_assert_eq(said->a.code, WEIR_OK);
    make_shape(&k->shape);
    weir_err code =
        wi_scan_parts_init(&parts, said->bytes, said->a.n_bytes,
                           said->a.schema_bytes, said->a.n_batches, &err);
    while (code == WEIR_OK &&
           (code = wi_scan_parts_next(&parts, &view, &err)) == WEIR_OK) {
        count(k, &view);
    }
    cr_assert_eq(code, WEIR_DONE, "%s", err.message);
    wi_scan_shape_fini(&k->shape);
}

uint64_t wt_scan_rows(const struct wt_scan_said *said, int64_t first)
{
    struct counted k = {.first = first};
    count_all(&k, said);
    return k.rows;
}

uint64_t wt_scan_sum(const struct wt_scan_said *said, int64_t *sum)
{
    struct counted k = {.first = -1};
    count_all(&k, said);
    *sum += k.sum;
    return k.rows;
}

struct weir_scan_fault wt_scan_fault(const struct wt_scan_said *said)
{
    struct weir_scan_fault fault;
    struct weir_error err;
    cr_assert_eq(said->code, WEIR_OK, "%s", said->why);
    cr_assert_eq(
        wi_scan_fault_decode(said->bytes, said->a.n_bytes, &fault, &err),
        WEIR_OK, "%s", err.message);
    return fault;
}

/* ---- rows to take in ----------------------------------------------------- */

struct wi_scan_buf wt_scan_schema(void)
{
    struct ArrowSchema schema;
    struct wi_scan_buf buf = {0};
    struct weir_error err;
    wt_scan_engine_schema(&schema);
    cr_assert_eq(wi_scan_schema_encode(&schema, &buf, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
    return buf;
}

struct wi_scan_buf wt_scan_numbers(int64_t first, uint32_t rows)
{
    struct wi_scan_split split = {0};
    struct wi_scan_shape shape;
    struct ArrowArray batch;
    struct weir_error err;
    make_shape(&shape);
    wt_scan_engine_batch(first, rows, &batch);
    cr_assert_eq(wi_scan_split(&shape, &batch, &split, &err), WEIR_OK, "%s",
                 err.message);
    struct wi_scan_buf buf = {.len = wi_scan_parts_bytes(0, &split, 1)};
    buf.bytes = malloc(buf.len);
    cr_assert_not_null(buf.bytes);
    wi_scan_parts_copy(NULL, 0, &split, 1, buf.bytes);
    batch.release(&batch);
    wi_scan_split_fini(&split);
    wi_scan_shape_fini(&shape);
    return buf;
}

uint64_t wt_scan_room(struct wt_scan_client *c, uint64_t bytes)
{
    struct wt_scan_said said;
    struct wi_scan_ask a = wt_scan_ask(c, WI_SCAN_ASK_ROOM);
    a.n_bytes = bytes;
    wt_scan_say(c, &a, NULL, &said);
    cr_assert_eq(said.code, WEIR_OK, "%s", said.why);
    cr_assert_geq(said.a.n_bytes, bytes);
    uint64_t room = said.a.region;
    wt_scan_said_free(&said);
    return room;
}

void wt_scan_put(struct wt_scan_client *c, uint64_t room,
                 const struct wi_scan_buf *bytes)
{
    const struct weir_put put = {.name = {WEIR_SCAN_SPACE, room},
                                 .bytes = bytes->len,
                                 .src = bytes->bytes};
    uint32_t taken;
    cr_assert_eq(weir_fetch_put(c->fetch, c->peer, &put, 1, &taken), WEIR_OK);
    struct weir_got got = wt_next_of(c->s->r, c->fetch);
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(c->fetch));
}
