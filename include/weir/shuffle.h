/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A shuffle: one exchange of rows between the workers of a query's members.
 *
 *   producers                                             consumers
 *   weir_writer_push(batch) --partition--> rings --> weir_reader_next(batch)
 *   weir_writer_finish      ------- end of stream ------> WEIR_DONE
 *   WEIR_DONE  <------------- stop-sending -------- weir_reader_stop
 *
 * A destination is one consuming worker. Destinations are numbered 0 .. D-1:
 * the consumers in the order of params.consumers, and within each its workers.
 * With `to` = WEIR_TO_NODE a destination is one consuming member: its rows are
 * for all its workers, and each batch goes to the one that asks next. So none
 * of them has more to do than the others, rows are partitioned to members and
 * not to members x workers, and rings need memory for as many. It suits
 * consumers that share what they make of the rows, such as one table for a
 * join, and those that do not care who gets what.
 *
 * Exactly once: a reader returns WEIR_DONE only after every producer's end of
 * stream has come and its row count, byte count and checksum agree with what
 * was received. Anything else is an error of the query.
 *
 * Nothing deadlocks if each worker follows one rule: a worker that is blocked
 * on a writer goes on taking rows from every reader downstream of it.
 */
#ifndef WEIR_SHUFFLE_H
#define WEIR_SHUFFLE_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>
#include <weir/query.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_shuffle weir_shuffle;
typedef struct weir_writer weir_writer;
typedef struct weir_reader weir_reader;

typedef enum weir_partitioning {
    WEIR_HASH,        /* by hash of the key columns (docs/wire.md, "hash") */
    WEIR_RANGE,       /* by the first bound that is greater than the key */
    WEIR_ROUND_ROBIN, /* runs of rows to each destination in turn */
    WEIR_RANDOM,      /* each row anywhere, by a seeded generator */
    WEIR_BROADCAST,   /* every row to every destination */
    WEIR_GATHER,      /* every row to the first worker of the first consumer */
    WEIR_VECTOR,      /* where the caller says: weir_writer_push_to */
} weir_partitioning;

/** What a destination is. */
typedef enum weir_shuffle_to {
    WEIR_TO_WORKER, /* one consuming worker */
    WEIR_TO_NODE,   /* one consuming member: rows for whichever worker of it
                       asks next, in no order between workers */
} weir_shuffle_to;

/** Options of a shuffle; the same on every member. Zero means the default. */
struct weir_shuffle_params {
    uint32_t id;                      /* unique in the query */
    const struct ArrowSchema *schema; /* struct of columns; borrowed by open */
    weir_partitioning partitioning;
    const char *const *keys; /* names of key columns, for HASH and RANGE */
    uint32_t n_keys;
    uint64_t seed; /* of the hash or the generator [0]; chained
                                  shuffles by the same key need different
                                  ones */
    const struct ArrowArray *bounds; /* RANGE: struct array of the key columns,
                                  0..D-1 rows, ascending; copied. Row i is the
                                  first key that goes to destination i+1;
                                  destinations beyond get no rows */
    const uint32_t *producers; /* member numbers [all members of the query] */
    uint32_t n_producers;
    const uint32_t *consumers; /* member numbers [all members of the query] */
    uint32_t n_consumers;
    uint32_t producer_workers; /* workers 0..n-1 of each producer [all] */
    uint32_t consumer_workers; /* workers 0..n-1 of each consumer [all] */
    const char *name; /* said beside the number in messages and reports of this
                         member; 63 bytes of it, copied [none] */
    weir_shuffle_to to;   /* what a destination is [WEIR_TO_WORKER] */
    uint32_t reserved_to; /* must be zero */
    uint64_t reserved[2]; /* must be zero */
};

/**
 * Open a shuffle on this member of its query.
 *
 * Every producing worker of this member must then open and finish a writer,
 * every consuming worker open a reader and drain or stop it.
 *
 * @param shuffle_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_SCHEMA, WEIR_ERR_NOT_FOUND (key column;
 *             lists the columns), WEIR_ERR_DUPLICATE (shuffle id),
 *             WEIR_ERR_BUDGET (more than max_shuffles, if that was set, or
 *             rings are thread-to-node), WEIR_ERR_NO_MEMORY,
 *             and what failed the query
 * Blocks:     never
 * Threads:    any
 * Ownership:  the query's; freed by weir_query_close
 */
WEIR_API weir_err weir_shuffle_open(weir_query *query,
                                    const struct weir_shuffle_params *params,
                                    weir_shuffle **shuffle_out,
                                    struct weir_error *err);

/** Number of destinations, 0 without a shuffle. Errors: none. Blocks: never.
 *  Threads: any. Ownership: nothing. */
WEIR_API uint32_t weir_shuffle_destinations(const weir_shuffle *shuffle);

/* ---- producing ---------------------------------------------------------- */

/**
 * Open the writer of one producing worker; begins to open links.
 *
 * Where more shuffles are open than there are rings for, it waits for its own,
 * in the order of the queries' numbers, and its pushes get WEIR_AGAIN until
 * then. Where queries wait for one another's rings, and nothing has moved for
 * stall_ns or 30 s, the one with the highest number fails (docs/tuning.md,
 * max_shuffles).
 *
 * Errors:     WEIR_ERR_ARG (not a producer), WEIR_ERR_DUPLICATE (open already),
 *             WEIR_ERR_STATE (was open, and finished: a worker has one writer
 *             of a shuffle), WEIR_ERR_NO_MEMORY, and what failed the query
 * Blocks:     never
 * Threads:    any
 * Ownership:  weir_writer_close, or weir_query_close
 */
WEIR_API weir_err weir_writer_open(weir_shuffle *shuffle, uint32_t worker,
                                   weir_writer **writer_out,
                                   struct weir_error *err);

/**
 * Push a batch: partition its rows and copy them into the outgoing rings.
 *
 * After WEIR_AGAIN some rows may have gone out already: push the same batch,
 * unchanged, until the answer is another one. A batch is recognized by its
 * length, offsets and buffers: a different one is refused, and the first can
 * still be pushed.
 *
 * @param batch  struct array with the shuffle's columns, laid out as its schema
 *               says, or as weir_writer_layout() did; not released (its
 *               `release` is not NULL, as Arrow has it); only read
 *
 * Returns:    WEIR_OK (the batch may be reused) | WEIR_AGAIN (a ring is full:
 *             take input, then retry) | WEIR_DONE (no destination wants more:
 *             finish)
 * Errors:     WEIR_ERR_SCHEMA, WEIR_ERR_DATA (a row over max_row_bytes; utf8 or
 *             binary offsets that descend or are negative), WEIR_ERR_ARG
 *             (WEIR_VECTOR), WEIR_ERR_STATE (another batch is not taken yet; or
 *             after weir_writer_finish), WEIR_ERR_NO_MEMORY (columns of lists:
 *             nothing was taken, push again), and what failed the query;
 *             weir_writer_error has the message
 * Blocks:     never.  Cost: no syscall unless a consumer sleeps or the
 *             transport needs one, no allocation but for lists
 * Threads:    the worker's thread
 * Ownership:  batch stays the caller's
 */
WEIR_API weir_err weir_writer_push(weir_writer *writer,
                                   const struct ArrowArray *batch);

/**
 * As weir_writer_push, with the destination of each row given by the caller.
 *
 * @param dest  batch->length destinations, 0 .. D-1
 *
 * Errors:     also WEIR_ERR_ARG: a destination out of range (nothing sent)
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  dest stays the caller's; unchanged while WEIR_AGAIN
 */
WEIR_API weir_err weir_writer_push_to(weir_writer *writer,
                                      const struct ArrowArray *batch,
                                      const uint32_t *dest);

/** weir_writer_push that parks while rings are full. For workers that have
 *  nothing else to do: see the rule above.
 *  Errors: as weir_writer_push. Blocks: until taken, or the query fails.
 *  Threads: the worker's thread. Ownership: as weir_writer_push. */
WEIR_API weir_err weir_writer_push_wait(weir_writer *writer,
                                        const struct ArrowArray *batch);

/**
 * Look at the consumers, as a push does, without rows. For a producer that
 * computes long between rows: it hears here that nobody wants any more, and
 * consumers that wait get what was pushed for them (within 20 ms, also those
 * whose worker is busy with something else). Call it about once per batch of
 * input that leads to no push; also while the producer itself has no input.
 *
 * Returns:    WEIR_OK (also while a batch is not taken yet) | WEIR_DONE (no
 *             destination wants more: finish)
 * Errors:     WEIR_ERR_ARG (no writer), what failed the query
 * Blocks:     never.  Cost: some 20 ns; ten times a millisecond, at most, a
 *             look at up to 64 destinations
 * Threads:    the worker's thread
 * Ownership:  nothing
 */
WEIR_API weir_err weir_writer_poll(weir_writer *writer);

/**
 * Publish what is held in partly filled frames, now; over a full
 * thread-to-node ring, as soon as it has room and this worker pushes, polls,
 * flushes or waits. Not needed for progress: weir_worker_wait does it, and so
 * does a push when its consumer is idle.
 *
 * Errors:     what failed the query
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  nothing
 */
WEIR_API weir_err weir_writer_flush(weir_writer *writer);

/**
 * End the stream to every destination. Call again after WEIR_AGAIN; nothing
 * can be pushed any more.
 *
 * Returns:    WEIR_OK (all is in the rings) | WEIR_AGAIN (a ring is full)
 * Errors:     WEIR_ERR_STATE (a batch is not taken yet), what failed the query
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  nothing; the writer may only be closed now
 */
WEIR_API weir_err weir_writer_finish(weir_writer *writer);

/** weir_writer_finish that parks while rings are full.
 *  Errors: as finish. Blocks: until done, or the query fails.
 *  Threads: the worker's thread. Ownership: as finish. */
WEIR_API weir_err weir_writer_finish_wait(weir_writer *writer);

/**
 * Why the last call of this writer that failed did so: which column, which row,
 * what was found and expected. If the query failed, what failed it.
 *
 * @param err  [out] code and message, may be NULL
 *
 * Returns:    the code; WEIR_OK: no call failed
 * Errors:     WEIR_ERR_ARG (no writer)
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  nothing
 */
WEIR_API weir_err weir_writer_error(const weir_writer *writer,
                                    struct weir_error *err);

/** What went to one destination so far. */
struct weir_edge_stats {
    uint64_t rows;
    uint64_t bytes; /* of frames published */
    uint64_t frames;
    uint64_t filtered; /* rows that the consumer's filter dropped */
};

/** Look at one edge of a writer. @param dest  0 .. D-1
 *  Errors: WEIR_ERR_ARG (also: no such destination). Blocks: never.
 *  Threads: the worker's thread. Ownership: nothing. */
WEIR_API weir_err weir_writer_stats(const weir_writer *writer, uint32_t dest,
                                    struct weir_edge_stats *stats_out);

/** Close a writer; one that was not finished aborts the query.
 *  Errors: none. Blocks: never. Threads: the worker's thread.
 *  Ownership: frees writer; NULL is allowed. */
WEIR_API void weir_writer_close(weir_writer *writer);

/* ---- consuming ---------------------------------------------------------- */

/**
 * Open the reader of one consuming worker.
 *
 * Errors:     WEIR_ERR_ARG (not a consumer), WEIR_ERR_DUPLICATE (open already),
 *             WEIR_ERR_STATE (was open, and closed: a worker has one reader of
 *             a shuffle), WEIR_ERR_NO_MEMORY, and what failed the query
 * Blocks:     never
 * Threads:    any
 * Ownership:  weir_reader_close, or weir_query_close
 */
WEIR_API weir_err weir_reader_open(weir_shuffle *shuffle, uint32_t worker,
                                   weir_reader **reader_out,
                                   struct weir_error *err);

/**
 * Take the next batch that has arrived, from whichever producer. Of a shuffle
 * to nodes, the next that no other worker of this member has taken.
 *
 * @param batch_out  [out] filled on WEIR_OK only; zero copy, see batch.h
 *
 * Shape:      1 .. frame rows, the shuffle's columns
 * Returns:    WEIR_OK | WEIR_AGAIN (nothing there yet) | WEIR_HELD (nothing
 *             there yet, and the batches that the caller holds leave a producer
 *             no room for its next frame: release some, or detach them. On
 *             thread-to-thread rings only: a node ring may be full of what
 *             other workers hold, and this says WEIR_AGAIN) | WEIR_DONE (all
 *             producers have ended, and every row was received exactly once;
 *             to nodes: by one of the workers)
 * Errors:     WEIR_ERR_ARG, what failed the query
 * Blocks:     never.  Cost: no syscall, no allocation; no copy, except of
 *             offsets of texts where a peer writes by itself (batch.h)
 * Threads:    the worker's thread
 * Ownership:  the caller releases the batch, from any thread, before the
 *             node is closed
 */
WEIR_API weir_err weir_reader_next(weir_reader *reader,
                                   struct ArrowArray *batch_out);

/** weir_reader_next that parks while nothing is there; WEIR_HELD only if every
 *  producer that has not ended is without room, so that none may ever come.
 *  Errors: as next. Blocks: until a batch, the end, or failure of the query.
 *  Threads: the worker's thread. Ownership: as next. */
WEIR_API weir_err weir_reader_next_wait(weir_reader *reader,
                                        struct ArrowArray *batch_out);

/** As weir_writer_error, of a reader.
 *  Errors: WEIR_ERR_ARG (no reader). Blocks: never.
 *  Threads: the worker's thread. Ownership: nothing. */
WEIR_API weir_err weir_reader_error(const weir_reader *reader,
                                    struct weir_error *err);

/**
 * Number of the destination that this reader is, and for the last batch from
 * weir_reader_next the member and worker that produced it. Without a reader all
 * are UINT32_MAX; what is NULL is not filled in.
 *
 * Errors:     none
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  nothing
 */
WEIR_API uint32_t weir_reader_destination(const weir_reader *reader);
WEIR_API void weir_reader_source(const weir_reader *reader,
                                 uint32_t *member_out, uint32_t *worker_out);

/**
 * Has this producer ended: has weir_reader_next come to the end of its stream,
 * and do its counts agree? For programs that merge ordered streams and must
 * know which producers may send more.
 *
 * @param member  number of a producing member
 * @param worker  number of a worker of it
 *
 * Returns:    1: no more comes from it | 0: more may come, or no such producer
 * Errors:     none
 * Blocks:     never.  Cost: O(producers)
 * Threads:    the worker's thread
 * Ownership:  nothing
 */
WEIR_API int weir_reader_source_ended(const weir_reader *reader,
                                      uint32_t member, uint32_t worker);

/**
 * Stop-sending: this worker has enough. Producers drop its rows from now on,
 * those that serve nobody else get WEIR_DONE; buffers are freed as soon as each
 * producer has acknowledged with its end of stream. Of a shuffle to nodes, the
 * other workers go on taking, and producers hear of the last one that stops.
 *
 * Errors:     none; afterwards weir_reader_next returns WEIR_DONE
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  batches taken before stay valid until released
 */
WEIR_API void weir_reader_stop(weir_reader *reader);

/* ---- filters ------------------------------------------------------------- *
 *
 * A consumer that knows all the keys it has a use for, such as the build side
 * of a join, tells the producers of its rows:
 *
 *   weir_reader_filter_open(n) -> _add(keys) ... -> _send
 *
 *   producer   rows --hash--> destination d --filter of d--> copied and sent
 *
 * From then on, writers drop rows for this reader whose key is not among them
 * before they are copied. That is a hint: nobody waits for it, rows that were
 * pushed before it came are sent, some rows with other keys pass (about 2 of
 * 100), and where it does not pay, or there is no memory for it, all do. A row
 * whose key was added is never dropped. So the reader must be able to do
 * without: it looks at each row as before. And it must not need the others: a
 * join may filter its probe side if it is an inner or a semi join, but not the
 * side whose rows an outer join keeps, nor an anti join's.
 *
 * A filter is about one reader's rows. Other consumers of the shuffle send
 * theirs, or none.
 */

/**
 * Begin the filter of a reader.
 *
 * @param n_keys  how many will be added, about: sizes it (10 bits each)
 *
 * Errors:     WEIR_ERR_ARG (the shuffle is not by hash, or it is to nodes: a
 *             row may go to any worker there), WEIR_ERR_STATE (there
 *             was one: one for each reader), WEIR_ERR_BUDGET (so many keys that
 *             it would let most rows pass: over half a million, or fewer where
 *             there are more than 64 destinations; go without),
 *             WEIR_ERR_NO_MEMORY, and what failed the query. None of them
 *             fails the query
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  the reader's
 */
WEIR_API weir_err weir_reader_filter_open(weir_reader *reader, uint64_t n_keys);

/**
 * Add keys.
 *
 * @param keys  struct array with a column for each of the shuffle's keys, in
 *              their order and of their types; only read. Keys may come more
 *              than once; a null is a key as others are
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_STATE (not begun, or sent), and of such a
 *             batch, WEIR_ERR_SCHEMA, WEIR_ERR_DATA. Nothing was added then
 * Blocks:     never.  Cost: some 2 ns a key
 * Threads:    the worker's thread
 * Ownership:  keys stays the caller's
 */
WEIR_API weir_err weir_reader_filter_add(weir_reader *reader,
                                         const struct ArrowArray *keys);

/**
 * Send it to the producers. They need not have opened the shuffle; those that
 * have not, or whose link is slow, do without.
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_STATE (not begun, or sent), and what
 *             failed the query
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  nothing
 */
WEIR_API weir_err weir_reader_filter_send(weir_reader *reader);

/** Close a reader; one that was neither drained nor stopped is stopped.
 *  Errors: none. Blocks: never. Threads: the worker's thread.
 *  Ownership: frees reader; NULL is allowed; batches stay valid. */
WEIR_API void weir_reader_close(weir_reader *reader);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_SHUFFLE_H */
