/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and faults as bytes, there and back; and bytes that are none. */
#include <criterion/criterion.h>

#include "services/scan/fault_bytes.h"
#include "services/scan/request_bytes.h"
#include "services/scan/schema_bytes.h"

TestSuite(scan_request, .timeout = 60);

static const struct weir_scan_option options[] = {{"depth", "3"},
                                                  {"table_type", ""}};

static const struct weir_scan_request full = {
    .kind = WEIR_SCAN_OBJECTS,
    .n_options = 2,
    .options = options,
    .dataset = "north",
    .text = "SELECT 'caf\xc3\xa9'",
};

static struct wi_scan_buf bytes_of(const struct weir_scan_request *r)
{
    struct wi_scan_buf b = {0};
    struct weir_error err;
    cr_assert_eq(wi_scan_request_encode(r, &b, &err), WEIR_OK, "%s",
                 err.message);
    return b;
}

Test(scan_request, comes_back)
{
    struct wi_scan_buf b = bytes_of(&full);
    struct weir_scan_request *r;
    struct weir_error err;
    cr_assert_eq(wi_scan_request_decode(b.bytes, b.len, &r, &err), WEIR_OK,
                 "%s", err.message);
    free(b.bytes);
    cr_assert_eq(r->kind, WEIR_SCAN_OBJECTS);
    cr_assert_eq(r->n_options, 2);
    cr_assert_str_eq(r->options[0].key, "depth");
    cr_assert_str_eq(r->options[0].value, "3");
    cr_assert_str_eq(r->options[1].key, "table_type");
    cr_assert_str_eq(r->options[1].value, "");
    cr_assert_str_eq(r->dataset, full.dataset);
    cr_assert_str_eq(r->text, full.text);
    cr_assert_null(r->bind);
    free(r);
}

Test(scan_request, nothing_set_comes_back_as_empty_texts)
{
    struct wi_scan_buf b = bytes_of(&(struct weir_scan_request){0});
    struct weir_scan_request *r;
    cr_assert_eq(wi_scan_request_decode(b.bytes, b.len, &r, NULL), WEIR_OK);
    free(b.bytes);
    cr_assert_eq(r->kind, WEIR_SCAN_QUERY);
    cr_assert_eq(r->n_options, 0);
    cr_assert_str_eq(r->dataset, "");
    cr_assert_str_eq(r->text, "");
    free(r);
}

static weir_err decode(const void *bytes, size_t n)
{
    struct weir_scan_request *r;
    void *exact = malloc(n + 1); /* sanitizers see reads beyond the end */
    memcpy(exact, bytes, n);
    weir_err code = wi_scan_request_decode(exact, n, &r, NULL);
    if (code == WEIR_OK) {
        free(r);
    }
    free(exact);
    return code;
}

Test(scan_request, bytes_cut_or_added_are_an_error)
{
    struct wi_scan_buf b = bytes_of(&full);
    for (size_t n = 0; n < b.len; n++) {
        cr_assert_eq(decode(b.bytes, n), WEIR_ERR_DATA, "%zu", n);
    }
    wi_scan_buf_put(&b, "\0\0\0\0", 4);
    cr_assert_eq(decode(b.bytes, b.len), WEIR_ERR_DATA);
    free(b.bytes);
}

/* Magic, kind, number of options, length of the first text. */
Test(scan_request, each_number_is_checked)
{
    for (size_t word = 0; word < 4; word++) {
        struct wi_scan_buf b = bytes_of(&full);
        memset(b.bytes + word * 4, 0xff, 4);
        cr_assert_eq(decode(b.bytes, b.len), WEIR_ERR_DATA, "%zu", word);
        free(b.bytes);
    }
}

Test(scan_request, texts_with_a_zero_are_an_error)
{
    struct wi_scan_buf b = bytes_of(&full);
    char *at = memmem(b.bytes, b.len, "SELECT", 6);
    cr_assert_not_null(at);
    at[2] = '\0';
    cr_assert_eq(decode(b.bytes, b.len), WEIR_ERR_DATA);
    free(b.bytes);
}

static void refuse(const struct weir_scan_request *r, const char *named)
{
    struct wi_scan_buf b = {0};
    struct weir_error err;
    cr_assert_eq(wi_scan_request_encode(r, &b, &err), WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, named), "%s", err.message);
    free(b.bytes);
}

Test(scan_request, what_a_program_gets_wrong_is_named)
{
    static const struct weir_scan_option no_value = {"depth", NULL};
    refuse(&(struct weir_scan_request){.kind = (weir_scan_kind)11}, "kind");
    refuse(&(struct weir_scan_request){.kind = (weir_scan_kind)-1}, "kind");
    refuse(&(struct weir_scan_request){.n_options = 1}, "options");
    refuse(&(struct weir_scan_request){.n_options = 1025, .options = options},
           "n_options");
    refuse(&(struct weir_scan_request){.n_options = 1, .options = &no_value},
           "options[0]");
    refuse(&(struct weir_scan_request){.reserved[3] = 1}, "reserved[3]");
}

/* ---- faults -------------------------------------------------------------- */

Test(scan_request, faults_come_back_whole)
{
    char text[5000];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    struct weir_scan_fault out;
    struct weir_scan_fault in = {text, -7, "42601", {0}};
    struct wi_scan_buf b = {0};
    wi_scan_fault_encode(&in, "not this", &b);
    cr_assert_eq(wi_scan_fault_decode(b.bytes, b.len, &out, NULL), WEIR_OK);
    cr_assert_str_eq(out.text, text);
    cr_assert_str_eq(out.sqlstate, "42601");
    cr_assert_eq(out.vendor, -7);
    free(out.text);
    for (size_t n = 0; n < b.len; n += n < 64 ? 1 : 97) {
        cr_assert_eq(wi_scan_fault_decode(b.bytes, n, &out, NULL),
                     WEIR_ERR_DATA);
    }
    free(b.bytes);
}

Test(scan_request, a_fault_without_a_text_has_the_message)
{
    struct weir_scan_fault in = {0}, out;
    struct wi_scan_buf b = {0};
    wi_scan_fault_encode(&in, "no such table", &b);
    cr_assert_eq(wi_scan_fault_decode(b.bytes, b.len, &out, NULL), WEIR_OK);
    cr_assert_str_eq(out.text, "no such table");
    cr_assert_str_eq(out.sqlstate, "");
    free(out.text);
    b.bytes[4] = 'a'; /* a state without an end */
    memset(b.bytes + 5, 'a', 5);
    cr_assert_eq(wi_scan_fault_decode(b.bytes, b.len, &out, NULL),
                 WEIR_ERR_DATA);
    free(b.bytes);
}
