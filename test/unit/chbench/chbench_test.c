/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the CH-benCHmark: cardinalities and distributions of TPC-C, and the
 * same rows however they are asked for. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chbench/chbench.h"
#include "test/unit/operators/table_fixture.h"
#include "tools/gen.h"

enum { CUSTOMERS = 30000, NEW_ORDERS = 9000, SEED = 7 };

static weir_table *open_table(const char *name, uint32_t warehouses,
                              uint64_t seed)
{
    struct weir_error err = {0};
    weir_table *table = NULL;
    weir_err rc = ch_open(name, warehouses, seed, &table, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    return table;
}

/* All rows of some columns, one warehouse. */
static void scan(const char *name, const char *columns, struct wt_op_rows *out)
{
    weir_table *table = open_table(name, 1, SEED);
    wt_scan(table, columns, 1, out);
    weir_table_close(table);
}

Test(chbench, parts_and_choices_of_columns_give_the_same_rows)
{
    static const struct {
        const char *name;
        const char *columns;
    } cases[] = {
        {"customer", "c_state:utf8 c_id:int32 c_w_id:int32 c_last:utf8"},
        {"orders", "o_c_id:int32 o_w_id:int32 o_entry_d:timestamp(us) "
                   "o_carrier_id:int32?"},
        {"new_order", "no_o_id:int32 no_d_id:int32 no_w_id:int32"},
        {"order_line", "ol_amount:decimal(12,2) ol_number:int32 ol_o_id:int32 "
                       "ol_delivery_d:timestamp(us)? ol_dist_info:utf8"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weir_table *table = open_table(cases[i].name, 2, SEED);
        struct wt_op_rows whole;
        struct wt_op_rows got;
        wt_scan(table, cases[i].columns, 1, &whole);
        for (uint32_t parts = 3; parts <= 17; parts += 7) {
            wt_scan(table, cases[i].columns, parts, &got);
            wt_op_rows_expect(&got, &whole, true);
            wt_op_rows_fini(&got);
        }
        /* The first column alone is what it is among others. */
        char first[256];
        (void)strcpy(first, cases[i].columns);
        *strchr(first, ' ') = '\0';
        wt_scan(table, first, 1, &got);
        cr_assert_eq(got.n, whole.n);
        for (uint32_t r = 0; r < got.n; r += 97) {
            const struct wt_value *a = wt_op_rows_at(&got, r);
            const struct wt_value *b = wt_op_rows_at(&whole, r);
            cr_assert(a->i == b->i);
            cr_assert(a->s == NULL || strcmp(a->s, b->s) == 0);
        }
        wt_op_rows_fini(&got);
        wt_op_rows_fini(&whole);
        weir_table_close(table);
    }
}

Test(chbench, another_seed_gives_other_rows)
{
    weir_table *one = open_table("order_line", 1, 1);
    weir_table *two = open_table("order_line", 1, 2);
    struct wt_op_rows a;
    struct wt_op_rows b;
    uint32_t same = 0;
    wt_scan(one, "ol_amount:decimal(12,2)", 1, &a);
    wt_scan(two, "ol_amount:decimal(12,2)", 1, &b);
    for (uint32_t i = 0; i < 100000; i++) {
        same += wt_op_rows_at(&a, i)->i == wt_op_rows_at(&b, i)->i;
    }
    cr_expect_lt(same, 10);
    wt_op_rows_fini(&a);
    wt_op_rows_fini(&b);
    weir_table_close(one);
    weir_table_close(two);
}

/* Clause 4.3.3.1. */
Test(chbench, customers_are_three_thousand_a_district)
{
    struct wt_op_rows r;
    uint32_t bad = 0;
    uint32_t states[26] = {0};
    uint32_t names = 0;
    scan("customer",
         "c_id:int32 c_d_id:int32 c_w_id:int32 c_credit:utf8 c_state:utf8 "
         "c_last:utf8 c_zip:utf8 c_phone:utf8 c_data:utf8 "
         "c_discount:decimal(4,4) c_middle:utf8 c_balance:decimal(12,2)",
         &r);
    cr_assert_eq(r.n, CUSTOMERS);
    for (uint32_t i = 0; i < r.n; i++) {
        const struct wt_value *v = wt_op_rows_at(&r, i);
        cr_assert(v[0].i == i % 3000 + 1 && v[1].i == i / 3000 + 1 &&
                  v[2].i == 1);
        bad += strcmp(v[3].s, "BC") == 0;
        cr_assert(strcmp(v[3].s, "BC") == 0 || strcmp(v[3].s, "GC") == 0);
        cr_assert(strlen(v[4].s) == 2 && v[4].s[0] >= 'A' && v[4].s[0] <= 'Z');
        states[v[4].s[0] - 'A']++;
        names += strcmp(v[5].s, "BARBARBAR") == 0;
        cr_assert(strlen(v[6].s) == 9 && strcmp(v[6].s + 4, "11111") == 0);
        cr_assert_eq(strspn(v[7].s, "0123456789"), 16);
        cr_assert(strlen(v[8].s) >= 300 && strlen(v[8].s) <= 500);
        cr_assert(v[9].i >= 0 && v[9].i <= 5000);
        cr_assert_str_eq(v[10].s, "OE");
        cr_assert(v[11].i == -1000);
    }
    /* 10 %; 1 in 26; the expected number and six deviations. */
    cr_expect(bad > 2690 && bad < 3310, "%u", bad);
    for (int i = 0; i < 26; i++) {
        cr_expect(states[i] > 950 && states[i] < 1360, "%u", states[i]);
    }
    cr_expect_geq(names, 10); /* number 0: once in each district at least */
    cr_assert_str_eq(wt_op_rows_at(&r, 371)[5].s, "PRICALLYOUGHT");
    wt_op_rows_fini(&r);
}

/* Clause 2.1.6: of NURand's numbers, those with many bits set are likelier: the
 * likeliest name is some ten times as frequent as names are on average. */
Test(chbench, last_names_are_not_uniform)
{
    struct wt_op_rows r;
    static uint32_t count[1000];
    static const char *const parts[] = {"BAR",   "OUGHT", "ABLE", "PRI",
                                        "PRES",  "ESE",   "ANTI", "CALLY",
                                        "ATION", "EING"};
    uint32_t most = 0;
    uint32_t none = 0;
    scan("customer", "c_last:utf8 c_id:int32", &r);
    for (uint32_t i = 0; i < r.n; i++) {
        const char *at = wt_op_rows_at(&r, i)[0].s;
        uint32_t number = 0;
        for (int digit = 0; digit < 3; digit++) {
            uint32_t p = 0;
            while (strncmp(at, parts[p], strlen(parts[p])) != 0) {
                p++;
                cr_assert_lt(p, 10);
            }
            at += strlen(parts[p]);
            number = number * 10 + p;
        }
        cr_assert_str_eq(at, "");
        if (i % 3000 < 1000) {
            cr_assert_eq(number, i % 3000);
        } else {
            count[number]++;
        }
    }
    for (int i = 0; i < 1000; i++) {
        most = count[i] > most ? count[i] : most;
        none += count[i] < 5;
    }
    cr_expect_gt(most, 100); /* 20 on average */
    cr_expect_gt(none, 100);
    wt_op_rows_fini(&r);
}

Test(chbench, each_customer_of_a_district_has_one_order)
{
    struct wt_op_rows r;
    uint32_t in_place = 0;
    scan("orders",
         "o_id:int32 o_d_id:int32 o_w_id:int32 o_c_id:int32 "
         "o_carrier_id:int32? o_ol_cnt:int32 o_all_local:int32",
         &r);
    cr_assert_eq(r.n, CUSTOMERS);
    for (uint32_t d = 0; d < 10; d++) {
        bool seen[3001] = {false};
        for (uint32_t i = d * 3000; i < (d + 1) * 3000; i++) {
            const struct wt_value *v = wt_op_rows_at(&r, i);
            cr_assert(v[0].i == i % 3000 + 1 && v[1].i == d + 1 && v[2].i == 1);
            cr_assert(v[3].i >= 1 && v[3].i <= 3000);
            cr_assert_not(seen[(size_t)v[3].i]);
            seen[(size_t)v[3].i] = true;
            in_place += v[3].i == v[0].i;
            cr_assert_eq(v[4].null, v[0].i > 2100);
            cr_assert(v[4].null || (v[4].i >= 1 && v[4].i <= 10));
            cr_assert(v[5].i >= 5 && v[5].i <= 15 && v[6].i == 1);
        }
    }
    cr_expect_lt(in_place, 40); /* one a district is expected */
    wt_op_rows_fini(&r);
}

Test(chbench, the_last_orders_of_a_district_are_new)
{
    struct wt_op_rows r;
    scan("new_order", "no_o_id:int32 no_d_id:int32 no_w_id:int32", &r);
    cr_assert_eq(r.n, NEW_ORDERS);
    for (uint32_t i = 0; i < r.n; i++) {
        const struct wt_value *v = wt_op_rows_at(&r, i);
        cr_assert(v[0].i == 2101 + i % 900 && v[1].i == i / 900 + 1 &&
                  v[2].i == 1);
    }
    wt_op_rows_fini(&r);
}

/* Lines belong to their orders, and what the two queries ask for is there. */
Test(chbench, lines_follow_their_orders_and_filters_select_a_part)
{
    const int64_t day = INT64_C(1372636800000000); /* 2013-07-01 */
    struct wt_op_rows orders;
    struct wt_op_rows r;
    uint32_t line = 0;
    uint32_t late_orders = 0;
    uint32_t late_lines = 0;
    uint32_t rich = 0;
    scan("orders", "o_id:int32 o_entry_d:timestamp(us) o_ol_cnt:int32",
         &orders);
    scan("order_line",
         "ol_o_id:int32 ol_d_id:int32 ol_number:int32 "
         "ol_delivery_d:timestamp(us)? ol_quantity:int32 "
         "ol_amount:decimal(12,2) ol_i_id:int32 ol_dist_info:utf8",
         &r);
    for (uint32_t o = 0; o < orders.n; o++) {
        const struct wt_value *order = wt_op_rows_at(&orders, o);
        const bool new = order[0].i > 2100;
        wi_i128 sum = 0;
        late_orders += new &&order[1].i > day;
        for (int i = 0; i < order[2].i; i++) {
            const struct wt_value *v = wt_op_rows_at(&r, line++);
            cr_assert(v[0].i == order[0].i && v[1].i == o / 3000 + 1 &&
                      v[2].i == i + 1);
            cr_assert_eq(v[3].null, new);
            cr_assert(new || v[3].i == order[1].i);
            late_lines += !new &&v[3].i > day;
            cr_assert(v[4].i >= 1 && v[4].i <= 10);
            cr_assert(v[5].i >= 1 && v[5].i <= 999999);
            cr_assert(v[6].i >= 1 && v[6].i <= 100000);
            cr_assert_eq(strlen(v[7].s), 24);
            sum += v[5].i;
        }
        rich += new &&sum > 8000000;
    }
    cr_assert_eq(line, r.n);
    cr_expect(r.n > 290000 && r.n < 310000, "%u lines", r.n);
    cr_expect(late_orders > 4000 && late_orders < 5000, "%u", late_orders);
    cr_expect(late_lines > 95000 && late_lines < 115000, "%u", late_lines);
    cr_expect(rich > 300 && rich < 3000, "%u orders over 80000", rich);
    wt_op_rows_fini(&r);
    wt_op_rows_fini(&orders);
}

/* What weir gen writes, opened as CSV with the table's own types. */
static weir_table *open_file(const weir_table *table, char path[32])
{
    struct wl_counter counters[2] = {{0}};
    struct gen_file file = {.name = path, .table = table, .n_parts = 7};
    const struct gen_params gen = {
        .files = &file, .n_files = 1, .jobs = 2, .counters = counters};
    struct weir_error err = {0};
    struct ArrowSchema schema;
    struct weir_field fields[WT_TABLE_COLUMNS];
    weir_table *csv = NULL;
    (void)strcpy(path, "/tmp/chbench-XXXXXX");
    file.fd = mkstemp(path);
    cr_assert_geq(file.fd, 0);
    cr_assert_eq(gen_run(&gen, &err), WEIR_OK, "%s", err.message);
    (void)close(file.fd);
    cr_assert_eq(weir_table_schema(table, &schema, &err), WEIR_OK);
    for (int64_t i = 0; i < schema.n_children; i++) {
        const struct ArrowSchema *c = schema.children[i];
        fields[i] = (struct weir_field){c->name, c->format,
                                        (c->flags & ARROW_FLAG_NULLABLE) != 0};
    }
    const struct weir_csv_params p = {
        .path = path, .fields = fields, .n_fields = table->columns.n};
    weir_err rc = weir_table_csv_open(&p, &csv, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
    schema.release(&schema);
    return csv;
}

/* "name:type ..." of all columns. */
static void list_columns(const weir_table *table, char *to)
{
    for (uint32_t i = 0; i < table->columns.n; i++) {
        char type[WI_TYPE_TEXT_BYTES];
        const struct wi_named_type *c = &table->columns.at[i];
        to += sprintf(to, "%s%s:%s", i == 0 ? "" : " ", c->name,
                      wi_type_text(&c->type, type));
    }
}

Test(chbench, scans_give_the_rows_of_the_files_that_weir_gen_writes)
{
    static const char *const names[] = {"customer", "orders", "new_order",
                                        "order_line"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[32];
        char columns[2048];
        struct wt_op_rows computed;
        struct wt_op_rows read;
        weir_table *table = open_table(names[i], 1, SEED);
        weir_table *csv = open_file(table, path);
        list_columns(table, columns);
        wt_scan(table, columns, 1, &computed);
        wt_scan(csv, columns, 3, &read);
        wt_op_rows_expect(&read, &computed, true);
        wt_op_rows_fini(&read);
        wt_op_rows_fini(&computed);
        weir_table_close(csv);
        weir_table_close(table);
        (void)unlink(path);
    }
}

Test(chbench, wrong_names_and_sizes_are_refused)
{
    struct weir_error err = {0};
    weir_table *table = NULL;
    cr_expect_eq(ch_open("stock", 1, 1, &table, &err), WEIR_ERR_NOT_FOUND);
    cr_expect(strstr(err.message, "order_line") != NULL, "%s", err.message);
    cr_expect_eq(ch_open("orders", 0, 1, &table, &err), WEIR_ERR_ARG);
    cr_expect_eq(ch_open("orders", 100001, 1, &table, &err), WEIR_ERR_ARG);
    cr_expect_null(table);
}
