/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers that break the rules, one offence after the other against the same two
 * nodes: honest queries stay exact, a query with the offender ends with its
 * name, memory and rings are as before, and the next query is good. The
 * offender is a second implementation of docs/wire.md (test/support/rogue.h).
 */
#include <criterion/criterion.h>

#include "test/support/offence.h"

static void offend_all(const struct wt_lab_params *params,
                       const struct wt_offence *o, uint32_t n)
{
    struct wt_lab lab;
    wt_lab_open(&lab, params);
    for (uint32_t i = 0; i < n; i++) {
        wt_offend(&lab, &o[i]);
    }
    wt_lab_close(&lab);
}

static void intrude_all(const struct wt_lab_params *params,
                        const struct wt_offence *o, uint32_t n)
{
    struct wt_lab lab;
    wt_lab_open(&lab, params);
    for (uint32_t i = 0; i < n; i++) {
        wt_intrude(&lab, &o[i]);
    }
    wt_lab_close(&lab);
}

Test(offence, wrong_frames_fail_their_query_alone, .timeout = 120)
{
    offend_all(&(struct wt_lab_params){.rogue = 2}, wt_frame_offences,
               wt_n_frame_offences);
}

Test(offence, wrong_messages_hurt_queries_with_their_sender_alone,
     .timeout = 120)
{
    offend_all(&(struct wt_lab_params){.rogue = 2}, wt_member_offences,
               wt_n_member_offences);
}

Test(offence, the_first_member_may_be_the_offender, .timeout = 120)
{
    offend_all(&(struct wt_lab_params){.rogue = 0}, wt_member_offences,
               wt_n_member_offences);
}

Test(offence, strangers_hurt_nobody, .timeout = 120)
{
    intrude_all(&(struct wt_lab_params){.rogue = 2}, wt_stranger_offences,
                wt_n_stranger_offences);
}

static void offend_wares(const struct wt_lab_params *params,
                         const struct wt_offence *o, uint32_t n)
{
    struct wt_lab lab;
    wt_lab_open(&lab, params);
    for (uint32_t i = 0; i < n; i++) {
        wt_offend_wares(&lab, &o[i]);
    }
    wt_lab_close(&lab);
}

Test(offence, readers_of_regions_hurt_nobody, .timeout = 120)
{
    offend_wares(&(struct wt_lab_params){.rogue = 2}, wt_reader_offences,
                 wt_n_reader_offences);
}

Test(offence, owners_of_regions_hurt_their_readers_alone, .timeout = 120)
{
    offend_wares(&(struct wt_lab_params){.rogue = 2}, wt_owner_offences,
                 wt_n_owner_offences);
}

Test(offence, any_field_of_any_message_at_any_time_hurts_nobody, .timeout = 120)
{
    struct wt_lab lab;
    wt_lab_open(&lab, &(struct wt_lab_params){.rogue = 2});
    wt_region_sweep(&lab);
    wt_lab_close(&lab);
}

/* ---- with threads and sockets -------------------------------------------- */

static const struct wt_lab_params over_tcp = {.tcp = true, .rogue = 2};

Test(offence, frames_and_messages_are_the_same_over_tcp, .timeout = 120)
{
    offend_all(&over_tcp, wt_frame_offences, wt_n_frame_offences);
    offend_all(&over_tcp, wt_member_offences, wt_n_member_offences);
}

Test(offence, wrong_records_end_their_link, .timeout = 120)
{
    offend_all(&over_tcp, wt_record_offences, wt_n_record_offences);
}

Test(offence, strangers_over_tcp_hurt_nobody, .timeout = 120)
{
    intrude_all(&over_tcp, wt_stranger_offences, wt_n_stranger_offences);
}

Test(offence, greetings_over_tcp_hurt_nobody, .timeout = 120)
{
    intrude_all(&over_tcp, wt_greeting_offences, wt_n_greeting_offences);
}

Test(offence, readers_of_regions_over_tcp_hurt_nobody, .timeout = 120)
{
    offend_wares(&over_tcp, wt_reader_offences, wt_n_reader_offences);
}

Test(offence, owners_of_regions_over_tcp_hurt_their_readers_alone,
     .timeout = 120)
{
    offend_wares(&over_tcp, wt_owner_offences, wt_n_owner_offences);
}
