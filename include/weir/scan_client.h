/* SPDX-License-Identifier: Apache-2.0 */
/** Clients of scan servers (scan.h). */
#ifndef WEIR_SCAN_CLIENT_H
#define WEIR_SCAN_CLIENT_H

#include <stdint.h>

#include <weir/batch.h>
#include <weir/error.h>
#include <weir/node.h>
#include <weir/scan_request.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    const char *server_name; /* where the node has a certificate: whom it
                                expects at the address (weir_peer_open_named)
                                [the host of the address] */
    uint64_t one_session; /* 1: when its session at the server is over (the link
                             was lost, the server has gone), calls fail for
                             ever; 0: the next one begins another session, for
                             which engines have kept nothing [0] */
    uint64_t reserved[2]; /* must be zero */
};

/**
 * Make a client of a server. Nobody is asked yet whether there is one.
 *
 * @param params      texts are copied
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
 * values: ECANCELED, ENOMEM, ECONNRESET (the server is lost), EIO (the engine
 * has failed), ...; the message is get_last_error's, whole.
 * Arrays may be released by any thread, also after the stream and after
 * weir_scan_disconnect, but before the node's close. Several streams of one
 * client may be open at a time.
 *
 * @param request     copied, but for bind, which is read to its end; it is
 *                    released by this call, whatever comes of it. It is no
 *                    stream of the same client, whose engine may do one thing
 *                    at a time
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

#endif /* WEIR_SCAN_CLIENT_H */
