/* SPDX-License-Identifier: Apache-2.0 */
/** Operations and what they have found: whether it may be used, and its use. */
#ifndef WI_OP_FOUND_H
#define WI_OP_FOUND_H

#include "core/region/op.h"

/** A piece that was found before, perhaps for others. False: ask for it. */
bool wi_op_may_use(const struct wi_op *op, const struct wi_piece *p);

/** What it waited for is found. */
void wi_op_found(struct wi_op *op, struct wi_piece *p);

/** There is nothing where it begins: the region of this handle is that long. */
void wi_op_beyond(struct wi_op *op, uint64_t handle, uint64_t region_bytes);

#endif /* WI_OP_FOUND_H */
