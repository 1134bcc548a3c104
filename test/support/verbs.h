/* SPDX-License-Identifier: Apache-2.0 */
/** Where the tests of the verbs transport find their device. */
#ifndef WT_VERBS_H
#define WT_VERBS_H

#include <stdbool.h>

/** "IP:0" of WEIR_TEST_VERBS_ADDR. Ends the program with 77, "skipped", where
 *  that is not set: on machines without RDMA. */
const char *wt_verbs_listen(void);

/** Is the device at that address one of Soft-iWARP's? (WEIR_VM_SIW, test/vm) */
bool wt_verbs_is_siw(void);

/** Options of the transport: no shared receive queue. */
void *wt_verbs_no_srq(void);

#endif /* WT_VERBS_H */
