/* SPDX-License-Identifier: Apache-2.0 */
/** Answers of a server (proto.h), and what all asks have in common. */
#ifndef WI_SCAN_ANSWER_H
#define WI_SCAN_ANSWER_H

#include <stdbool.h>

#include <weir/ask.h>

#include "services/scan/proto.h"

/** Answer with the protocol's error, and why. */
void wi_scan_answer_refuse(const struct weir_ask *ask, weir_err code,
                           const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/** Answer with err. */
void wi_scan_answer_error(const struct weir_ask *ask,
                          const struct weir_error *err);

/** Answer; bytes are len that follow, at most WI_SCAN_ANSWER_INLINE. */
void wi_scan_answer_send(const struct weir_ask *ask,
                         const struct wi_scan_answer *answer, const void *bytes,
                         uint32_t len);

/** Answer with flags and nothing else. */
void wi_scan_answer_plain(const struct weir_ask *ask, uint32_t flags);

/** What an ask says. False, answered: it is none, or has what its kind does not
 *  name. Bytes that follow are in *inline_out. */
bool wi_scan_ask_read(const struct weir_ask *ask, struct wi_scan_ask *out,
                      const uint8_t **inline_out);

#endif /* WI_SCAN_ANSWER_H */
