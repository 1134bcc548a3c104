/* SPDX-License-Identifier: Apache-2.0 */
/** What can wait for its turn on the send side of a link (post.h). */
#ifndef WI_ITEM_H
#define WI_ITEM_H

#include <stdbool.h>

#include "core/base/atomic.h"
#include "core/base/list.h"
#include "core/base/lq.h"

/* Which end of an edge an item is, or the transfers of its link. */
enum wi_item_kind { WI_ITEM_OUT, WI_ITEM_IN, WI_ITEM_TRANSFER };

/** Something that can wait in a link's post queue. */
struct wi_item {
    struct wi_lq_node node;
    enum wi_item_kind kind;  /* constant */
    _Atomic uint32_t queued; /* 1 while on the queue */
    bool active;             /* on the post lock holder's list */
    struct wi_list posting;  /* written by: post lock holder */
    struct wi_list on_link;  /* engine: link's outs, ins, waiting; or limbo */
};

#endif /* WI_ITEM_H */
