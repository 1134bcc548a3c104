/* SPDX-License-Identifier: Apache-2.0 */
/* Records of tcp that are wrong: of a member, and of strangers. */
#include <stdlib.h>

#include "core/base/cc.h"
#include "test/support/offence.h"

enum { RECORD = 24, UNIT = 2, STAGE = 1, READS = 64, JUNK = 1 << 20 };
enum { MESSAGE = 1, WRITE = 2, READ = 3, READ_DATA = 4 };

static struct wt_rogue_link *link_of(struct wt_lab *lab)
{
    return lab->link[0];
}

static void apply(uint8_t *at, const struct wt_offence *o)
{
    for (uint32_t i = 0; i < 2 && o->patch[i].bytes != 0; i++) {
        const struct wt_patch *p = &o->patch[i];
        wt_put(at + p->off, p->value, p->bytes);
    }
}

/* ---- of a member --------------------------------------------------------- */

/* A PING in a record that was changed. */
static void message(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t bytes[RECORD + 8];
    struct wt_msg m = wt_msg(WT_PING);
    wt_rogue_record(bytes, MESSAGE, m.len, 0, 0);
    memcpy(bytes + RECORD, m.at, m.len);
    apply(bytes, o);
    wt_rogue_raw(link_of(lab), bytes, sizeof(bytes));
}

/* 64 bytes for the first unit of the area, in a record that was changed. */
static void write_record(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t bytes[RECORD + 64] = {0};
    struct wt_rogue_link *l = link_of(lab);
    wt_rogue_record(bytes, WRITE, 64, l->peer_key, wt_rogue_ring(l, UNIT));
    apply(bytes, o);
    wt_rogue_raw(l, bytes, sizeof(bytes));
}

static void read_record(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t bytes[RECORD];
    struct wt_rogue_link *l = link_of(lab);
    wt_rogue_record(bytes, READ, 64, l->peer_key, wt_rogue_ring(l, UNIT));
    apply(bytes, o);
    for (uint32_t i = 0; i < (o->stale ? READS : 1u); i++) {
        wt_rogue_raw(l, bytes, sizeof(bytes));
    }
}

static void answer_unasked(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t bytes[RECORD + 64] = {0};
    (void)o;
    wt_rogue_record(bytes, READ_DATA, 64, 0, 0);
    wt_rogue_raw(link_of(lab), bytes, sizeof(bytes));
}

/* What is published belongs to its reader: refused if its NOTIFY was handled
 * before, else the frame is another one than its checksum says. */
static void write_again(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t junk[64];
    struct wt_ring r;
    (void)o;
    memset(junk, 0xff, sizeof(junk));
    wt_ring_open(lab, 0, STAGE, UNIT, &r);
    for (uint32_t i = 0; i < 8; i++) {
        wt_ring_rows(&r, 64);
        wt_rogue_write(r.link, wt_rogue_ring(r.link, UNIT) + r.pos - 64, junk,
                       sizeof(junk));
    }
}

static void half_and_gone(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t bytes[RECORD];
    struct wt_rogue_link *l = link_of(lab);
    wt_rogue_record(bytes, MESSAGE, 8, 0, 0);
    wt_rogue_raw(l, bytes, (uint32_t)o->patch[0].value);
    wt_rogue_hang_up(l);
    l->closed = true;
}

/* Half a record, and then nothing for as long as it is borne. */
static void slowly(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t bytes[RECORD];
    (void)o;
    link_of(lab)->mute = true;
    wt_rogue_record(bytes, MESSAGE, 8, 0, 0);
    wt_rogue_raw(link_of(lab), bytes, 10);
}

#define RECORD_OF(name_, play_, off_, bytes_, value_)                          \
    {                                                                          \
        .name = (name_), .outcome = WT_LINK_ENDS, .play = (play_),             \
        .tcp = true, .patch = {                                                \
            {(off_), (bytes_), (value_)}                                       \
        }                                                                      \
    }

const struct wt_offence wt_record_offences[] = {
    RECORD_OF("a record of type 0", message, 0, 1, 0),
    RECORD_OF("a record of type 9", message, 0, 1, 9),
    RECORD_OF("a record whose zeros are none", message, 1, 3, 1),
    RECORD_OF("a message of no bytes", message, 4, 4, 0),
    RECORD_OF("a message of 4097 bytes", message, 4, 4, 4097),
    RECORD_OF("a message of 2^32-1 bytes", message, 4, 4, 0xffffffff),
    RECORD_OF("a write of no bytes", write_record, 4, 4, 0),
    RECORD_OF("a write of 7 bytes", write_record, 4, 4, 7),
    RECORD_OF("a write of more than 16 MiB", write_record, 4, 4, 16777224),
    RECORD_OF("a write of 2^32-8 bytes", write_record, 4, 4, 0xfffffff8),
    RECORD_OF("a write under another key", write_record, 8, 8, 0x1234567),
    RECORD_OF("a write beyond what was granted", write_record, 16, 8, 1 << 30),
    RECORD_OF("a write whose end overflows", write_record, 16, 8,
              0xffffffffffffffc0),
    RECORD_OF("a read under another key", read_record, 8, 8, 0x1234567),
    RECORD_OF("a read beyond what was granted", read_record, 16, 8, 1 << 30),
    RECORD_OF("a read of 2^32-8 bytes", read_record, 4, 4, 0xfffffff8),
    {.name = "an answer that nobody asked for",
     .outcome = WT_LINK_ENDS,
     .play = answer_unasked,
     .tcp = true},
    {.name = "a second write of what was published",
     .outcome = WT_ENDS_ANYHOW,
     .play = write_again,
     .tcp = true},
    RECORD_OF("half a record's head, and gone", half_and_gone, 0, 0, 9),
    RECORD_OF("a record's head, and gone", half_and_gone, 0, 0, RECORD),
    {.name = "half a record, and silence",
     .outcome = WT_LINK_ENDS,
     .play = slowly,
     .tcp = true},
};
const uint32_t wt_n_record_offences = WI_ARRAY_LEN(wt_record_offences);

/* ---- of strangers -------------------------------------------------------- */

static void greeting(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t bytes[16] = "WEIR\r\n\r\n\1";
    apply(bytes, o);
    wt_rogue_raw(link_of(lab), bytes, sizeof(bytes));
}

static void half_a_greeting(struct wt_lab *lab, const struct wt_offence *o)
{
    (void)o;
    wt_rogue_raw(link_of(lab), "WEIR\r\n\r", 7);
}

static void http(struct wt_lab *lab, const struct wt_offence *o)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    (void)o;
    wt_rogue_raw(link_of(lab), text, sizeof(text) - 1);
}

static void junk(struct wt_lab *lab, const struct wt_offence *o)
{
    uint8_t *bytes = malloc(JUNK);
    uint32_t x = 1;
    WT_MUST(bytes != NULL, "%s: no memory", o->name);
    for (uint32_t i = 0; i < JUNK; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(x >> 24);
    }
    wt_rogue_raw(link_of(lab), bytes, JUNK);
    free(bytes);
}

static void greeting_and_junk(struct wt_lab *lab, const struct wt_offence *o)
{
    greeting(lab, o);
    junk(lab, o);
}

static void greeting_and_write(struct wt_lab *lab, const struct wt_offence *o)
{
    greeting(lab, o);
    link_of(lab)->greeted = true;
    write_record(lab, o);
}

#define GREETING(name_, play_, off_, bytes_, value_)                           \
    RECORD_OF(name_, play_, off_, bytes_, value_)

const struct wt_offence wt_greeting_offences[] = {
    GREETING("a greeting, and silence", greeting, 0, 0, 0),
    GREETING("half a greeting, and silence", half_a_greeting, 0, 0, 0),
    GREETING("a greeting of another protocol", greeting, 0, 4, 0x464c4845),
    GREETING("a greeting of version 2", greeting, 8, 1, 2),
    GREETING("a greeting whose zeros are none", greeting, 9, 1, 1),
    GREETING("a browser", http, 0, 0, 0),
    GREETING("a megabyte of junk", junk, 0, 0, 0),
    GREETING("a greeting and a megabyte of junk", greeting_and_junk, 0, 0, 0),
    GREETING("a write before HELLO", greeting_and_write, 0, 0, 0),
};
const uint32_t wt_n_greeting_offences = WI_ARRAY_LEN(wt_greeting_offences);
