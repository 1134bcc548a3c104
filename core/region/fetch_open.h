/* SPDX-License-Identifier: Apache-2.0 */
/** Opening a fetch, and its end. */
#ifndef WI_FETCH_OPEN_H
#define WI_FETCH_OPEN_H

#include <stdbool.h>

struct weir_fetch;

/** Give up all operations of a fetch. True: none of them uses memory. */
bool wi_fetch_give_up(struct weir_fetch *f);

/** Nothing of it is in flight: free it, at once or with the last release of
 *  what it has lent. */
void wi_fetch_leave(struct weir_fetch *f);

/** Free it, and what it has lent. */
void wi_fetch_free(struct weir_fetch *f);

#endif /* WI_FETCH_OPEN_H */
