/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/session.h"

#include <stdlib.h>
#include <string.h>

#include "services/scan/answer.h"
#include "services/scan/load.h"
#include "services/scan/reader.h"
#include "services/scan/slots.h"

/* ---- what engines keep for it -------------------------------------------- */

static void close_state(struct wi_scan_task *task)
{
    struct wi_scan_state *state = (struct wi_scan_state *)task;
    struct weir_scan_server *s = state->server;
    (void)pthread_mutex_unlock(&s->lock);
    wi_scan_keep_fini(&state->keep);
    free(state);
    (void)pthread_mutex_lock(&s->lock);
}

static struct wi_scan_state *make_state(struct weir_scan_server *s)
{
    struct wi_scan_state *state = calloc(1, sizeof(*state));
    if (state != NULL) {
        state->task.run = close_state;
        state->server = s;
        state->holders = 1;
        wi_scan_keep_init(&state->keep);
    }
    return state;
}

struct wi_scan_state *wi_scan_state_hold(struct wi_scan_state *state)
{
    state->holders++;
    return state;
}

/* Engines may take long to end a session: who leads never waits for one. */
void wi_scan_state_drop(struct wi_scan_state *state)
{
    if (--state->holders == 0) {
        wi_scan_work_put(&state->server->work, &state->task);
    }
}

/* ---- coming and going ---------------------------------------------------- */

static void destroy(struct wi_scan_session *c)
{
    if (c->state != NULL) {
        wi_scan_state_drop(c->state);
    }
    if (c->share != NULL) {
        wi_scan_share_drop(c->share);
    }
    free(c->peer);
    free(c);
}

static struct wi_scan_session *make(struct weir_scan_server *s,
                                    const struct weir_ask *ask,
                                    const struct wi_scan_ask *a)
{
    struct wi_scan_session *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    c->peer = strdup(ask->peer);
    c->state = make_state(s);
    c->share = wi_scan_share_make();
    if (c->peer == NULL || c->state == NULL || c->share == NULL) {
        destroy(c);
        return NULL;
    }
    c->key = (struct wi_scan_key){{a->client[0], a->client[1]}};
    c->incarnation = ask->peer_incarnation;
    c->hold = *ask;
    TAILQ_INIT(&c->readers);
    TAILQ_INIT(&c->slots);
    TAILQ_INIT(&c->loads);
    return c;
}

void wi_scan_session_open(struct weir_scan_server *s,
                          const struct weir_ask *ask,
                          const struct wi_scan_ask *a)
{
    if (wi_scan_ids_find(&s->sessions_by_key, a->client) != NULL) {
        wi_scan_answer_refuse(ask, WEIR_ERR_DATA,
                              "a client of this number is there already");
        return;
    }
    if (s->stats.clients >= s->p.max_readers) {
        wi_scan_answer_refuse(ask, WEIR_ERR_BUDGET,
                              "the server has %u clients: its max_readers",
                              s->p.max_readers);
        return;
    }
    struct wi_scan_session *c = make(s, ask, a);
    if (c == NULL || !wi_scan_ids_put(&s->sessions_by_key, &c->key)) {
        wi_scan_answer_refuse(ask, WEIR_ERR_NO_MEMORY,
                              "no memory for a client");
        if (c != NULL) {
            destroy(c);
        }
        return;
    }
    TAILQ_INSERT_TAIL(&s->sessions, c, on_server);
    s->stats.clients++;
}

struct wi_scan_session *wi_scan_session_of(struct weir_scan_server *s,
                                           const struct weir_ask *ask,
                                           const struct wi_scan_ask *a)
{
    struct wi_scan_session *c =
        wi_scan_ids_find(&s->sessions_by_key, a->client);
    if (c == NULL || c->incarnation != ask->peer_incarnation ||
        strcmp(c->peer, ask->peer) != 0) {
        wi_scan_answer_refuse(ask, WEIR_ERR_NOT_FOUND, "no such client");
        return NULL;
    }
    return c;
}

/* The first that is not over yet; each end may let the lock go. */
static struct wi_scan_reader *first_reader(struct wi_scan_session *c)
{
    struct wi_scan_reader *r = TAILQ_FIRST(&c->readers);
    while (r != NULL && r->over) {
        r = TAILQ_NEXT(r, on_session);
    }
    return r;
}

void wi_scan_session_leave(struct weir_scan_server *s,
                           struct wi_scan_session *c)
{
    struct wi_scan_reader *r;
    c->gone = true;
    c->users++;
    wi_scan_ids_drop(&s->sessions_by_key, &c->key);
    s->stats.clients--;
    wi_scan_answer_refuse(&c->hold, WEIR_ERR_NOT_FOUND, "nobody serves here");
    while ((r = first_reader(c)) != NULL) {
        wi_scan_reader_end(r);
    }
    wi_scan_loads_leave(c);
    wi_scan_slots_close(s, c);
    c->users--;
    wi_scan_session_settle(s, c);
}

void wi_scan_session_settle(struct weir_scan_server *s,
                            struct wi_scan_session *c)
{
    if (c->gone && c->users == 0 && TAILQ_EMPTY(&c->readers) &&
        TAILQ_EMPTY(&c->slots) && TAILQ_EMPTY(&c->loads)) {
        TAILQ_REMOVE(&s->sessions, c, on_server);
        destroy(c);
    }
}
