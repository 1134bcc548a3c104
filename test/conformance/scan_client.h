/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The conformance suite of scan clients: what weir/scan_client.h promises, on
 * any transport with threads, against a real server. One file per transport
 * instantiates it.
 */
#ifndef WT_SCAN_CLIENT_H
#define WT_SCAN_CLIENT_H

#include "test/conformance/scan_raw.h"

/* X(suite, place, name) */
#define WT_SCAN_CLIENT_CASES(X, suite, place)                                  \
    X(suite, place, rows_arrive_in_order)                                      \
    X(suite, place, all_types_arrive)                                          \
    X(suite, place, no_stream_is_no_columns)                                   \
    X(suite, place, long_request_arrives)                                      \
    X(suite, place, what_a_program_gets_wrong_is_named)                        \
    X(suite, place, error_of_open_is_whole)                                    \
    X(suite, place, error_of_a_batch_is_whole)                                 \
    X(suite, place, what_is_not_there_is_not_found)                            \
    X(suite, place, open_is_cancelled)                                         \
    X(suite, place, stream_is_cancelled)                                       \
    X(suite, place, answer_that_is_late_is_given_up)                           \
    X(suite, place, server_that_closes_ends_streams)                           \
    X(suite, place, released_early_leaves_nothing)                             \
    X(suite, place, streams_left_open_fail)                                    \
    X(suite, place, arrays_outlive_their_client)                               \
    X(suite, place, arrays_that_are_kept_stop_nobody)                          \
    X(suite, place, kept_arrays_are_released_under_way)                        \
    X(suite, place, what_is_lent_is_bounded)                                   \
    X(suite, place, a_hundred_streams_are_merged)                              \
    X(suite, place, slots_of_refused_asks_come_back)                           \
    X(suite, place, two_hundred_clients_share_memory)                          \
    X(suite, place, rows_are_taken_in)                                         \
    X(suite, place, rows_come_back)                                            \
    X(suite, place, rows_that_fail_are_told)                                   \
    X(suite, place, ranges_are_shared)                                         \
    X(suite, place, a_forked_child_is_refused)                                 \
    X(suite, place, what_is_kept_is_one_clients)                               \
    X(suite, place, session_that_is_over_is_not_begun_again)                   \
    X(suite, place, long_requests_of_one_leave_threads_to_others)              \
    X(suite, place, request_that_takes_too_long_is_ended)                      \
    X(suite, place, memory_of_one_is_a_share)

#define WT_SCAN_CLIENT_DECLARE(suite, where, name)                             \
    void wt_scan_client_##name(const struct wt_place *place);
WT_SCAN_CLIENT_CASES(WT_SCAN_CLIENT_DECLARE, , )
#undef WT_SCAN_CLIENT_DECLARE

#define WT_SCAN_CLIENT_TEST(suite, where, name)                                \
    Test(suite, name, .timeout = 120)                                          \
    {                                                                          \
        wt_scan_client_##name(where);                                          \
    }

#define WT_SCAN_CLIENT_CONFORMANCE(suite, place)                               \
    WT_SCAN_CLIENT_CASES(WT_SCAN_CLIENT_TEST, suite, place)

/** A client of node 0. params: address is filled in; NULL: defaults.
 *  Ownership: weir_scan_disconnect */
weir_scan_client *wt_pull_open(struct wt_scan *s, uint32_t node,
                               const struct weir_scan_client_params *params);

/** Disconnect, wait until the server has nothing of it, and close. */
void wt_pull_close(struct wt_scan *s, weir_scan_client *c);

/** Open a stream of the engine's text, which has to go well. */
struct ArrowArrayStream wt_pull_query(weir_scan_client *c, const char *text);

/** The next batch; its release is NULL at the end. It has to go well. */
struct ArrowArray wt_pull_next(struct ArrowArrayStream *stream);

/** Rows of a batch of numbers, which have to count up from first. */
int64_t wt_pull_check(const struct ArrowArray *batch, int64_t first);

/** Read a stream of numbers to its end, and release it. How many. */
int64_t wt_pull_all(struct ArrowArrayStream *stream);

#endif /* WT_SCAN_CLIENT_H */
