/* SPDX-License-Identifier: Apache-2.0 */
/** The filter that a reader gives its producers: see filter.h. */
#ifndef WI_READER_FILTER_H
#define WI_READER_FILTER_H

#include <weir/shuffle.h>

/** Free what a reader has of it. */
void wi_reader_filter_free(struct weir_reader *r);

#endif /* WI_READER_FILTER_H */
