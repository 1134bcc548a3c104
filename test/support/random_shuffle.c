/* SPDX-License-Identifier: Apache-2.0 */
/* Shuffles and joins of random plans. */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>

#include "test/support/random_parts.h"

enum { NAME = WT_RANDOM_NAME_BYTES };

/* By hash, or by range where the columns have bounds. */
struct wt_rule wt_random_rule(struct wt_maker *m,
                              const struct wt_random_column *const *key,
                              uint32_t n)
{
    struct wt_rule rule = {.n_keys = n, .seed = wt_draw(m, 1000)};
    rule.range = wt_draw(m, 3) == 0;
    rule.n_bounds = 1 + wt_draw(m, WT_RANDOM_BOUNDS);
    for (uint32_t i = 0; i < rule.n_bounds; i++) {
        for (uint32_t k = 0; k < n; k++) {
            const char *bound = wt_random_bound(key[k], i);
            rule.range &= bound[0] != '\0';
            rule.bound[i * n + k] = bound;
        }
    }
    return rule;
}

void wt_shuffle_by(struct wt_maker *m, struct wt_relation *r,
                   const struct wt_rule *rule,
                   const struct wt_random_column *const *key)
{
    json_t *op = json_pack("{ssssss}", "op", "shuffle", "input", r->op, "by",
                           rule->range ? "range" : "hash");
    json_t *keys = json_array();
    for (uint32_t k = 0; k < rule->n_keys; k++) {
        (void)json_array_append_new(keys, json_string(key[k]->name));
    }
    (void)json_object_set_new(op, "keys", keys);
    json_t *bounds = json_array();
    for (uint32_t i = 0; rule->range && i < rule->n_bounds; i++) {
        json_t *row = json_array();
        for (uint32_t k = 0; k < rule->n_keys; k++) {
            (void)json_array_append_new(
                row, json_string(rule->bound[i * rule->n_keys + k]));
        }
        (void)json_array_append_new(bounds, row);
    }
    if (rule->range) {
        (void)json_object_set(op, "bounds", bounds);
    } else {
        (void)json_object_set_new(op, "seed", json_integer(rule->seed));
    }
    json_decref(bounds);
    wt_add(m, r, op);
    r->single = false;
}

void wt_shuffle_to(struct wt_maker *m, struct wt_relation *r, const char *by)
{
    wt_add(m, r,
           json_pack("{ssssss}", "op", "shuffle", "input", r->op, "by", by));
    r->single = strcmp(by, "gather") == 0;
}

/* Anywhere, or by any columns. */
void wt_random_shuffle(struct wt_maker *m, struct wt_relation *r)
{
    static const char *const anywhere[] = {"random", "round_robin", "gather"};
    const uint32_t x = wt_draw(m, 6);
    if (x < 3) {
        wt_shuffle_to(m, r, anywhere[x]);
        return;
    }
    const struct wt_random_column *key[2] = {&r->column[wt_draw(m, r->n)],
                                             &r->column[wt_draw(m, r->n)]};
    const struct wt_rule rule =
        wt_random_rule(m, key, key[0] == key[1] ? 1 : x % 2 + 1);
    wt_shuffle_by(m, r, &rule, key);
}

/* ---- joins --------------------------------------------------------------- */

struct pairs {
    const struct wt_random_column *left[WT_RANDOM_KEYS];
    const struct wt_random_column *right[WT_RANDOM_KEYS];
    uint32_t n;
};

/* Have they one type, with few enough rows for each value? */
static bool matches(const struct wt_random_column *a,
                    const struct wt_random_column *b, bool first)
{
    return a->kind == b->kind && (!first || a->kind != WT_FLAG) &&
           (a->kind != WT_DECIMAL ||
            (a->scale == b->scale && a->plain && b->plain));
}

static struct pairs find_pairs(struct wt_maker *m, const struct wt_relation *l,
                               const struct wt_relation *r)
{
    struct pairs p = {.n = 0};
    const uint32_t most = 1 + wt_draw(m, WT_RANDOM_KEYS);
    const uint32_t first = wt_draw(m, l->n * r->n);
    for (uint32_t i = 0; i < l->n * r->n && p.n < most; i++) {
        const uint32_t at = (first + i) % (l->n * r->n);
        const struct wt_random_column *a = &l->column[at / r->n];
        const struct wt_random_column *b = &r->column[at % r->n];
        bool good = matches(a, b, p.n == 0);
        for (uint32_t k = 0; k < p.n; k++) {
            good &= p.left[k] != a && p.right[k] != b;
        }
        if (good) {
            p.left[p.n] = a;
            p.right[p.n] = b;
            p.n++;
        }
    }
    return p;
}

static void join_sql(struct wt_relation *l, const struct wt_relation *r,
                     const char *kind, const struct pairs *p)
{
    char on[WT_RANDOM_KEYS * (2 * NAME + 8)] = "";
    size_t at = 0;
    for (uint32_t k = 0; k < p->n; k++) {
        at += (size_t)snprintf(on + at, sizeof(on) - at, "%s%s = %s",
                               k > 0 ? " and " : "", p->left[k]->name,
                               p->right[k]->name);
    }
    if (strcmp(kind, "inner") == 0 || strcmp(kind, "left") == 0) {
        wt_wrap(&l->sql, "select * from (%s) %s join (%s) on %s", l->sql, kind,
                r->sql, on);
    } else {
        wt_wrap(&l->sql,
                "select * from (%s) where %sexists (select 1 from (%s) "
                "where %s)",
                l->sql, strcmp(kind, "anti") == 0 ? "not " : "", r->sql, on);
    }
}

/* The right side to every worker, both to one, or both by some of the keys. */
static void bring_together(struct wt_maker *m, struct wt_relation *l,
                           struct wt_relation *r, const struct pairs *p)
{
    const uint32_t x = wt_draw(m, 8);
    if (x < 2) {
        wt_shuffle_to(m, r, "broadcast");
    } else if (x == 2) {
        wt_shuffle_to(m, l, "gather");
        wt_shuffle_to(m, r, "gather");
    } else {
        const struct wt_rule rule =
            wt_random_rule(m, p->left, 1 + wt_draw(m, p->n));
        wt_shuffle_by(m, l, &rule, p->left);
        wt_shuffle_by(m, r, &rule, p->right);
    }
}

static json_t *key_names(const struct wt_random_column *const *key, uint32_t n)
{
    json_t *names = json_array();
    for (uint32_t i = 0; i < n; i++) {
        (void)json_array_append_new(names, json_string(key[i]->name));
    }
    return names;
}

bool wt_random_join(struct wt_maker *m, struct wt_relation *l,
                    struct wt_relation *r)
{
    static const char *const kinds[] = {"inner", "left", "semi", "anti"};
    const char *kind = kinds[wt_draw(m, 4)];
    const struct pairs p = find_pairs(m, l, r);
    if (p.n == 0 || l->n + r->n > WT_RANDOM_COLUMNS) {
        return false;
    }
    bring_together(m, l, r, &p);
    wt_add(m, l,
           json_pack("{sssssssssssoso}", "op", "join", "kind", kind, "filter",
                     "always", "left", l->op, "right", r->op, "left_keys",
                     key_names(p.left, p.n), "right_keys",
                     key_names(p.right, p.n)));
    join_sql(l, r, kind, &p);
    if (strcmp(kind, "inner") == 0 || strcmp(kind, "left") == 0) {
        memcpy(&l->column[l->n], r->column, r->n * sizeof(r->column[0]));
        l->n += r->n;
    }
    return true;
}
