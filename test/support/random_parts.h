/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What random plans are made of: relations, and expressions over their columns,
 * each beside the SQL that says the same.
 *
 * A relation is the plan so far, as its last operator. Columns have names of
 * their own, so that joins never meet the same twice.
 */
#ifndef WT_RANDOM_PARTS_H
#define WT_RANDOM_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    WT_RANDOM_COLUMNS = 24,
    WT_RANDOM_KEYS = 3,   /* of a join, at most */
    WT_RANDOM_BOUNDS = 3, /* of a range, at most */
    WT_RANDOM_NAME_BYTES = 16,
    WT_RANDOM_TEXT_BYTES = 512
};

enum wt_kind {
    WT_INT64,
    WT_INT32,
    WT_STRING,
    WT_DECIMAL, /* of some scale: an integer in SQL */
    WT_DAY,
    WT_TIME,  /* timestamp(us) */
    WT_EXACT, /* float64; sums of its values are the same in any order */
    WT_FLOAT, /* float64 */
    WT_FLAG,
};

struct wt_random_column {
    char name[WT_RANDOM_NAME_BYTES];
    enum wt_kind kind;
    int scale;  /* DECIMAL */
    bool plain; /* DECIMAL: of its table's type; else of another precision */
};

struct wt_relation {
    char op[WT_RANDOM_NAME_BYTES];
    char *sql;
    struct wt_random_column column[WT_RANDOM_COLUMNS];
    uint32_t n;
    bool single; /* its rows are gathered */
};

/** A value as both languages have it. */
struct wt_random_text {
    char weir[WT_RANDOM_TEXT_BYTES];
    char sql[WT_RANDOM_TEXT_BYTES];
};

struct wt_maker {
    uint64_t random;
    uint32_t names;
    json_t *operators;
};

/** 0 .. below-1. */
uint32_t wt_draw(struct wt_maker *m, uint32_t below);

void wt_next_name(struct wt_maker *m, char first,
                  char name[WT_RANDOM_NAME_BYTES]);

/** Replace *text by a formatted one, which may contain it. */
void wt_wrap(char **text, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Add an operator, taken over; its name becomes the relation's. */
void wt_add(struct wt_maker *m, struct wt_relation *r, json_t *op);

/** A condition on a column. */
void wt_random_predicate(struct wt_maker *m, const struct wt_random_column *c,
                         struct wt_random_text *out);

/** A value computed from a column; its name, kind and scale in *out. */
void wt_random_value(struct wt_maker *m, const struct wt_random_column *c,
                     struct wt_random_text *text, struct wt_random_column *out);

/** The i-th bound of a range of a column, ascending. "" if its type has none
 *  here. */
const char *wt_random_bound(const struct wt_random_column *c, uint32_t i);

/** The SQL of avg(c) of a decimal, which rounds half away from zero. */
void wt_random_average(const struct wt_random_column *c,
                       char sql[WT_RANDOM_TEXT_BYTES]);

/** How rows are brought together: both sides of a join alike. */
struct wt_rule {
    uint32_t n_keys;
    uint32_t seed;
    bool range;
    const char *bound[WT_RANDOM_BOUNDS * WT_RANDOM_KEYS];
    uint32_t n_bounds;
};

/** By hash, or by range where the columns have bounds. */
struct wt_rule wt_random_rule(struct wt_maker *m,
                              const struct wt_random_column *const *key,
                              uint32_t n);

void wt_shuffle_by(struct wt_maker *m, struct wt_relation *r,
                   const struct wt_rule *rule,
                   const struct wt_random_column *const *key);
void wt_shuffle_to(struct wt_maker *m, struct wt_relation *r, const char *by);

/** Anywhere, or by any columns. */
void wt_random_shuffle(struct wt_maker *m, struct wt_relation *r);

/** Join r to l, with the shuffles below. False, and nothing is done, if they
 *  have no columns of a type. */
bool wt_random_join(struct wt_maker *m, struct wt_relation *l,
                    struct wt_relation *r);

/** Some aggregates by up to two groups, with the shuffle that they need. */
void wt_random_aggregate(struct wt_maker *m, struct wt_relation *r);

#endif /* WT_RANDOM_PARTS_H */
