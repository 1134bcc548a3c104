/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Scans: columnar results of queries, pulled by whoever wants them
 * (libweir-scan, a library of its own).
 *
 *   client                                    server
 *   weir_scan_connect(node, address)          weir_scan_server_open(node, ...)
 *   weir_scan_open(request) --- ask ------->  engine.open --> ArrowArrayStream
 *           <-- schema, reader, first batch
 *   stream.get_next   <===== get ==========   batches, in regions
 *   stream.release    ------ ask ---------->  the reader is freed
 *   weir_scan_disconnect
 *
 * An engine is any producer of an Arrow C stream: fill struct weir_scan_engine
 * with functions of your own, or take one that is here:
 *
 *   weir_scan_adbc_open   any ADBC driver, loaded at run time: SQLite, DuckDB,
 *                         PostgreSQL, ...
 *
 * All types that Arrow has travel, nested and dictionary ones too; buffers are
 * bytes. The client reads them where they lie (shm) or gets them into memory of
 * its own, a number of batches ahead of its caller.
 *
 * A reader belongs to the client that opened it: others cannot use it, and it
 * is freed when the client disconnects or dies. Memory of batches is bounded
 * over all clients of a server, which share it.
 */
#ifndef WEIR_SCAN_H
#define WEIR_SCAN_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>
#include <weir/node.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- requests ------------------------------------------------------------ */

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

/* ---- engines ------------------------------------------------------------- */

/** What answers requests. The functions are called by any thread, several at a
 *  time. */
struct weir_scan_engine {
    /**
     * Answer a request.
     *
     * @param request     no member of it is NULL, but for bind; valid during
     *                    the call. bind may be moved out (release = NULL), and
     *                    is released by the caller if it was not
     * @param stream_out  [out] set on WEIR_OK only; UPDATE and INGEST may leave
     *                    it as it is, zeroed. Used by one thread at a time, and
     *                    released before the engine is closed
     * @param rows_out    [out] rows affected; -1 before the call: not known
     * @param fault_out   [out] zeroed before the call; may be filled with an
     *                    error, besides err. The caller frees its text
     *
     * Errors:     any, with the engine's own message; WEIR_ERR_NOT_FOUND: no
     *             such data set; WEIR_ERR_UNSUPPORTED: requests of that kind
     * Blocks:     while the engine works
     * Ownership:  stream_out->release
     */
    weir_err (*open)(void *arg, const struct weir_scan_request *request,
                     struct ArrowArrayStream *stream_out, int64_t *rows_out,
                     struct weir_scan_fault *fault_out, struct weir_error *err);
    /** Free the engine; every stream was released. */
    void (*close)(void *arg);
    void *arg;
};

/** An ADBC driver and its database. */
struct weir_scan_adbc_params {
    const char *driver; /* path of the shared library, or its name where the
                           system looks for libraries */
    const char *entry;  /* its function [AdbcDriverInit, duckdb_adbc_init] */
    const struct weir_scan_option *options; /* of the database: "uri" for
                           SQLite and PostgreSQL, "path" for DuckDB */
    uint32_t n_options;
    uint64_t reserved[4]; /* must be zero */
};

/**
 * Load an ADBC driver and open a database with it, as an engine with one data
 * set, "". Each request gets a connection of its own; options of QUERY, UPDATE,
 * SCHEMA and INGEST are set on its statement.
 *
 * A driver that was loaded stays loaded until the process ends: some start
 * threads that outlive them. Many are C++: a program that carries jemalloc, but
 * behind libc, must have libstdc++ before it, or such a driver's new and delete
 * are of two allocators.
 *
 * @param params      what it points to is not needed afterwards
 * @param engine_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_NOT_FOUND (the driver; says what to
 *             install), WEIR_ERR_UNSUPPORTED (it is no driver),
 *             WEIR_ERR_NO_MEMORY, and what the driver says of the database
 * Blocks:     while the library is loaded and the database opened
 * Threads:    any
 * Ownership:  engine_out->close(engine_out->arg)
 */
WEIR_API weir_err weir_scan_adbc_open(
    const struct weir_scan_adbc_params *params,
    struct weir_scan_engine *engine_out, struct weir_error *err);

/* ---- servers ------------------------------------------------------------- */

/** Space of names of servers and clients that were not told another. */
#define WEIR_SCAN_SPACE 0x6e61637372696577ull /* "weirscan" */

typedef struct weir_scan_server weir_scan_server;

/** A data set of a server. */
struct weir_scan_source {
    const char *name; /* of the data set, which its engine sees as ""; NULL: any
                         other, which it sees under the name asked for */
    struct weir_scan_engine engine; /* open and arg are used; not closed */
};

/** Options of a server. Zero means the default in brackets. */
struct weir_scan_server_params {
    const struct weir_scan_source *sources; /* copied */
    uint32_t n_sources;                     /* 1..1024 */
    uint32_t worker;      /* of the node, which the server has to itself [0] */
    uint32_t threads;     /* most that run engines at a time [16], 1..256 */
    uint32_t max_readers; /* most open at a time [1024], 1..65536 */
    uint64_t space;       /* of its names [WEIR_SCAN_SPACE] */
    uint64_t max_bytes;   /* most memory of batches, of all readers together
                             [half of the node's memory_bytes]; one batch that
                             is larger goes alone */
    uint64_t batch_bytes; /* batches of the engine travel together up to so
                             many bytes [2 MiB] */
    uint64_t idle_ns;     /* a reader that nobody asks for is freed after
                             [10 min]; WEIR_FOREVER: with its client only */
    uint64_t reserved[4]; /* must be zero */
};

/** What a server has at the moment, and so far. */
struct weir_scan_stats {
    uint64_t clients;
    uint64_t readers;
    uint64_t bytes;      /* of memory for batches */
    uint64_t peak_bytes; /* most so far */
    uint64_t opened;     /* requests so far, */
    uint64_t failed;     /* and those that ended with an error */
    uint64_t batches;    /* sent so far, */
    uint64_t rows;
    uint64_t sent_bytes; /* and how many bytes they had */
};

/**
 * Serve engines to whoever reaches the node. Takes one worker of the node, and
 * has threads of its own. A node with more than a few clients needs max_peers.
 *
 * @param server_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG (names the option), WEIR_ERR_DUPLICATE (the space
 *             has its server), WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM (threads)
 * Blocks:     never
 * Threads:    any; not on a manual node
 * Ownership:  weir_scan_server_close, before the node's close; engines outlive
 *             the server
 */
WEIR_API weir_err weir_scan_server_open(
    weir_node *node, const struct weir_scan_server_params *params,
    weir_scan_server **server_out, struct weir_error *err);

/** What it has at the moment. Errors: none. Blocks: shortly. Threads: any.
 *  Ownership: nothing. */
WEIR_API void weir_scan_server_stats(weir_scan_server *server,
                                     struct weir_scan_stats *stats_out);

/**
 * Stop serving: clients get WEIR_ERR_NOT_FOUND or WEIR_ERR_PEER_LOST.
 *
 * Errors:     none
 * Blocks:     until engines that work have come back
 * Threads:    one; no other call on this server may run
 * Ownership:  frees server; NULL is allowed
 */
WEIR_API void weir_scan_server_close(weir_scan_server *server);

/* ---- clients ------------------------------------------------------------- */

typedef struct weir_scan_client weir_scan_client;

/** Options of a client. Zero means the default in brackets. */
struct weir_scan_client_params {
    const char *address; /* of the server's node */
    uint32_t worker;     /* whose thread uses the client [0] */
    uint32_t ahead;      /* batches in flight, per stream [4], 1..16 */
    uint64_t space;      /* of the server's names [WEIR_SCAN_SPACE] */
    uint64_t max_bytes;  /* most bytes in flight or lent [64 MiB]: what the
                             caller holds beyond half of it is copied for it */
    uint64_t timeout_ns; /* an answer must come within [WEIR_FOREVER: as long
                             as the server's node lives] */
    void (*freed)(void *arg); /* called once, when the client was closed and the
                             last array was released, by the thread that did the
                             last of it: the node may be closed from now on,
                             also by this function [none] */
    void *freed_arg;
    uint64_t reserved[4]; /* must be zero */
};

/** A scan that several readers share. Whoever knows it may read. */
struct weir_scan_id {
    uint64_t words[2];
};

/**
 * Make a client of a server. Nobody is asked yet whether there is one.
 *
 * @param params      address is copied
 * @param client_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG (names the option), WEIR_ERR_BUDGET (max_peers),
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     shortly
 * Threads:    the thread of the worker
 * Ownership:  weir_scan_disconnect
 */
WEIR_API weir_err
weir_scan_connect(weir_node *node, const struct weir_scan_client_params *params,
                  weir_scan_client **client_out, struct weir_error *err);

/**
 * Send a request, and wait until the engine has begun to answer.
 *
 * The stream's calls are made by the thread of the worker; they block, as long
 * as nothing has come, or until the client is cancelled. Their errors are errno
 * values: ECANCELED, EIO, ENOMEM, ..., the message is get_last_error's, whole.
 * Arrays may be released by any thread, also after the stream and after
 * weir_scan_disconnect, but before the node's close. Several streams of one
 * client may be open at a time.
 *
 * @param request     copied, but for bind, which is read to its end; it is
 *                    released by this call, whatever comes of it
 * @param stream_out  [out] set on WEIR_OK only. Of UPDATE and INGEST: without
 *                    columns, where the engine gave none. NULL is allowed: what
 *                    comes is not wanted
 * @param rows_out    [out] rows affected, or of the result; -1: not known. NULL
 *                    is allowed
 *
 * Errors:     WEIR_ERR_ARG, WEIR_ERR_NO_MEMORY; the engine's, with its message;
 *             WEIR_ERR_SCHEMA (a type that is not known here),
 *             WEIR_ERR_NOT_FOUND (no such data set, nobody serves there),
 *             WEIR_ERR_BUDGET (max_readers), WEIR_ERR_CANCELLED,
 *             WEIR_ERR_TIMEOUT, WEIR_ERR_PEER_LOST, WEIR_ERR_DATA (bind)
 * Blocks:     while the engine works
 * Threads:    the thread of the worker
 * Ownership:  stream_out->release
 */
WEIR_API weir_err weir_scan_open(weir_scan_client *client,
                                 const struct weir_scan_request *request,
                                 struct ArrowArrayStream *stream_out,
                                 int64_t *rows_out, struct weir_error *err);

/**
 * Send a request whose batches several readers share: each gets those that it
 * asks for first, each batch goes to one of them. One that comes late may get
 * none. The scan lives until each range was read to its end or released, or
 * nobody has asked for it for the server's idle_ns.
 *
 * @param request     as weir_scan_open; QUERY only
 * @param n_ranges    1..65536
 * @param id_out      [out]
 * @param schema_out  [out] of the batches; NULL is allowed
 *
 * Errors:     as weir_scan_open
 * Blocks:     while the engine works
 * Threads:    the thread of the worker
 * Ownership:  schema_out->release
 */
WEIR_API weir_err weir_scan_share(weir_scan_client *client,
                                  const struct weir_scan_request *request,
                                  uint32_t n_ranges,
                                  struct weir_scan_id *id_out,
                                  struct ArrowSchema *schema_out,
                                  struct weir_error *err);

/**
 * Open one range of a shared scan, once each. Any client of the same server
 * may, also in another process.
 *
 * @param range  0 .. n_ranges - 1
 *
 * Errors:     as weir_scan_open; WEIR_ERR_NOT_FOUND (no such scan, or it is
 *             over), WEIR_ERR_ARG (range), WEIR_ERR_STATE (opened before)
 * Blocks:     until the server has answered
 * Threads:    the thread of the worker
 * Ownership:  stream_out->release
 */
WEIR_API weir_err weir_scan_open_range(weir_scan_client *client,
                                       const struct weir_scan_id *id,
                                       uint32_t range,
                                       struct ArrowArrayStream *stream_out,
                                       struct weir_error *err);

/** The last error of a call on the client, whole: text is NULL if there was
 *  none. Errors: none. Blocks: never. Threads: the thread of the worker.
 *  Ownership: the client's, until the next call. */
WEIR_API const struct weir_scan_fault *
weir_scan_last_fault(const weir_scan_client *client);

/**
 * Cancel what the client does: the call that its thread is in, and the streams
 * that are open, end with WEIR_ERR_CANCELLED (ECANCELED). Later ones do not.
 *
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API void weir_scan_cancel(weir_scan_client *client);

/**
 * Give a client up. Its streams were released; arrays may be left: the memory
 * is freed with the last of them.
 *
 * Errors:     none
 * Blocks:     while pieces that are in flight come in, at most detect_ns
 * Threads:    the thread of the worker
 * Ownership:  frees client; NULL is allowed
 */
WEIR_API void weir_scan_disconnect(weir_scan_client *client);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_SCAN_H */
