/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How an operator is added to a plan.
 *
 *   wi_draft_begin     a new operator, not in the plan yet
 *     wi_draft_at        the field that messages name
 *     wi_draft_input     resolve inputs, columns, expressions
 *     wi_draft_take      memory that lives as long as the operator
 *   wi_draft_end       joins the plan or, after an error, is freed
 *
 * A call that fails leaves the plan as it was: the operator owns all that was
 * made for it, and is freed.
 */
#ifndef WI_OPERATORS_DRAFT_H
#define WI_OPERATORS_DRAFT_H

#include "operators/plan/node.h"

#define WI_DRAFT_FIELD_BYTES 64

/** Most columns of an operator: the limit of weir_schema_build. */
#define WI_PLAN_COLUMNS 1024u

/** One operator in the making. */
struct wi_draft {
    weir_plan *plan;
    struct wi_plan_op *op;
    struct weir_error *err;
    char field[WI_DRAFT_FIELD_BYTES];
};

/**
 * Begin an operator.
 *
 * @param name  checked: 1..63 bytes, not in use
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_DUPLICATE, WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    as weir_plan_open
 * Ownership:  wi_draft_end, after errors too
 */
weir_err wi_draft_begin(struct wi_draft *b, enum wi_plan_kind kind,
                        const char *name);

/** Begin one that the plan makes by itself, above operator `input`. */
weir_err wi_draft_begin_hidden(struct wi_draft *b, enum wi_plan_kind kind,
                               uint32_t input);

/** If rc is WEIR_OK and spread.h allows its rows to be where they are, the
 *  operator joins the plan and uses up its inputs; else it is freed.
 *  Returns rc, or WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY. */
weir_err wi_draft_end(struct wi_draft *b, weir_err rc);

/** Remove the operator that was added last from the plan. */
void wi_draft_undo(weir_plan *plan);

/** The field that the next messages are about, `keys[2]`; NULL: the whole
 *  operator. */
void wi_draft_at(struct wi_draft *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** Fail with the place in front: `$.operators[3].where: ` if the plan comes
 *  from JSON, else `filter "f", where: `. */
weir_err wi_draft_fail(struct wi_draft *b, weir_err code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/** Put the place in front of the message in b->err. Returns code. */
weir_err wi_draft_fail_in(struct wi_draft *b, weir_err code)
    __attribute__((cold));

weir_err wi_draft_no_memory(struct wi_draft *b) __attribute__((cold));

/** Zeroed memory that the operator owns; NULL: no memory. */
void *wi_draft_take(struct wi_draft *b, size_t n, size_t bytes);

/** A copy of text that lives as long as the operator; NULL: no memory. */
const char *wi_draft_copy(struct wi_draft *b, const char *text);

/** Print the operator's notes.detail: what explain says of it.
 *  Errors: WEIR_ERR_NO_MEMORY. */
weir_err wi_draft_detail(struct wi_draft *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Resolve the next input of the operator.
 *
 * Errors:     WEIR_ERR_NOT_FOUND (lists what there is), WEIR_ERR_DUPLICATE (it
 *             has a consumer already), WEIR_ERR_ARG (NULL), WEIR_ERR_NO_MEMORY
 * Ownership:  the plan's
 */
weir_err wi_draft_input(struct wi_draft *b, const char *name,
                        struct wi_plan_op **out);

/** Input i, which was resolved before. */
struct wi_plan_op *wi_draft_nth(const struct wi_draft *b, uint32_t i);

/** Resolve a column of an operator below. Errors: WEIR_ERR_NOT_FOUND (lists
 *  them), WEIR_ERR_ARG. */
weir_err wi_draft_column(struct wi_draft *b, const struct wi_plan_op *of,
                         const char *name, uint32_t *out);

/** Names that a caller gave for a field. */
struct wi_draft_names {
    const char *field;
    const char *const *at;
    uint32_t n;
};

/** Resolve columns. @param out  [out] names->n indexes, the operator's memory.
 *  Errors: as wi_draft_column, about `field[i]`; WEIR_ERR_NO_MEMORY. */
weir_err wi_draft_keys(struct wi_draft *b, const struct wi_plan_op *of,
                       const struct wi_draft_names *names,
                       const uint32_t **out);

#define WI_VALUE_NEW UINT32_MAX

/** Give out a column. @param value  its notes.value, or WI_VALUE_NEW.
 *  Errors: WEIR_ERR_DUPLICATE (name), WEIR_ERR_ARG. */
weir_err wi_draft_give(struct wi_draft *b, const char *name,
                       const struct wi_type *type, uint32_t value);

/** The expression of a field `where`, which must be a bool.
 *  @param out  [out] set on WEIR_OK only; the operator has to close it
 *  Errors: as wi_expr_open, WEIR_ERR_ARG (not a bool, or NULL). */
weir_err wi_draft_where(struct wi_draft *b, const char *text,
                        const struct wi_columns *columns,
                        const struct wi_expr **out);

/** Give out all columns of an operator below, as they are. */
weir_err wi_draft_give_all(struct wi_draft *b, const struct wi_plan_op *of);

/** The plan's result: a gather above operator `input`, which keeps its order.
 *  Errors: WEIR_ERR_ARG (rows that cannot be the answer),
 *  WEIR_ERR_NO_MEMORY. */
weir_err wi_draft_result(weir_plan *plan, uint32_t input,
                         struct weir_error *err);

/** Fail as no operator has this name: the message lists those there are. */
weir_err wi_draft_fail_unknown(const weir_plan *plan, const char *name,
                               struct weir_error *err) __attribute__((cold));

#define WI_DRAFT_LIST_BYTES 256

/** Names as text, "a, b, c", cut to fit. Returns text. */
const char *wi_draft_list(const char *const *names, uint32_t n,
                          char text[WI_DRAFT_LIST_BYTES]);

/** Words for weir_join_kind, weir_join_filter and weir_aggregate_mode, indexed
 *  by their values; NULL at the end. */
extern const char *const wi_join_words[];
extern const char *const wi_join_filter_words[];
extern const char *const wi_aggregate_words[];

/** Free an operator that is in no plan. NULL is allowed. */
void wi_plan_op_close(struct wi_plan_op *op);

/** Index of the operator with this name, or UINT32_MAX. */
uint32_t wi_plan_find(const weir_plan *plan, const char *name);

/** The table with this name, or NULL. */
weir_table *wi_plan_find_table(const weir_plan *plan, const char *name);

#endif /* WI_OPERATORS_DRAFT_H */
