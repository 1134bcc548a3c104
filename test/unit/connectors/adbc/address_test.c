/* SPDX-License-Identifier: Apache-2.0 */
/* What a uri says. */
#include <criterion/criterion.h>
#include <string.h>

#include "connectors/adbc/address.h"

static void expect(const char *uri, const char *transport, const char *address,
                   const char *way, const char *dataset)
{
    struct wi_adbc_address a;
    struct AdbcError error = {0};
    cr_assert_eq(wi_adbc_address_init(&a, uri, transport, &error), 0, "%s",
                 error.message);
    cr_assert_str_eq(a.address, address);
    cr_assert_str_eq(a.transport, way);
    if (dataset == NULL) {
        cr_assert_null(a.dataset);
    } else {
        cr_assert_str_eq(a.dataset, dataset);
    }
    wi_adbc_address_fini(&a);
}

Test(adbc_address, says_where_the_server_is)
{
    expect("weir://db:4711", NULL, "auto:db:4711", "auto", NULL);
    expect("weir://db:4711/", NULL, "auto:db:4711", "auto", NULL);
    expect("weir://db:4711", "tcp", "tcp:db:4711", "tcp", NULL);
    expect("weir://[::1]:4711/a", "tcp", "tcp:[::1]:4711", "tcp", "a");
    expect("weir://NAME", "shm", "shm:NAME", "shm", NULL);
    expect("tcp:db:4711", NULL, "tcp:db:4711", "tcp", NULL);
    expect("tcp:db:4711", "auto", "tcp:db:4711", "auto", NULL);
    expect("auto:1-2;tcp=h:1", NULL, "auto:1-2;tcp=h:1", "auto", NULL);
}

Test(adbc_address, names_of_data_sets_may_have_any_bytes)
{
    expect("weir://h:1/a%20b%2Fc/d", NULL, "auto:h:1", "auto", "a b/c/d");
}

Test(adbc_address, other_texts_are_refused_with_what_is_expected)
{
    const char *const wrong[] = {"",
                                 "weir://",
                                 "weir:///a",
                                 "nothing",
                                 "tcp:",
                                 ":1",
                                 "grpc://h:1",
                                 "weir://me@h:1",
                                 "weir://h:1?a=b",
                                 "weir://h:1/%",
                                 "weir://h:1/%4",
                                 "weir://h:1/%00",
                                 "weir://h:1/%zz"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct wi_adbc_address a;
        struct AdbcError error = {0};
        cr_assert_eq(wi_adbc_address_init(&a, wrong[i], NULL, &error),
                     ADBC_STATUS_INVALID_ARGUMENT, "%s", wrong[i]);
        cr_assert_not_null(strstr(error.message, "weir://HOST:PORT"));
        error.release(&error);
        wi_adbc_address_fini(&a);
    }
}
