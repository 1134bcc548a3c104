/* SPDX-License-Identifier: Apache-2.0 */
/* Every field of every message about regions and asks, with every strange
 * value, at every time. What comes of one may be anything, but no harm to
 * others. */
#include <stdio.h>

#include "core/base/cc.h"
#include "test/support/offence.h"
#include "test/support/offence_parts.h"
#include "test/support/wares.h"

struct field {
    enum wt_msg_type type;
    uint32_t off;
    uint32_t bytes;
};

static const struct field fields[] = {
    {WT_FIND, 4, 4},   {WT_FIND, 8, 8},    {WT_FIND, 16, 8},
    {WT_FIND, 24, 8},  {WT_FIND, 32, 4},   {WT_FIND, 36, 4},
    {WT_FOUND, 4, 4},  {WT_FOUND, 8, 4},   {WT_FOUND, 12, 4},
    {WT_FOUND, 16, 8}, {WT_FOUND, 24, 8},  {WT_FOUND, 32, 8},
    {WT_FOUND, 40, 8}, {WT_FOUND, 48, 8},  {WT_FOUND, 56, 8},
    {WT_FOUND, 64, 8}, {WT_FOUND, 72, 8},  {WT_DROP, 4, 4},
    {WT_DROP, 8, 8},   {WT_DROP, 16, 8},   {WT_REVOKE, 4, 4},
    {WT_REVOKE, 8, 8}, {WT_REVOKE, 16, 8}, {WT_ASK, 4, 4},
    {WT_ASK, 8, 8},    {WT_ASK, 16, 8},    {WT_ASK, 24, 4},
    {WT_ASK, 28, 4},   {WT_ASK, 32, 8},    {WT_ANSWER, 4, 4},
    {WT_ANSWER, 8, 4}, {WT_ANSWER, 12, 4}, {WT_ANSWER, 16, 8},
    {WT_LEAVE, 4, 4},  {WT_SYNC, 4, 4},    {WT_SYNCED, 4, 4},
};

/* Added to what is right: 0 leaves it so, ~0 and 1 are next to it. */
static const uint64_t changes[] = {
    0,          1,          UINT64_MAX,    64, 1ull << 16, 1ull << 31,
    1ull << 32, 1ull << 63, 0x123456789ab,
};

enum moment {
    IDLE,    /* nothing is under way */
    SOUGHT,  /* the node's FIND and ASK are not answered */
    GRANTED, /* the rogue holds a piece and waits for an answer, and so does */
    WRITTEN, /* the node, whose put waits for SYNCED */
    LEAVING, /* the rogue has said BYE */
    MOMENTS
};

static enum moment now;

static void seek(struct wt_lab *lab)
{
    wt_wares_get(lab);
    wt_wares_ask(lab);
    wt_await(lab, WT_FIND, 0);
    wt_await(lab, WT_ASK, 0);
}

static void take(struct wt_lab *lab)
{
    struct wt_msg m = wt_find_msg(7, 1);
    wt_send(lab, &m, 1);
    wt_await(lab, WT_FOUND, 0);
    m = wt_ask_msg(9);
    wt_send(lab, &m, 1);
    seek(lab);
    m = wt_found_msg(lab);
    wt_send(lab, &m, 1);
}

static void write(struct wt_lab *lab)
{
    wt_wares_put(lab);
    wt_await(lab, WT_FIND, 0);
    struct wt_msg m = wt_found_msg(lab);
    wt_send(lab, &m, 1);
    wt_await(lab, WT_SYNC, 0);
}

static void come_to(struct wt_lab *lab)
{
    struct wt_msg bye = wt_msg(WT_BYE);
    switch (now) {
    case SOUGHT:
        seek(lab);
        break;
    case GRANTED:
        take(lab);
        break;
    case WRITTEN:
        write(lab);
        break;
    case LEAVING:
        wt_send(lab, &bye, 1);
        break;
    default:
        break;
    }
}

/* As it has to be at this time, as far as it may come at all. */
static struct wt_msg right(struct wt_lab *lab, enum wt_msg_type type)
{
    struct wt_msg m = wt_msg(type);
    switch (type) {
    case WT_FIND:
        return wt_find_msg(7, 1);
    case WT_ASK:
        return wt_ask_msg(8);
    case WT_FOUND:
        return wt_found_msg(lab);
    case WT_ANSWER:
        return wt_answer_msg(lab);
    case WT_DROP:
        return wt_drop_msg(lab);
    case WT_REVOKE:
        wt_set(&m, 8, 8, 1);
        return m;
    case WT_LEAVE:
        wt_set(&m, 4, 4, 1);
        return m;
    case WT_SYNCED:
        wt_set(&m, 4, 4, wt_get(lab->link[0]->last[WT_SYNC].at + 4, 4));
        return m;
    default:
        return m;
    }
}

static void spoil(struct wt_lab *lab, const struct wt_offence *o)
{
    const struct wt_patch *p = &o->patch[0];
    come_to(lab);
    struct wt_msg m = right(lab, o->type);
    wt_set(&m, p->off, p->bytes, wt_get(m.at + p->off, p->bytes) + p->value);
    wt_send(lab, &m, 1);
}

static void try(struct wt_lab *lab, const struct field *f, uint64_t change)
{
    char name[96];
    (void)snprintf(name, sizeof(name),
                   "message %d, offset %u changed by %#llx, time %d",
                   (int)f->type, f->off, (unsigned long long)change, (int)now);
    const struct wt_offence o = {.name = name,
                                 .outcome = WT_DEPENDS,
                                 .type = f->type,
                                 .play = spoil,
                                 .patch = {{f->off, f->bytes, change}}};
    wt_offend_wares(lab, &o);
}

void wt_region_sweep(struct wt_lab *lab)
{
    for (uint32_t m = 0; m < MOMENTS; m++) {
        now = (enum moment)m;
        for (uint32_t i = 0; i < WI_ARRAY_LEN(fields); i++) {
            for (uint32_t k = 0; k < WI_ARRAY_LEN(changes); k++) {
                try(lab, &fields[i], changes[k]);
            }
        }
    }
}
