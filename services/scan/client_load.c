/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/client_load.h"

#include <stdlib.h>
#include <string.h>

#include "services/scan/fail.h"
#include "services/scan/fault_bytes.h"
#include "services/scan/parts.h"
#include "services/scan/schema_bytes.h"

#define ROOM_BYTES ((uint64_t)1 << 20)

/* ---- rooms --------------------------------------------------------------- */

static weir_err no_memory(struct weir_error *err)
{
    return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for rows to send");
}

/* One that is large enough, or a place for one; NULL: neither. */
static struct wi_scan_put_room *find_room(struct weir_scan_client *c,
                                          uint64_t bytes)
{
    struct wi_scan_put_room *place = NULL;
    for (int i = 0; i < WI_SCAN_PUT_ROOMS; i++) {
        struct wi_scan_put_room *room = &c->rooms[i];
        if (room->id != 0 && room->bytes >= bytes &&
            room->id != c->room_in_use) {
            return room;
        }
        place = room->id == 0 && place == NULL ? room : place;
    }
    return place;
}

/* A room is there until the client leaves, and a client has few: each is four
 * times as large as the one before, or as is wanted. */
static uint64_t room_bytes(uint64_t bytes)
{
    uint64_t n = ROOM_BYTES;
    while (n < bytes && n < ROOM_BYTES * 64) {
        n *= 4;
    }
    return n < bytes ? bytes : n;
}

static weir_err open_room(const struct wi_scan_wait *w, uint64_t bytes,
                          struct wi_scan_put_room *room, struct weir_error *err)
{
    const struct wi_scan_ask ask = {.kind = WI_SCAN_ASK_ROOM, .n_bytes = bytes};
    struct wi_scan_call *call = wi_scan_call_make(w->client);
    if (call == NULL) {
        return no_memory(err);
    }
    weir_err code = wi_scan_call_say(w, call, &ask, NULL, err);
    if (code == WEIR_OK &&
        (call->answer.region == 0 || call->answer.n_bytes < bytes)) {
        code = wi_scan_fail(err, WEIR_ERR_PEER_PROTOCOL,
                            "a room smaller than was wanted");
    }
    if (code == WEIR_OK) {
        room->id = call->answer.region;
        room->bytes = call->answer.n_bytes;
    }
    wi_scan_call_drop(call);
    return code;
}

static weir_err take_room(const struct wi_scan_wait *w, uint64_t bytes,
                          uint64_t *id_out, struct weir_error *err)
{
    struct wi_scan_put_room *room = find_room(w->client, bytes);
    weir_err code = WEIR_OK;
    if (room == NULL) {
        return wi_scan_fail(err, WEIR_ERR_BUDGET,
                            "no room for %llu bytes at the server: there are "
                            "%d, and all are smaller",
                            (unsigned long long)bytes, (int)WI_SCAN_PUT_ROOMS);
    }
    if (room->id == 0) {
        code = open_room(w, room_bytes(bytes), room, err);
        if (code == WEIR_ERR_BUDGET && room_bytes(bytes) > bytes) {
            code = open_room(w, bytes, room, err);
        }
    }
    *id_out = room->id;
    return code;
}

/* @param src taken over */
static weir_err put(const struct wi_scan_wait *w, uint64_t room, void *src,
                    uint64_t bytes, struct weir_error *err)
{
    struct wi_scan_call *call = wi_scan_call_make(w->client);
    weir_err code = call != NULL ? wi_scan_call_put(call, room, src, bytes)
                                 : no_memory(err);
    if (call == NULL || code != WEIR_OK) {
        free(src);
        free(call);
        return code < 0 ? wi_scan_fail(err, code, "rows were not sent")
                        : wi_scan_fail(err, WEIR_ERR_BUDGET,
                                       "too much is under way to send rows");
    }
    code = wi_scan_call_wait(w, call, err);
    wi_scan_call_drop(call);
    return code;
}

/* @param src taken over */
static weir_err place(const struct wi_scan_wait *w, void *src, uint64_t bytes,
                      struct wi_scan_ask *ask, struct weir_error *err)
{
    weir_err code = take_room(w, bytes, &ask->region, err);
    if (code != WEIR_OK) {
        free(src);
        return code;
    }
    ask->n_bytes = bytes;
    return put(w, ask->region, src, bytes, err);
}

weir_err wi_scan_place_bytes(const struct wi_scan_wait *w,
                             const struct wi_scan_buf *bytes,
                             struct wi_scan_ask *ask, const void **here_out,
                             struct weir_error *err)
{
    *here_out = NULL;
    if (bytes->len <= WI_SCAN_ASK_INLINE) {
        *here_out = bytes->bytes;
        ask->n_bytes = bytes->len;
        return WEIR_OK;
    }
    void *copy = malloc(bytes->len);
    if (copy == NULL) {
        return no_memory(err);
    }
    memcpy(copy, bytes->bytes, bytes->len);
    return place(w, copy, bytes->len, ask, err);
}

/* ---- bind ---------------------------------------------------------------- */

static weir_err bind_failed(struct weir_scan_client *c,
                            struct ArrowArrayStream *bind,
                            struct weir_error *err)
{
    const char *text = bind->get_last_error(bind);
    if (text == NULL || text[0] == '\0') {
        text = "the rows of bind failed";
    }
    wi_scan_client_fault(c, text, NULL);
    return wi_scan_fail(err, WEIR_ERR_DATA, "%s", text);
}

weir_err wi_scan_load_begin(const struct wi_scan_wait *w,
                            struct ArrowArrayStream *bind, uint64_t id_out[2],
                            struct weir_error *err)
{
    struct wi_scan_ask ask = {.kind = WI_SCAN_ASK_LOAD};
    struct wi_scan_buf bytes = {0};
    struct ArrowSchema schema;
    const void *here;
    if (bind->get_schema(bind, &schema) != 0) {
        return bind_failed(w->client, bind, err);
    }
    weir_err code = wi_scan_schema_encode(&schema, &bytes, err);
    schema.release(&schema);
    if (code == WEIR_OK) {
        code = wi_scan_place_bytes(w, &bytes, &ask, &here, err);
    }
    struct wi_scan_call *call = wi_scan_call_make(w->client);
    if (code == WEIR_OK) {
        code = call != NULL ? wi_scan_call_say(w, call, &ask, here, err)
                            : no_memory(err);
    }
    if (code == WEIR_OK) {
        memcpy(id_out, call->answer.id, sizeof(call->answer.id));
    }
    if (call != NULL) {
        wi_scan_call_drop(call);
    }
    free(bytes.bytes);
    return code;
}

/* Rows on their way. */
struct filling {
    const struct wi_scan_wait *w;
    struct ArrowArrayStream *bind;
    struct wi_scan_shape shape;
    struct wi_scan_split split;
    struct wi_scan_ask ask;
    wi_scan_beside_fn beside;
    void *arg;
    struct weir_error *err;
};

/* One FILL, until the engine has taken it. WEIR_DONE: it wants no more. */
static weir_err fill(struct filling *f, const void *here)
{
    struct wi_scan_call *call = wi_scan_call_make(f->w->client);
    if (call == NULL) {
        return no_memory(f->err);
    }
    weir_err code = wi_scan_call_post(f->w, call, &f->ask, here, f->err);
    while (code == WEIR_OK) {
        wi_scan_pump(f->w->client);
        bool more = f->beside(f->arg);
        if (call->state == WI_SCAN_CALL_OVER || !more) {
            break;
        }
        code = wi_scan_wait_for(f->w, f->err);
    }
    if (code == WEIR_OK && call->state != WI_SCAN_CALL_OVER) {
        code = WEIR_DONE;
    } else if (code == WEIR_OK && call->err.code != WEIR_OK) {
        *f->err = call->err;
        code = call->err.code;
    } else if (code == WEIR_OK && (call->answer.flags & WI_SCAN_END) != 0) {
        code = WEIR_DONE;
    }
    wi_scan_call_drop(call);
    return code;
}

static weir_err fill_batch(struct filling *f, const struct ArrowArray *batch)
{
    uint8_t small[WI_SCAN_ASK_INLINE];
    weir_err code = wi_scan_split(&f->shape, batch, &f->split, f->err);
    if (code != WEIR_OK) {
        return code;
    }
    uint64_t bytes = wi_scan_parts_bytes(0, &f->split, 1);
    f->ask.n = 1;
    f->ask.n_bytes = bytes;
    f->ask.region = 0;
    if (bytes <= sizeof(small)) {
        wi_scan_parts_copy(NULL, 0, &f->split, 1, small);
        return fill(f, small);
    }
    void *src = malloc(bytes);
    if (src == NULL) {
        return no_memory(f->err);
    }
    wi_scan_parts_copy(NULL, 0, &f->split, 1, src);
    code = place(f->w, src, bytes, &f->ask, f->err);
    return code == WEIR_OK ? fill(f, NULL) : code;
}

static weir_err fill_end(struct filling *f)
{
    f->ask.n = 0;
    f->ask.n_bytes = f->ask.region = 0;
    f->ask.flags = WI_SCAN_END;
    return fill(f, NULL);
}

/* The engine is told; what comes of that is of no interest. */
static weir_err fill_fault(struct filling *f)
{
    const struct weir_scan_fault none = {0};
    struct wi_scan_buf bytes = {0};
    struct weir_error mine;
    (void)bind_failed(f->w->client, f->bind, &mine);
    wi_scan_fault_encode(&none, mine.message, &bytes);
    f->ask.n = 0;
    f->ask.n_bytes = bytes.len;
    f->ask.region = 0;
    f->ask.flags = WI_SCAN_FAILED;
    if (!bytes.failed) {
        (void)fill(f, bytes.bytes);
    }
    free(bytes.bytes);
    /* Again: the engine may have said meanwhile that it failed, too. */
    return bind_failed(f->w->client, f->bind, f->err);
}

static weir_err fill_all(struct filling *f)
{
    weir_err code = WEIR_OK;
    while (code == WEIR_OK) {
        struct ArrowArray batch;
        if (f->bind->get_next(f->bind, &batch) != 0) {
            return fill_fault(f);
        }
        if (batch.release == NULL) {
            return fill_end(f);
        }
        code = fill_batch(f, &batch);
        batch.release(&batch);
    }
    return code;
}

weir_err wi_scan_load_rows(const struct wi_scan_wait *w,
                           struct ArrowArrayStream *bind, const uint64_t id[2],
                           wi_scan_beside_fn beside, void *arg,
                           struct weir_error *err)
{
    struct filling f = {.w = w,
                        .bind = bind,
                        .ask = {.kind = WI_SCAN_ASK_FILL, .id = {id[0], id[1]}},
                        .beside = beside,
                        .arg = arg,
                        .err = err};
    struct ArrowSchema schema;
    if (bind->get_schema(bind, &schema) != 0) {
        return bind_failed(w->client, bind, err);
    }
    weir_err code = wi_scan_shape_init(&f.shape, &schema, err);
    schema.release(&schema);
    if (code != WEIR_OK) {
        return code;
    }
    code = fill_all(&f);
    wi_scan_split_fini(&f.split);
    wi_scan_shape_fini(&f.shape);
    return code == WEIR_DONE ? WEIR_OK : code;
}
