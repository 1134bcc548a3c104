/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The conformance suite of regions, fetches and asks: what their headers
 * promise, on any transport. Node 0 reads and asks, the others own; one file
 * per transport instantiates it, as with api.h.
 */
#ifndef WT_REGION_H
#define WT_REGION_H

#include <criterion/criterion.h>
#include <string.h>

#include "test/support/cluster.h"

/* X(suite, place, name) */
#define WT_REGION_CASES(X, suite, place)                                       \
    X(suite, place, bytes_arrive_at_any_offset)                                \
    X(suite, place, short_gets_cross_pages)                                    \
    X(suite, place, lent_bytes_stay_until_release)                             \
    X(suite, place, mapped_bytes_are_the_owners)                               \
    X(suite, place, nothing_gets_the_length)                                   \
    X(suite, place, rest_of_a_region_is_got)                                   \
    X(suite, place, bytes_beyond_the_end_are_refused)                          \
    X(suite, place, unknown_name_is_an_error)                                  \
    X(suite, place, own_region_is_got)                                         \
    X(suite, place, closed_region_is_not_found)                                \
    X(suite, place, published_again_is_the_new_one)                            \
    X(suite, place, published_again_has_its_own_length)                        \
    X(suite, place, put_goes_to_the_new_one)                                   \
    X(suite, place, get_passes_an_older_one)                                   \
    X(suite, place, owner_without_the_link_closes_a_region)                    \
    X(suite, place, names_are_used_once)                                       \
    X(suite, place, region_closed_under_gets)                                  \
    X(suite, place, large_get_is_whole)                                        \
    X(suite, place, hundreds_of_gets_at_once)                                  \
    X(suite, place, hundreds_of_regions_stay_found)                            \
    X(suite, place, bytes_in_flight_are_bounded)                               \
    X(suite, place, fetch_closed_with_gets_under_way)                          \
    X(suite, place, fetch_closed_with_a_get_beyond_the_end)                    \
    X(suite, place, fetch_closed_with_bytes_lent)                              \
    X(suite, place, fetch_closed_under_releases)                               \
    X(suite, place, borrowed_memory_is_got_and_released_once)                  \
    X(suite, place, borrowed_memory_is_larger_than_what_copies_may_take)       \
    X(suite, place, file_is_got)                                               \
    X(suite, place, file_is_larger_than_what_copies_may_take)                  \
    X(suite, place, constant_file_is_got)                                      \
    X(suite, place, constant_file_that_is_too_short_is_refused)                \
    X(suite, place, gets_of_a_file_take_turns)                                 \
    X(suite, place, truncated_file_fails_only_what_is_gone)                    \
    X(suite, place, closed_while_its_file_is_read)                             \
    X(suite, place, file_that_changes_is_got_anew)                             \
    X(suite, place, file_that_is_cut_and_grows_is_got_anew)                    \
    X(suite, place, file_that_stays_is_copied_once)                            \
    X(suite, place, regions_left_open_end_with_the_node)                       \
    X(suite, place, put_is_read_by_a_third)                                    \
    X(suite, place, put_into_borrowed_memory_is_read_by_a_peer)                \
    X(suite, place, put_into_what_is_read_only_is_refused)                     \
    X(suite, place, ask_is_answered)                                           \
    X(suite, place, ask_that_nobody_answers_is_refused)                        \
    X(suite, place, ask_never_answered_costs_only_its_time)                    \
    X(suite, place, errors_are_answers)                                        \
    X(suite, place, get_waits_for_a_region_made_on_demand)                     \
    X(suite, place, peers_take_turns_to_ask)                                   \
    X(suite, place, own_region_made_on_demand_and_closed_at_once)              \
    X(suite, place, asks_that_time_out_make_room)                              \
    X(suite, place, hundreds_of_small_asks_wait)                               \
    X(suite, place, asks_are_closed_with_asks_waiting)                         \
    X(suite, place, rows_come_beside_gets)

/* Where memory is mapped. */
#define WT_REGION_MAP_CASES(X, suite, place)                                   \
    X(suite, place, memory_that_cannot_be_read_is_an_error)                    \
    X(suite, place, constant_file_is_read_in_its_pages)                        \
    X(suite, place, constant_file_is_copied_for_who_maps_no_files)             \
    X(suite, place, reader_of_a_mapped_region_is_woken)

/* Where nodes have threads. */
#define WT_REGION_THREAD_CASES(X, suite, place)                                \
    X(suite, place, read_by_no_member)                                         \
    X(suite, place, what_was_got_may_be_written)                               \
    X(suite, place, reader_of_an_own_region_is_woken)

/* Faults. */
#define WT_REGION_SIM_CASES(X, suite, place)                                   \
    X(suite, place, crash_at_any_time)                                         \
    X(suite, place, cut_at_any_time)                                           \
    X(suite, place, link_stays_under_a_long_get)                               \
    X(suite, place, region_closed_under_a_long_get)                            \
    X(suite, place, long_get_is_of_one_region)                                 \
    X(suite, place, random_faults_under_gets_and_asks)                         \
    X(suite, place, rows_and_gets_share_a_link)                                \
    X(suite, place, pieces_of_a_node_are_bounded)

/** A cluster whose node 0 has a fetch and peers. */
struct wt_reads {
    struct wt_cluster c;
    weir_fetch *fetch;
    weir_peer *peer[WT_NODES];
    struct weir_got got; /* of wt_reads_next */
    weir_err rc;
};

/** @param nodes 0: 2. Ownership: wt_reads_close */
struct wt_reads *wt_reads_open(const struct wt_place *place, uint32_t nodes,
                               const struct weir_fetch_params *params);
/** The same on a cluster like this. */
struct wt_reads *wt_reads_open_on(const struct wt_place *place,
                                  const struct wt_cluster_params *cluster,
                                  const struct weir_fetch_params *params);
/** The same with two nodes that have so much memory more than they need. */
struct wt_reads *wt_reads_open_small(const struct wt_place *place,
                                     uint64_t more_bytes);
void wt_reads_close(struct wt_reads *r);

/** A fetch and a peer's handle of any node. */
weir_fetch *wt_fetch_of(struct wt_reads *r, uint32_t node,
                        const struct weir_fetch_params *params);
weir_peer *wt_peer_of(struct wt_reads *r, uint32_t node, uint32_t to);

/** Wait for the next of an operation's ends, which has to come. */
struct weir_got wt_next_of(struct wt_reads *r, weir_fetch *fetch);
struct weir_got wt_next(struct wt_reads *r);

/** Get, and wait for its end. */
struct weir_got wt_get(struct wt_reads *r, uint32_t node,
                       const struct weir_get *get);

/** A region of a node that holds wt_byte() of each offset, published as
 *  {7, id}. */
weir_region *wt_region(struct wt_reads *r, uint32_t node, uint64_t id,
                       uint64_t bytes, int writable);
uint8_t wt_byte(uint64_t id, uint64_t off);
bool wt_bytes_are(const void *p, uint64_t id, uint64_t off, uint64_t bytes);

/** Wait for an ask. */
struct weir_ask wt_ask_of(struct wt_reads *r, weir_asks *asks);

#define WT_REGION_DECLARE(suite, where, name)                                  \
    void wt_region_##name(const struct wt_place *place);
WT_REGION_CASES(WT_REGION_DECLARE, , )
WT_REGION_MAP_CASES(WT_REGION_DECLARE, , )
WT_REGION_THREAD_CASES(WT_REGION_DECLARE, , )
WT_REGION_SIM_CASES(WT_REGION_DECLARE, , )
#undef WT_REGION_DECLARE

#define WT_REGION_TEST(suite, where, name)                                     \
    Test(suite, name, .timeout = 300)                                          \
    {                                                                          \
        wt_region_##name(where);                                               \
    }

#define WT_REGION_CONFORMANCE(suite, place)                                    \
    WT_REGION_CASES(WT_REGION_TEST, suite, place)

#define WT_REGION_CONFORMANCE_SIM(suite, place)                                \
    WT_REGION_CONFORMANCE(suite, place)                                        \
    WT_REGION_SIM_CASES(WT_REGION_TEST, suite, place)

#endif /* WT_REGION_H */
