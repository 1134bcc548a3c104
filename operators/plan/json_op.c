/* SPDX-License-Identifier: Apache-2.0 */
/* Operators from JSON: each reads its fields into the params of plan.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/fail.h"
#include "operators/plan/draft.h"
#include "operators/plan/json.h"
#include "operators/plan/kind.h"
#include "operators/plan/partitioning.h"

static weir_err text(const struct wi_json_item *it, const char *field,
                     const char **out)
{
    return wi_json_text(it->j, it->at, field, out);
}

/* Zeroed memory, `bytes` for each entry of a field. Ownership: free. */
static weir_err entries(const struct wi_json_item *it, const char *field,
                        size_t bytes, const json_t **array_out, void **out)
{
    *array_out = NULL;
    *out = NULL;
    weir_err rc = wi_json_array(it->j, it->at, field, array_out);
    if (rc == WEIR_OK) {
        *out = calloc(json_array_size(*array_out) + 1, bytes);
        rc = *out == NULL ? wi_exec_no_memory(it->j->err, bytes) : WEIR_OK;
    }
    return rc;
}

/* ---- scan, filter -------------------------------------------------------- */

weir_err wi_json_scan(const struct wi_json_item *it)
{
    const char *table = NULL;
    struct wi_json_texts columns = {0};
    weir_err rc = text(it, "table", &table);
    if (rc == WEIR_OK) {
        rc = wi_json_texts(it->j, it->at, "columns", &columns);
    }
    if (rc == WEIR_OK && columns.at != NULL && columns.n == 0) {
        (void)wi_json_enter(it->j, ".columns");
        rc = wi_json_fail(it->j, WEIR_ERR_DATA,
                          "one column or more was expected; without the field "
                          "all are read");
    }
    if (rc == WEIR_OK) {
        rc = weir_plan_scan(it->j->plan, it->name, table, columns.at, columns.n,
                            it->j->err);
    }
    free(columns.at);
    return rc;
}

weir_err wi_json_filter(const struct wi_json_item *it)
{
    const char *input = NULL;
    const char *where = NULL;
    weir_err rc = text(it, "input", &input);
    rc = rc == WEIR_OK ? text(it, "where", &where) : rc;
    return rc == WEIR_OK ? weir_plan_filter(it->j->plan, it->name, input, where,
                                            it->j->err)
                         : rc;
}

/* ---- project, aggregate -------------------------------------------------- */

/* {"name": ..., "expr": ...}; in a project also the text alone. */
static weir_err read_output(struct wi_json *j, const json_t *at, bool plain,
                            struct weir_output *out)
{
    static const char *const fields[] = {"name", "expr", NULL};
    static const char *const needed[] = {"expr", NULL};
    if (plain && json_is_string(at)) {
        out->expr = json_string_value(at);
        return WEIR_OK;
    }
    weir_err rc = wi_json_check(j, at, "an output", fields);
    if (rc == WEIR_OK) {
        rc = wi_json_need(j, at, "an output", plain ? needed : fields);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_text(j, at, "name", &out->name);
    }
    return rc == WEIR_OK ? wi_json_text(j, at, "expr", &out->expr) : rc;
}

static weir_err read_outputs(const struct wi_json_item *it, const char *field,
                             struct weir_output **out, uint32_t *n_out)
{
    const json_t *array;
    void *memory;
    weir_err rc = entries(it, field, sizeof(**out), &array, &memory);
    *out = memory;
    *n_out = (uint32_t)json_array_size(array);
    for (uint32_t i = 0; rc == WEIR_OK && i < *n_out; i++) {
        const size_t length =
            wi_json_enter(it->j, ".%s[%" PRIu32 "]", field, i);
        rc = read_output(it->j, json_array_get(array, i),
                         strcmp(field, "outputs") == 0, &(*out)[i]);
        wi_json_leave(it->j, length);
    }
    return rc;
}

weir_err wi_json_project(const struct wi_json_item *it)
{
    const char *input = NULL;
    struct weir_output *outputs = NULL;
    uint32_t n;
    weir_err rc = text(it, "input", &input);
    if (rc == WEIR_OK) {
        rc = read_outputs(it, "outputs", &outputs, &n);
    }
    if (rc == WEIR_OK) {
        rc = weir_plan_project(it->j->plan, it->name, input, outputs, n,
                               it->j->err);
    }
    free(outputs);
    return rc;
}

weir_err wi_json_aggregate(const struct wi_json_item *it)
{
    struct weir_aggregate_params p = {0};
    struct weir_output *outputs = NULL;
    struct wi_json_texts groups = {0};
    uint32_t mode = WEIR_AGGREGATE_COMPLETE;
    weir_err rc = text(it, "input", &p.input);
    rc = rc == WEIR_OK
             ? wi_json_word(it->j, it->at, "mode", wi_aggregate_words, &mode)
             : rc;
    if (rc == WEIR_OK) {
        rc = wi_json_texts(it->j, it->at, "groups", &groups);
    }
    if (rc == WEIR_OK) {
        rc = read_outputs(it, "aggregates", &outputs, &p.n_aggregates);
    }
    if (rc == WEIR_OK) {
        p.mode = (weir_aggregate_mode)mode;
        p.groups = groups.at;
        p.n_groups = groups.n;
        p.aggregates = outputs;
        rc = weir_plan_aggregate(it->j->plan, it->name, &p, it->j->err);
    }
    free(outputs);
    free(groups.at);
    return rc;
}

/* ---- join ---------------------------------------------------------------- */

static weir_err join_keys(const struct wi_json_item *it,
                          struct wi_json_texts *left,
                          struct wi_json_texts *right)
{
    const bool both = json_object_get(it->at, "keys") != NULL;
    const bool apart = json_object_get(it->at, "left_keys") != NULL &&
                       json_object_get(it->at, "right_keys") != NULL;
    const bool any = json_object_get(it->at, "left_keys") != NULL ||
                     json_object_get(it->at, "right_keys") != NULL;
    if (both == any || any != apart) {
        return wi_json_fail(it->j, WEIR_ERR_DATA,
                            "a join needs \"keys\", or else \"left_keys\" and "
                            "\"right_keys\"");
    }
    weir_err rc =
        wi_json_texts(it->j, it->at, both ? "keys" : "left_keys", left);
    if (rc == WEIR_OK && apart) {
        rc = wi_json_texts(it->j, it->at, "right_keys", right);
    }
    if (rc == WEIR_OK && apart && left->n != right->n) {
        (void)wi_json_enter(it->j, ".right_keys");
        return wi_json_fail(it->j, WEIR_ERR_DATA,
                            "%" PRIu32 " keys were expected, as in left_keys, "
                            "found %" PRIu32,
                            left->n, right->n);
    }
    return rc;
}

weir_err wi_json_join(const struct wi_json_item *it)
{
    struct weir_join_params p = {0};
    struct wi_json_texts left = {0};
    struct wi_json_texts right = {0};
    uint32_t kind = WEIR_JOIN_INNER;
    uint32_t filter = WEIR_JOIN_FILTER_AUTO;
    weir_err rc = text(it, "left", &p.left);
    rc = rc == WEIR_OK ? text(it, "right", &p.right) : rc;
    if (rc == WEIR_OK) {
        rc = wi_json_word(it->j, it->at, "kind", wi_join_words, &kind);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_word(it->j, it->at, "filter", wi_join_filter_words,
                          &filter);
    }
    if (rc == WEIR_OK) {
        rc = join_keys(it, &left, &right);
    }
    if (rc == WEIR_OK && json_object_get(it->at, "where") != NULL) {
        rc = text(it, "where", &p.where);
    }
    if (rc == WEIR_OK) {
        p.kind = (weir_join_kind)kind;
        p.filter = (weir_join_filter)filter;
        p.left_keys = left.at;
        p.right_keys = right.at;
        p.n_keys = left.n;
        rc = weir_plan_join(it->j->plan, it->name, &p, it->j->err);
    }
    free(left.at);
    free(right.at);
    return rc;
}

/* ---- sort, limit, union, merge ------------------------------------------- */

/* {"column": ..., "order": ..., "nulls": ...}, or the column alone. */
static weir_err read_sort_key(struct wi_json *j, const json_t *at,
                              struct weir_sort_key *out)
{
    static const char *const fields[] = {"column", "order", "nulls", NULL};
    static const char *const needed[] = {"column", NULL};
    static const char *const orders[] = {"asc", "desc", NULL};
    static const char *const nulls[] = {"last", "first", NULL};
    uint32_t order = 0;
    uint32_t first = 0;
    if (json_is_string(at)) {
        out->column = json_string_value(at);
        return WEIR_OK;
    }
    weir_err rc = wi_json_check(j, at, "a sort key", fields);
    if (rc == WEIR_OK) {
        rc = wi_json_need(j, at, "a sort key", needed);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_text(j, at, "column", &out->column);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_word(j, at, "order", orders, &order);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_word(j, at, "nulls", nulls, &first);
    }
    out->descending = (int)order;
    out->nulls_first = (int)first;
    return rc;
}

/* 0 is refused: it would read as no rows, but weir_plan_sort gives all. */
static weir_err sort_rows(const struct wi_json_item *it, uint64_t *out)
{
    weir_err rc = wi_json_u64(it->j, it->at, "rows", out);
    if (rc != WEIR_OK || *out != 0 || json_object_get(it->at, "rows") == NULL) {
        return rc;
    }
    (void)wi_json_enter(it->j, ".rows");
    return wi_json_fail(it->j, WEIR_ERR_DATA,
                        "1 or more was expected; without the field all rows "
                        "are given out");
}

weir_err wi_json_sort(const struct wi_json_item *it)
{
    struct weir_sort_params p = {0};
    const json_t *array;
    void *memory;
    weir_err rc = text(it, "input", &p.input);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = entries(it, "by", sizeof(struct weir_sort_key), &array, &memory);
    struct weir_sort_key *keys = memory;
    for (; rc == WEIR_OK && p.n_keys < json_array_size(array); p.n_keys++) {
        const size_t length =
            wi_json_enter(it->j, ".by[%" PRIu32 "]", p.n_keys);
        rc = read_sort_key(it->j, json_array_get(array, p.n_keys),
                           &keys[p.n_keys]);
        wi_json_leave(it->j, length);
    }
    if (rc == WEIR_OK) {
        rc = sort_rows(it, &p.rows);
    }
    if (rc == WEIR_OK) {
        p.keys = keys;
        rc = weir_plan_sort(it->j->plan, it->name, &p, it->j->err);
    }
    free(keys);
    return rc;
}

weir_err wi_json_limit(const struct wi_json_item *it)
{
    const char *input = NULL;
    uint64_t rows = 0;
    uint64_t offset = 0;
    weir_err rc = text(it, "input", &input);
    rc = rc == WEIR_OK ? wi_json_u64(it->j, it->at, "rows", &rows) : rc;
    rc = rc == WEIR_OK ? wi_json_u64(it->j, it->at, "offset", &offset) : rc;
    return rc == WEIR_OK ? weir_plan_limit(it->j->plan, it->name, input, rows,
                                           offset, it->j->err)
                         : rc;
}

weir_err wi_json_union(const struct wi_json_item *it)
{
    struct wi_json_texts inputs = {0};
    weir_err rc = wi_json_texts(it->j, it->at, "inputs", &inputs);
    if (rc == WEIR_OK) {
        rc = weir_plan_union(it->j->plan, it->name, inputs.at, inputs.n,
                             it->j->err);
    }
    free(inputs.at);
    return rc;
}

weir_err wi_json_merge(const struct wi_json_item *it)
{
    const char *input = NULL;
    weir_err rc = text(it, "input", &input);
    return rc == WEIR_OK
               ? weir_plan_merge(it->j->plan, it->name, input, it->j->err)
               : rc;
}

/* ---- shuffle ------------------------------------------------------------- */

/* Texts of the bounds, bound by bound; numbers are printed to `numbers`. */
struct bounds {
    const json_t *array;
    const char **texts;
    char (*numbers)[WI_JSON_SCALAR_BYTES];
    uint32_t n_keys;
    uint32_t n;
};

static weir_err read_bound(struct wi_json *j, struct bounds *b, uint32_t i)
{
    const json_t *row = json_array_get(b->array, i);
    weir_err rc = WEIR_OK;
    if (!json_is_array(row) || json_array_size(row) != b->n_keys) {
        return wi_json_fail(j, WEIR_ERR_DATA,
                            "an array of %" PRIu32 " values, one per key, was "
                            "expected",
                            b->n_keys);
    }
    for (uint32_t k = 0; rc == WEIR_OK && k < b->n_keys; k++) {
        const size_t length = wi_json_enter(j, "[%" PRIu32 "]", k);
        const uint32_t at = i * b->n_keys + k;
        rc = wi_json_scalar(j, json_array_get(row, k), b->numbers[at],
                            &b->texts[at]);
        wi_json_leave(j, length);
    }
    return rc;
}

static weir_err read_bounds(const struct wi_json_item *it, struct bounds *b)
{
    weir_err rc = wi_json_array(it->j, it->at, "bounds", &b->array);
    b->n = (uint32_t)json_array_size(b->array);
    if (rc != WEIR_OK || b->array == NULL) {
        return rc;
    }
    const size_t n = (size_t)b->n * b->n_keys + 1;
    b->texts = calloc(n, sizeof(*b->texts));
    b->numbers = calloc(n, sizeof(*b->numbers));
    if (b->texts == NULL || b->numbers == NULL) {
        return wi_exec_no_memory(it->j->err, n * sizeof(*b->numbers));
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < b->n; i++) {
        const size_t length = wi_json_enter(it->j, ".bounds[%" PRIu32 "]", i);
        rc = read_bound(it->j, b, i);
        wi_json_leave(it->j, length);
    }
    return rc;
}

weir_err wi_json_shuffle(const struct wi_json_item *it)
{
    struct weir_plan_shuffle_params p = {0};
    struct wi_json_texts keys = {0};
    struct bounds bounds = {0};
    uint32_t word = 0;
    weir_err rc = text(it, "input", &p.input);
    if (rc == WEIR_OK) {
        rc = wi_json_word(it->j, it->at, "by", wi_partitioning_words, &word);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_texts(it->j, it->at, "keys", &keys);
    }
    rc = rc == WEIR_OK ? wi_json_u64(it->j, it->at, "seed", &p.seed) : rc;
    if (rc == WEIR_OK) {
        bounds.n_keys = keys.n;
        rc = read_bounds(it, &bounds);
    }
    if (rc == WEIR_OK) {
        p.partitioning = wi_partitionings[word].id;
        p.keys = keys.at;
        p.n_keys = keys.n;
        p.bounds = bounds.texts;
        p.n_bounds = bounds.n;
        rc = weir_plan_shuffle(it->j->plan, it->name, &p, it->j->err);
    }
    free(keys.at);
    free(bounds.texts);
    free(bounds.numbers);
    return rc;
}

/* ---- all of them --------------------------------------------------------- */

static weir_err find_kind(struct wi_json *j, const json_t *op,
                          const struct wi_kind **out)
{
    const char *words[WI_KINDS_JSON + 1] = {NULL};
    uint32_t idx = WI_KINDS_JSON;
    for (size_t i = 0; i < WI_KINDS_JSON; i++) {
        words[i] = wi_kinds[i].name;
    }
    weir_err rc = wi_json_word(j, op, "op", words, &idx);
    if (rc == WEIR_OK && idx == WI_KINDS_JSON) {
        return wi_json_missing(j, "an operator", "op");
    }
    *out = &wi_kinds[idx];
    return rc;
}

weir_err wi_json_operator(struct wi_json *j, const json_t *op)
{
    const struct wi_kind *kind = NULL;
    const struct wi_json_item it = {
        .j = j,
        .at = op,
        .name = json_string_value(json_object_get(op, "name")),
    };
    weir_err rc = find_kind(j, op, &kind);
    if (rc == WEIR_OK) {
        rc = wi_json_check(j, op, kind->what, kind->fields);
    }
    if (rc == WEIR_OK) {
        rc = wi_json_need(j, op, kind->what, kind->needed);
    }
    return rc == WEIR_OK ? kind->read(&it) : rc;
}
