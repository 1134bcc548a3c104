/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of regions, asks and fetches. */
#include "test/unit/args/args.h"

static const struct weir_name name = {1, 2};

Test(args, region)
{
    struct wt_args world;
    struct wt_args *w = &world;
    struct weir_region_params p = {.bytes = 10};
    weir_region *region = NULL;
    wt_args_open(w);
    REFUSES(weir_region_open, node, NULL, &p, &region, &w->err);
    REFUSES(weir_region_open, params, w->node, NULL, &region, &w->err);
    REFUSES(weir_region_open, region_out, w->node, &p, NULL, &w->err);
    p.bytes = 0;
    REFUSES(weir_region_open, bytes, w->node, &p, &region, &w->err);
    p.bytes = 10;
    p.kind = WEIR_REGION_BORROWED;
    REFUSES(weir_region_open, base, w->node, &p, &region, &w->err);
    p.kind = (weir_region_kind)9;
    REFUSES(weir_region_open, kind, w->node, &p, &region, &w->err);
    p.kind = WEIR_REGION_FILE;
    p.writable = 1;
    REFUSES(weir_region_open, writable, w->node, &p, &region, &w->err);
    p.writable = 0;
    p.off = UINT64_MAX;
    REFUSES(weir_region_open, off, w->node, &p, &region, &w->err);
    p.off = 0;
    p.fd = -1;
    cr_assert_eq(weir_region_open(w->node, &p, &region, NULL), WEIR_ERR_SYSTEM);
    p = (struct weir_region_params){.bytes = 10, .constant = 1};
    REFUSES(weir_region_open, constant, w->node, &p, &region, &w->err);
    p = (struct weir_region_params){.bytes = 10, .reserved = {0, 1}};
    REFUSES(weir_region_open, reserved, w->node, &p, &region, &w->err);
    p.reserved[1] = 0;
    cr_assert_eq(weir_region_open(w->node, &p, &region, NULL), WEIR_OK);
    REFUSES(weir_region_publish, region, NULL, &name, &w->err);
    REFUSES(weir_region_publish, name, region, NULL, &w->err);
    ANSWERS(weir_region_base, region, weir_region_base(NULL) == NULL);
    ANSWERS(weir_region_bytes, region, weir_region_bytes(NULL) == 0);
    ALLOWS(weir_region_close, region, DONE(weir_region_close(NULL)));
    weir_region_close(region);
    wt_args_close(w);
}

Test(args, asks)
{
    struct wt_args world;
    struct wt_args *w = &world;
    weir_asks *asks = NULL;
    struct weir_ask ask = {0};
    wt_args_open(w);
    REFUSES(weir_asks_open, node, NULL, 1, 0, &asks, &w->err);
    REFUSES(weir_asks_open, worker, w->node, 1, 64, &asks, &w->err);
    REFUSES(weir_asks_open, asks_out, w->node, 1, 0, NULL, &w->err);
    cr_assert_eq(weir_asks_open(w->node, 1, 0, &asks, NULL), WEIR_OK);
    cr_assert_eq(weir_asks_open(w->node, 1, 0, &asks, NULL),
                 WEIR_ERR_DUPLICATE);
    CODE(weir_asks_next, asks, WEIR_ERR_ARG, NULL, &ask);
    CODE(weir_asks_next, ask_out, WEIR_ERR_ARG, asks, NULL);
    cr_assert_eq(weir_asks_next(asks, &ask), WEIR_AGAIN);
    ask.asks = asks;
    ANSWERS(weir_ask_waits, ask, weir_ask_waits(NULL) == 0);
    CODE(weir_ask_answer, ask, WEIR_ERR_ARG, NULL, WEIR_OK, "x", 1);
    CODE(weir_ask_answer, bytes, WEIR_ERR_ARG, &ask, WEIR_OK, NULL, 1);
    CODE(weir_ask_answer, code, WEIR_ERR_ARG, &ask, WEIR_AGAIN, NULL, 0);
    CODE(weir_ask_answer, id, WEIR_ERR_STATE, &ask, WEIR_OK, NULL, 0);
    ALLOWS(weir_asks_close, asks, DONE(weir_asks_close(NULL)));
    weir_asks_close(asks);
    wt_args_close(w);
}

Test(args, fetch)
{
    struct wt_args world;
    struct wt_args *w = &world;
    struct weir_fetch_params p = {.worker = 64};
    const struct weir_get get = {.name = {1, 2}};
    const struct weir_put put = {.name = {1, 2}, .bytes = 1};
    struct weir_got got = {0};
    weir_fetch *f = NULL;
    weir_peer *peer = NULL;
    uint32_t taken;
    wt_args_open(w);
    REFUSES(weir_fetch_open, node, NULL, NULL, &f, &w->err);
    REFUSES(weir_fetch_open, worker, w->node, &p, &f, &w->err);
    REFUSES(weir_fetch_open, fetch_out, w->node, NULL, NULL, &w->err);
    p = (struct weir_fetch_params){.reserved = {1}};
    REFUSES(weir_fetch_open, reserved, w->node, &p, &f, &w->err);
    ALLOWS(weir_fetch_open, params,
           weir_fetch_open(w->node, NULL, &f, NULL) == WEIR_OK);
    cr_assert_eq(
        weir_peer_open(w->node, weir_node_address(w->node), &peer, NULL),
        WEIR_OK);
    CODE(weir_fetch_get, fetch, WEIR_ERR_ARG, NULL, peer, &get, 1, &taken);
    CODE(weir_fetch_get, peer, WEIR_ERR_ARG, f, NULL, &get, 1, &taken);
    CODE(weir_fetch_get, gets, WEIR_ERR_ARG, f, peer, NULL, 1, &taken);
    const struct weir_get endless = {.bytes = UINT64_MAX, .dst = &got};
    CODE(weir_fetch_get, gets, WEIR_ERR_ARG, f, peer, &endless, 1, &taken);
    CODE(weir_fetch_get, taken_out, WEIR_ERR_ARG, f, peer, &get, 1, NULL);
    CODE(weir_fetch_put, fetch, WEIR_ERR_ARG, NULL, peer, &put, 1, &taken);
    CODE(weir_fetch_put, peer, WEIR_ERR_ARG, f, NULL, &put, 1, &taken);
    CODE(weir_fetch_put, puts, WEIR_ERR_ARG, f, peer, NULL, 1, &taken);
    CODE(weir_fetch_put, taken_out, WEIR_ERR_ARG, f, peer, &put, 1, NULL);
    CODE(weir_fetch_put, src, WEIR_ERR_ARG, f, peer, &put, 1, &taken);
    CODE(weir_fetch_ask, fetch, WEIR_ERR_ARG, NULL, peer, &name, "", 0, 0);
    CODE(weir_fetch_ask, peer, WEIR_ERR_ARG, f, NULL, &name, "", 0, 0);
    CODE(weir_fetch_ask, name, WEIR_ERR_ARG, f, peer, NULL, "", 0, 0);
    CODE(weir_fetch_ask, bytes, WEIR_ERR_ARG, f, peer, &name, NULL, 1, 0);
    CODE(weir_fetch_ask, len, WEIR_ERR_ARG, f, peer, &name, "",
         WEIR_ASK_BYTES + 1, 0);
    CODE(weir_fetch_next, fetch, WEIR_ERR_ARG, NULL, &got);
    CODE(weir_fetch_next, got_out, WEIR_ERR_ARG, f, NULL);
    cr_assert_eq(weir_fetch_next(f, &got), WEIR_DONE);
    ANSWERS(weir_fetch_error, fetch, weir_fetch_error(NULL)[0] == '\0');
    ALLOWS(weir_fetch_release, fetch, DONE(weir_fetch_release(NULL, &got)));
    ALLOWS(weir_fetch_release, got, DONE(weir_fetch_release(f, NULL)));
    ALLOWS(weir_fetch_close, fetch, DONE(weir_fetch_close(NULL)));
    weir_fetch_close(f);
    weir_peer_close(peer);
    wt_args_close(w);
}
