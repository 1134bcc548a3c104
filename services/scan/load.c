/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/load.h"

#include <stdlib.h>

#include "services/scan/answer.h"
#include "services/scan/load_in.h"
#include "services/scan/session.h"
#include "services/scan/slots.h"

/* ---- holders ------------------------------------------------------------- */

void wi_scan_load_leave(struct wi_scan_load *load)
{
    if (--load->holders == 0) {
        wi_scan_load_free(load);
    }
}

void wi_scan_load_answer(struct wi_scan_load *load, struct wi_scan_fill *fill,
                         const struct weir_error *err)
{
    bool end = load->over || load->failed;
    if (fill->room != NULL) {
        wi_scan_room_drop(load->server, fill->room);
    }
    if (err != NULL) {
        wi_scan_answer_error(&fill->ask, err);
    } else {
        wi_scan_answer_plain(&fill->ask, end ? WI_SCAN_END : 0);
    }
    free(fill);
}

void wi_scan_load_cancel(struct wi_scan_load *load)
{
    load->over = true;
    while (!TAILQ_EMPTY(&load->fills)) {
        struct wi_scan_fill *fill = TAILQ_FIRST(&load->fills);
        TAILQ_REMOVE(&load->fills, fill, next);
        wi_scan_load_answer(load, fill, NULL);
    }
    (void)pthread_cond_broadcast(&load->more);
}

bool wi_scan_load_hold(struct wi_scan_load *load)
{
    if (load->held || load->over) {
        return false;
    }
    load->held = true;
    load->holders++;
    return true;
}

void wi_scan_load_drop(struct wi_scan_load *load)
{
    wi_scan_load_cancel(load);
    wi_scan_load_leave(load);
}

static void leave(struct wi_scan_session *c, struct wi_scan_load *load)
{
    TAILQ_REMOVE(&c->loads, load, on_session);
    c->n_loads--;
    wi_scan_load_leave(load);
}

void wi_scan_loads_leave(struct wi_scan_session *c)
{
    while (!TAILQ_EMPTY(&c->loads)) {
        struct wi_scan_load *load = TAILQ_FIRST(&c->loads);
        wi_scan_load_cancel(load);
        leave(c, load);
    }
}

struct wi_scan_load *wi_scan_load_find(const struct wi_scan_session *session,
                                       const uint64_t *id)
{
    struct wi_scan_load *load;
    TAILQ_FOREACH(load, &session->loads, on_session)
    {
        if (load->key.words[0] == id[0] && load->key.words[1] == id[1]) {
            break;
        }
    }
    return load;
}

/* ---- LOAD ---------------------------------------------------------------- */

/* Ones that are over make place. */
static bool has_place(struct wi_scan_session *c)
{
    struct wi_scan_load *load = TAILQ_FIRST(&c->loads);
    while (load != NULL && c->n_loads >= WI_SCAN_LOADS_MAX) {
        struct wi_scan_load *next = TAILQ_NEXT(load, on_session);
        if (load->over && load->holders == 1) {
            leave(c, load);
        }
        load = next;
    }
    return c->n_loads < WI_SCAN_LOADS_MAX;
}

static void made(struct wi_scan_session *c, const struct weir_ask *ask,
                 struct wi_scan_load *load)
{
    if (!has_place(c)) {
        wi_scan_answer_refuse(ask, WEIR_ERR_BUDGET,
                              "a client has %d loads at most",
                              WI_SCAN_LOADS_MAX);
        wi_scan_load_free(load);
        return;
    }
    TAILQ_INSERT_TAIL(&c->loads, load, on_session);
    c->n_loads++;
    const struct wi_scan_answer a = {
        .id = {load->key.words[0], load->key.words[1]}};
    wi_scan_answer_send(ask, &a, NULL, 0);
}

struct errand {
    struct wi_scan_task task; /* first */
    struct weir_scan_server *server;
    struct wi_scan_session *session;
    struct wi_scan_slot *room;
    struct weir_ask ask;
    struct wi_scan_ask a;
};

static void run_errand(struct wi_scan_task *task)
{
    struct errand *e = (struct errand *)task;
    struct weir_scan_server *s = e->server;
    struct weir_error err = {0};
    struct wi_scan_load *load;
    const uint8_t *bytes = e->room != NULL
                               ? e->room->base
                               : (const uint8_t *)e->ask.bytes + sizeof(e->a);
    (void)pthread_mutex_unlock(&s->lock);
    load = wi_scan_load_make(s, bytes, e->a.n_bytes, e->room != NULL, &err);
    (void)pthread_mutex_lock(&s->lock);
    if (e->room != NULL) {
        wi_scan_room_drop(s, e->room);
    }
    if (load != NULL) {
        made(e->session, &e->ask, load);
    } else {
        wi_scan_answer_error(&e->ask, &err);
    }
    e->session->users--;
    if (e->session->gone) {
        wi_scan_loads_leave(e->session);
    }
    wi_scan_session_settle(s, e->session);
    free(e);
}

void wi_scan_load_open(struct weir_scan_server *s,
                       struct wi_scan_session *session,
                       const struct weir_ask *ask, const struct wi_scan_ask *a,
                       struct wi_scan_slot *room)
{
    struct errand *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        wi_scan_answer_refuse(ask, WEIR_ERR_NO_MEMORY, "no memory for a load");
        return;
    }
    *e = (struct errand){{.run = run_errand}, s, session, room, *ask, *a};
    session->users++;
    if (room != NULL) {
        room->users++;
    }
    wi_scan_work_put(&s->work, &e->task);
}

/* ---- FILL ---------------------------------------------------------------- */

void wi_scan_load_fill(struct wi_scan_load *load, const struct weir_ask *ask,
                       const struct wi_scan_ask *a, struct wi_scan_slot *room)
{
    if (load->over || load->failed) {
        wi_scan_answer_plain(ask, WI_SCAN_END);
        return;
    }
    if (load->last) {
        wi_scan_answer_refuse(ask, WEIR_ERR_DATA, "a FILL after the last one");
        return;
    }
    struct wi_scan_fill *fill = calloc(1, sizeof(*fill));
    if (fill == NULL) {
        wi_scan_answer_refuse(ask, WEIR_ERR_NO_MEMORY, "no memory for a FILL");
        return;
    }
    *fill = (struct wi_scan_fill){.ask = *ask, .a = *a, .room = room};
    if (room != NULL) {
        room->users++;
    }
    load->last = (a->flags & (WI_SCAN_END | WI_SCAN_FAILED)) != 0;
    TAILQ_INSERT_TAIL(&load->fills, fill, next);
    (void)pthread_cond_signal(&load->more);
}
