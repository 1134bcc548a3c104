/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/inet.h"

#include <string.h>

#include <criterion/criterion.h>

#include "core/base/cc.h"

Test(inet, addresses_come_back_as_they_were)
{
    static const char *const good[] = {"10.0.0.1:1",         "127.0.0.1:65535",
                                       "0.0.0.0:80",         "[::1]:4791",
                                       "[2001:db8::7]:4711", "[::]:1"};
    for (size_t i = 0; i < WI_ARRAY_LEN(good); i++) {
        union wi_inet addr;
        struct weir_error err = {0};
        char text[64];
        cr_assert_eq(wi_inet_decode(good[i], 0, &addr, &err), WEIR_OK, "%s",
                     err.message);
        wi_inet_encode(&addr, text, sizeof(text));
        cr_assert_str_eq(text, good[i]);
    }
}

/* Interface 1 is the loopback device of every network namespace. */
Test(inet, link_local_addresses_keep_their_interface)
{
    union wi_inet addr;
    struct weir_error err = {0};
    char text[64];
    cr_assert_eq(wi_inet_decode("[fe80::1%lo]:7", 0, &addr, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_eq(addr.v6.sin6_scope_id, 1);
    wi_inet_encode(&addr, text, sizeof(text));
    cr_assert_str_eq(text, "[fe80::1%lo]:7");
}

Test(inet, what_is_no_address_is_named)
{
    static const char *const bad[] = {
        "",
        ":",
        ":1",
        "tcp",
        "10.0.0.1",
        "10.0.0.1:",
        "10.0.0.1:0",
        "10.0.0.1:x",
        "10.0.0.1:1x",
        "10.0.0.1: 1",
        "10.0.0.1:+1",
        "10.0.0.1:-1",
        "10.0.0.1:65536",
        "10.0.0.1:123456",
        "10.0.0.1:0000080",
        "1.2.3:4",
        "1.2.3.4.5:6",
        "999.1.1.1:7",
        "::1:80",
        "[::1]",
        "[::1]:",
        "[::1:5",
        "[]:5",
        "[1.2.3.4]:5",
        "[zz::1]:7",
        "[host]:8",
        "[0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:0:1]:80",
    };
    static const unsigned ways[] = {0, WI_INET_NAMES};
    for (size_t i = 0; i < 2 * WI_ARRAY_LEN(bad); i++) {
        union wi_inet addr = {.any = {.sa_family = 77}};
        struct weir_error err = {0};
        const char *text = bad[i / 2];
        cr_assert_eq(wi_inet_decode(text, ways[i % 2], &addr, &err),
                     WEIR_ERR_ARG, "'%s'", text);
        cr_assert_not_null(strstr(err.message, text), "%s", err.message);
        cr_assert_not_null(strstr(err.message, ":PORT"), "%s", err.message);
        cr_assert_eq(addr.any.sa_family, 77, "output written on failure");
    }
}

Test(inet, names_are_found_where_they_are_allowed)
{
    union wi_inet addr;
    struct weir_error err = {0};
    cr_assert_eq(wi_inet_decode("localhost:80", WI_INET_NAMES, &addr, &err),
                 WEIR_OK, "%s", err.message);
    cr_assert_eq(ntohs(addr.v4.sin_port), 80); /* at one place in v4 and v6 */
    cr_assert_eq(wi_inet_decode("localhost:80", 0, &addr, &err), WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "numeric"), "%s", err.message);
    /* A label of 64 characters is too long for the resolver to ask for. */
    cr_assert_eq(wi_inet_decode("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1",
                                WI_INET_NAMES, &addr, &err),
                 WEIR_ERR_ARG);
}

Test(inet, port_0_is_for_listening_only)
{
    union wi_inet addr;
    cr_assert_eq(wi_inet_decode("0.0.0.0:0", WI_INET_LISTEN, &addr, NULL), 0);
    cr_assert(wi_inet_is_any(&addr));
    cr_assert_eq(wi_inet_decode("[::]:0", WI_INET_LISTEN, &addr, NULL), 0);
    cr_assert(wi_inet_is_any(&addr));
    cr_assert_eq(wi_inet_decode("10.0.0.1:0", WI_INET_LISTEN, &addr, NULL), 0);
    cr_assert_not(wi_inet_is_any(&addr));
    cr_assert_eq(wi_inet_decode("[::1]:0", WI_INET_LISTEN, &addr, NULL), 0);
    cr_assert_not(wi_inet_is_any(&addr));
    cr_assert_eq(wi_inet_decode("10.0.0.1:0", 0, &addr, NULL), WEIR_ERR_ARG);
}

Test(inet, the_port_stays_when_the_host_changes)
{
    static const char *const hosts[] = {"10.0.0.1:1", "[2001:db8::7]:1"};
    for (size_t i = 0; i < WI_ARRAY_LEN(hosts); i++) {
        union wi_inet addr;
        union wi_inet from;
        char text[64];
        cr_assert_eq(wi_inet_decode("[::]:4711", 0, &addr, NULL), WEIR_OK);
        cr_assert_eq(wi_inet_decode(hosts[i], 0, &from, NULL), WEIR_OK);
        wi_inet_set_host(&addr, &from);
        wi_inet_encode(&addr, text, sizeof(text));
        cr_assert_eq(strncmp(text, hosts[i], strlen(hosts[i]) - 1), 0);
        cr_assert_str_eq(strrchr(text, ':'), ":4711");
    }
}
