/* SPDX-License-Identifier: Apache-2.0 */
/** What payloads of answers are, beside batches. Both are copied first: a
 *  server can change what lies in its slots. */
#ifndef WI_SCAN_CLIENT_ANSWER_H
#define WI_SCAN_CLIENT_ANSWER_H

#include <weir/batch.h>

#include "services/scan/client_call.h"

/** The schema of a payload that begins with one. Ownership: out->release */
weir_err wi_scan_answer_schema(const struct wi_scan_call *call,
                               struct ArrowSchema *out, struct weir_error *err);

/** The fault that a payload is: its code is in the answer.
 *  Returns: that code, or why it cannot be read. */
weir_err wi_scan_answer_fault(struct weir_scan_client *c,
                              const struct wi_scan_call *call,
                              struct weir_error *err);

#endif /* WI_SCAN_CLIENT_ANSWER_H */
