/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/slots.h"

#include <stdlib.h>
#include <string.h>

#include "services/scan/answer.h"
#include "services/scan/fail.h"
#include "services/scan/reader.h"
#include "services/scan/session.h"

enum { SMALL_BYTES = 64 * 1024 };

/* ---- memory -------------------------------------------------------------- */

/* Few sizes, so that a slot serves for the next payload too. */
static uint64_t round_up(uint64_t bytes, uint64_t batch_bytes)
{
    const uint64_t steps[] = {SMALL_BYTES, batch_bytes / 4, batch_bytes};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (bytes <= steps[i] && steps[i] <= batch_bytes) {
            return steps[i];
        }
    }
    uint64_t grain = SMALL_BYTES;
    while (grain < bytes / 8) {
        grain *= 2;
    }
    return (bytes + grain - 1) / grain * grain;
}

static void close_slot(struct weir_scan_server *s, struct wi_scan_slot *slot)
{
    wi_scan_ids_drop(&s->slots_by_id, &slot->key);
    TAILQ_REMOVE(&slot->session->slots, slot, on_session);
    slot->session->n_rooms -= slot->state == WI_SCAN_SLOT_ROOM;
    s->stats.bytes -= slot->bytes;
    slot->session->bytes -= slot->bytes;
    weir_region_close(slot->region);
    free(slot);
}

static bool is_short(const struct weir_scan_server *s, uint64_t bytes)
{
    return bytes > s->p.max_bytes || s->stats.bytes > s->p.max_bytes - bytes;
}

/* Has the client its share? */
static bool has_share(const struct weir_scan_server *s,
                      const struct wi_scan_session *session, uint64_t bytes)
{
    return bytes > s->p.client_bytes ||
           session->bytes > s->p.client_bytes - bytes;
}

static void close_free(struct weir_scan_server *s,
                       struct wi_scan_session *session, uint64_t bytes)
{
    struct wi_scan_slot *slot = TAILQ_FIRST(&session->slots);
    while (slot != NULL && is_short(s, bytes)) {
        struct wi_scan_slot *next = TAILQ_NEXT(slot, on_session);
        if (slot->state == WI_SCAN_SLOT_FREE) {
            close_slot(s, slot);
        }
        slot = next;
    }
}

/* The client's own first: they were too small. */
static void make_room(struct weir_scan_server *s,
                      struct wi_scan_session *session, uint64_t bytes)
{
    close_free(s, session, bytes);
    struct wi_scan_session *other;
    TAILQ_FOREACH(other, &s->sessions, on_server)
    {
        if (!is_short(s, bytes)) {
            return;
        }
        close_free(s, other, bytes);
    }
}

bool wi_scan_slots_may(const struct weir_scan_server *s,
                       const struct wi_scan_session *session)
{
    const struct wi_scan_session *other;
    const struct wi_scan_slot *slot;
    const bool full = has_share(s, session, s->p.batch_bytes);
    if (!full && !is_short(s, s->p.batch_bytes)) {
        return true;
    }
    TAILQ_FOREACH(slot, &session->slots, on_session)
    {
        if (slot->state == WI_SCAN_SLOT_FREE) {
            return true;
        }
    }
    if (full) {
        return false;
    }
    TAILQ_FOREACH(other, &s->sessions, on_server)
    {
        TAILQ_FOREACH(slot, &other->slots, on_session)
        {
            if (slot->state == WI_SCAN_SLOT_FREE) {
                return true;
            }
        }
    }
    return false;
}

/* ---- making -------------------------------------------------------------- */

static weir_err open_region(struct weir_scan_server *s,
                            struct wi_scan_slot *slot, struct weir_error *err)
{
    const struct weir_region_params p = {
        .bytes = slot->bytes, .writable = slot->state == WI_SCAN_SLOT_ROOM};
    const struct weir_name name = {s->p.space, slot->key.words[0]};
    weir_err code = weir_region_open(s->node, &p, &slot->region, err);
    if (code == WEIR_OK) {
        slot->base = weir_region_base(slot->region);
        code = weir_region_publish(slot->region, &name, err);
    }
    return code;
}

/* The sum is taken before the lock is let go. */
static struct wi_scan_slot *make(struct weir_scan_server *s,
                                 struct wi_scan_session *session,
                                 uint64_t bytes, enum wi_scan_slot_state state,
                                 struct weir_error *err)
{
    struct wi_scan_slot *slot = calloc(1, sizeof(*slot));
    if (slot == NULL) {
        (void)wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a slot");
        return NULL;
    }
    slot->key = wi_scan_key_random();
    slot->key.words[1] = 0;
    slot->session = session;
    slot->bytes = bytes;
    slot->state = state;
    s->stats.bytes += bytes;
    session->bytes += bytes;
    if (s->stats.bytes > s->stats.peak_bytes) {
        s->stats.peak_bytes = s->stats.bytes;
    }
    (void)pthread_mutex_unlock(&s->lock);
    weir_err code = open_region(s, slot, err);
    (void)pthread_mutex_lock(&s->lock);
    if (code == WEIR_OK && !wi_scan_ids_put(&s->slots_by_id, &slot->key)) {
        code = wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a slot");
    }
    if (code != WEIR_OK) {
        s->stats.bytes -= bytes;
        session->bytes -= bytes;
        weir_region_close(slot->region);
        free(slot);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&session->slots, slot, on_session);
    session->n_rooms += state == WI_SCAN_SLOT_ROOM;
    return slot;
}

struct wi_scan_slot *wi_scan_slot_take(struct weir_scan_server *s,
                                       struct wi_scan_session *session,
                                       uint64_t bytes, bool must,
                                       weir_err *code_out,
                                       struct weir_error *err)
{
    struct wi_scan_slot *slot;
    TAILQ_FOREACH(slot, &session->slots, on_session)
    {
        if (slot->state == WI_SCAN_SLOT_FREE && slot->bytes >= bytes) {
            slot->state = WI_SCAN_SLOT_FILLING;
            return slot;
        }
    }
    uint64_t want = round_up(bytes, s->p.batch_bytes);
    make_room(s, session, want);
    if ((is_short(s, want) || has_share(s, session, want)) && !must) {
        *code_out = WEIR_AGAIN;
        return NULL;
    }
    slot = make(s, session, want, WI_SCAN_SLOT_FILLING, err);
    if (slot == NULL) {
        *code_out = must ? err->code : WEIR_AGAIN;
    }
    return slot;
}

/* ---- giving back --------------------------------------------------------- */

void wi_scan_slot_free(struct weir_scan_server *s, struct wi_scan_slot *slot)
{
    slot->state = WI_SCAN_SLOT_FREE;
    slot->reader = NULL;
    if (slot->session->gone || is_short(s, 0)) {
        close_slot(s, slot);
    }
}

static struct wi_scan_slot *find(struct weir_scan_server *s,
                                 const struct wi_scan_session *session,
                                 uint64_t id)
{
    const uint64_t words[2] = {id, 0};
    struct wi_scan_slot *slot = wi_scan_ids_find(&s->slots_by_id, words);
    return slot != NULL && slot->session == session ? slot : NULL;
}

static struct wi_scan_slot *given(struct weir_scan_server *s,
                                  const struct wi_scan_session *session,
                                  const uint8_t *ids, uint32_t i)
{
    uint64_t id;
    memcpy(&id, ids + i * sizeof(id), sizeof(id));
    return find(s, session, id);
}

/* All are looked at before the first is freed. */
weir_err wi_scan_slots_give(struct weir_scan_server *s,
                            struct wi_scan_session *session, const uint8_t *ids,
                            uint32_t n, bool kept)
{
    weir_err code = WEIR_OK;
    uint32_t good = 0;
    while (good < n && code == WEIR_OK) {
        struct wi_scan_slot *slot = given(s, session, ids, good);
        if (slot == NULL) {
            code = WEIR_ERR_NOT_FOUND;
        } else if (slot->state != WI_SCAN_SLOT_OUT || slot->marked) {
            code = WEIR_ERR_DATA;
        } else {
            slot->marked = true;
            good++;
        }
    }
    for (uint32_t i = 0; i < good; i++) {
        struct wi_scan_slot *slot = given(s, session, ids, i);
        slot->marked = false;
        if (code == WEIR_OK) {
            if (slot->reader != NULL) {
                slot->reader->n_out--;
            }
            if (kept) {
                close_slot(s, slot);
            } else {
                wi_scan_slot_free(s, slot);
            }
        }
    }
    return code;
}

void wi_scan_slots_forget(struct wi_scan_session *session,
                          const struct wi_scan_reader *reader)
{
    struct wi_scan_slot *slot;
    TAILQ_FOREACH(slot, &session->slots, on_session)
    {
        if (slot->reader == reader) {
            slot->reader = NULL;
        }
    }
}

void wi_scan_slots_close(struct weir_scan_server *s,
                         struct wi_scan_session *session)
{
    struct wi_scan_slot *slot = TAILQ_FIRST(&session->slots);
    while (slot != NULL) {
        struct wi_scan_slot *next = TAILQ_NEXT(slot, on_session);
        if (slot->state != WI_SCAN_SLOT_FILLING && slot->users == 0) {
            close_slot(s, slot);
        }
        slot = next;
    }
}

/* ---- rooms --------------------------------------------------------------- */

struct errand {
    struct wi_scan_task task; /* first */
    struct weir_scan_server *server;
    struct wi_scan_session *session;
    struct weir_ask ask;
    uint64_t bytes;
};

static void open_room(struct errand *e)
{
    struct weir_scan_server *s = e->server;
    struct weir_error err = {0};
    make_room(s, e->session, e->bytes);
    if (e->session->n_rooms >= WI_SCAN_ROOMS_MAX || is_short(s, e->bytes) ||
        has_share(s, e->session, e->bytes)) {
        wi_scan_answer_refuse(
            &e->ask, WEIR_ERR_BUDGET,
            "no room of %llu bytes: the server has max_bytes = %llu, and %llu "
            "and %d rooms for a client",
            (unsigned long long)e->bytes, (unsigned long long)s->p.max_bytes,
            (unsigned long long)s->p.client_bytes, WI_SCAN_ROOMS_MAX);
        return;
    }
    struct wi_scan_slot *room =
        make(s, e->session, e->bytes, WI_SCAN_SLOT_ROOM, &err);
    if (room == NULL) {
        wi_scan_answer_error(&e->ask, &err);
        return;
    }
    const struct wi_scan_answer answer = {.region = room->key.words[0],
                                          .n_bytes = room->bytes};
    wi_scan_answer_send(&e->ask, &answer, NULL, 0);
}

static void run_errand(struct wi_scan_task *task)
{
    struct errand *e = (struct errand *)task;
    open_room(e);
    e->session->users--;
    if (e->session->gone) { /* meanwhile */
        wi_scan_slots_close(e->server, e->session);
    }
    wi_scan_session_settle(e->server, e->session);
    free(e);
}

void wi_scan_room_open(struct weir_scan_server *s,
                       struct wi_scan_session *session,
                       const struct weir_ask *ask, uint64_t bytes)
{
    struct errand *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        wi_scan_answer_refuse(ask, WEIR_ERR_NO_MEMORY, "no memory for a room");
        return;
    }
    *e = (struct errand){{.run = run_errand}, s, session, *ask, bytes};
    session->users++;
    wi_scan_work_put(&s->work, &e->task);
}

struct wi_scan_slot *wi_scan_room_find(struct weir_scan_server *s,
                                       const struct wi_scan_session *session,
                                       uint64_t id, uint64_t bytes)
{
    struct wi_scan_slot *room = find(s, session, id);
    return room != NULL && room->state == WI_SCAN_SLOT_ROOM &&
                   room->bytes >= bytes
               ? room
               : NULL;
}

void wi_scan_room_drop(struct weir_scan_server *s, struct wi_scan_slot *room)
{
    if (--room->users == 0 && room->session->gone) {
        struct wi_scan_session *session = room->session;
        close_slot(s, room);
        wi_scan_session_settle(s, session);
    }
}
