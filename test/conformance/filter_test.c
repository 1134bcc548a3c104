/* SPDX-License-Identifier: Apache-2.0 */
/* What a node that sends a filter hands to its transport: to peers that know no
 * filters, and when there is no memory for it. */
#include <dlfcn.h>
#include <stdlib.h>

#include "core/link/link.h"
#include "core/link/lock.h"
#include "test/support/lone.h"
#include "test/support/rows.h"

/* Sanitizers have a malloc of their own, which a program must not replace. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WT_OWN_MALLOC 1
#else
#define WT_OWN_MALLOC 0
#endif

enum { KEYS = 5000 }; /* of several pieces */

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

static struct wt_lone lone;
static struct ArrowSchema schema;

#if WT_OWN_MALLOC
/* So many more messages as large as a FILTER get memory; the next ones none. */
static _Thread_local uint32_t filters_left = UINT32_MAX;

static bool refuses(size_t bytes)
{
    if (bytes != sizeof(struct wi_ctl_msg) + sizeof(struct wi_msg_filter)) {
        return false;
    }
    bool none = filters_left == 0;
    filters_left -= filters_left != 0 && filters_left != UINT32_MAX;
    return none;
}

/* In place of libc's. */
void *malloc(size_t bytes)
{
    static void *(*next)(size_t);
    if (next == NULL) {
        *(void **)&next = dlsym(RTLD_NEXT, "malloc");
    }
    return refuses(bytes) ? NULL : next(bytes);
}
#endif

static weir_query *open_query(void)
{
    static const uint32_t members[] = {0, 1};
    const struct weir_query_params params = {
        .id = 1, .members = members, .n_members = 2};
    struct weir_error err = {0};
    weir_query *q;
    cr_assert_eq(weir_query_open(lone.node, &params, &q, &err), WEIR_OK, "%s",
                 err.message);
    return q;
}

/* To this node, from the peer. */
static weir_reader *open_reader(weir_query *q)
{
    static const uint32_t members[] = {0, 1};
    static const char *const keys[] = {"id"};
    const struct weir_shuffle_params params = {.id = 1,
                                               .schema = &schema,
                                               .partitioning = WEIR_HASH,
                                               .keys = keys,
                                               .n_keys = 1,
                                               .producers = &members[1],
                                               .n_producers = 1,
                                               .consumers = &members[0],
                                               .n_consumers = 1};
    struct weir_error err = {0};
    weir_shuffle *s;
    weir_reader *r;
    cr_assert_eq(weir_schema_build(fields, 1, &schema, &err), WEIR_OK);
    cr_assert_eq(weir_shuffle_open(q, &params, &s, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_reader_open(s, 0, &r, &err), WEIR_OK, "%s", err.message);
    return r;
}

static void send_filter(weir_reader *r)
{
    struct ArrowArray keys;
    wt_rows_make(&rows, 0, KEYS, &keys);
    cr_assert_eq(weir_reader_filter_open(r, KEYS), WEIR_OK);
    cr_assert_eq(weir_reader_filter_add(r, &keys), WEIR_OK);
    cr_assert_eq(weir_reader_filter_send(r), WEIR_OK);
    keys.release(&keys);
    wt_lone_settle(&lone);
}

/* A filter goes to a peer that has said these caps. How many pieces come? The
 * link and the query are as before. */
static uint64_t pieces_to(uint32_t caps)
{
    wt_lone_open(&lone, NULL);
    wt_lone_join(&lone);
    struct wt_raw *raw = wt_lone_dial(&lone);
    raw->caps = caps;
    wt_raw_greet(raw);
    weir_query *q = open_query();
    send_filter(open_reader(q));
    uint64_t pieces = raw->of_type[WI_MSG_FILTER];
    cr_assert_not(raw->closed);
    cr_assert_eq(lone.node->engine.members[1].link->state, WI_LINK_OPEN);
    cr_assert_eq(weir_query_status(q, NULL), WEIR_OK);
    weir_query_cancel(q, "enough");
    weir_query_close(q);
    schema.release(&schema);
    wt_lone_close(&lone);
    return pieces;
}

Test(filter, goes_to_peers_that_know_filters_only)
{
    cr_assert_eq(pieces_to(WI_WIRE_CAP_CHECKSUM), 0);
    cr_assert_gt(pieces_to(WI_WIRE_CAP_CHECKSUM | WI_WIRE_CAP_FILTER), 2);
}

#if WT_OWN_MALLOC
/* The link was lost, and the query with it. */
Test(filter, without_memory_for_a_piece_the_rest_is_left_out)
{
    for (uint32_t left = 0; left < 3; left++) {
        filters_left = left;
        cr_assert_eq(pieces_to(WI_WIRE_CAP_FILTER), left);
        filters_left = UINT32_MAX;
    }
}
#endif
