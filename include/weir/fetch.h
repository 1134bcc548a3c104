/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Fetches: reading and writing regions of peers, and asking them.
 *
 *   weir_fetch_open                         belongs to one worker
 *      weir_fetch_get(fetch, peer, gets, n)     any number, any peers
 *      weir_fetch_put, weir_fetch_ask
 *      weir_fetch_next --> weir_got             in the order in which they end
 *      weir_fetch_release                       lent bytes go back
 *   weir_fetch_close
 *
 * Nothing waits: WEIR_AGAIN means that max_bytes are in flight or lent, that
 * 1024 operations are under way or lent, or that nothing has ended yet;
 * weir_worker_wait (or the worker's descriptor) tells when it is worth trying
 * again. An operation may end while it is posted, which wakes nobody: look with
 * weir_fetch_next before you wait. Each operation that was taken ends in one
 * weir_got: with its bytes, with an error, or when its time is over.
 *
 * Over shm, gets of memory need nothing of the owner once they know where it
 * is: they go on while its process is stopped, which is then not noticed. What
 * needs an answer of the owner finds it lost after detect_ns: also those that
 * begin after it has closed any region that this node has read, until this node
 * has heard of that.
 *
 * Beside the rows of queries on the same link, gets take turns with rings, and
 * at most 1 MiB of them is in flight on it. Where the link is the bottleneck,
 * it is shared as that is: a ring of 240 KiB has a fifth of it beside gets
 * without a pause.
 */
#ifndef WEIR_FETCH_H
#define WEIR_FETCH_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/node.h>
#include <weir/peer.h>
#include <weir/region.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_fetch weir_fetch;

/** Options. Zero means the default in brackets. */
struct weir_fetch_params {
    uint32_t worker;      /* whose thread uses it [0] */
    uint64_t max_bytes;   /* most in flight or lent [16 MiB]; one get that is
                            larger goes alone */
    uint64_t timeout_ns;  /* of each operation [30 s]; WEIR_FOREVER: as long as
                            the peer lives */
    uint64_t reserved[4]; /* must be zero */
};

/** Bytes [off, off + bytes) of a region. */
struct weir_get {
    struct weir_name name;
    uint64_t off;   /* any */
    uint64_t bytes; /* any; 0 gets weir_got.region_bytes and nothing else;
                       UINT64_MAX: all from off on, however much the peer has,
                       so dst is NULL; counts as max_bytes */
    void *dst;      /* where to; NULL: the library lends them, aligned as they
                       are in the region, up to 64 */
    uint64_t tag;   /* the program's, comes back in weir_got */
};

/** Bytes into a region that was opened writable. */
struct weir_put {
    struct weir_name name;
    uint64_t off;
    uint64_t bytes;
    const void *src; /* stays as it is until the put has ended */
    uint64_t tag;
};

/** What has ended. */
struct weir_got {
    uint64_t tag;
    weir_err code;   /* WEIR_OK, or what is in weir_fetch_error() */
    const void *ptr; /* get: the bytes (dst if it was given); ask: the answer,
                         valid until the next call of weir_fetch_next or until
                         weir_fetch_release if lent is set */
    uint64_t bytes;  /* how many */
    uint64_t region_bytes; /* length of the region */
    uint64_t incarnation;  /* of the peer */
    uint64_t lent;         /* not 0: give it back with weir_fetch_release */
    int mapped;            /* 1: ptr is memory of the owner (shm, own regions),
                              which may change it as it is read; 0: a copy that
                              nobody else writes to */
};

/**
 * Make a fetch.
 *
 * What it lends of peers that do not map memory lies outside memory_bytes,
 * except over verbs; max_bytes bounds it. Over verbs, bytes for a dst or of a
 * src go through memory_bytes, too, 1 MiB at a time if there is not more.
 *
 * Errors:     WEIR_ERR_ARG (worker), WEIR_ERR_NO_MEMORY
 * Blocks:     shortly
 * Threads:    the thread of that worker
 * Ownership:  weir_fetch_close
 */
WEIR_API weir_err weir_fetch_open(weir_node *node,
                                  const struct weir_fetch_params *params,
                                  weir_fetch **fetch_out,
                                  struct weir_error *err);

/**
 * Read regions of a peer.
 *
 * @param gets       n of them, copied; a dst is written until its get has ended
 * @param taken_out  [out] how many of the first were taken
 *
 * Returns:    WEIR_OK (all) | WEIR_AGAIN (*taken_out of them: max_bytes)
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY: none beyond *taken_out
 * Blocks:     never
 * Threads:    the thread of the worker
 * Ownership:  peer must outlive the operations
 */
WEIR_API weir_err weir_fetch_get(weir_fetch *fetch, weir_peer *peer,
                                 const struct weir_get *gets, uint32_t n,
                                 uint32_t *taken_out);

/**
 * Write to regions of a peer. A put that has ended with WEIR_OK can be read by
 * everybody.
 *
 * @param puts       n of them, copied; a src stays as it is until its put has
 *                   ended
 * @param taken_out  [out] how many of the first were taken
 *
 * Returns:    as weir_fetch_get
 * Errors:     as weir_fetch_get
 * Blocks:     never
 * Threads:    the thread of the worker
 * Ownership:  peer must outlive the operations
 */
WEIR_API weir_err weir_fetch_put(weir_fetch *fetch, weir_peer *peer,
                                 const struct weir_put *puts, uint32_t n,
                                 uint32_t *taken_out);

/**
 * Ask a peer (ask.h).
 *
 * @param name   its space says who answers
 * @param bytes  len of them, copied; 0 .. WEIR_ASK_BYTES
 *
 * Over a link asks of 64 KiB wait at a time (ask.h); more wait on this side.
 *
 * Returns:    WEIR_OK | WEIR_AGAIN (1024 operations are under way)
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    the thread of the worker
 * Ownership:  peer must outlive the operation
 */
WEIR_API weir_err weir_fetch_ask(weir_fetch *fetch, weir_peer *peer,
                                 const struct weir_name *name,
                                 const void *bytes, uint32_t len, uint64_t tag);

/**
 * Take what has ended.
 *
 * Returns:    WEIR_OK | WEIR_AGAIN (nothing yet) | WEIR_DONE (nothing is under
 *             way)
 * Errors:     WEIR_ERR_ARG
 * Blocks:     never
 * Threads:    the thread of the worker
 * Ownership:  lent bytes: weir_fetch_release
 */
WEIR_API weir_err weir_fetch_next(weir_fetch *fetch, struct weir_got *got_out);

/** The message of the last weir_got whose code was an error: who, which name,
 *  and what was wrong. Errors: none. Blocks: never. Threads: the thread of the
 *  worker. Ownership: the fetch's, until the next weir_fetch_next. */
WEIR_API const char *weir_fetch_error(const weir_fetch *fetch);

/** Give lent bytes back, in any order, also after weir_fetch_close, but before
 *  the node's close; does nothing if got->lent is 0.
 *  Errors: none. Blocks: never; shortly, if the fetch was closed. Threads: any.
 *  Ownership: ends. */
WEIR_API void weir_fetch_release(weir_fetch *fetch, const struct weir_got *got);

/**
 * Give up what is under way, and free. When it returns, nobody writes to a dst
 * or reads a src any more. What is lent stays until it is released; the memory
 * of the fetch goes with the last of it.
 *
 * Errors:     none
 * Blocks:     while pieces that are in flight come in, at most detect_ns
 * Threads:    the thread of the worker
 * Ownership:  frees fetch, which is good for weir_fetch_release alone; NULL is
 *             allowed
 */
WEIR_API void weir_fetch_close(weir_fetch *fetch);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_FETCH_H */
