/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A shuffle in words, and in what two of them differ.
 */
#ifndef WI_DESCRIBE_H
#define WI_DESCRIBE_H

#include <stddef.h>

#include "core/format/wire.h"

struct weir_shuffle;

/** What all members must agree on, one thing after the other. */
void wi_shuffle_describe(const struct weir_shuffle *s,
                         char text[WI_SIDE_BYTES]);

/** In which of these two descriptions differ. */
void wi_shuffle_difference(const char *name_a, const char *a,
                           const char *name_b, const char *b, char *text,
                           size_t bytes);

#endif /* WI_DESCRIBE_H */
