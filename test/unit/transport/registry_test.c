/* SPDX-License-Identifier: Apache-2.0 */
/* transport/registry.c: finding, naming, checking, stubs. */
#include <string.h>

#include <criterion/criterion.h>

#include "transport/registry.h"

static const struct wi_transport_ops *const all[] = {
    &wi_shm_ops,   &wi_tcp_ops, &wi_sim_ops, &wi_auto_ops,
#ifdef WEIR_HAVE_VERBS
    &wi_verbs_ops,
#endif
};

Test(registry, finds_by_name_and_by_address)
{
    cr_assert_eq(wi_transport_find("tcp"), &wi_tcp_ops);
    cr_assert_eq(wi_transport_find("shm"), &wi_shm_ops);
    cr_assert_eq(wi_transport_find("sim"), &wi_sim_ops);
    cr_assert_eq(wi_transport_find("tcp:127.0.0.1:80"), &wi_tcp_ops);
    cr_assert_eq(wi_transport_find("tcp:[::1]:80"), &wi_tcp_ops);
}

Test(registry, does_not_find_what_is_not_there)
{
    static const char *const bad[] = {"",    "tc",   "tcpx", "TCP", ":",
                                      ":80", "tcp,", " tcp", "verb"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_assert_null(wi_transport_find(bad[i]), "'%s'", bad[i]);
    }
}

Test(registry, names_are_those_that_are_found)
{
    char names[64];
    size_t n = 0;
    cr_assert_lt(strlen(wi_transport_names()), sizeof(names));
    strcpy(names, wi_transport_names());
    for (char *s = strtok(names, ", "); s; s = strtok(NULL, ", ")) {
        const struct wi_transport_ops *ops = wi_transport_find(s);
        cr_assert_not_null(ops, "%s", s);
        cr_assert_str_eq(ops->name, s);
        n++;
    }
    cr_assert_eq(n, sizeof(all) / sizeof(all[0]));
}

Test(registry, every_table_passes_the_check)
{
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct weir_error err = {0};
        cr_assert_eq(wi_transport_check(all[i], &err), WEIR_OK, "%s",
                     err.message);
    }
}

static void refuse(const struct wi_transport_ops *ops, const char *word)
{
    struct weir_error err = {0};
    cr_assert_eq(wi_transport_check(ops, &err), WEIR_ERR_ARG, "wants %s", word);
    cr_assert_eq(err.code, WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, word), "%s", err.message);
}

Test(registry, check_names_an_empty_slot){
#define EMPTY(slot)                                                            \
    {                                                                          \
        struct wi_transport_ops ops = wi_tcp_ops;                              \
        ops.slot = NULL;                                                       \
        refuse(&ops, "'" #slot "'");                                           \
    }
    EMPTY(open) EMPTY(close) EMPTY(address) EMPTY(mem_open) EMPTY(mem_reserve)
        EMPTY(mem_take) EMPTY(mem_close) EMPTY(grant) EMPTY(map) EMPTY(unmap)
            EMPTY(check) EMPTY(connect) EMPTY(connect_next) EMPTY(why)
                EMPTY(disconnect) EMPTY(send) EMPTY(write) EMPTY(read)
                    EMPTY(kick) EMPTY(poll) EMPTY(arm) EMPTY(fd)
#undef EMPTY
}

Test(registry, check_compares_bits_with_slots)
{
    struct wi_transport_ops ops = wi_tcp_ops;
    ops.caps &= ~(uint32_t)WI_CAP_READ;
    refuse(&ops, "'read'");
    ops = wi_tcp_ops;
    ops.write = wi_no_rma;
    refuse(&ops, "'write'");
    ops = wi_tcp_ops;
    ops.caps |= WI_CAP_MAP;
    refuse(&ops, "'map'");
    ops = wi_tcp_ops;
    ops.mem_take = wi_all_taken;
    refuse(&ops, "'mem_take'");
    ops = wi_tcp_ops;
    ops.fd = wi_no_fd;
    refuse(&ops, "'fd'");
}

Test(registry, check_wants_a_name_a_way_and_room)
{
    struct wi_transport_ops ops = wi_tcp_ops;
    ops.name = "a:b";
    refuse(&ops, "name");
    ops.name = "";
    refuse(&ops, "name");
    ops.name = NULL;
    refuse(&ops, "name");
    ops = wi_tcp_ops;
    ops.caps = WI_CAP_FD | WI_CAP_LAZY;
    ops.read = ops.write = wi_no_rma;
    refuse(&ops, "neither");
    ops = wi_tcp_ops;
    ops.max_message_bytes = WI_MIN_MESSAGE_BYTES - 1;
    refuse(&ops, "max_message_bytes");
    ops = wi_tcp_ops;
    ops.usual_frame_bytes = 0;
    refuse(&ops, "usual_frame_bytes");
    ops.usual_frame_bytes = 2000;
    refuse(&ops, "usual_frame_bytes");
    ops = wi_tcp_ops;
    ops.write_bytes = 65500;
    refuse(&ops, "write_bytes");
}

Test(registry, stubs_refuse)
{
    struct wi_transport t = {.ops = &wi_tcp_ops};
    struct wi_ep ep = {.transport = &t};
    struct weir_error err = {0};
    void *base = &t;
    cr_assert_eq(wi_no_map(&ep, 1, 4096, WI_ACCESS_READ, &base, &err),
                 WEIR_ERR_UNSUPPORTED);
    cr_assert_not_null(strstr(err.message, "tcp"), "%s", err.message);
    cr_assert_eq(base, &t, "output written on failure");
    cr_assert_eq(wi_no_rma(&ep, NULL), WEIR_ERR_UNSUPPORTED);
    cr_assert_eq(wi_no_fd(&t), -1);
    char text[WI_REASON_BYTES];
    struct wi_ep *none = NULL;
    cr_assert_eq(wi_no_next(&t, "tcp:x:1", &ep, &none, &err), WEIR_DONE);
    cr_assert_null(none);
    wi_plain_why(&t, "tcp:x:1", &ep, text);
    cr_assert_eq(strncmp(text, "tcp: ", 5), 0, "%s", text);
    wi_no_unmap(&t, NULL, 0);
}
