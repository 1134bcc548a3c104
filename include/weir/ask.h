/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Asks: requests of peers, each with one answer.
 *
 *   peer                              owner
 *   weir_fetch_ask (fetch.h) -------> weir_asks_next
 *   weir_fetch_get of a name          ... makes what is wanted, perhaps in
 *     that nobody has published ->        another thread, perhaps later ...
 *   weir_fetch_next <---------------- weir_ask_answer
 *
 * The first word of a name, its space, says who answers: one struct weir_asks
 * per space and node. Asks for a space that nobody has opened are answered by
 * the library, with WEIR_ERR_NOT_FOUND.
 *
 * An ask that is never answered costs its peer the deadline that it set, and
 * nobody else anything. A peer has asks of at most 64 KiB waiting on a node,
 * each counted as its length, and at least 64 bytes, so 64 to 1024 of them;
 * what it sends beyond that is answered with WEIR_AGAIN by the library (its own
 * node keeps it from sending them), and peers take turns, so that a flood from
 * one does not keep the others out.
 */
#ifndef WEIR_ASK_H
#define WEIR_ASK_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/node.h>
#include <weir/region.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Longest argument of an ask, and longest answer that is not a region. */
#define WEIR_ASK_BYTES 1024u

typedef struct weir_asks weir_asks;

/** One request. What it points to is valid until it is answered. */
struct weir_ask {
    struct weir_name name;
    const void *bytes; /* the argument, 8-byte aligned */
    uint32_t len;      /* its length; 0 for a get */
    int wants_region;  /* 1: a get waits for a region of this name; publish it,
                          then answer WEIR_OK */
    const char *peer;  /* name of the node that asks */
    uint64_t peer_incarnation; /* the same for all asks of one life of it */
    uint64_t id;               /* the library's */
    weir_asks *asks;           /* the library's */
};

/**
 * Answer for a space of names.
 *
 * @param space   first word of the names
 * @param worker  who is woken when asks come: weir_worker_wait returns
 *
 * Errors:     WEIR_ERR_ARG (no such worker), WEIR_ERR_DUPLICATE (the space has
 *             its answerer), WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  weir_asks_close
 */
WEIR_API weir_err weir_asks_open(weir_node *node, uint64_t space,
                                 uint32_t worker, weir_asks **asks_out,
                                 struct weir_error *err);

/**
 * Take the next ask.
 *
 * Returns:    WEIR_OK | WEIR_AGAIN (none now)
 * Errors:     WEIR_ERR_ARG
 * Blocks:     never
 * Threads:    any, one at a time
 * Ownership:  answered once, with weir_ask_answer
 */
WEIR_API weir_err weir_asks_next(weir_asks *asks, struct weir_ask *ask_out);

/**
 * Answer. An ask whose peer is gone, or whose deadline is over, takes its
 * answer and drops it.
 *
 * @param code   WEIR_OK, or what went wrong: it arrives as weir_got.code
 * @param bytes  len of them, copied; for an error its text, as it is to be read
 * @param len    0 .. WEIR_ASK_BYTES
 *
 * Errors:     WEIR_ERR_ARG (too long, code positive), WEIR_ERR_STATE (answered
 *             already)
 * Blocks:     never
 * Threads:    any
 * Ownership:  ask's memory is gone afterwards
 */
WEIR_API weir_err weir_ask_answer(const struct weir_ask *ask, weir_err code,
                                  const void *bytes, uint32_t len);

/**
 * Does its peer still wait for the answer? 0 once the peer is gone or has given
 * it up; then the worker of the asks is woken, too. An ask that is never meant
 * to be answered so tells its owner how long the peer lives.
 *
 * Errors: none.  Blocks: shortly.  Threads: any
 * Ownership: nothing; the ask was taken and not answered
 */
WEIR_API int weir_ask_waits(const struct weir_ask *ask);

/**
 * Stop answering. Asks that are not answered get WEIR_ERR_NOT_FOUND.
 *
 * Errors: none.  Blocks: never.  Threads: one, no other call on it may run
 * Ownership: frees asks; NULL is allowed
 */
WEIR_API void weir_asks_close(weir_asks *asks);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_ASK_H */
