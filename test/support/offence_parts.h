/* SPDX-License-Identifier: Apache-2.0 */
/** Messages about regions and asks as they have to be, over the rogue's link to
 *  node 0, to be sent or spoilt. */
#ifndef WT_OFFENCE_PARTS_H
#define WT_OFFENCE_PARTS_H

#include "test/support/lab.h"

enum { WT_AREA = 65536 }; /* bytes of the rogue's region */

/** Send, with steps in between: the simulator loses what is more than 64 at a
 *  time. */
void wt_send(struct wt_lab *lab, const struct wt_msg *m, uint32_t times);

/** Wait until more than `seen` messages of this type have come. */
void wt_await(struct wt_lab *lab, enum wt_msg_type type, uint32_t seen);

/** A search of a name, and an ask in a space. */
struct wt_msg wt_find_msg(uint64_t space, uint64_t id);
struct wt_msg wt_ask_msg(uint64_t space);

/** The answers to the node's last FIND and ASK. */
struct wt_msg wt_found_msg(struct wt_lab *lab);
struct wt_msg wt_answer_msg(struct wt_lab *lab);

/** What the node's last FOUND granted is given back. */
struct wt_msg wt_drop_msg(struct wt_lab *lab);

#endif /* WT_OFFENCE_PARTS_H */
