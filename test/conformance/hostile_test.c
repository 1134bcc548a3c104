/* SPDX-License-Identifier: Apache-2.0 */
/* A node among peers that do not keep to the rules, or are strangers. */
#include <malloc.h>
#include <string.h>

#include "test/support/lone.h"

static struct wt_lone lone;

static bool logged(const char *text)
{
    return strstr(lone.log, text) != NULL;
}

/* ---- peers that do not read ------------------------------------------------ */

static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

Test(hostile, questions_whose_answers_are_not_read_make_no_pile, .timeout = 60)
{
    enum { PACKETS = 400, PINGS = WI_PACKET_BYTES / 8 };
    struct wi_msg_word packet[PINGS];
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_greet(raw);
    for (uint32_t i = 0; i < PINGS; i++) {
        packet[i] = (struct wi_msg_word){
            .head = {WI_MSG_PING, sizeof(packet[i])}, .arg = 1};
    }
    lone.deaf = true;
    size_t before = heap_bytes();
    for (uint32_t i = 0; i < PACKETS; i++) {
        bool sent = wt_raw_send(raw, packet, sizeof(packet));
        cr_assert(sent);
        wt_lone_settle(&lone);
    }
    size_t after = heap_bytes();
    cr_assert_lt(after, before + 262144, "%zu bytes wait", after - before);
    lone.deaf = false;
    WT_TURNS(&lone, raw->of_type[WI_MSG_PING] > 0);
    cr_assert_not(raw->closed);
    wt_lone_close(&lone);
}

/* An edge that is opened and given up again and again: each is answered. */
Test(hostile, peer_that_reads_no_answers_is_dropped, .timeout = 60)
{
    union wi_msg m;
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    wt_raw_greet(raw);
    const struct wi_msg_hello hello = raw->last[WI_MSG_ACCEPT].hello;
    lone.deaf = true;
    for (uint32_t i = 1; i < 100000 && !logged("link lost"); i++) {
        wi_msg_init(&m, WI_MSG_EDGE_OPEN);
        m.edge_open.epoch = i;
        m.edge_open.query = 77;
        m.edge_open.ring_off = 128ull * hello.n_units;
        m.edge_open.ring_bytes = hello.unit_bytes;
        (void)wt_raw_send(raw, &m, m.head.len);
        wi_msg_init(&m, WI_MSG_EDGE_ABANDON);
        m.edge.epoch = i;
        (void)wt_raw_send(raw, &m, m.head.len);
        wt_lone_settle(&lone);
    }
    cr_assert(logged("link lost: peer raw (sim:1): it does not read"), "%s",
              lone.log);
    lone.deaf = false;
    WT_TURNS(&lone, raw->closed);
    wt_lone_close(&lone);
}
