/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of somebody whom the cluster does not know. */
#include "core/base/cc.h"
#include "test/support/offence.h"

enum { CROWD = 20 };

static void send_patched(struct wt_lab *lab, struct wt_msg *m,
                         const struct wt_offence *o)
{
    for (uint32_t i = 0; i < 2 && o->patch[i].bytes != 0; i++) {
        const struct wt_patch *p = &o->patch[i];
        wt_set(m, p->off, p->bytes, p->value);
    }
    wt_rogue_send(lab->link[0], m);
}

static void hello(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_rogue_hello(lab->link[0], WT_HELLO);
    send_patched(lab, &m, o);
}

static void message(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(o->type);
    send_patched(lab, &m, o);
}

/* A JOIN as it has to be, except for the patch. */
static void join(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(WT_JOIN);
    wt_set(&m, 4, 4, 0x31524557);
    wt_set(&m, 8, 4, 1);
    wt_set(&m, 12, 4, 1);
    wt_set(&m, 20, 4, 3);
    wt_set(&m, 28, 4, 1);
    wt_set_text(&m, 32, 64, "stranger");
    wt_set_text(&m, 96, 256, lab->rogue.address);
    send_patched(lab, &m, o);
}

static void silence(struct wt_lab *lab, const struct wt_offence *o)
{
    (void)lab;
    (void)o;
}

/* HELLO, and READY that is wrong. */
static bool accepted(struct wt_lab *lab)
{
    return lab->link[0]->seen[WT_ACCEPT] != 0 || lab->link[0]->closed;
}

static void ready(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_rogue_hello(lab->link[0], WT_HELLO);
    lab->rogue.incarnation++;
    wt_set(&m, 32, 8, lab->rogue.incarnation);
    lab->link[0]->mute = true;
    wt_rogue_send(lab->link[0], &m);
    WT_MUST(wt_lab_until(lab, accepted, 20) && !lab->link[0]->closed,
            "%s: no ACCEPT", o->name);
    m = wt_rogue_hello(lab->link[0], WT_READY);
    send_patched(lab, &m, o);
}

static void two_in_a_packet(struct wt_lab *lab, const struct wt_offence *o)
{
    struct wt_msg m = wt_msg(WT_PING);
    struct wt_msg h = wt_rogue_hello(lab->link[0], WT_HELLO);
    (void)o;
    wt_append(&m, &h);
    wt_rogue_send(lab->link[0], &m);
}

static void crowd(struct wt_lab *lab, const struct wt_offence *o)
{
    (void)o;
    for (uint32_t i = 0; i < CROWD; i++) {
        (void)wt_rogue_dial(&lab->rogue, lab->number[0],
                            weir_node_address(lab->node[0]));
        (void)wt_lab_step(lab);
    }
}

#define HELLO(name_, off_, bytes_, value_)                                     \
    {                                                                          \
        .name = (name_), .outcome = WT_LINK_ENDS, .play = hello, .patch = {    \
            {(off_), (bytes_), (value_)}                                       \
        }                                                                      \
    }
#define READY(name_, off_, bytes_, value_)                                     \
    {                                                                          \
        .name = (name_), .outcome = WT_LINK_ENDS, .play = ready, .patch = {    \
            {(off_), (bytes_), (value_)}                                       \
        }                                                                      \
    }
#define MESSAGE(name_, type_)                                                  \
    {                                                                          \
        .name = (name_), .outcome = WT_LINK_ENDS, .type = (type_),             \
        .play = message                                                        \
    }
#define JOIN(name_, ...)                                                       \
    {                                                                          \
        .name = (name_), .outcome = WT_LINK_ENDS, .play = join, .patch = {     \
            __VA_ARGS__                                                        \
        }                                                                      \
    }

const struct wt_offence wt_stranger_offences[] = {
    {.name = "a connection without a word",
     .outcome = WT_LINK_ENDS,
     .play = silence},
    {.name = "a crowd without a word", .outcome = WT_LINK_ENDS, .play = crowd},
    HELLO("a HELLO of another magic", 4, 4, 0x31524556),
    HELLO("a HELLO of later versions", 8, 8, 0x0000000900000007),
    HELLO("a HELLO whose versions are none", 8, 8, 0x0000000100000002),
    HELLO("a HELLO from nobody", 20, 4, 7),
    HELLO("a HELLO from 2^32-1", 20, 4, 0xffffffff),
    HELLO("a HELLO from the node itself", 20, 4, 0),
    HELLO("a HELLO to somebody else", 24, 4, 1),
    HELLO("a HELLO of a larger cluster", 28, 4, 4),
    HELLO("a HELLO of no workers", 40, 4, 0),
    HELLO("a HELLO of 65 workers", 40, 4, 65),
    HELLO("a HELLO of larger frames", 44, 4, 8192),
    HELLO("a HELLO without a name", 104, 8, 0),
    HELLO("a HELLO of another name", 104, 8, 0x1b0a0d7f41414141),
    READY("a ring area without units", 60, 4, 0),
    READY("a ring area of 2^32-1 units", 60, 4, 0xffffffff),
    READY("a ring area of units of 1 byte", 56, 4, 1),
    READY("a ring area smaller than its units", 48, 8, 4096),
    READY("a READY of 64 workers", 40, 4, 64),
    MESSAGE("an ACCEPT as the first word", WT_ACCEPT),
    MESSAGE("a READY as the first word", WT_READY),
    MESSAGE("a REFUSE as the first word", WT_REFUSE),
    MESSAGE("an EDGE_OPEN as the first word", WT_EDGE_OPEN),
    MESSAGE("a NOTIFY as the first word", WT_NOTIFY),
    MESSAGE("a FAIL as the first word", WT_FAIL),
    MESSAGE("a PING as the first word", WT_PING),
    MESSAGE("a MEMBER as the first word", WT_MEMBER),
    {.name = "a HELLO after a PING",
     .outcome = WT_LINK_ENDS,
     .play = two_in_a_packet},
    JOIN("a JOIN when all are there", {0, 0, 0}),
    JOIN("a JOIN of another magic", {4, 4, 1}),
    JOIN("a JOIN of later versions", {8, 8, 0x0000000900000007}),
    JOIN("a JOIN of no workers", {28, 4, 0}),
};
const uint32_t wt_n_stranger_offences = WI_ARRAY_LEN(wt_stranger_offences);
