/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Batches: the Arrow C Data Interface, as rows enter and leave Weir.
 *
 * The structs below are the ABI of the Arrow C Data and C Stream Interfaces
 * (Apache Arrow, "The Arrow C data interface", "The Arrow C stream interface",
 * structure definitions). They are guarded by the macros that the specification
 * names, so that this header can be used beside any other copy of them. Streams
 * are declared here because such copies (nanoarrow.h, adbc.h) expect both where
 * they find one.
 *
 * A batch is a struct array (format "+s") with one child per column:
 *
 *   struct ArrowArray            children
 *   length = rows          ---> [0] buffers: validity, values
 *   n_children = columns        [1] buffers: validity, offsets, bytes
 *                               ...
 *
 * Types that travel, by Arrow format string:
 *
 *   c C s S i I l L   int8 uint8 .. int64 uint64
 *   e f g             float16 float32 float64
 *   b                 bool (bitmap)
 *   tdD tdm           date32 date64
 *   tts ttm ttu ttn   time32, time64
 *   tss: tsm: tsu: tsn: (with any time zone text)   timestamp
 *   tDs tDm tDu tDn   duration
 *   tiM tiD tin       intervals of months; days and ms; months, days and ns
 *   d:P,S[,B]         decimal of B bits: 32, 64, 128 [128], 256
 *   u z               utf8, binary (32-bit offsets)
 *   w:N               fixed-size binary of N bytes, 1..4096
 *   +s                struct of any of these
 *   +l +L +w:N +m     list, large list, list of N items each (1..2^24), map
 *
 * Structs and lists may be in each other, up to 32 deep. Lists and maps are
 * converted: each row's is packed into bytes when a batch is taken in, and
 * unpacked into memory of the reader's, a copy more at either end; all other
 * columns, fields of structs too, are copied once and read in place. A packed
 * list has less than 2 GiB, and counts as that for max_row_bytes.
 *
 * Columns of any type but e, tiD, tin and those with + may be keys of WEIR_HASH
 * and WEIR_RANGE; a field of a struct may not: give it a column of its own.
 *
 * Every column and field may be nullable (ARROW_FLAG_NULLABLE). The batch
 * itself may not hold nulls. Where a struct is null its fields are anything,
 * also null if they are not nullable. 1024 columns, fields and items in all.
 * Dictionaries, unions and what else Arrow has are refused with
 * WEIR_ERR_SCHEMA, which names the column. Pushed batches may hold utf8 and
 * binary as views or with 64-bit offsets, and plain types as indices into a
 * dictionary, in structs and lists too: weir/layout.h.
 *
 * Rules for batches that Weir hands out:
 *  - columns point into the receive ring: no copy was made (except of the
 *    offsets of utf8 and binary columns, see below, and of lists and maps), and
 *    the space goes back to
 *    the sender when `release` is called;
 *  - release from any thread, in any order; a batch held for long stalls its
 *    sender, so detach it (weir_batch_detach) before keeping it;
 *  - column buffers start on 64-byte boundaries.
 *
 * A peer may break the protocol while a batch is in use. Even then pointers,
 * lengths and offsets stay as they were checked, so every value lies inside its
 * buffer. Where the transport places each write itself (tcp) the values stay,
 * too: it refuses writes to rows that were published. Where a peer writes by
 * itself (RDMA, shared memory) the offsets are a copy that it cannot reach, but
 * it can change values while they are read. A program that does not trust its
 * peers that far, and reads a value twice, detaches the batch first: a detached
 * batch does not change.
 */
#ifndef WEIR_BATCH_H
#define WEIR_BATCH_H

#include <stdint.h>

#include <weir/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/** One column for weir_schema_build(): name, Arrow format, may hold nulls. */
struct weir_field {
    const char *name;
    const char *format;
    int nullable;
};

/**
 * Build the ArrowSchema of a struct from a list of columns.
 *
 * For programs that have no Arrow library of their own. Columns that have
 * columns are beyond it: such a schema is filled in by hand.
 *
 * @param fields      columns, copied
 * @param n_fields    1..1024
 * @param schema_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_SCHEMA (names the column),
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  the caller calls schema_out->release(schema_out)
 */
WEIR_API weir_err weir_schema_build(const struct weir_field *fields,
                                    uint32_t n_fields,
                                    struct ArrowSchema *schema_out,
                                    struct weir_error *err);

/**
 * Replace a received batch by a copy in ordinary memory, and give the ring
 * space back to the sender at once.
 *
 * @param batch  a batch from weir_reader_next(); afterwards it owns its
 *               memory and its release frees it
 *
 * Errors:     WEIR_ERR_ARG (no batch, or a released one), WEIR_ERR_NO_MEMORY,
 *             WEIR_ERR_PEER_PROTOCOL (its peer has changed it meanwhile). The
 *             batch is then as before
 * Blocks:     never
 * Threads:    any, one at a time per batch
 * Ownership:  as before: the caller releases the batch
 */
WEIR_API weir_err weir_batch_detach(struct ArrowArray *batch);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_BATCH_H */
