/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs transport as far as it goes without a device: windows, counters,
 * keys, and what it says where there is none. The rest runs where
 * devices are (test/vm). */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "transport/registry.h"
#include "transport/verbs/verbs.h"

/* ---- windows ------------------------------------------------------------- */

Test(verbs, window_room_leaves_what_is_kept)
{
    cr_assert_eq(vb_window_room(32, 0, 0, 4), 28);
    cr_assert_eq(vb_window_room(32, 27, 0, 4), 1);
    cr_assert_eq(vb_window_room(32, 28, 0, 4), 0);
    cr_assert_eq(vb_window_room(32, 31, 0, 4), 0);
    cr_assert_eq(vb_window_room(32, 31, 0, 0), 1);
    cr_assert_eq(vb_window_room(32, 32, 0, 0), 0);
    cr_assert_eq(vb_window_room(3, 0, 0, 4), 0);
    /* across the end of the counters */
    cr_assert_eq(vb_window_room(32, 5, UINT32_MAX - 4, 4), 18);
}

Test(verbs, counters_are_completed_from_their_low_bits)
{
    cr_assert_eq(vb_count_after(0, 0), 0);
    cr_assert_eq(vb_count_after(0, 7), 7);
    cr_assert_eq(vb_count_after(0xfffe, 3), 0x10003);
    cr_assert_eq(vb_count_after(0x1fffe, 0xffff), 0x1ffff);
    cr_assert_eq(vb_count_after(UINT32_MAX - 1, 1), 1);
    cr_assert(vb_reached(1, UINT32_MAX));
    cr_assert(vb_reached(5, 5));
    cr_assert_not(vb_reached(UINT32_MAX, 1));
}

/* Two ends that send whenever the window lets them, and acknowledge only when
 * half of a window is due: neither may ever be stuck for good. */
struct end {
    uint32_t sent, freed_by_peer; /* what we know */
    uint32_t got, told;           /* what we have freed, and said so */
    uint32_t under_way[64];       /* acknowledgements in our messages */
    uint32_t begin, end;          /* of under_way, counts */
};

static void say(struct end *e)
{
    e->under_way[e->end++ % 64] = e->got;
    e->told = e->got;
    e->sent++;
}

static void take(struct end *to, struct end *from)
{
    to->freed_by_peer = from->under_way[from->begin++ % 64];
    to->got++;
    cr_assert_leq(to->got - to->told, 32, "more than the window");
}

static bool act(struct end *e, bool talk)
{
    if (talk && vb_window_room(32, e->sent, e->freed_by_peer, VB_RESERVE) > 0) {
        say(e);
        return true;
    }
    if (vb_ack_due(e->got, e->told, 32) &&
        vb_window_room(32, e->sent, e->freed_by_peer, 0) > 0) {
        say(e);
        return true;
    }
    return false;
}

Test(verbs, windows_never_lock_each_other)
{
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct end e[2] = {{0}, {0}};
        srand(seed);
        for (uint32_t i = 0; i < 20000; i++) {
            uint32_t k = (uint32_t)rand() % 4;
            if (k < 2) {
                (void)act(&e[k], true);
            } else if (e[k - 2].begin != e[k - 2].end) {
                take(&e[3 - k], &e[k - 2]);
            }
            cr_assert_leq(e[0].end - e[0].begin, 32);
        }
        /* All arrives; then both can talk again. */
        bool moved = true;
        while (moved) {
            moved = false;
            for (uint32_t k = 0; k < 2; k++) {
                while (e[k].begin != e[k].end) {
                    take(&e[1 - k], &e[k]);
                    moved = true;
                }
                moved |= act(&e[1 - k], false);
            }
        }
        cr_assert(act(&e[0], true) && act(&e[1], true), "seed %u", seed);
    }
}

/* ---- keys ---------------------------------------------------------------- */

Test(verbs, keys_hold_base_rkey_and_tag)
{
    static const struct vb_key keys[] = {
        {.base = 0, .rkey = 0, .tag = 0},
        {.base = VB_KEY_SPAN - ((uint64_t)2 << 20),
         .rkey = UINT32_MAX,
         .tag = VB_KEY_TAGS - 1},
        {.base = UINT64_C(0x7f1234600000), .rkey = 0x80000001, .tag = 1},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct vb_key back = vb_key_decode(vb_key_encode(keys[i]));
        cr_assert_eq(back.base, keys[i].base);
        cr_assert_eq(back.rkey, keys[i].rkey);
        cr_assert_eq(back.tag, keys[i].tag);
    }
}

/* ---- words --------------------------------------------------------------- */

Test(verbs, an_address_without_a_device_says_what_to_do)
{
    /* TEST-NET-1 of RFC 5737: no machine has it. */
    struct wi_transport_params params = {.listen = "192.0.2.1:0"};
    struct wi_transport *t = NULL;
    struct weir_error err = {0};
    cr_assert_eq(wi_verbs_ops.open(&params, &t, &err), WEIR_ERR_SYSTEM);
    cr_assert_null(t);
    cr_assert_eq(err.code, WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, "rdma"), "%s", err.message);
}

Test(verbs, a_host_to_listen_at_may_have_a_name)
{
    struct wi_transport_params params = {.listen = "localhost:0"};
    struct wi_transport *t = NULL;
    struct weir_error err = {0};
    weir_err rc = wi_verbs_ops.open(&params, &t, &err);
    /* Whether there is a device at that address is another matter. */
    cr_assert(rc == WEIR_OK || rc == WEIR_ERR_SYSTEM, "%s", err.message);
    if (rc == WEIR_OK) {
        wi_verbs_ops.close(t);
    }
}

Test(verbs, a_listen_address_that_is_none_is_an_argument_error)
{
    struct wi_transport_params params = {.listen = "nonsense"};
    struct wi_transport *t = NULL;
    struct weir_error err = {0};
    cr_assert_eq(wi_verbs_ops.open(&params, &t, &err), WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "nonsense"), "%s", err.message);
}

Test(verbs, failures_have_words_of_their_own)
{
    static const enum ibv_wc_status all[] = {
        IBV_WC_RETRY_EXC_ERR,   IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_ACCESS_ERR,
        IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR,        IBV_WC_LOC_LEN_ERR,
        IBV_WC_LOC_PROT_ERR,    IBV_WC_WR_FLUSH_ERR,      IBV_WC_FATAL_ERR};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const char *text = wi_vb_status_text(all[i]);
        cr_assert_gt(strlen(text), 4);
        for (size_t k = 0; k < i; k++) {
            cr_assert_str_neq(text, wi_vb_status_text(all[k]));
        }
    }
}
