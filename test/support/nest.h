/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Nested columns whose values follow from a number, as those of rows.h do, so
 * that a receiver can check each of them at each depth.
 *
 *   row, column --seed--> value: null, bytes, or a seed for each child's value
 *
 * Arrays begin at an offset of their own at each depth, with rows before it,
 * hold null structs and lists whose children are anything, and lists that do
 * not begin at their items' first.
 */
#ifndef WT_NEST_H
#define WT_NEST_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/batch.h>

/** A type: Arrow's format, and the children of "+s", "+l", "+L", "+w:N" and
 *  "+m". */
struct wt_nest {
    const char *name;
    const char *format;
    int nullable;
    const struct wt_nest *children;
    uint32_t n_children;
    const char *pushed; /* the form in which u and z are pushed: U Z vu vz; in
                           which a list is: +l +L; of any column without
                           children: "i", indices into a dictionary [format] */
};

/** How large values are; zero is the default. */
struct wt_nest_size {
    uint32_t var_bytes; /* longest text [24] */
    uint32_t items;     /* of the longest list [5] */
    bool all_null;      /* what may be null is */
    bool plain;         /* as format says, whatever `pushed` does */
};

/** The schema of a struct of these columns, or of its batches as they are
 *  pushed. Ownership: out->release. */
void wt_nest_schema(const struct wt_nest *columns, uint32_t n, bool pushed,
                    struct ArrowSchema *out);

/** A column of n values; skip rows are before them, whose seeds are given as
 *  well: value i has seeds[i]. Ownership: out->release. */
void wt_nest_make(const struct wt_nest *type, const struct wt_nest_size *size,
                  const uint64_t *seeds, uint32_t skip, uint32_t n,
                  struct ArrowArray *out);

/** Is value `at` (from the array's offset on) the one of this seed? */
bool wt_nest_check(const struct wt_nest *type, const struct wt_nest_size *size,
                   const struct ArrowArray *a, uint64_t at, uint64_t seed);

#endif /* WT_NEST_H */
