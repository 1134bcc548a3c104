/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Codes and messages: what went wrong, how much of the world it took along,
 * and what to do about it.
 *
 *   0            done
 *   positive     not an error: try later (WEIR_AGAIN), nothing more
 *                (WEIR_DONE), give batches back first (WEIR_HELD)
 *   -1 .. -99    scope CALL    this call failed; every object is as before
 *   -100 .. -199 scope QUERY   the query failed on every member; close it
 *   -200 .. -299 scope PEER    a peer is lost; its queries failed, others go on
 *   -300 .. -399 scope NODE    the node failed; close it
 *
 * Hot functions return the code only. Cold functions take, as last parameter,
 * a `struct weir_error *` in the caller's memory (NULL allowed) which holds
 * the message: the values, the name of the peer, and the remedy. There are no
 * thread-locals and no errno in this API.
 */
#ifndef WEIR_ERROR_H
#define WEIR_ERROR_H

#if defined(_WIN32)
#define WEIR_API
#else
#define WEIR_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, text) */
#define WEIR_ERROR_CODES(X)                                                    \
    X(WEIR_OK, 0, "ok")                                                        \
    X(WEIR_AGAIN, 1, "nothing could move; wait and try again")                 \
    X(WEIR_DONE, 2, "nothing more will come or is wanted")                     \
    X(WEIR_HELD, 3, "no room beside the batches held; release some")           \
    X(WEIR_ERR_ARG, -1, "invalid argument")                                    \
    X(WEIR_ERR_SCHEMA, -2, "schema not supported or not matching")             \
    X(WEIR_ERR_NOT_FOUND, -3, "no such column, member, or object")             \
    X(WEIR_ERR_DUPLICATE, -4, "id is already in use")                          \
    X(WEIR_ERR_BUDGET, -5, "memory budget too small")                          \
    X(WEIR_ERR_NO_MEMORY, -6, "the system gave no memory")                     \
    X(WEIR_ERR_SYSTEM, -7, "a system call failed")                             \
    X(WEIR_ERR_STATE, -8, "not allowed in this state")                         \
    X(WEIR_ERR_TIMEOUT, -9, "timed out")                                       \
    X(WEIR_ERR_UNSUPPORTED, -10, "not supported by this transport or build")   \
    X(WEIR_ERR_DATA, -11, "malformed input data")                              \
    X(WEIR_ERR_CANCELLED, -100, "query cancelled")                             \
    X(WEIR_ERR_DEADLINE, -101, "query deadline passed")                        \
    X(WEIR_ERR_ABORTED, -102, "query closed by a member before its end")       \
    X(WEIR_ERR_MISMATCH, -103, "members disagree about a shuffle")             \
    X(WEIR_ERR_INTEGRITY, -104, "rows were lost, doubled or damaged")          \
    X(WEIR_ERR_QUERY_MEMORY, -105, "query memory limit reached")               \
    X(WEIR_ERR_QUERY_DATA, -106, "a value could not be computed or read")      \
    X(WEIR_ERR_PEER_LOST, -200, "peer lost")                                   \
    X(WEIR_ERR_PEER_PROTOCOL, -201, "peer broke the protocol")                 \
    X(WEIR_ERR_PEER_VERSION, -202, "peer speaks another version")              \
    X(WEIR_ERR_PEER_REFUSED, -203, "peer refused the link")                    \
    X(WEIR_ERR_NODE, -300, "node failed")

typedef enum weir_err {
#define WEIR_ERROR_ENUM(name, value, text) name = (value),
    WEIR_ERROR_CODES(WEIR_ERROR_ENUM)
#undef WEIR_ERROR_ENUM
} weir_err;

typedef enum weir_scope {
    WEIR_SCOPE_NONE,
    WEIR_SCOPE_CALL,
    WEIR_SCOPE_QUERY,
    WEIR_SCOPE_PEER,
    WEIR_SCOPE_NODE,
} weir_scope;

#define WEIR_ERROR_MESSAGE_BYTES 512

/** One error: its code and a message of one line, without newline. */
struct weir_error {
    weir_err code;
    char message[WEIR_ERROR_MESSAGE_BYTES];
};

/**
 * Name of a code, for example "WEIR_ERR_PEER_LOST".
 *
 * Errors:     none; an unknown code gives "WEIR_ERR_UNKNOWN"
 * Blocks:     never
 * Threads:    any
 * Ownership:  static string
 */
WEIR_API const char *weir_err_name(weir_err code);

/**
 * What a code means, in a few words.
 *
 * Errors:     none; an unknown code gives "unknown code"
 * Blocks:     never
 * Threads:    any
 * Ownership:  static string
 */
WEIR_API const char *weir_err_text(weir_err code);

/**
 * What the caller must rebuild after this code.
 *
 * Errors:     none
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API weir_scope weir_err_scope(weir_err code);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_ERROR_H */
