/* SPDX-License-Identifier: Apache-2.0 */
/** Scan of a table that keeps its rows. */
#ifndef WI_OPERATORS_KEPT_SCAN_H
#define WI_OPERATORS_KEPT_SCAN_H

#include "operators/op/ops.h"
#include "operators/table/kept.h"

/** Read a whole part (plain is NULL), or fill it from a plain scan, which is
 *  taken over. Otherwise as wi_scan_open. */
weir_err wi_kept_scan_open(struct wi_ctx *ctx, const struct wi_scan_params *p,
                           struct wi_kept_part *part, struct wi_op *plain,
                           struct wi_op **out);

#endif /* WI_OPERATORS_KEPT_SCAN_H */
