/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The conformance suite of the public interface: what its headers promise, on
 * any transport. It is written against those headers alone, runs on threads and
 * on the simulator alike, and is instantiated by one small file per transport:
 *
 *   static const struct wt_place place = {.transport = "shm"};
 *   WT_API_CONFORMANCE(api_shm, &place)
 *
 * Cases of WT_API_CASES run everywhere, of WT_API_THREAD_CASES on threads only
 * (descriptors, parking, opening nodes by hand), of WT_API_SIM_CASES on the
 * simulator only (faults, counts).
 */
#ifndef WT_API_H
#define WT_API_H

#include <criterion/criterion.h>

#include "test/support/flow.h"

/* Instrumented or emulated: what is repeated is repeated less. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) ||           \
    defined(WEIR_EMULATED)
enum { WT_SLOW = 1 };
#else
enum { WT_SLOW = 0 };
#endif

/* X(suite, place, name) */
#define WT_API_CASES(X, suite, place)                                          \
    X(suite, place, hash_moves_every_row_once)                                 \
    X(suite, place, range_moves_every_row_once)                                \
    X(suite, place, fewer_bounds_leave_destinations_empty)                     \
    X(suite, place, round_robin_moves_every_row_once)                          \
    X(suite, place, random_moves_every_row_once)                               \
    X(suite, place, broadcast_brings_every_row_everywhere)                     \
    X(suite, place, gather_brings_every_row_to_one)                            \
    X(suite, place, vector_goes_where_the_caller_says)                         \
    X(suite, place, every_type_travels)                                        \
    X(suite, place, sliced_input_travels)                                      \
    X(suite, place, all_null_columns_travel)                                   \
    X(suite, place, texts_of_any_layout_travel)                                \
    X(suite, place, large_texts_of_any_layout_travel)                          \
    X(suite, place, many_destinations_get_texts_of_any_layout)                 \
    X(suite, place, layouts_are_told_and_checked)                              \
    X(suite, place, structs_travel)                                            \
    X(suite, place, large_structs_travel)                                      \
    X(suite, place, many_destinations_get_structs)                             \
    X(suite, place, structs_are_held_and_detached)                             \
    X(suite, place, structs_are_no_keys)                                       \
    X(suite, place, lists_travel)                                              \
    X(suite, place, large_lists_travel)                                        \
    X(suite, place, many_destinations_get_lists)                               \
    X(suite, place, lists_are_held_and_detached)                               \
    X(suite, place, lists_are_no_keys)                                         \
    X(suite, place, no_rows_still_end)                                         \
    X(suite, place, one_row_arrives)                                           \
    X(suite, place, empty_batches_are_taken)                                   \
    X(suite, place, tiny_rings_move_everything)                                \
    X(suite, place, one_to_five_nodes_with_one_to_three_workers)               \
    X(suite, place, node_ring_keeps_rows_for_a_late_reader)                    \
    X(suite, place, node_ring_goes_on_when_held_frames_come_back)              \
    X(suite, place, producer_hears_of_room_while_batches_are_kept)             \
    X(suite, place, node_rings_move_everything)                                \
    X(suite, place, node_ring_frames_fill_side_by_side)                        \
    X(suite, place, node_ring_does_not_hide_rows_behind_held_ones)             \
    X(suite, place, node_rings_move_large_rows)                                \
    X(suite, place, to_node_moves_every_row_once)                              \
    X(suite, place, to_node_moves_large_rows)                                  \
    X(suite, place, to_node_needs_no_certain_worker)                           \
    X(suite, place, to_node_has_a_destination_per_member)                      \
    X(suite, place, to_node_goes_on_when_some_stop)                            \
    X(suite, place, to_node_stops_when_all_stop)                               \
    X(suite, place, to_node_goes_on_beside_closed_readers)                     \
    X(suite, place, to_node_has_no_filters)                                    \
    X(suite, place, to_node_and_to_worker_differ)                              \
    X(suite, place, default_memory_is_enough_for_any_cluster)                  \
    X(suite, place, subsets_produce_and_consume)                               \
    X(suite, place, some_workers_produce_and_consume)                          \
    X(suite, place, equal_keys_go_to_one_destination)                          \
    X(suite, place, two_chained_shuffles)                                      \
    X(suite, place, diamond_ends)                                              \
    X(suite, place, several_queries_and_shuffles_at_once)                      \
    X(suite, place, stalled_consumer_holds_up_nobody_else)                     \
    X(suite, place, rows_of_16_mib_pass_64_kib_rings)                          \
    X(suite, place, large_rows_are_broadcast)                                  \
    X(suite, place, row_over_max_row_bytes_is_refused)                         \
    X(suite, place, one_reader_stops_others_go_on)                             \
    X(suite, place, many_destinations_get_long_and_short_rows)                 \
    X(suite, place, all_readers_stop_and_producers_hear)                       \
    X(suite, place, only_reader_of_a_gather_stops)                             \
    X(suite, place, readers_of_skewed_rows_stop)                               \
    X(suite, place, stop_before_an_edge_is_open)                               \
    X(suite, place, stop_in_the_midst_of_a_large_row)                          \
    X(suite, place, held_batches_stay_readable)                                \
    X(suite, place, producers_without_rows_hear_of_the_stop)                   \
    X(suite, place, filtered_rows_are_not_sent)                                \
    X(suite, place, filter_of_one_reader_leaves_others_their_rows)             \
    X(suite, place, filter_on_node_rings)                                      \
    X(suite, place, filter_of_a_node_to_itself)                                \
    X(suite, place, filters_that_are_misused_fail_no_query)                    \
    X(suite, place, more_batches_are_held_than_fit)                            \
    X(suite, place, detached_batches_give_their_space_back)                    \
    X(suite, place, reader_that_holds_full_rings_is_told)                      \
    X(suite, place, reader_that_holds_many_batches_is_told)                    \
    X(suite, place, batches_outlive_their_query)                               \
    X(suite, place, cancel_by_a_third_member)                                  \
    X(suite, place, cancel_before_others_open)                                 \
    X(suite, place, fault_of_the_program_fails_all)                            \
    X(suite, place, fault_before_others_open)                                  \
    X(suite, place, faults_of_all_members_become_one)                          \
    X(suite, place, fault_of_another_scope_is_refused)                         \
    X(suite, place, deadline_ends_a_query)                                     \
    X(suite, place, close_before_end_aborts)                                   \
    X(suite, place, writer_closed_before_end_aborts)                           \
    X(suite, place, writer_never_opened_aborts)                                \
    X(suite, place, reader_never_opened_aborts)                                \
    X(suite, place, close_after_a_failed_open_aborts)                          \
    X(suite, place, open_that_is_made_good_aborts_nothing)                     \
    X(suite, place, deadline_says_what_was_missing)                            \
    X(suite, place, deadline_blames_who_does_not_read)                         \
    X(suite, place, deadline_lets_those_speak_that_cannot_write)               \
    X(suite, place, close_before_a_shuffle_fails_who_reads)                    \
    X(suite, place, close_before_a_shuffle_fails_who_writes)                   \
    X(suite, place, close_with_rows_of_an_unopened_shuffle)                    \
    X(suite, place, strangers_poison_no_query)                                 \
    X(suite, place, ids_are_used_once)                                         \
    X(suite, place, bad_options_are_named)                                     \
    X(suite, place, bad_batches_are_refused)                                   \
    X(suite, place, another_batch_after_again_is_refused)                      \
    X(suite, place, rows_after_finish_are_refused)                             \
    X(suite, place, ends_are_opened_once)                                      \
    X(suite, place, producers_of_closed_readers_are_stopped)                   \
    X(suite, place, node_ring_goes_on_beside_a_closed_reader)                  \
    X(suite, place, offsets_that_descend_are_refused)                          \
    X(suite, place, bounds_that_descend_are_refused)                           \
    X(suite, place, schemas_that_differ_fail_both)                             \
    X(suite, place, producer_counts_that_differ_fail_both)                     \
    X(suite, place, too_many_shuffles_are_refused)                             \
    X(suite, place, a_thousand_shuffles_leave_nothing_behind)                  \
    X(suite, place, rings_that_ended_count_in_the_plan)                        \
    X(suite, place, queries_beyond_the_plan_take_turns)                        \
    X(suite, place, queries_that_failed_early_are_all_heard_of)                \
    X(suite, place, counters_add_up)                                           \
    X(suite, place, reader_names_the_source)                                   \
    X(suite, place, reader_knows_which_sources_ended)                          \
    X(suite, place, writer_counts_by_destination)                              \
    X(suite, place, flush_publishes)                                           \
    X(suite, place, every_burst_is_answered)                                   \
    X(suite, place, blocked_producer_sends_what_it_holds)                      \
    X(suite, place, idle_links_close_and_open_again)                           \
    X(suite, place, links_rest_after_readers_never_opened)                     \
    X(suite, place, link_closes_beside_ended_streams)

#define WT_API_THREAD_CASES(X, suite, place)                                   \
    X(suite, place, budget_message_has_the_sum)                                \
    X(suite, place, to_node_feeds_who_sleeps_beside_who_is_busy)               \
    X(suite, place, run_many_queries_to_nodes)                                 \
    X(suite, place, short_queries_of_all_kinds_in_a_row)                       \
    X(suite, place, batches_are_released_by_another_thread)                    \
    X(suite, place, rows_of_a_sleeping_worker_go_with_the_query)               \
    X(suite, place, query_after_a_long_rest)                                   \
    X(suite, place, late_member_is_waited_for)                                 \
    X(suite, place, close_waits_without_spinning)                              \
    X(suite, place, node_rests_while_its_peer_takes_nothing)                   \
    X(suite, place, nodes_that_close_together_do_not_wait)                     \
    X(suite, place, nodes_that_close_in_a_circle_do_not_wait)                  \
    X(suite, place, cause_of_a_node_that_closes_is_told)                       \
    X(suite, place, node_that_closes_declines_queries_to_come)                 \
    X(suite, place, producer_that_leaves_before_it_opens_is_lost)              \
    X(suite, place, strangers_that_only_greet_keep_nobody_out)                 \
    X(suite, place, advertised_addresses_are_used)                             \
    X(suite, place, bad_advertised_addresses_are_refused)                      \
    X(suite, place, default_names_do_not_collide)                              \
    X(suite, place, join_names_the_member_with_a_bad_address)                  \
    X(suite, place, other_member_list_is_refused)                              \
    X(suite, place, other_frame_bytes_are_refused)                             \
    X(suite, place, other_worker_counts_are_named)                             \
    X(suite, place, node_closed_before_its_query_says_so)                      \
    X(suite, place, other_version_is_refused)                                  \
    X(suite, place, something_else_listens)                                    \
    X(suite, place, cluster_grows_from_one)                                    \
    X(suite, place, newcomer_waits_to_be_known)                                \
    X(suite, place, newcomer_that_stays_unknown_is_refused)                    \
    X(suite, place, member_comes_back_elsewhere)                               \
    X(suite, place, member_that_is_back_is_told_of_late)                       \
    X(suite, place, member_is_removed_while_a_query_runs)                      \
    X(suite, place, lists_may_have_holes)                                      \
    X(suite, place, seed_gathers_four)                                         \
    X(suite, place, seed_may_come_last)                                        \
    X(suite, place, seed_refuses_another_count)                                \
    X(suite, place, seed_refuses_a_double_name)                                \
    X(suite, place, seed_says_who_came)                                        \
    X(suite, place, seed_takes_newcomers_while_queries_run)                    \
    X(suite, place, newcomers_may_come_at_once)                                \
    X(suite, place, newcomer_to_a_full_cluster_is_refused)                     \
    X(suite, place, newcomer_waits_for_the_first_members)                      \
    X(suite, place, killed_member_comes_back_through_the_seed)                 \
    X(suite, place, waiting_reader_that_holds_all_is_told)                     \
    X(suite, place, signals_do_not_end_a_wait)                                 \
    X(suite, place, foreign_loop_needs_only_poll)                              \
    X(suite, place, network_goes_on_when_no_worker_waits)                      \
    X(suite, place, report_beside_workers)                                     \
    X(suite, place, report_says_who_sleeps)                                    \
    X(suite, place, run_moves_both_ways)                                       \
    X(suite, place, run_sleeps_while_nothing_moves)                            \
    X(suite, place, run_ends_with_the_query)                                   \
    X(suite, place, run_goes_on_after_a_step_has_ended)                        \
    X(suite, place, run_is_left_in_time_and_taken_up_again)                    \
    X(suite, place, run_sleeps_while_a_step_holds_all)                         \
    X(suite, place, run_ends_with_the_error_of_a_step)

#define WT_API_SIM_CASES(X, suite, place)                                      \
    X(suite, place, silence_between_queries_is_no_loss)                        \
    X(suite, place, loss_says_who_saw_it)                                      \
    X(suite, place, members_that_leave_anyhow_leave_nobody_waiting)            \
    X(suite, place, silence_of_a_late_member_is_found)                         \
    X(suite, place, crash_at_any_time)                                         \
    X(suite, place, cut_at_any_time)                                           \
    X(suite, place, drop_at_any_time)                                          \
    X(suite, place, stall_shorter_than_detection)                              \
    X(suite, place, stall_longer_than_detection)                               \
    X(suite, place, seeds_with_jitter_and_small_rings)                         \
    X(suite, place, frames_fit_the_writes)                                     \
    X(suite, place, reports_that_cross_a_goodbye_are_answered)                 \
    X(suite, place, cancel_after_a_rest_is_heard)                              \
    X(suite, place, deadline_after_a_rest_is_heard)                            \
    X(suite, place, cancel_is_heard_by_who_rests)                              \
    X(suite, place, cancel_that_crosses_a_goodbye_is_heard)                    \
    X(suite, place, control_blocks_of_posted_rings_are_not_read)               \
    X(suite, place, reader_that_waits_gets_frames_that_are_not_full)           \
    X(suite, place, reader_that_waits_gets_what_follows_full_frames)           \
    X(suite, place, reader_with_other_work_gets_full_frames)                   \
    X(suite, place, reader_with_other_work_gets_late_rows)                     \
    X(suite, place, reader_with_other_work_gets_late_rows_of_all)              \
    X(suite, place, reader_of_busy_writer_gets_full_frames)                    \
    X(suite, place, reader_of_crowded_writer_gets_full_frames)                 \
    X(suite, place, reader_of_writer_that_was_busy_gets_the_rest)              \
    X(suite, place, filter_at_any_time)                                        \
    X(suite, place, faults_while_filters_travel)                               \
    X(suite, place, second_edge_of_a_worker_is_refused)                        \
    X(suite, place, edge_of_no_producer_is_refused)                            \
    X(suite, place, edge_of_other_workers_is_refused)                          \
    X(suite, place, edge_to_no_consumer_is_refused)                            \
    X(suite, place, broken_ring_outlives_its_query)                            \
    X(suite, place, edge_from_outside_the_query_harms_nobody)                  \
    X(suite, place, refused_frames_leave_nothing_behind)                       \
    X(suite, place, dispatchers_refuse_frames_too)                             \
    X(suite, place, rewritten_rows_keep_their_lengths)                         \
    X(suite, place, writes_are_kept_off_published_rows)                        \
    X(suite, place, report_names_the_consumer_that_takes_nothing)              \
    X(suite, place, report_names_a_writer_that_was_never_opened)               \
    X(suite, place, report_names_a_writer_that_sends_nothing)                  \
    X(suite, place, report_names_a_query_that_was_never_opened)                \
    X(suite, place, report_names_a_reader_that_was_never_opened)               \
    X(suite, place, report_counts_batches_that_are_held)                       \
    X(suite, place, space_on_its_way_back_is_not_held)                         \
    X(suite, place, report_says_that_a_link_is_not_up)                         \
    X(suite, place, report_says_how_links_are)                                 \
    X(suite, place, report_says_that_all_units_are_in_use)                     \
    X(suite, place, queries_that_wait_for_one_another_end)                     \
    X(suite, place, part_filled_frame_waits_for_no_room)                       \
    X(suite, place, report_tells_workers_apart)                                \
    X(suite, place, report_says_no_more_of_what_is_done)                       \
    X(suite, place, stall_is_logged_once)                                      \
    X(suite, place, stall_of_what_is_done_is_no_stall)                         \
    X(suite, place, stall_is_not_logged_if_not_wanted)

#define WT_API_DECLARE(suite, where, name)                                     \
    void wt_api_##name(const struct wt_place *place);
WT_API_CASES(WT_API_DECLARE, , )
WT_API_THREAD_CASES(WT_API_DECLARE, , )
WT_API_SIM_CASES(WT_API_DECLARE, , )
#undef WT_API_DECLARE

/* Far above what any takes, also in a virtual machine beside others: clusters
 * find by themselves that nothing moves. */
#define WT_API_TEST(suite, where, name)                                        \
    Test(suite, name, .timeout = 300)                                          \
    {                                                                          \
        wt_api_##name(where);                                                  \
    }

/** Define the cases as Criterion tests of `suite`. */
#define WT_API_CONFORMANCE(suite, place)                                       \
    WT_API_CASES(WT_API_TEST, suite, place)                                    \
    WT_API_THREAD_CASES(WT_API_TEST, suite, place)
#define WT_API_CONFORMANCE_SIM(suite, place)                                   \
    WT_API_CASES(WT_API_TEST, suite, place)                                    \
    WT_API_SIM_CASES(WT_API_TEST, suite, place)

#endif /* WT_API_H */
