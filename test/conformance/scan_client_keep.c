/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of scan servers: what belongs to one client. */
#include "test/conformance/scan_client.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* An engine that counts the requests of each client. */
struct counting {
    atomic_int made;
    atomic_int closed;
};

struct kept {
    struct counting *of;
    atomic_int requests;
};

static weir_err keep(void *arg, void **kept_out, struct weir_error *err)
{
    struct kept *k = calloc(1, sizeof(*k));
    (void)err;
    cr_assert_not_null(k);
    k->of = arg;
    k->of->made++;
    *kept_out = k;
    return WEIR_OK;
}

static void close_kept(void *arg)
{
    struct kept *k = arg;
    k->of->closed++;
    free(k);
}

/* Rows affected: which request of its client it is, 0: of nobody's. */
static weir_err count(void *arg, const struct weir_scan_request *request,
                      weir_scan_job *job, struct ArrowArrayStream *out,
                      int64_t *rows_out, struct weir_scan_fault *fault,
                      struct weir_error *err)
{
    const struct weir_scan_keeper keeper = {keep, close_kept, arg};
    void *kept = NULL;
    (void)request, (void)out, (void)fault;
    weir_err rc = weir_scan_job_keep(job, &keeper, &kept, err);
    struct kept *k = kept;
    *rows_out = k != NULL ? ++k->requests : 0;
    return rc;
}

static int64_t ask(weir_scan_client *c)
{
    const struct weir_scan_request r = {.dataset = "counting"};
    struct weir_error err;
    int64_t rows = -1;
    cr_assert_eq(weir_scan_open(c, &r, NULL, &rows, &err), WEIR_OK, "%s",
                 err.message);
    return rows;
}

static bool has_one(const struct weir_scan_stats *stats)
{
    return stats->clients == 1;
}

void wt_scan_client_what_is_kept_is_one_clients(const struct wt_place *place)
{
    struct counting counting = {0};
    const struct weir_scan_source source = {
        .name = "counting", .engine = {.open = count, .arg = &counting}};
    const struct weir_scan_server_params p = {.sources = &source,
                                              .n_sources = 1};
    const struct weir_scan_request r = {.dataset = "counting"};
    struct weir_scan_id id;
    struct weir_error err;
    struct wt_scan *s = wt_scan_open(place, 0, &p);
    weir_scan_client *one = wt_pull_open(s, 0, NULL);
    weir_scan_client *other = wt_pull_open(s, 0, NULL);
    cr_assert_eq(ask(one), 1);
    cr_assert_eq(ask(one), 2);
    cr_assert_eq(ask(other), 1);
    cr_assert_eq(weir_scan_share(one, &r, 1, &id, NULL, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(ask(one), 3); /* what is shared is nobody's */
    cr_assert_eq(counting.made, 2);
    cr_assert_eq(counting.closed, 0);
    weir_scan_disconnect(other);
    cr_assert(wt_scan_until(s, has_one));
    cr_assert_eq(ask(one), 4);
    weir_scan_disconnect(one);
    wt_scan_close(s);
    cr_assert_eq(counting.closed, 2);
}

void wt_scan_client_session_that_is_over_is_not_begun_again(
    const struct wt_place *place)
{
    const struct weir_scan_client_params p = {.one_session = 1};
    const struct weir_scan_request r = {.dataset = "raw", .text = "nothing"};
    struct weir_error err;
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *strict = wt_pull_open(s, 0, &p);
    weir_scan_client *plain = wt_pull_open(s, 0, NULL);
    cr_assert_eq(weir_scan_open(strict, &r, NULL, NULL, &err), WEIR_OK);
    cr_assert_eq(weir_scan_open(plain, &r, NULL, NULL, &err), WEIR_OK);
    struct weir_scan_source source = {.name = "raw"};
    const struct weir_scan_server_params sp = {.sources = &source,
                                               .n_sources = 1};
    weir_scan_server_close(s->server);
    wt_scan_engine_fini(&s->engine);
    wt_scan_engine_init(&s->engine, &source.engine);
    cr_assert_eq(weir_scan_server_open(s->r->c.node[WT_SCAN_SERVER], &sp,
                                       &s->server, &err),
                 WEIR_OK, "%s", err.message);
    /* Who was in the middle of nothing may have to hear of it first. */
    while (weir_scan_open(plain, &r, NULL, NULL, &err) != WEIR_OK) {
        cr_assert_eq(err.code, WEIR_ERR_NOT_FOUND, "%s", err.message);
    }
    for (int i = 0; i < 3; i++) {
        cr_assert_neq(weir_scan_open(strict, &r, NULL, NULL, &err), WEIR_OK);
    }
    cr_assert_not_null(strstr(err.message, "session"), "%s", err.message);
    weir_scan_disconnect(strict);
    weir_scan_disconnect(plain);
    wt_scan_close(s);
}
