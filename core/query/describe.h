/* SPDX-License-Identifier: Apache-2.0 */
/** A shuffle in words, and the differences of two. */
#ifndef WI_DESCRIBE_H
#define WI_DESCRIBE_H

#include <stddef.h>

#include "core/format/wire.h"

struct weir_shuffle;

/** Everything that all members must agree on. */
void wi_shuffle_describe(const struct weir_shuffle *s,
                         char text[WI_SIDE_BYTES]);

/** In what two descriptions differ. */
void wi_shuffle_difference(const char *name_a, const char *a,
                           const char *name_b, const char *b, char *text,
                           size_t bytes);

#endif /* WI_DESCRIBE_H */
