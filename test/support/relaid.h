/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Batches in another layout: the same values, as a producer may push them that
 * has called weir_writer_layout().
 */
#ifndef WT_RELAID_H
#define WT_RELAID_H

#include <weir/batch.h>

enum wt_layout {
    WT_LAYOUT_PLAIN,      /* as the schema says */
    WT_LAYOUT_LARGE,      /* u, z: 64-bit offsets, which do not begin at 0 */
    WT_LAYOUT_VIEW,       /* u, z: views into two buffers */
    WT_LAYOUT_DICTIONARY, /* all but the first two: int32 indices; nulls of the
                             indices and of the dictionary */
    WT_LAYOUTS,
};

/** The schema of batches in this layout. Ownership: out->release. */
void wt_relaid_schema(const struct weir_field *fields, uint32_t n,
                      enum wt_layout layout, struct ArrowSchema *out);

/** Lay a batch out anew. What is under nulls, and rows before the first one,
 *  are anything. Ownership: the new one owns the old one. */
void wt_relaid_make(const struct weir_field *fields, enum wt_layout layout,
                    struct ArrowArray *batch);

#endif /* WT_RELAID_H */
