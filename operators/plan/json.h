/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reading a plan from JSON: where we are in the document, and typed access to
 * what is there.
 *
 *   $.operators[3].where     path: grows by wi_json_enter, shrinks by
 *                            wi_json_leave; every message begins with it
 *
 * Objects are checked for unknown fields first, so a missing field was left out
 * and not misspelt. Getters then leave *out alone; they fail on a field of
 * another type. docs/plan.md has every field and message.
 */
#ifndef WI_OPERATORS_JSON_H
#define WI_OPERATORS_JSON_H

#include <stdbool.h>

#include <jansson.h>

#include "operators/plan/node.h"

#define WI_JSON_PATH_BYTES 192

struct wi_json {
    weir_plan *plan;
    const char *data_dir;
    bool only_below;
    const struct weir_table_kind *kinds; /* the program's */
    uint32_t n_kinds;
    struct weir_error *err;
    char path[WI_JSON_PATH_BYTES]; /* cut to fit */
};

/** A step down: `.name` or `[3]`. Returns the length for wi_json_leave. */
size_t wi_json_enter(struct wi_json *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void wi_json_leave(struct wi_json *j, size_t length);

/** Fail with the path in front. */
weir_err wi_json_fail(struct wi_json *j, weir_err code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/** Put the path in front of the message in j->err. Returns code. */
weir_err wi_json_fail_in(struct wi_json *j, weir_err code)
    __attribute__((cold));

/** Fail with `a string was expected, found 5`. */
weir_err wi_json_fail_type(struct wi_json *j, const char *expected,
                           const json_t *found) __attribute__((cold));

/** Fail unless it is an object without fields other than these.
 *  @param what  "a filter"  @param fields  NULL at the end */
weir_err wi_json_check(struct wi_json *j, const json_t *at, const char *what,
                       const char *const *fields);

/** Fail as `name` is missing: `a filter needs "where"`. */
weir_err wi_json_missing(struct wi_json *j, const char *what, const char *name)
    __attribute__((cold));

weir_err wi_json_text(struct wi_json *j, const json_t *object, const char *name,
                      const char **out);
weir_err wi_json_u64(struct wi_json *j, const json_t *object, const char *name,
                     uint64_t *out);
weir_err wi_json_i64(struct wi_json *j, const json_t *object, const char *name,
                     int64_t *out);
weir_err wi_json_array(struct wi_json *j, const json_t *object,
                       const char *name, const json_t **out);

/** One of these words; *out is its index. @param words  NULL at the end */
weir_err wi_json_word(struct wi_json *j, const json_t *object, const char *name,
                      const char *const *words, uint32_t *out);

/** An array of strings. Ownership: free(texts->at); the strings are the
 *  document's. */
struct wi_json_texts {
    const char **at;
    uint32_t n;
};
weir_err wi_json_texts(struct wi_json *j, const json_t *object,
                       const char *name, struct wi_json_texts *out);

/** Fail if one of these fields is missing. @param fields  NULL at the end */
weir_err wi_json_need(struct wi_json *j, const json_t *object, const char *what,
                      const char *const *fields);

#define WI_JSON_SCALAR_BYTES 32

/** A value as the text that a cast reads: strings, integers, true, false; NULL
 *  for null. Numbers with a point are refused: JSON readers round them.
 *  @param text  where numbers are printed */
weir_err wi_json_scalar(struct wi_json *j, const json_t *value,
                        char text[WI_JSON_SCALAR_BYTES], const char **out);

/** Read "columns" of a table. Its entries may have these fields, which include
 *  name and type. Ownership: wi_columns_fini, after errors too. */
weir_err wi_json_columns(struct wi_json *j, const json_t *table,
                         const char *const *fields, struct wi_columns *columns);

/** Open a table of a CSV file. Ownership: weir_table_close. */
weir_err wi_json_csv(struct wi_json *j, const json_t *at, weir_table **out);

/** Add "tables" and "operators" of a document to the plan. */
weir_err wi_json_tables(struct wi_json *j, const json_t *tables);
weir_err wi_json_operators(struct wi_json *j, const json_t *operators);

/** Add one operator, whose path is j->path. */
weir_err wi_json_operator(struct wi_json *j, const json_t *op);

/** An operator in the document. */
struct wi_json_item {
    struct wi_json *j;
    const json_t *at;
    const char *name;
};

/* Each reads its fields into the params of plan.h: the `read` of kind.h. */
weir_err wi_json_scan(const struct wi_json_item *it);
weir_err wi_json_filter(const struct wi_json_item *it);
weir_err wi_json_project(const struct wi_json_item *it);
weir_err wi_json_join(const struct wi_json_item *it);
weir_err wi_json_aggregate(const struct wi_json_item *it);
weir_err wi_json_sort(const struct wi_json_item *it);
weir_err wi_json_limit(const struct wi_json_item *it);
weir_err wi_json_union(const struct wi_json_item *it);
weir_err wi_json_shuffle(const struct wi_json_item *it);
weir_err wi_json_merge(const struct wi_json_item *it);

#endif /* WI_OPERATORS_JSON_H */
