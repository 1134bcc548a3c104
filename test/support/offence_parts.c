/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/offence_parts.h"

enum { STEPS = 32, PATIENCE_S = 20 };

static struct wt_rogue_link *link_of(struct wt_lab *lab)
{
    return lab->link[0];
}

/* ---- waiting for a message of the node ----------------------------------- */

static uint32_t awaited_type;
static uint32_t awaited_seen;

static bool has_come(struct wt_lab *lab)
{
    return link_of(lab)->seen[awaited_type] > awaited_seen ||
           link_of(lab)->closed;
}

/* One more of this type than `seen`. */
void wt_await(struct wt_lab *lab, enum wt_msg_type type, uint32_t seen)
{
    awaited_type = type;
    awaited_seen = seen;
    WT_MUST(wt_lab_until(lab, has_come, PATIENCE_S),
            "no message of type %d comes", (int)type);
}

/* With steps in between, for the simulator loses what is more than 64 at a
 * time. */
void wt_send(struct wt_lab *lab, const struct wt_msg *m, uint32_t times)
{
    static uint32_t sent;
    for (uint32_t i = 0; i < times; i++) {
        wt_rogue_send(link_of(lab), m);
        sent++;
        for (uint32_t k = 0; sent % 16 == 0 && k < STEPS; k++) {
            (void)wt_lab_step(lab);
        }
    }
}

/* ---- messages as they have to be ----------------------------------------- */

struct wt_msg wt_find_msg(uint64_t space, uint64_t id)
{
    struct wt_msg m = wt_msg(WT_FIND);
    wt_set(&m, 4, 4, 1);
    wt_set(&m, 8, 8, space);
    wt_set(&m, 16, 8, id);
    wt_set(&m, 32, 4, 1);
    return m;
}

struct wt_msg wt_ask_msg(uint64_t space)
{
    struct wt_msg m = wt_msg(WT_ASK);
    wt_set(&m, 4, 4, 1);
    wt_set(&m, 8, 8, space);
    wt_set(&m, 24, 4, 1);
    return m;
}

/* Of the last FIND of the node: the first bytes of the rogue's area. */
struct wt_msg wt_found_msg(struct wt_lab *lab)
{
    struct wt_msg m = wt_msg(WT_FOUND);
    wt_set(&m, 8, 4, wt_get(link_of(lab)->last[WT_FIND].at + 4, 4));
    wt_set(&m, 16, 8, 1);
    wt_set(&m, 24, 8, link_of(lab)->key);
    wt_set(&m, 40, 8, WT_AREA);
    wt_set(&m, 56, 8, WT_AREA);
    wt_set(&m, 64, 8, WT_AREA);
    return m;
}

struct wt_msg wt_answer_msg(struct wt_lab *lab)
{
    struct wt_msg m = wt_msg(WT_ANSWER);
    wt_set(&m, 8, 4, wt_get(link_of(lab)->last[WT_ASK].at + 4, 4));
    wt_set(&m, 12, 4, 3);
    wt_set_text(&m, 16, 16, "a\nb");
    return m;
}

/* Of the last FOUND. */
struct wt_msg wt_drop_msg(struct wt_lab *lab)
{
    const uint8_t *at = link_of(lab)->last[WT_FOUND].at;
    struct wt_msg m = wt_msg(WT_DROP);
    wt_set(&m, 4, 4, 1);
    wt_set(&m, 8, 8, wt_get(at + 16, 8));
    wt_set(&m, 16, 8, wt_get(at + 24, 8));
    return m;
}
