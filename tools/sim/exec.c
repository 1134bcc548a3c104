/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/exec.h"

#include <stdio.h>
#include <string.h>

enum { ALL_ROWS = 600, SOME_ROWS = 150 };

/* The numbers below SOME_ROWS are in both tables. */
static const char plan_text[] =
    "{\"weir\": 1, \"tables\": {"
    "\"all\": {\"series\": {\"rows\": %d, \"columns\": ["
    "{\"name\": \"n\", \"type\": \"int64\"}]}},"
    "\"some\": {\"series\": {\"rows\": %d, \"columns\": ["
    "{\"name\": \"n\", \"type\": \"int64\"}]}}},"
    "\"operators\": ["
    "{\"name\": \"a\", \"op\": \"scan\", \"table\": \"all\"},"
    "{\"name\": \"as\", \"op\": \"shuffle\", \"input\": \"a\","
    " \"by\": \"hash\", \"keys\": [\"n\"]},"
    "{\"name\": \"s\", \"op\": \"scan\", \"table\": \"some\"},"
    "{\"name\": \"ss\", \"op\": \"shuffle\", \"input\": \"s\","
    " \"by\": \"hash\", \"keys\": [\"n\"]},"
    "{\"name\": \"j\", \"op\": \"join\", \"kind\": \"inner\","
    " \"left\": \"as\", \"right\": \"ss\", \"keys\": [\"n\"]},"
    "{\"name\": \"p\", \"op\": \"aggregate\", \"input\": \"j\","
    " \"mode\": \"partial\", \"groups\": [], \"aggregates\": ["
    "{\"name\": \"c\", \"expr\": \"count(*)\"},"
    "{\"name\": \"t\", \"expr\": \"sum(n)\"}]},"
    "{\"name\": \"g\", \"op\": \"shuffle\", \"input\": \"p\","
    " \"by\": \"gather\"},"
    "{\"name\": \"f\", \"op\": \"aggregate\", \"input\": \"g\","
    " \"mode\": \"final\", \"groups\": [], \"aggregates\": ["
    "{\"name\": \"c\", \"expr\": \"count(*)\"},"
    "{\"name\": \"t\", \"expr\": \"sum(n)\"}]}],"
    "\"result\": \"f\"}";

void ws_exec_open(struct ws_world *w)
{
    struct weir_error err = {0};
    char text[sizeof(plan_text) + 32];
    bool any = false;
    for (uint32_t i = 0; i < w->shape.n_queries; i++) {
        any = any || w->shape.query[i].plan == WS_EXECUTOR;
    }
    const int n = snprintf(text, sizeof(text), plan_text, ALL_ROWS, SOME_ROWS);
    if (any &&
        weir_plan_read(text, (size_t)n, NULL, &w->plan, &err) != WEIR_OK) {
        ws_violate(w, "machine", "no plan: %s", err.message);
    }
}

void ws_exec_close(struct ws_world *w)
{
    weir_plan_close(w->plan);
    w->plan = NULL;
}

static weir_err take_rows(void *arg, const struct ArrowArray *b,
                          struct weir_error *err)
{
    struct ws_answer *a = arg;
    (void)err;
    for (int64_t i = 0; i < b->length; i++) {
        const struct ArrowArray *const *c =
            (const struct ArrowArray *const *)b->children;
        a->rows++;
        a->count += ((const int64_t *)c[0]->buffers[1])[c[0]->offset + i];
        a->sum += ((const int64_t *)c[1]->buffers[1])[c[1]->offset + i];
    }
    return WEIR_OK;
}

weir_err ws_exec_begin(struct ws_part *p, struct weir_error *err)
{
    struct ws_world *w = p->world;
    const struct weir_run_params params = {
        .query_id = p->query + 1,
        .deadline_ns = w->query[p->query].deadline_ns,
        .rows = take_rows,
        .rows_arg = &w->answer[p->query],
    };
    return weir_run_open(weir_sim_node(w->sim, p->node), w->plan, &params,
                         &p->run, err);
}

bool ws_exec_is_right(const struct ws_world *w, uint32_t query)
{
    const struct ws_answer *a = &w->answer[query];
    return a->rows == 1 && a->count == SOME_ROWS &&
           a->sum == SOME_ROWS * (SOME_ROWS - 1) / 2;
}
