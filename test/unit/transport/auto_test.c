/* SPDX-License-Identifier: Apache-2.0 */
/* transport/auto: addresses, what listen may be, which way is taken and why. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "transport/auto/auto.h"

static const struct wi_transport_ops *const ops = &wi_auto_ops;

static struct wi_transport *open_at(const char *listen)
{
    struct wi_transport *t = NULL;
    struct weir_error err = {0};
    struct wi_transport_params p = {
        .name = "a node; =x", .listen = listen, .max_links = 4};
    cr_assert_eq(ops->open(&p, &t, &err), WEIR_OK, "%s", err.message);
    return t;
}

/* ---- addresses ----------------------------------------------------------- */

Test(auto_address, holds_those_of_all_parts)
{
    struct wi_transport *t = open_at(NULL);
    struct auto_peer peer;
    char host[AUTO_HOST_BYTES];
    char text[WI_ADDRESS_BYTES];
    ops->address(t, text);
    wi_auto_host(host);
    cr_assert_eq(wi_auto_address_get(text, &peer, NULL), WEIR_OK, "%s", text);
    cr_assert_str_eq(peer.host, host);
    cr_assert_not_null(peer.parts[wi_auto_part("shm", 3)], "%s", text);
    cr_assert_not_null(peer.parts[wi_auto_part("tcp", 3)], "%s", text);
    cr_assert_null(strpbrk(text, " \t"), "%s", text);
    cr_assert_not(peer.plain);
    ops->close(t);
}

Test(auto_address, longest_part_fits_or_is_refused)
{
    char listen[WI_ADDRESS_BYTES] = "shm=";
    struct wi_transport_params p = {.name = "n", .listen = listen};
    struct wi_transport *t = NULL;
    struct weir_error err = {0};
    memset(listen + 4, 'n', 102);
    t = open_at(listen);
    ops->close(t);
    t = NULL;
    memset(listen + 4, 'n', 240);
    cr_assert_eq(ops->open(&p, &t, &err), WEIR_ERR_ARG);
    cr_assert_neq(err.message[0], 0);
    cr_assert_null(t);
}

Test(auto_address, other_forms)
{
    struct auto_peer peer;
    const uint32_t tcp = wi_auto_part("tcp", 3);
    cr_assert_eq(wi_auto_address_get("auto:h:1", &peer, NULL), WEIR_OK);
    cr_assert_str_eq(peer.parts[tcp], "h:1");
    cr_assert_null(peer.host);
    cr_assert_eq(wi_auto_address_get("tcp:[::1]:2", &peer, NULL), WEIR_OK);
    cr_assert_str_eq(peer.parts[tcp], "[::1]:2");
    cr_assert(peer.plain);
    /* Parts of a later version are passed over. */
    cr_assert_eq(wi_auto_address_get("auto:0123456789abcdef-f0;ucx=1;tcp=h:3",
                                     &peer, NULL),
                 WEIR_OK);
    cr_assert_str_eq(peer.parts[tcp], "h:3");
    cr_assert_str_eq(peer.host, "0123456789abcdef-f0");
}

Test(auto_address, what_is_none_is_refused)
{
    static const char *const bad[] = {
        "",
        "auto",
        "auto:",
        "sim:1",
        "autox:h:1",
        "auto:h:1;tcp=h:1",
        "auto:0123456789abcdef-f0;",
        "auto:0123456789abcdef-f0;tcp",
        "auto:0123456789abcdef-f0;tcp=",
        "auto:0123456789abcdef-f0;=h:1",
        "auto:0123456789abcdef-f0;tcp=h:1;",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct auto_peer peer;
        struct weir_error err = {0};
        cr_assert_eq(wi_auto_address_get(bad[i], &peer, &err), WEIR_ERR_ARG,
                     "'%s'", bad[i]);
        cr_assert_eq(err.code, WEIR_ERR_ARG);
    }
    char longest[WI_ADDRESS_BYTES + 1];
    memset(longest, 'x', sizeof(longest));
    memcpy(longest, "auto:", 5);
    longest[WI_ADDRESS_BYTES] = '\0';
    struct auto_peer peer;
    cr_assert_eq(wi_auto_address_get(longest, &peer, NULL), WEIR_ERR_ARG);
}

/* ---- listen -------------------------------------------------------------- */

Test(auto_listen, a_list_opens_these_and_no_others)
{
    struct wi_transport *t = open_at("tcp=127.0.0.1:0");
    char text[WI_ADDRESS_BYTES];
    char why[WI_REASON_BYTES];
    ops->address(t, text);
    cr_assert_null(strstr(text, ";shm="), "%s", text);
    cr_assert_not_null(strstr(text, ";tcp=127.0.0.1:"), "%s", text);
    ops->why(t, NULL, NULL, why);
    cr_assert_eq(strncmp(why, "auto: tcp;", 10), 0, "%s", why);
    cr_assert_not_null(strstr(why, "no shm: left out by listen"), "%s", why);
    ops->close(t);
    t = open_at("shm");
    ops->address(t, text);
    cr_assert_null(strstr(text, ";tcp="), "%s", text);
    ops->close(t);
}

Test(auto_listen, what_cannot_be_had_is_an_error)
{
    static const char *const bad[] = {"tcp=nonsense", "nonsense", "shm;ucx",
                                      "tcp=256.0.0.1:1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wi_transport_params p = {.name = "n", .listen = bad[i]};
        struct wi_transport *t = NULL;
        struct weir_error err = {0};
        cr_assert_lt(ops->open(&p, &t, &err), 0, "%s", bad[i]);
        cr_assert_neq(err.message[0], 0);
        cr_assert_null(t);
    }
}

/* ---- ways ---------------------------------------------------------------- */

static void expect_why(struct wi_transport *t, const char *address,
                       const char *text)
{
    char why[WI_REASON_BYTES];
    ops->why(t, address, NULL, why);
    cr_assert_not_null(strstr(why, text), "%s: \"%s\", not \"%s\"", address,
                       why, text);
}

Test(auto_way, depends_on_both_addresses)
{
    struct wi_transport *t = open_at(NULL);
    char host[AUTO_HOST_BYTES];
    char address[WI_ADDRESS_BYTES];
    wi_auto_host(host);
    (void)snprintf(address, sizeof(address), "auto:%s;shm=x;tcp=10.0.0.1:1",
                   host);
    expect_why(t, address, "shm: same host");
    (void)snprintf(address, sizeof(address), "auto:%s1;shm=x;tcp=10.0.0.1:1",
                   host);
    expect_why(t, address, "tcp: no shm (same host, other network namespace)");
    address[5] = address[5] == '0' ? '1' : '0';
    expect_why(t, address, "tcp: no shm (another host)");
    (void)snprintf(address, sizeof(address), "auto:%s;tcp=127.0.0.1:1", host);
    expect_why(t, address, "tcp: no shm (not offered by the peer)");
    expect_why(t, "auto:10.0.0.1:1", "tcp: ");
    expect_why(t, "shm:x", "shm: the address names it");
    ops->close(t);
}

Test(auto_way, loopback_of_another_host_is_none)
{
    struct wi_transport *t = open_at(NULL);
    const char *address = "auto:0000000000000000-1;shm=x;tcp=127.0.0.1:5";
    struct wi_ep *ep = NULL;
    struct weir_error err = {0};
    cr_assert_eq(ops->connect(t, address, &ep, &err), WEIR_ERR_UNSUPPORTED);
    cr_assert_null(ep);
    cr_assert_not_null(strstr(err.message, "another host"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "listen = HOST:PORT"), "%s",
                       err.message);
    ops->close(t);
}

static void hear(void *arg, int level, const char *line)
{
    char *heard = arg;
    cr_assert_eq(level, WI_LOG_WARN);
    cr_assert_str_empty(heard, "one line is enough");
    (void)snprintf(heard, 200, "%s", line);
}

Test(auto_way, one_that_cannot_be_begun_is_told_to_the_log_of_the_node)
{
    char heard[200] = "";
    struct wi_log log = {
        .fn = hear, .arg = heard, .level = WI_LOG_WARN, .name = "n"};
    struct wi_transport_params p = {.name = "n", .max_links = 4, .log = &log};
    struct wi_transport *t = NULL;
    struct wi_ep *ep = NULL;
    char address[WI_ADDRESS_BYTES];
    char host[AUTO_HOST_BYTES];
    wi_auto_host(host);
    cr_assert_eq(ops->open(&p, &t, NULL), WEIR_OK);
    (void)snprintf(address, sizeof(address),
                   "auto:%s;shm=no name;tcp=127.0.0.1:1", host);
    cr_assert_eq(ops->connect(t, address, &ep, NULL), WEIR_OK);
    cr_assert_str_eq(ep->transport->ops->name, "tcp");
    cr_assert_eq(strncmp(heard, "n: shm:no name: ", 16), 0, "%s", heard);
    ops->disconnect(ep);
    ops->close(t);
}

Test(auto_way, next_goes_down_the_list_and_ends)
{
    struct wi_transport *t = open_at(NULL);
    char host[AUTO_HOST_BYTES];
    char address[WI_ADDRESS_BYTES];
    struct wi_ep *first = NULL;
    struct wi_ep *second = NULL;
    struct wi_ep *none = NULL;
    wi_auto_host(host);
    (void)snprintf(address, sizeof(address),
                   "auto:%s;shm=nobody-here;tcp=127.0.0.1:1", host);
    cr_assert_eq(ops->connect(t, address, &first, NULL), WEIR_OK);
    cr_assert_str_eq(first->transport->ops->name, "shm");
    cr_assert_eq(ops->connect_next(t, address, first, &second, NULL), WEIR_OK);
    cr_assert_str_eq(second->transport->ops->name, "tcp");
    cr_assert_eq(ops->connect_next(t, address, second, &none, NULL), WEIR_DONE);
    cr_assert_null(none);
    char why[WI_REASON_BYTES];
    ops->why(t, address, second, why);
    cr_assert_not_null(strstr(why, "tcp: not taken was shm (same host)"), "%s",
                       why);
    ops->disconnect(first);
    ops->disconnect(second);
    ops->close(t);
}
