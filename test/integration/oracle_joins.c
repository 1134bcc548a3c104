/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins give what SQLite gives, wherever docs/plan.md lets their inputs be:
 * every pair of places that a plan accepts, with every kind of join.
 */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "test/support/oracle_data.h"

static const struct wt_place sim = {.transport = "sim", .sim = true};
static const struct wt_place shm = {.transport = "shm"};

/* What moves the rows of a side; the key is h. */
static const struct place {
    const char *name;
    const char *how; /* NULL: they stay where the scan has them */
} places[] = {
    {"any", NULL},
    {"random", "\"by\": \"random\""},
    {"hash", "\"by\": \"hash\", \"keys\": [\"h\"]"},
    {"range",
     "\"by\": \"range\", \"keys\": [\"h\"], \"bounds\": [[10], [30], [60]]"},
    {"gather", "\"by\": \"gather\""},
    {"broadcast", "\"by\": \"broadcast\""},
};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

static const struct kind {
    const char *name;
    bool both;         /* sides are given out */
    const char *where; /* the condition beside the keys, in JSON [none] */
    const char *sql;
} kinds[] = {
    {"inner", true, "",
     "select g, f.h, name from facts f join dims d on f.h = d.h"},
    {"left", true, "",
     "select g, f.h, name from facts f left join dims d on f.h = d.h"},
    {"semi", false, "",
     "select g, h, null from facts f where exists "
     "(select 1 from dims d where d.h = f.h)"},
    {"anti", false, "",
     "select g, h, null from facts f where not exists "
     "(select 1 from dims d where d.h = f.h)"},
    {"inner", true, ", \"where\": \"s < name\"",
     "select g, f.h, name from facts f join dims d on f.h = d.h "
     "and s < name"},
    {"left", true, ", \"where\": \"s < name\"",
     "select g, f.h, name from facts f left join dims d on f.h = d.h "
     "and s < name"},
    {"semi", false, ", \"where\": \"s < name\"",
     "select g, h, null from facts f where exists "
     "(select 1 from dims d where d.h = f.h and s < name)"},
    {"anti", false, ", \"where\": \"s < name\"",
     "select g, h, null from facts f where not exists "
     "(select 1 from dims d where d.h = f.h and s < name)"},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), JSON_BYTES = 16384 };

static void side(char *text, size_t room, const char *name, const char *scan,
                 const struct place *p)
{
    (void)snprintf(text, room,
                   p->how == NULL
                       ? "{\"name\": \"%s\", \"op\": \"filter\", \"input\": "
                         "\"%s\", \"where\": \"true\"%s}"
                       : "{\"name\": \"%s\", \"op\": \"shuffle\", \"input\": "
                         "\"%s\", %s}",
                   name, scan, p->how == NULL ? "" : p->how);
}

static void plan(char *json, const struct place *left,
                 const struct place *right, const struct kind *kind)
{
    char l[256];
    char r[256];
    side(l, sizeof(l), "l", "facts", left);
    side(r, sizeof(r), "r", "dims", right);
    (void)snprintf(
        json, JSON_BYTES,
        "{\"weir\": 1, \"tables\": %s, \"operators\": ["
        "{\"name\": \"facts\", \"op\": \"scan\", \"table\": \"facts\"},"
        "{\"name\": \"dims\", \"op\": \"scan\", \"table\": \"dims\"},"
        "%s, %s, {\"name\": \"j\", \"op\": \"join\", \"kind\": \"%s\","
        "\"filter\": \"always\","
        "\"left\": \"l\", \"right\": \"r\", \"keys\": [\"h\"]%s},"
        "{\"name\": \"p\", \"op\": \"project\", \"input\": \"j\", \"outputs\": "
        "[\"g\", \"h\", {\"name\": \"name\", \"expr\": \"%s\"}]}],"
        "\"result\": \"p\"}",
        wt_oracle_tables(), l, r, kind->name, kind->where,
        kind->both ? "name" : "cast(null as utf8)");
}

/* docs/plan.md, "join"; and rows that are on every worker are no answer. */
static bool allowed(const struct place *left, const struct place *right)
{
    const bool every = strcmp(left->name, "broadcast") == 0;
    const bool alike =
        left == right && left != &places[0] && left != &places[1];
    return !every && (alike || strcmp(right->name, "broadcast") == 0);
}

static void run_kind(struct wt_oracle *o, struct wt_cluster *c,
                     const struct kind *kind)
{
    static char json[JSON_BYTES];
    for (uint32_t i = 0; i < PLACES * PLACES; i++) {
        char name[96];
        const struct place *left = &places[i % PLACES];
        const struct place *right = &places[i / PLACES];
        if (!allowed(left, right)) {
            continue;
        }
        plan(json, left, right, kind);
        (void)snprintf(name, sizeof(name), "%s, %s, %s join%s", left->name,
                       right->name, kind->name, kind->where);
        wt_oracle_check(o, c,
                        &(struct wt_oracle_case){
                            .name = name, .json = json, .sql = kind->sql});
    }
}

static void run_all(const struct wt_place *place,
                    const struct wt_cluster_params *params)
{
    static struct wt_cluster c;
    struct wt_oracle o;
    wt_oracle_open(&o);
    wt_oracle_data(&o, 3, 600);
    wt_cluster_open(&c, place, params);
    for (uint32_t k = 0; k < KINDS; k++) {
        run_kind(&o, &c, &kinds[k]);
    }
    wt_cluster_close(&c);
    wt_oracle_close(&o);
}

Test(oracle_joins, every_pair_of_places_in_the_simulator)
{
    run_all(&sim, &(struct wt_cluster_params){.nodes = 3, .workers = 2});
}

Test(oracle_joins, every_pair_of_places_over_shm)
{
    run_all(&shm, &(struct wt_cluster_params){.nodes = 2, .workers = 2});
}
