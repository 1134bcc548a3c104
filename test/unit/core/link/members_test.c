/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "core/link/engine.h"
#include "core/link/join_list.h"
#include "core/link/lock.h"
#include "core/link/members.h"

/* This many more copies of texts succeed; the next one fails. */
static _Thread_local uint32_t copies_left = UINT32_MAX;

/* In place of libc's. */
char *strdup(const char *text)
{
    if (copies_left == 0) {
        return NULL;
    }
    copies_left -= copies_left != UINT32_MAX;
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

static weir_err join(weir_node *node, struct weir_error *err)
{
    const struct weir_member members[] = {
        {.name = "n0", .address = weir_node_address(node), .workers = 1},
        {.name = "n1", .address = "tcp:127.0.0.1:9", .workers = 1},
    };
    return weir_node_join(node, members, 2, err);
}

/* A copy that failed was taken for a name, which the first message printed. */
Test(members, no_memory_for_a_name_is_an_error_and_join_may_be_tried_again)
{
    struct weir_node_params params = {
        .name = "n0", .transport = "tcp", .listen = "127.0.0.1:0"};
    struct weir_error err;
    weir_node *node = NULL;
    cr_assert_eq(weir_node_open(&params, &node, &err), WEIR_OK, "%s",
                 err.message);
    for (uint32_t n = 0; n < 4; n++) {
        copies_left = n;
        cr_expect_eq(join(node, &err), WEIR_ERR_NO_MEMORY, "copy %u", n);
        cr_expect_eq(weir_node_members(node), 0, "copy %u", n);
    }
    copies_left = UINT32_MAX;
    cr_assert_eq(join(node, &err), WEIR_OK, "%s", err.message);
    cr_expect_str_eq(wi_member_name(&node->engine, 1), "n1");
    weir_node_close(node);
}

/* ---- what a member may be ------------------------------------------------ */

static weir_node *open_alone(void)
{
    const struct weir_node_params params = {
        .name = "n0", .transport = "tcp", .listen = "127.0.0.1:0"};
    struct weir_error err;
    weir_node *node = NULL;
    weir_err rc = weir_node_open(&params, &node, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    return node;
}

static weir_err check(weir_node *node, const char *name, const char *address,
                      uint32_t workers, struct weir_error *err)
{
    const struct weir_member m = {name, address, workers};
    return wi_member_check(&node->engine, 1, &m, err);
}

static void expect_bad(weir_node *node, const char *name, const char *address,
                       uint32_t workers, const char *what)
{
    struct weir_error err = {0};
    weir_err rc = check(node, name, address, workers, &err);
    cr_expect_eq(rc, WEIR_ERR_ARG, "%s", what);
    cr_expect_not_null(strstr(err.message, "needs a name (< 64 bytes)"),
                       "%s: %s", what, err.message);
}

Test(members, each_field_is_checked_at_its_bound)
{
    static const char good[] = "tcp:127.0.0.1:9";
    char name[WI_NAME_BYTES + 1];
    char address[WI_ADDRESS_BYTES + 1];
    struct weir_error err = {0};
    weir_node *node = open_alone();
    memset(name, 'n', sizeof(name));
    name[WI_NAME_BYTES] = '\0';
    expect_bad(node, name, good, 1, "a name that is one byte too long");
    name[WI_NAME_BYTES - 1] = '\0';
    cr_expect_eq(check(node, name, good, 1, &err), WEIR_OK, "%s", err.message);
    name[1] = '\0';
    cr_expect_eq(check(node, name, good, 1, &err), WEIR_OK, "%s", err.message);
    expect_bad(node, "", good, 1, "no name");
    expect_bad(node, NULL, good, 1, "a name that is NULL");
    expect_bad(node, "n1", NULL, 1, "an address that is NULL");
    memset(address, 'a', sizeof(address));
    address[WI_ADDRESS_BYTES] = '\0';
    expect_bad(node, "n1", address, 1, "an address that is too long");
    /* This one is the transport's to refuse. */
    address[WI_ADDRESS_BYTES - 1] = '\0';
    cr_expect_eq(check(node, "n1", address, 1, &err), WEIR_ERR_ARG);
    cr_expect_null(strstr(err.message, "needs a name"), "%s", err.message);
    expect_bad(node, "n1", good, 0, "no worker");
    expect_bad(node, "n1", good, WI_WORKERS_MAX + 1, "one worker too many");
    cr_expect_eq(check(node, "n1", good, WI_WORKERS_MAX, &err), WEIR_OK, "%s",
                 err.message);
    weir_node_close(node);
}

/* ---- members that come, move and go -------------------------------------- */

static void expect_refused(weir_node *node, uint32_t idx,
                           const struct weir_member *m, weir_err code,
                           const char *what)
{
    struct weir_error err = {0};
    weir_err rc = weir_node_add_member(node, idx, m, &err);
    cr_expect_eq(rc, code, "%s: %s", what, weir_err_name(rc));
    cr_expect_not_null(strstr(err.message, what), "no \"%s\" in: %s", what,
                       err.message);
}

Test(members, who_comes_takes_no_name_and_no_number_of_another)
{
    const struct weir_member n1 = {"n1", "tcp:127.0.0.1:9", 1};
    const struct weir_member n2 = {"n2", "tcp:127.0.0.1:10", 1};
    const struct weir_member wider = {"n1", "tcp:127.0.0.1:9", 2};
    const struct weir_member moved = {"n1", "tcp:127.0.0.1:11", 1};
    const struct weir_member self = {"n0", "tcp:127.0.0.1:9", 1};
    struct weir_error err = {0};
    weir_node *node = open_alone();
    expect_refused(node, 2, &n2, WEIR_ERR_STATE, "has not joined");
    cr_assert_eq(join(node, &err), WEIR_OK, "%s", err.message);
    expect_refused(node, 8, &n2, WEIR_ERR_BUDGET, "max_members = 8");
    expect_refused(node, 2, &n1, WEIR_ERR_ARG, "member 1 is already called n1");
    expect_refused(node, 1, &n2, WEIR_ERR_ARG, "number 1 is that of n1");
    expect_refused(node, 1, &wider, WEIR_ERR_ARG, "has 1 workers, not 2");
    expect_refused(node, 0, &self, WEIR_ERR_ARG, "member 0, n0, is this node");
    cr_assert_eq(weir_node_members(node), 2);
    cr_assert_eq(weir_node_add_member(node, 1, &n1, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_node_add_member(node, 1, &moved, &err), WEIR_OK, "%s",
                 err.message);
    struct weir_member seen;
    cr_assert_eq(weir_node_member(node, 1, &seen), WEIR_OK);
    cr_assert_str_eq(seen.address, moved.address);
    cr_assert_eq(weir_node_add_member(node, 7, &n2, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(weir_node_members(node), 8, "one above the highest number");
    cr_assert_eq(weir_node_remove_member(node, 1, &err), WEIR_OK, "%s",
                 err.message);
    expect_refused(node, 1, &n1, WEIR_ERR_ARG, "number 1 was that of n1");
    expect_refused(node, 3, &n1, WEIR_ERR_ARG, "is gone, and was called n1");
    weir_node_close(node);
}

Test(members, no_memory_for_who_comes_or_moves)
{
    const struct weir_member n2 = {"n2", "tcp:127.0.0.1:10", 1};
    const struct weir_member moved = {"n1", "tcp:127.0.0.1:11", 1};
    struct weir_error err = {0};
    struct weir_member seen;
    weir_node *node = open_alone();
    cr_assert_eq(join(node, &err), WEIR_OK, "%s", err.message);
    copies_left = 0;
    expect_refused(node, 1, &moved, WEIR_ERR_NO_MEMORY, "no memory");
    for (uint32_t n = 0; n < 2; n++) {
        copies_left = n;
        expect_refused(node, 2, &n2, WEIR_ERR_NO_MEMORY, "no memory");
    }
    copies_left = UINT32_MAX;
    cr_assert_eq(weir_node_members(node), 2);
    cr_assert_eq(weir_node_member(node, 1, &seen), WEIR_OK);
    cr_assert_str_eq(seen.address, "tcp:127.0.0.1:9");
    cr_assert_eq(weir_node_add_member(node, 2, &n2, &err), WEIR_OK, "%s",
                 err.message);
    weir_node_close(node);
}

/* ---- in messages --------------------------------------------------------- */

Test(members, entries_of_a_list_say_everything)
{
    union wi_msg m;
    struct weir_error err = {0};
    weir_node *node = open_alone();
    cr_assert_eq(join(node, &err), WEIR_OK, "%s", err.message);
    memset(&m, 0xff, sizeof(m));
    wi_join_fill_entry(&node->engine, 1, &m);
    cr_expect_eq(m.head.type, WI_MSG_MEMBER);
    cr_expect_eq(m.member.magic, WI_WIRE_MAGIC);
    cr_expect_eq(m.member.version_min, WI_WIRE_VERSION_MIN);
    cr_expect_eq(m.member.version_max, WI_WIRE_VERSION_MAX);
    cr_expect_eq(m.member.idx, 1);
    cr_expect_eq(m.member.workers, 1);
    cr_expect_str_eq(m.member.name, "n1");
    cr_expect_str_eq(m.member.address, "tcp:127.0.0.1:9");
    wi_join_fill_entry(&node->engine, 2, &m);
    cr_expect_eq(m.member.idx, 2);
    cr_expect_eq(m.member.workers, 0, "nobody has the number");
    cr_expect_str_eq(m.member.name, "");
    wi_join_fill_self(&node->engine, &m.member);
    cr_expect_eq(m.member.version_min, WI_WIRE_VERSION_MIN);
    cr_expect_eq(m.member.version_max, WI_WIRE_VERSION_MAX);
    cr_expect_str_eq(m.member.name, "n0");
    cr_expect_str_eq(m.member.address, weir_node_address(node));
    weir_node_close(node);
}
