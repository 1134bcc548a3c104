/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Inside of an intake: columns that are lists, whose values are packed.
 *
 *   list array --offsets--> items of each row
 *   items --an intake of their own--> views --pack.h--> bytes --> texts by row
 */
#ifndef WI_INTAKE_LIST_H
#define WI_INTAKE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#include "core/format/import.h"
#include "core/format/schema.h"

struct wi_intake;
struct wi_intake_list;

/** What an intake does for the items of a list; intake.c has it. */
struct wi_items_ops {
    /* `given` is the list's layout, or NULL. */
    weir_err (*open)(const struct wi_schema *items,
                     const struct ArrowSchema *given, struct wi_intake **out,
                     struct weir_error *err);
    /* Rows of a slice of the children of `list`. */
    weir_err (*import)(struct wi_intake *in, const struct wi_slice *slice,
                       const struct ArrowArray *list, struct wi_view *views,
                       struct weir_error *err);
    void (*close)(struct wi_intake *in); /* NULL is allowed */
};

/** Child k of the layout of a column, NULL if that is NULL.
 *  Errors: WEIR_ERR_ARG. Blocks: never. Threads: any. Ownership: given's. */
weir_err wi_layout_child(const struct wi_column *c,
                         const struct ArrowSchema *given, uint32_t k,
                         const struct ArrowSchema **out,
                         struct weir_error *err);

/**
 * @param given  how the column's arrays are laid out; NULL: as the schema says
 *
 * Errors:     WEIR_ERR_SCHEMA, WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY
 * Blocks:     never.  Threads: any
 * Ownership:  wi_intake_list_close; the column outlives it
 */
weir_err wi_intake_list_open(const struct wi_column *c,
                             const struct ArrowSchema *given,
                             const struct wi_items_ops *ops,
                             struct wi_intake_list **out,
                             struct weir_error *err);
/** NULL is allowed. */
void wi_intake_list_close(struct wi_intake_list *l);

/**
 * One column of wi_intake_import().
 *
 * Errors:     as there
 * Blocks:     never; O(items).  Threads: one
 * Ownership:  the view borrows the list until its next import
 */
weir_err wi_intake_list_import(struct wi_intake_list *l,
                               const struct wi_slice *in,
                               const struct ArrowArray *a, struct wi_view *v,
                               struct weir_error *err);

/** Is this the array of the last import? */
bool wi_intake_list_is_imported(const struct wi_intake_list *l,
                                const struct wi_slice *in,
                                const struct ArrowArray *a,
                                const struct wi_view *v);

#endif /* WI_INTAKE_LIST_H */
