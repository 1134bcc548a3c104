/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the simulator. */
#include "test/unit/args/args.h"

static weir_err never(void *arg, uint64_t now_ns)
{
    (void)arg;
    (void)now_ns;
    return WEIR_DONE;
}

Test(args, sim)
{
    struct wt_args world;
    struct wt_args *w = &world;
    wt_args_open(w);
    REFUSES(weir_sim_open, sim_out, NULL, NULL, &w->err);
    weir_sim *usual = NULL;
    ALLOWS(weir_sim_open, params,
           weir_sim_open(NULL, &usual, NULL) == WEIR_OK && usual != NULL);
    weir_sim_close(usual);
    ALLOWS(weir_sim_close, sim, DONE(weir_sim_close(NULL)));
    ANSWERS(weir_sim_node, sim, weir_sim_node(NULL, 0) == NULL);
    ANSWERS(weir_sim_node, node, weir_sim_node(w->sim, 2) == NULL);
    ANSWERS(weir_sim_now, sim, weir_sim_now(NULL) == 0);
    CODE(weir_sim_task, sim, WEIR_ERR_ARG, NULL, 0, 0, never, NULL);
    CODE(weir_sim_task, node, WEIR_ERR_ARG, w->sim, 2, 0, never, NULL);
    CODE(weir_sim_task, worker, WEIR_ERR_ARG, w->sim, 0, 1, never, NULL);
    CODE(weir_sim_task, fn, WEIR_ERR_ARG, w->sim, 0, 0, NULL, NULL);
    ANSWERS(weir_sim_busy, sim, DONE(weir_sim_busy(NULL, 1)));
    REFUSES(weir_sim_run, sim, NULL, 0, &w->err);
    wt_args_close(w);
}

/* Faults of nodes that are not there are none: the run ends well. */
Test(args, sim_faults)
{
    struct wt_args world;
    struct wt_args *w = &world;
    wt_args_open(w);
    ANSWERS(weir_sim_crash, sim, DONE(weir_sim_crash(NULL, 0, 0)));
    ANSWERS(weir_sim_crash, node, DONE(weir_sim_crash(w->sim, 2, 0)));
    REFUSES(weir_sim_restart, sim, NULL, 0, &w->err);
    CODE(weir_sim_restart, node, WEIR_ERR_ARG, w->sim, 2, NULL);
    ANSWERS(weir_sim_cut, sim, DONE(weir_sim_cut(NULL, 0, 1, 0)));
    ANSWERS(weir_sim_cut, a, DONE(weir_sim_cut(w->sim, 2, 1, 0)));
    ANSWERS(weir_sim_cut, b, DONE(weir_sim_cut(w->sim, 0, 2, 0)));
    ANSWERS(weir_sim_drop, sim, DONE(weir_sim_drop(NULL, 0, 1, 0, 1)));
    ANSWERS(weir_sim_drop, a, DONE(weir_sim_drop(w->sim, 2, 1, 0, 1)));
    ANSWERS(weir_sim_drop, b, DONE(weir_sim_drop(w->sim, 0, 2, 0, 1)));
    ANSWERS(weir_sim_stall, sim, DONE(weir_sim_stall(NULL, 0, 0, 1)));
    ANSWERS(weir_sim_stall, node, DONE(weir_sim_stall(w->sim, 2, 0, 1)));
    ANSWERS(weir_sim_sent_bytes, sim, weir_sim_sent_bytes(NULL, 0) == 0);
    ANSWERS(weir_sim_sent_bytes, node, weir_sim_sent_bytes(w->sim, 2) == 0);
    cr_assert_eq(weir_sim_run(w->sim, 1000000, NULL), WEIR_OK);
    cr_assert_not_null(weir_sim_node(w->sim, 0));
    wt_args_close(w);
}
