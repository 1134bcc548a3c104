/* SPDX-License-Identifier: Apache-2.0 */
/** Inside of the partitioner: destinations by range. */
#ifndef WI_PARTITION_RANGE_H
#define WI_PARTITION_RANGE_H

#include "core/partition/partition_impl.h"

/** Check and copy bounds; errors as wi_partition_open. */
weir_err wi_bounds_open(const struct wi_schema *s, const uint32_t *key_columns,
                        uint32_t n_keys, uint32_t n_dest,
                        const struct ArrowArray *bounds, struct wi_bounds **out,
                        struct weir_error *err);
void wi_bounds_close(struct wi_bounds *b);

/** Destinations of rows [first, first + n) by range, into p->dest. */
void wi_range_split(struct wi_partition *p, const struct wi_view *views,
                    uint32_t first, uint32_t n);

#endif /* WI_PARTITION_RANGE_H */
