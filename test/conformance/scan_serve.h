/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The conformance suite of scan servers: what they answer to asks, also to
 * wrong ones, on any transport with threads. One file per transport
 * instantiates it.
 */
#ifndef WT_SCAN_SERVE_H
#define WT_SCAN_SERVE_H

#include "test/conformance/scan_raw.h"

/* X(suite, place, name) */
#define WT_SCAN_SERVE_CASES(X, suite, place)                                   \
    X(suite, place, small_result_is_one_round_trip)                            \
    X(suite, place, large_result_comes_in_order)                               \
    X(suite, place, slots_are_used_again)                                      \
    X(suite, place, no_stream_is_no_columns)                                   \
    X(suite, place, error_of_open_is_whole)                                    \
    X(suite, place, error_of_a_batch_comes_after_those_before)                 \
    X(suite, place, unknown_data_set_is_named)                                 \
    X(suite, place, client_that_leaves_leaves_nothing)                         \
    X(suite, place, open_is_cancelled)                                         \
    X(suite, place, batch_is_cancelled)                                        \
    X(suite, place, server_closes_while_engines_work)                          \
    X(suite, place, altered_ask_changes_nothing)                               \
    X(suite, place, ask_cut_anywhere_is_refused)                               \
    X(suite, place, slot_is_given_back_once)                                   \
    X(suite, place, slot_that_is_kept_is_closed)                               \
    X(suite, place, slots_that_are_kept_make_room)                             \
    X(suite, place, kept_with_one_that_is_not_its_own)                         \
    X(suite, place, call_is_used_once)                                         \
    X(suite, place, others_things_are_not_found)                               \
    X(suite, place, readers_are_bounded)                                       \
    X(suite, place, memory_is_bounded)                                         \
    X(suite, place, two_hundred_clients_share_memory)                          \
    X(suite, place, rows_are_taken_in)                                         \
    X(suite, place, rows_after_the_last_are_refused)                           \
    X(suite, place, malformed_rows_fail_the_request)                           \
    X(suite, place, failure_of_rows_reaches_the_engine)                        \
    X(suite, place, client_with_rows_leaves)                                   \
    X(suite, place, rows_are_sent_back)                                        \
    X(suite, place, rows_that_nobody_wants)                                    \
    X(suite, place, long_request_lies_in_a_room)                               \
    X(suite, place, ranges_get_each_row_once)                                  \
    X(suite, place, range_is_opened_once)                                      \
    X(suite, place, failure_reaches_each_range)                                \
    X(suite, place, failure_to_share_is_whole)                                 \
    X(suite, place, what_is_idle_is_freed)

#define WT_SCAN_SERVE_DECLARE(suite, where, name)                              \
    void wt_scan_serve_##name(const struct wt_place *place);
WT_SCAN_SERVE_CASES(WT_SCAN_SERVE_DECLARE, , )
#undef WT_SCAN_SERVE_DECLARE

#define WT_SCAN_SERVE_TEST(suite, where, name)                                 \
    Test(suite, name, .timeout = 120)                                          \
    {                                                                          \
        wt_scan_serve_##name(where);                                           \
    }

#define WT_SCAN_SERVE_CONFORMANCE(suite, place)                                \
    WT_SCAN_SERVE_CASES(WT_SCAN_SERVE_TEST, suite, place)

#endif /* WT_SCAN_SERVE_H */
