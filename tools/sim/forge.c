/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/forge.h"

#include <stddef.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/format/frame.h"
#include "core/format/wire.h"

/* Whose limit a field is held against. */
enum limit {
    NONE,
    UNITS,   /* of a ring area */
    UNIT,    /* bytes of one */
    AREA,    /* bytes of it */
    WORKERS, /* of a node */
    MEMBERS,
    SHUFFLES,
    PIECE, /* words of a FILTER */
    ASKED, /* bytes of an ASK */
    FRAME, /* bytes */
    BELLS,
    QUERIES, /* of a run: their numbers */
};

struct field {
    uint16_t type;
    uint16_t off;
    uint16_t bytes;
    enum limit limit;
};

#define IN(TYPE, BODY, FIELD, LIMIT)                                           \
    {                                                                          \
        TYPE, offsetof(struct BODY, FIELD), sizeof(((struct BODY *)0)->FIELD), \
            LIMIT                                                              \
    }
#define F(TYPE, BODY, FIELD, LIMIT)                                            \
    IN(WI_MSG_##TYPE, wi_msg_##BODY, FIELD, LIMIT)
#define HELLO_FIELDS(TYPE)                                                     \
    F(TYPE, hello, version_min, NONE), F(TYPE, hello, version_max, NONE),      \
        F(TYPE, hello, caps, NONE), F(TYPE, hello, from, MEMBERS),             \
        F(TYPE, hello, to, MEMBERS), F(TYPE, hello, n_members, MEMBERS),       \
        F(TYPE, hello, incarnation, NONE), F(TYPE, hello, workers, WORKERS),   \
        F(TYPE, hello, frame_bytes, FRAME), F(TYPE, hello, ring_bytes, AREA),  \
        F(TYPE, hello, unit_bytes, UNIT), F(TYPE, hello, n_units, UNITS),      \
        F(TYPE, hello, bell_bytes, NONE), F(TYPE, hello, bell_stride, NONE),   \
        F(TYPE, hello, bell_base, BELLS), F(TYPE, hello, bell_ids, BELLS)
#define EDGE_FIELDS(TYPE)                                                      \
    F(TYPE, edge, edge, UNITS), F(TYPE, edge, epoch, NONE),                    \
        F(TYPE, edge, arg, WORKERS)
#define POS_FIELDS(TYPE)                                                       \
    F(TYPE, pos, edge, UNITS), F(TYPE, pos, epoch, NONE),                      \
        F(TYPE, pos, hint, NONE), F(TYPE, pos, pos, AREA),                     \
        F(TYPE, pos, pos, FRAME)
#define GRANT_FIELDS(TYPE)                                                     \
    F(TYPE, grant, founds, NONE), F(TYPE, grant, handle, NONE),                \
        F(TYPE, grant, key, NONE)

/* All but texts, and the keys of memory, which are the transport's affair. */
static const struct field fields[] = {
    HELLO_FIELDS(HELLO),
    HELLO_FIELDS(ACCEPT),
    HELLO_FIELDS(READY),
    F(REFUSE, refuse, code, NONE),
    F(PING, word, arg, NONE),
    F(BYE, word, arg, NONE),
    F(BELL, word, arg, WORKERS),
    F(EDGE_OPEN, edge_open, edge, UNITS),
    F(EDGE_OPEN, edge_open, epoch, NONE),
    F(EDGE_OPEN, edge_open, shuffle, SHUFFLES),
    F(EDGE_OPEN, edge_open, query, QUERIES),
    F(EDGE_OPEN, edge_open, fingerprint, NONE),
    F(EDGE_OPEN, edge_open, ring_off, AREA),
    F(EDGE_OPEN, edge_open, ring_off, UNIT),
    F(EDGE_OPEN, edge_open, ring_bytes, AREA),
    F(EDGE_OPEN, edge_open, ring_bytes, UNIT),
    F(EDGE_OPEN, edge_open, producer_worker, WORKERS),
    F(EDGE_OPEN, edge_open, consumer_worker, WORKERS),
    EDGE_FIELDS(EDGE_STOP),
    EDGE_FIELDS(EDGE_ABANDON),
    EDGE_FIELDS(EDGE_CLOSED),
    POS_FIELDS(NOTIFY),
    POS_FIELDS(CREDIT),
    F(FAIL, fail, code, NONE),
    F(FAIL, fail, query, QUERIES),
    F(MEMBER, member, idx, MEMBERS),
    F(MEMBER, member, n_members, MEMBERS),
    F(MEMBER, member, self, MEMBERS),
    F(MEMBER, member, workers, WORKERS),
    F(SHUFFLE, shuffle, shuffle, SHUFFLES),
    F(SHUFFLE, shuffle, query, QUERIES),
    F(SHUFFLE, shuffle, fingerprint, NONE),
    F(CLOSE, close, query, QUERIES),
    F(DIFFER, differ, shuffle, SHUFFLES),
    F(DIFFER, differ, query, QUERIES),
    F(FILTER, filter, shuffle, SHUFFLES),
    F(FILTER, filter, query, QUERIES),
    F(FILTER, filter, n_words, PIECE),
    F(FILTER, filter, first, PIECE),
    F(FILTER, filter, worker, WORKERS),
    F(FIND, find, call, NONE),
    F(FIND, find, space, NONE),
    F(FIND, find, id, MEMBERS),
    F(FIND, find, off, NONE),
    F(FIND, find, access, NONE),
    F(FOUND, found, code, NONE),
    F(FOUND, found, call, NONE),
    F(FOUND, found, handle, NONE),
    F(FOUND, found, origin, NONE),
    F(FOUND, found, region_bytes, NONE),
    F(FOUND, found, off, NONE),
    F(FOUND, found, bytes, NONE),
    F(FOUND, found, map_bytes, NONE),
    F(FOUND, found, flags, NONE),
    F(FOUND, found, tally_off, NONE),
    GRANT_FIELDS(DROP),
    GRANT_FIELDS(REVOKE),
    F(ASK, ask, call, NONE),
    F(ASK, ask, space, NONE),
    F(ASK, ask, id, MEMBERS),
    F(ASK, ask, len, ASKED),
    F(ANSWER, answer, code, NONE),
    F(ANSWER, answer, call, NONE),
    F(ANSWER, answer, len, ASKED),
    F(LEAVE, word, arg, NONE),
    F(SYNC, word, arg, NONE),
    F(SYNCED, word, arg, NONE),
};

#define H(FIELD, LIMIT) IN(0, wi_frame_header, FIELD, LIMIT)
static const struct field of_frames[] = {
    H(magic, NONE),        H(kind, NONE),        H(flags, NONE),
    H(worker, WORKERS),    H(bytes, FRAME),      H(bytes, AREA),
    H(rows, FRAME),        H(pos, AREA),         H(epoch, NONE),
    H(n_buffers, NONE),    H(chunk_off, FRAME),  H(chunk_bytes, FRAME),
    H(total_bytes, FRAME), H(reserved[0], NONE),
};

/* ---- values -------------------------------------------------------------- */

static uint64_t limit_of(const struct wi_engine *e, enum limit limit)
{
    const struct wi_budget *b = &e->budget;
    switch (limit) {
    case UNITS:
        return b->n_units;
    case UNIT:
        return b->unit_bytes;
    case AREA:
        return b->area_bytes;
    case WORKERS:
        return e->cfg.workers;
    case MEMBERS:
        return e->cfg.max_members;
    case SHUFFLES:
        return e->cfg.max_shuffles;
    case PIECE:
        return WI_FILTER_PIECE;
    case ASKED:
        return WI_ASK_BYTES;
    case FRAME:
        return e->cfg.frame_bytes;
    case BELLS:
        return 1u << 24;
    case QUERIES:
        return 2;
    default:
        return 64;
    }
}

/* `right` is what is there. */
static uint64_t value_of(struct ws_random *r, uint64_t right, uint64_t most,
                         uint64_t limit)
{
    const uint64_t values[] = {0,
                               1,
                               most,
                               most - 1,
                               most / 2,
                               most / 2 + 1,
                               limit,
                               limit + 1,
                               limit - 1,
                               right + 1,
                               right - 1,
                               right + limit,
                               right - limit,
                               right * 2,
                               most - right,
                               most - limit + 1};
    return values[ws_pick(r, WI_ARRAY_LEN(values))];
}

static void forge(struct ws_random *r, const struct wi_engine *e,
                  const struct field *f, uint8_t *bytes)
{
    const uint64_t most = UINT64_MAX >> (64 - 8 * f->bytes);
    uint64_t right = 0;
    memcpy(&right, bytes + f->off, f->bytes); /* little-endian */
    right = value_of(r, right, most, limit_of(e, f->limit));
    memcpy(bytes + f->off, &right, f->bytes);
}

/* ---- messages ------------------------------------------------------------ */

static uint16_t type_of(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

void ws_forge_message(struct ws_random *r, const struct wi_engine *e,
                      uint8_t *bytes, uint32_t len)
{
    const struct field *some[WI_ARRAY_LEN(fields)];
    uint32_t n = 0;
    for (uint32_t i = 0; i < WI_ARRAY_LEN(fields); i++) {
        if (fields[i].type == type_of(bytes) &&
            fields[i].off + fields[i].bytes <= len) {
            some[n++] = &fields[i];
        }
    }
    /* Now and then two, which may make up for each other. */
    for (uint32_t i = ws_pick(r, 4) == 0 ? 0 : 1; i < 2 && n != 0; i++) {
        forge(r, e, some[ws_pick(r, n)], bytes);
    }
}

void ws_forge_frame(struct ws_random *r, const struct wi_engine *e,
                    uint8_t *bytes, uint32_t len)
{
    if (len < sizeof(struct wi_frame_header)) {
        return;
    }
    memset(bytes + offsetof(struct wi_frame_header, checksum), 0,
           sizeof(uint64_t));
    forge(r, e, &of_frames[ws_pick(r, WI_ARRAY_LEN(of_frames))], bytes);
}

uint32_t ws_forge_next(const uint8_t *packet, uint32_t len, uint32_t at)
{
    if (len - at < sizeof(struct wi_msg_head)) {
        return 0;
    }
    const uint32_t bytes = packet[at + 2] | (uint32_t)packet[at + 3] << 8;
    return bytes >= sizeof(struct wi_msg_head) && bytes <= len - at &&
                   bytes == wi_msg_bytes(type_of(packet + at))
               ? bytes
               : 0;
}
