/* SPDX-License-Identifier: Apache-2.0 */
/** Opening, stopping and closing of readers, all under the node's lock. */
#ifndef WI_READER_OPEN_H
#define WI_READER_OPEN_H

struct weir_reader;

void wi_reader_free(struct weir_reader *r);

#endif /* WI_READER_OPEN_H */
