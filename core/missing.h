/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a query waits for on this node, and whose turn it is.
 *
 * For messages and reports: looks at everything under the node's lock, while
 * workers go on, so what it says was true a moment ago.
 */
#ifndef WI_MISSING_H
#define WI_MISSING_H

#include <stddef.h>
#include <stdint.h>

struct weir_query;

/* The most telling first. */
enum wi_missing_kind {
    WI_MISSING_SHUFFLE, /* `member` sends to a shuffle that is not open here */
    WI_MISSING_RING,    /* `worker` reads: no ring of `member`, `peer` came */
    WI_MISSING_ROWS,    /* `worker` reads: `member`, `peer` has not ended */
    WI_MISSING_LINK,    /* `worker` writes: no link to `member` yet */
    WI_MISSING_PLACE,   /* `worker` writes: no ring at `member` is free */
    WI_MISSING_ROOM,    /* `worker` writes: its ring to `member` is full */
    WI_MISSING_READER,  /* `worker` has not opened its reader */
    WI_MISSING_WRITER,  /* `worker` has not opened its writer */
    WI_MISSING_END,     /* `worker` has not finished its writer */
    WI_MISSING_KINDS,
};

/** One thing that is missing. */
struct wi_missing {
    enum wi_missing_kind kind;
    uint32_t shuffle;
    uint32_t worker; /* of this node */
    uint32_t member; /* who is waited for */
    uint32_t peer;   /* its worker; WI_ANY_WORKER: of a node ring */
};

typedef void (*wi_missing_fn)(void *arg, const struct wi_missing *m);

/** Call fn for each thing that keeps the query from its end here. */
void wi_missing_each(const struct weir_query *q, wi_missing_fn fn, void *arg);

/** Write what one of them means; returns the length, as snprintf. */
int wi_missing_say(const struct weir_query *q, const struct wi_missing *m,
                   char *text, size_t bytes);

/** All of it in one line: the most telling one, and how many more there are.
 *  Empty if nothing is missing. */
void wi_missing_text(const struct weir_query *q, char *text, size_t bytes);

#endif /* WI_MISSING_H */
