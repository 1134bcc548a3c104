/* SPDX-License-Identifier: Apache-2.0 */
/* Fetches that are closed while a peer owes them bytes and says nothing, or its
 * link is cut: whoever closes sleeps, and is woken. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/socket.h>

#include "test/support/offence_parts.h"
#include "test/support/wares.h"

static const struct wt_lab_params over_tcp = {.tcp = true, .rogue = 2};

/* A get is under way: the piece was found, its bytes never come. */
static void begin(struct wt_lab *lab, uint32_t gets)
{
    struct wt_rogue_link *l = lab->link[0];
    for (uint32_t i = 0; i < gets; i++) {
        wt_wares_get(lab);
    }
    wt_await(lab, WT_FIND, 0);
    l->mute = true;
    struct wt_msg m = wt_found_msg(lab);
    wt_send(lab, &m, 1);
}

static void *cut(void *arg)
{
    const struct wt_rogue_link *l = arg;
    (void)shutdown(l->fd, SHUT_RDWR);
    return NULL;
}

static bool is_reading(struct wt_lab *lab)
{
    return lab->link[0]->reads != 0;
}

/* `at`: when the other thread starts, before the close or after some steps. */
static void close_and_cut(struct wt_lab *lab, uint32_t at)
{
    struct wt_wares w;
    pthread_t thread;
    wt_wares_open(lab, &w);
    w.honest_left = 2; /* that is enough of them */
    wt_lab_meet(lab);
    begin(lab, 1 + at % 5);
    if (at % 4 != 0) {
        cr_assert(wt_lab_until(lab, is_reading, 20));
    }
    int rc = pthread_create(&thread, NULL, cut, lab->link[0]);
    cr_assert_eq(rc, 0);
    weir_fetch_close(w.victim);
    w.victim = NULL;
    (void)pthread_join(thread, NULL);
    wt_lab_part(lab);
    w.begun = 0;
    wt_wares_close(lab, "a fetch closed and its link cut");
}

Test(fetch_close, links_cut_under_closes, .timeout = 120)
{
    struct wt_lab lab;
    wt_lab_open(&lab, &over_tcp);
    for (uint32_t i = 0; i < 200; i++) {
        close_and_cut(&lab, i);
    }
    wt_lab_close(&lab);
}

/* Until the link is given up, after detect_ns. */
Test(fetch_close, silent_peer_is_given_up, .timeout = 60)
{
    struct wt_lab lab;
    struct wt_wares w;
    wt_lab_open(&lab, &over_tcp);
    wt_wares_open(&lab, &w);
    wt_lab_meet(&lab);
    begin(&lab, 3);
    cr_assert(wt_lab_until(&lab, is_reading, 20));
    weir_fetch_close(w.victim);
    w.victim = NULL;
    w.begun = 0;
    wt_lab_part(&lab);
    wt_wares_close(&lab, "a silent peer");
    wt_lab_close(&lab);
}
