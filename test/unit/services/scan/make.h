/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Arrays of every type, a few rows of each, to be sent and compared.
 */
#ifndef WT_SCAN_MAKE_H
#define WT_SCAN_MAKE_H

#include <nanoarrow/nanoarrow.h>

/** Number of kinds; name of one, for messages. */
int wt_scan_kinds(void);
const char *wt_scan_kind_name(int kind);

/** Schema and array of a kind. Ownership: the caller's, to release. */
void wt_scan_make(int kind, struct ArrowSchema *schema,
                  struct ArrowArray *array);

#endif /* WT_SCAN_MAKE_H */
