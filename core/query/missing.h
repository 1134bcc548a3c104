/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a query waits for on this node, and whose turn it is. Used to decide
 * whether it may be closed, for the message of a deadline, and for reports,
 * which add times (report.h).
 *
 * Everything is looked at under the node's lock while workers go on, so the
 * answer was true a moment ago.
 */
#ifndef WI_MISSING_H
#define WI_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_query;
struct weir_shuffle;
struct wi_engine;
struct wi_in;
struct wi_out;

/* The most telling first. Who cannot write knows whom all wait for; rows may
 * lack because their producer cannot write, perhaps to a third one. */
enum wi_missing_kind {
    WI_MISSING_SHUFFLE, /* `member` sends to a shuffle that is not open here */
    WI_MISSING_LINK,    /* `worker` writes: no link to `member` yet */
    WI_MISSING_PLACE,   /* `worker` writes: no ring at `member` is free */
    WI_MISSING_ROOM,    /* `worker` writes: its ring to `member` is full */
    WI_MISSING_RING,    /* `worker` reads: no rings of `member`, `peers` came */
    WI_MISSING_ROWS,    /* `worker` reads: `member` has not ended, sends none */
    WI_MISSING_TAKING, /* `worker` reads: has not taken `bytes` that are here */
    WI_MISSING_READER, /* `worker` has not opened its reader */
    WI_MISSING_WRITER, /* `worker` has not opened its writer */
    WI_MISSING_END,    /* `worker` has not finished its writer */
    WI_MISSING_KINDS,
    /* Does not keep a query from its end, but is worth a line of a report: */
    WI_BESIDES_UNRELEASED, /* `worker` wrote: `member` has not released it */
    WI_BESIDES_HELD,       /* `worker` reads: `n` batches are not released */
    WI_BESIDES_ENDED, /* `worker` reads: `n` producers have ended, not all */
};

/** One thing that is missing. Fields that its kind does not use are
 *  undefined. */
struct wi_missing {
    enum wi_missing_kind kind;
    uint64_t query;
    uint32_t shuffle;
    const struct weir_shuffle *at; /* NULL: SHUFFLE, it is not open */
    uint32_t worker;               /* of this node */
    bool writes;                   /* its writer, else its reader */
    uint32_t member;               /* who is waited for */
    uint64_t peers;                /* bits: its workers; 0: no certain one */
    const struct wi_out *out;      /* LINK, PLACE, ROOM, UNRELEASED */
    const struct wi_in *in;        /* SHUFFLE, ROWS, TAKING, HELD */
    uint64_t bytes; /* ROOM, TAKING, UNRELEASED, HELD: of the ring */
    uint32_t n;     /* HELD, ENDED */
};

typedef void (*wi_missing_fn)(void *arg, const struct wi_missing *m);

/** Call fn for each thing that keeps the query from its end here, and for what
 *  else is worth a line: worker by worker, the writer before the reader. */
void wi_missing_each(const struct weir_query *q, wi_missing_fn fn, void *arg);

/** Call fn (SHUFFLE) for each shuffle that a member sends to and that was not
 *  opened here: of a query, or (NULL) of all that are not open here. */
void wi_missing_strays(const struct wi_engine *e, const struct weir_query *q,
                       wi_missing_fn fn, void *arg);

#define WI_MISSING_WHO_BYTES 24

/** The subject of a line, " worker 0 reader"; empty: the whole node. */
void wi_missing_who(const struct wi_missing *m,
                    char text[WI_MISSING_WHO_BYTES]);

/** Write "waits for rows of n1 worker 0"; returns the length, as snprintf. */
int wi_missing_say(const struct wi_engine *e, const struct wi_missing *m,
                   char *text, size_t bytes);

/** All of it in one line: the most telling one, and how many more there are.
 *  Empty if nothing keeps the query from its end. Returns whether it is certain
 *  to tell more than the lines of members that wait for rows. */
bool wi_missing_text(const struct weir_query *q, char *text, size_t bytes);

#endif /* WI_MISSING_H */
