/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Conformance suite for core/transport.h, written once for all transports.
 *
 * A transport instantiates it in a file of a few lines:
 *
 *     #include "test/conformance/spi.h"
 *
 *     extern const struct wi_transport_ops wi_tcp_ops;
 *     static const struct wt_spi_fixture fixture = {.ops = &wi_tcp_ops};
 *
 *     WT_SPI_CONFORMANCE(spi_tcp, &fixture)
 *
 * and is linked with the other files spi_*.c. A case opens two or three
 * transports in one process and drives them from one thread (spi_thread.c adds
 * a worker):
 *
 *     case ---- wt_spi_turn() ----> poll every transport, record events
 *                                   kick on SENDABLE (as the core does)
 *                                   nothing happened: fixture->wait
 *
 * Nothing spins and nothing depends on time: `wait` sleeps until an event, or
 * advances a virtual clock to the next one, and says when there will be none.
 */
#ifndef WT_SPI_H
#define WT_SPI_H

#include <criterion/criterion.h>

#include "core/transport.h"

/** What a transport brings along. Unset members mean a transport that has
 *  WI_CAP_FD and runs on the real clock. */
struct wt_spi_fixture {
    const struct wi_transport_ops *ops;
    const struct wi_transport_ops *ep_ops; /* of endpoints; for a composite
                                              [ops] */
    const char *listen;                    /* given to every open [NULL: any] */
    const struct wi_tls_params *tls;       /* likewise [NULL: plain] */
    void *(*net_open)(void);               /* params.arg of one case [none] */
    void (*net_close)(void *net);          /* after the last transport [none] */
    uint64_t (*now)(void *net);            /* [CLOCK_MONOTONIC] */

    /** Nothing happened in a round of polls: sleep, or advance time, until
     *  something may have. False: nothing will ever happen.
     *  [arm all, then poll(2) on every fd for at most 20 s] */
    bool (*wait)(void *net, struct wi_transport *const *t, uint32_t n);

    /** A write that begins inside of its grant and passes the end of it is
     *  stopped there, not before: iWARP messages do not say how long they are
     *  in all (RFC 5041, section 4.1: the header of a tagged segment). [false:
     *  nothing of it is written] */
    bool stops_at_end;

    /** Memory that was granted to be written can be read as well: Soft-iWARP
     *  (seen with Linux 6.1) does not ask for the right. [false] */
    bool reads_all;

    /** A sender whose peer does not poll must get WEIR_AGAIN before it has
     *  queued this much [64 MiB]. */
    uint64_t max_queued_bytes;
};

static inline const struct wi_transport_ops *
wt_spi_ep_ops(const struct wt_spi_fixture *f)
{
    return f->ep_ops != NULL ? f->ep_ops : f->ops;
}

enum { WT_SPI_NODES = 3, WT_SPI_ENDS = 16 };

struct wt_spi;

/** One endpoint and what was seen of it. */
struct wt_end {
    struct wt_spi *spi;
    struct wi_ep *ep; /* NULL: slot is free */
    uint32_t node;
    bool accepted; /* else we connected */
    bool up;       /* CONNECTED or ACCEPTED was seen */
    bool closed;
    bool hung_up; /* as CLOSED said */
    char reason[WI_REASON_BYTES];
    uint64_t messages;
    uint64_t sendable;
    uint64_t reads_done;
    uint64_t posted; /* writes and reads posted by wt_end_post() */
    void (*on_message)(struct wt_end *end, const uint8_t *bytes, uint32_t len);
    void *arg; /* of on_message */
};

/** Some transports of one kind in this process. */
struct wt_spi {
    const struct wt_spi_fixture *fixture;
    void *net;
    uint32_t n;
    struct wi_transport *t[WT_SPI_NODES];
    char address[WT_SPI_NODES][WI_ADDRESS_BYTES];
    struct wt_end ends[WT_SPI_ENDS];
    uint32_t paused; /* bit i: transport i is not polled */
};

/** Open n transports. Fails the test on any error. */
void wt_spi_open(struct wt_spi *spi, const struct wt_spi_fixture *fixture,
                 uint32_t n);

/** Disconnect what is left and close the transports. */
void wt_spi_close(struct wt_spi *spi);

/** Begin a connect from transport `from`; does not wait. */
struct wt_end *wt_spi_dial(struct wt_spi *spi, uint32_t from,
                           const char *address);

/** Connect two transports and wait until both ends are up. */
void wt_spi_connect(struct wt_spi *spi, uint32_t from, uint32_t to,
                    struct wt_end **a, struct wt_end **b);

/** One round, see above. False: nothing will happen any more. */
bool wt_spi_turn(struct wt_spi *spi);

/** The clock that polls are given. */
uint64_t wt_spi_now(const struct wt_spi *spi);

/** Poll until nothing is left to do now; never waits. */
void wt_spi_drain(struct wt_spi *spi);

/** Run rounds until a condition holds; fails the test when nothing happens
 *  any more. */
#define WT_UNTIL(spi, cond)                                                    \
    do {                                                                       \
        while (!(cond)) {                                                      \
            cr_assert(wt_spi_turn(spi), "nothing more happens, yet not: %s",   \
                      #cond);                                                  \
        }                                                                      \
    } while (0)

/** Send or post; on WEIR_AGAIN kick, then wait for SENDABLE and repeat. False
 *  if the end was lost. Not kicked. */
bool wt_end_send(struct wt_end *end, const void *bytes, uint32_t len);
bool wt_end_write(struct wt_end *end, const struct wi_rma *op);
bool wt_end_read(struct wt_end *end, const struct wi_rma *op);

/** Kick; WEIR_AGAIN is fine. False if the end was lost. */
bool wt_end_kick(struct wt_end *end);

/** Disconnect and free the slot; nothing if that was done. */
void wt_end_drop(struct wt_end *end);

/** Completed operations. */
uint64_t wt_end_completed(struct wt_end *end);

/** Memory or a grant; fails the test on error. */
struct wi_mem wt_mem_open(struct wt_spi *spi, uint32_t node, size_t bytes);
uint64_t wt_end_grant(struct wt_end *end, const struct wi_mem *mem);
uint64_t wt_end_grant_as(struct wt_end *end, const struct wi_mem *mem,
                         uint32_t access);

/** A pattern that differs at every byte and seed, and its check. */
void wt_fill(void *bytes, size_t len, uint64_t seed);
bool wt_is_filled(const void *bytes, size_t len, uint64_t seed);

/** Next of a small seeded generator (state != 0). */
uint64_t wt_rand(uint64_t *state);

/* ---- cases --------------------------------------------------------------- */

/* X(name, capabilities that it needs, capabilities that exclude it) */
#define WT_SPI_CASES(X, suite, fix)                                            \
    X(suite, fix, addresses_name_the_transport, 0, 0)                          \
    X(suite, fix, bad_addresses_are_refused, 0, 0)                             \
    X(suite, fix, connect_meets_accept, 0, 0)                                  \
    X(suite, fix, crossing_connects_give_two_endpoints, 0, 0)                  \
    X(suite, fix, connect_to_nobody_closes_with_a_reason, 0, 0)                \
    X(suite, fix, memory_is_zeroed_and_page_aligned, 0, 0)                     \
    X(suite, fix, too_much_memory_is_an_error_with_a_text, 0, 0)               \
    X(suite, fix, messages_arrive_whole_and_in_order, 0, 0)                    \
    X(suite, fix, longest_and_shortest_messages, 0, 0)                         \
    X(suite, fix, burst_of_messages_arrives, 0, 0)                             \
    X(suite, fix, messages_cross, 0, 0)                                        \
    X(suite, fix, full_queue_ends_in_sendable_and_loses_nothing, 0, 0)         \
    X(suite, fix, one_event_per_poll_loses_nothing, 0, 0)                      \
    X(suite, fix, disconnect_delivers_what_was_kicked, 0, 0)                   \
    X(suite, fix, disconnect_in_the_midst_of_traffic, 0, 0)                    \
    X(suite, fix, two_hundred_links_leave_nothing_behind, 0, 0)                \
    X(suite, fix, lost_end_refuses_work, 0, 0)                                 \
    X(suite, fix, vanished_peer_closes, 0, WI_CAP_VIRTUAL)                     \
    X(suite, fix, arm_sleeps_and_wakes, WI_CAP_FD, 0)                          \
    X(suite, fix, event_before_arm_is_not_slept_over, WI_CAP_FD, 0)            \
    X(suite, fix, work_is_posted_beside_poll, WI_CAP_FD, WI_CAP_VIRTUAL)       \
    X(suite, fix, write_is_readable_when_its_message_arrives, WI_CAP_WRITE, 0) \
    X(suite, fix, writes_cross, WI_CAP_WRITE, 0)                               \
    X(suite, fix, writes_go_to_their_own_peer, WI_CAP_WRITE, 0)                \
    X(suite, fix, completed_memory_may_be_reused, WI_CAP_WRITE, 0)             \
    X(suite, fix, blocked_writes_complete_in_order, WI_CAP_WRITE, 0)           \
    X(suite, fix, disconnect_ends_writes_in_flight, WI_CAP_WRITE, 0)           \
    X(suite, fix, write_with_unknown_key_closes, WI_CAP_WRITE, 0)              \
    X(suite, fix, write_across_the_end_closes, WI_CAP_WRITE, 0)                \
    X(suite, fix, write_with_wrapping_offset_closes, WI_CAP_WRITE, 0)          \
    X(suite, fix, grant_is_for_one_endpoint_only, WI_CAP_WRITE, 0)             \
    X(suite, fix, guard_keeps_a_write_out, WI_CAP_GUARD, 0)                    \
    X(suite, fix, guard_waits_for_messages_before_a_write, WI_CAP_GUARD, 0)    \
    X(suite, fix, guard_keeps_the_rest_of_a_write_out, WI_CAP_GUARD, 0)        \
    X(suite, fix, read_brings_the_bytes, WI_CAP_READ, 0)                       \
    X(suite, fix, reads_and_writes_complete_in_order,                          \
      WI_CAP_READ | WI_CAP_WRITE, 0)                                           \
    X(suite, fix, reads_cross, WI_CAP_READ, 0)                                 \
    X(suite, fix, read_is_complete_with_its_bytes, WI_CAP_READ, 0)             \
    X(suite, fix, read_outside_the_grant_closes, WI_CAP_READ, 0)               \
    X(suite, fix, mapped_bytes_are_seen_by_the_owner, WI_CAP_MAP, 0)           \
    X(suite, fix, map_of_unknown_key_is_refused, WI_CAP_MAP, 0)                \
    X(suite, fix, mapping_outlives_its_endpoint, WI_CAP_MAP, 0)                \
    X(suite, fix, grant_to_read_is_not_one_to_write, WI_CAP_WRITE, 0)          \
    X(suite, fix, grant_to_write_is_not_one_to_read, WI_CAP_READ, 0)           \
    X(suite, fix, write_after_the_grant_closes_one_link, WI_CAP_WRITE, 0)      \
    X(suite, fix, read_after_the_grant_closes_one_link, WI_CAP_READ, 0)        \
    X(suite, fix, grants_come_and_go, WI_CAP_WRITE, 0)                         \
    X(suite, fix, many_grants_stand_at_a_time, WI_CAP_READ, 0)                 \
    X(suite, fix, odd_places_are_read, WI_CAP_READ, 0)                         \
    X(suite, fix, odd_places_are_written, WI_CAP_WRITE, 0)                     \
    X(suite, fix, borrowed_memory_is_read, WI_CAP_READ, 0)                     \
    X(suite, fix, local_memory_is_any, WI_CAP_LOCAL_ANY, 0)                    \
    X(suite, fix, mapping_to_read_shows_the_owners_bytes, WI_CAP_MAP, 0)       \
    X(suite, fix, grant_that_has_ended_is_not_mapped, WI_CAP_MAP, 0)

#define WT_SPI_DECLARE(suite, fix, name, needs, without)                       \
    void wt_spi_##name(const struct wt_spi_fixture *fixture);
WT_SPI_CASES(WT_SPI_DECLARE, , )
#undef WT_SPI_DECLARE

#define WT_SPI_TEST(suite, fix, name, needs, without)                          \
    Test(suite, name, .timeout = 120)                                          \
    {                                                                          \
        const struct wt_spi_fixture *f = (fix);                                \
        uint32_t caps = wt_spi_ep_ops(f)->caps;                                \
        if ((caps & (needs)) != (needs) || (caps & (without)) != 0) {          \
            cr_skip_test("not for this transport's capabilities");             \
        }                                                                      \
        wt_spi_##name(f);                                                      \
    }

/** Define every case as a Criterion test of `suite`. */
#define WT_SPI_CONFORMANCE(suite, fixture)                                     \
    WT_SPI_CASES(WT_SPI_TEST, suite, fixture)

#endif /* WT_SPI_H */
