/* SPDX-License-Identifier: Apache-2.0 */
/** What clients ask of a scan server, and its engines answer (scan.h). */
#ifndef WEIR_SCAN_REQUEST_H
#define WEIR_SCAN_REQUEST_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weir_scan_kind {
    WEIR_SCAN_QUERY,        /* text: a query; gives its rows */
    WEIR_SCAN_UPDATE,       /* text: a statement; gives rows affected */
    WEIR_SCAN_SCHEMA,       /* text: a query, which is not run; gives a struct
                               of no rows with the children "result" and
                               "parameters", each of which is a struct of the
                               columns, or null type if that is not known */
    WEIR_SCAN_INGEST,       /* text: a table; takes the rows of bind, gives rows
                               affected. Options: as ADBC names them */
    WEIR_SCAN_OBJECTS,      /* as AdbcConnectionGetObjects. Options: "depth" (0:
                               all, 1: catalogs, 2: schemas, 3: tables),
                               "catalog", "db_schema", "table_name",
                               "table_type" (any number), "column_name" */
    WEIR_SCAN_TABLE_SCHEMA, /* text: a table; gives a stream of no rows with its
                               schema. Options: "catalog", "db_schema" */
    WEIR_SCAN_TABLE_TYPES,  /* as AdbcConnectionGetTableTypes */
    WEIR_SCAN_INFO,         /* as AdbcConnectionGetInfo. Options: "code", a
                               decimal number (any number of them) */
    WEIR_SCAN_SET,          /* options of the client's session, as
                               AdbcConnectionSetOption: autocommit, catalog,
                               db_schema, isolation level, read only */
    WEIR_SCAN_COMMIT,       /* as AdbcConnectionCommit */
    WEIR_SCAN_ROLLBACK,     /* as AdbcConnectionRollback */
} weir_scan_kind;

/** An option, as ADBC names them; what a key means is the engine's. */
struct weir_scan_option {
    const char *key;
    const char *value;
};

/** What is wanted of an engine. Zero means the default in brackets. */
struct weir_scan_request {
    weir_scan_kind kind; /* [WEIR_SCAN_QUERY] */
    uint32_t n_options;  /* 0..1024 */
    const struct weir_scan_option *options;
    const char *dataset; /* [""] */
    const char *text;    /* UTF-8 [""] */
    struct ArrowArrayStream
        *bind;            /* rows of parameters, or to take in [none] */
    uint64_t reserved[4]; /* must be zero */
};

/** More about an error than struct weir_error has room for. */
struct weir_scan_fault {
    char *text;       /* the whole message, of malloc; NULL: err has it all */
    int32_t vendor;   /* the engine's own number [0] */
    char sqlstate[6]; /* five letters and a zero [""] */
    char unused[2];   /* must be zero */
};

/** A scan that several readers share. Whoever knows it may read. */
struct weir_scan_id {
    uint64_t words[2];
};

/** Space of names of servers and clients that were not told another. */
#define WEIR_SCAN_SPACE 0x6e61637372696577ull /* "weirscan" */

#ifdef __cplusplus
}
#endif

#endif /* WEIR_SCAN_REQUEST_H */
