/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tables: where plans get rows from.
 *
 *   weir_table_csv_open(...)      a file, split by byte range
 *   weir_table_memory_open(...)   batches of this node
 *   weir_table_series_open(...)   computed numbers, for tests and trials
 *   weir_table_open(ops)          your own
 *        |
 *   weir_plan_table(plan, "orders", table)        (plan.h) takes it over
 *
 * Every worker of every node scans a part of its own; the parts together are
 * the table. A table is opened on every node with the same parameters.
 */
#ifndef WEIR_TABLE_H
#define WEIR_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_table weir_table;

/** Which part, and which columns of it. */
struct weir_table_part {
    uint32_t part; /* of all workers of all nodes */
    uint32_t n_parts;
    uint32_t worker; /* of this node's workers */
    uint32_t n_workers;
    const uint32_t *columns; /* of the table's schema, in the order wanted */
    uint32_t n_columns;      /* 0: rows without columns (count) */
};

/** A table of your own. Calls come from worker threads; one scan is used by one
 *  thread at a time. */
struct weir_table_ops {
    /** Begin to read a part. @param scan_out  handed to next and close
     *  Errors: any, with a message. Blocks: on the source. */
    weir_err (*open)(void *table, const struct weir_table_part *part,
                     void **scan_out, struct weir_error *err);
    /** The next rows, in the columns asked for. WEIR_OK | WEIR_DONE.
     *  Errors: any, with a message. Blocks: on the source, for a batch.
     *  A batch that is malformed (columns, buffers, lengths, offsets of texts,
     *  texts of utf8 columns that are not UTF-8) fails the run with a message
     *  that names the column.
     *  Ownership: batch_out is the caller's, which releases it before the next
     *  call; it may point into the scan. */
    weir_err (*next)(void *scan, struct ArrowArray *batch_out,
                     struct weir_error *err);
    void (*close)(void *scan);
    /** Free the table itself; every scan is closed. */
    void (*free)(void *table);
};

/**
 * Make a table of your own.
 *
 * @param schema     struct of columns; copied. In this as in all tables, each
 *                   column has a name of its own, in UTF-8
 * @param ops        copied
 * @param arg        handed to ops->open and ops->free
 * @param table_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_SCHEMA, WEIR_ERR_NO_MEMORY; arg stays the
 *             caller's then
 * Blocks:     never
 * Threads:    any
 * Ownership:  weir_table_close, or weir_plan_table
 */
WEIR_API weir_err weir_table_open(const struct ArrowSchema *schema,
                                  const struct weir_table_ops *ops, void *arg,
                                  weir_table **table_out,
                                  struct weir_error *err);

/** Free a table that no plan has taken over. NULL is allowed.
 *  Errors: none. Blocks: never. Threads: any. Ownership: frees table. */
WEIR_API void weir_table_close(weir_table *table);

/**
 * Keep rows in memory: the first whole scan of a part keeps its columns, and
 * later scans of the same columns of that part read them there. For tables
 * that several runs of a plan read. The memory is the table's, outside of
 * weir_run_params.memory_bytes, until the table is closed.
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any; before the first scan
 * Ownership:  the table's
 */
WEIR_API weir_err weir_table_keep(weir_table *table, struct weir_error *err);

/** Schema of the table. Errors: WEIR_ERR_NO_MEMORY. Blocks: never.
 *  Threads: any. Ownership: the caller releases schema_out. */
WEIR_API weir_err weir_table_schema(const weir_table *table,
                                    struct ArrowSchema *schema_out,
                                    struct weir_error *err);

/** A CSV file (RFC 4180: quoted fields may hold delimiters, quotes and line
 *  ends). Zero means the default in brackets. */
struct weir_csv_params {
    const char *path; /* the same file must be there on every node */
    char delimiter;   /* [','] */
    int no_header;    /* 1: the first line is a row already; needs `fields` */
    const struct weir_field *fields; /* columns wanted, of the header, in any
                                        order; without a header: all of a row
                                        [those of the header, with types that
                                        print every value as it stands in the
                                        file: docs/plan.md] */
    uint32_t n_fields;
    const char *null_text; /* a field like this, without quotes, is null if its
                              column may hold nulls [""] */
    const char *below; /* a folder where path begins, and that it does not lead
                          out of, by .., links or a / in front: WEIR_ERR_DATA
                          [none] */
    uint64_t reserved[3]; /* must be zero */
};

/**
 * A CSV file as a table.
 *
 * Values are read exactly or refused: numbers that do not fit their type, dates
 * that do not exist, texts of utf8 columns that are not UTF-8 (binary takes any
 * bytes). Only regular files are read, up to the size that they have when the
 * table is opened. Timestamps are `2013-07-01 12:30:00.5`, also
 * with a T or without seconds or time, in UTC. A record ends at LF, CR LF or
 * CR. Faults of records are found by scans: WEIR_ERR_DATA with the path, the
 * line and what is wrong, the first of the file whoever finds it.
 *
 * Errors:     WEIR_ERR_SYSTEM (the file), WEIR_ERR_DATA (path, line, what is
 *             wrong with it), WEIR_ERR_NOT_FOUND (no such column; lists them),
 *             WEIR_ERR_SCHEMA, WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY
 * Blocks:     on the disk; reads the whole file if types are to be found
 * Threads:    any
 * Ownership:  weir_table_close, or weir_plan_table
 */
WEIR_API weir_err weir_table_csv_open(const struct weir_csv_params *params,
                                      weir_table **table_out,
                                      struct weir_error *err);

/**
 * Batches in memory as a table: this node's rows. Its workers share them; other
 * nodes have their own. Their form is checked: lengths, nulls, offsets, and
 * that texts of utf8 columns are UTF-8.
 *
 * @param batches  struct arrays with the schema's columns. Taken over on
 *                 WEIR_OK: released by the table, and marked released here
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_SCHEMA, WEIR_ERR_DATA (offsets of texts
 *             that descend or are negative), WEIR_ERR_NO_MEMORY; each names the
 *             batch and the column
 * Blocks:     never
 * Threads:    any
 * Ownership:  weir_table_close, or weir_plan_table
 */
WEIR_API weir_err weir_table_memory_open(const struct ArrowSchema *schema,
                                         struct ArrowArray *batches,
                                         uint32_t n_batches,
                                         weir_table **table_out,
                                         struct weir_error *err);

typedef enum weir_series_kind {
    WEIR_SERIES_SEQUENCE, /* first, first + step, ... by row number */
    WEIR_SERIES_UNIFORM,  /* in [first, last], by row number and seed */
    WEIR_SERIES_CONSTANT, /* first */
} weir_series_kind;

/** A computed column. Its value is a function of the row number and the seed,
 *  whatever the number of nodes. Decimals are given unscaled, dates in days,
 *  timestamps in their units; strings are the decimal text of the number. */
struct weir_series_column {
    const char *name;
    const char *format; /* Arrow; not binary */
    weir_series_kind kind;
    int64_t first;
    int64_t last;      /* UNIFORM */
    int64_t step;      /* SEQUENCE */
    uint32_t null_pct; /* of rows that are null, 0..100 */
};

/** Errors: WEIR_ERR_ARG, WEIR_ERR_SCHEMA, WEIR_ERR_NO_MEMORY. Blocks: never.
 *  Threads: any. Ownership: as weir_table_csv_open; columns are copied. */
WEIR_API weir_err weir_table_series_open(
    const struct weir_series_column *columns, uint32_t n_columns, uint64_t rows,
    uint64_t seed, weir_table **table_out, struct weir_error *err);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_TABLE_H */
