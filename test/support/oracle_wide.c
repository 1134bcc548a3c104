/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/oracle_wide.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct wt_wide_column wide[] = {
    {{"u8", "uint8?"},
     "100",
     {"0", "255", "1", "127", "128", "254", "9", "10"}},
    {{"u16", "uint16?"},
     "4000",
     {"0", "65535", "1", "32767", "32768", "65534", "9", "10"}},
    {{"u32", "uint32"},
     "2147483648",
     {"0", "4294967295", "1", "2147483647", "2147483648", "4294967294", "9",
      "10"}},
    {{"u64", "uint64?"},
     "9223372036854775808",
     {"0", "18446744073709551615", "1", "9223372036854775807",
      "9223372036854775808", "18446744073709551614", "9",
      "10000000000000000000"}},
    {{"f32", "float32?"},
     "0.1",
     {"0", "3.4028234663852886e38", "-3.4028234663852886e38", "1e-45",
      "-1.1754943508222875e-38", "0.1", "16777217", "-0.5"}},
    {{"flag", "bool?"},
     "true",
     {"false", "true", "true", "false", "false", "true", "true", "true"}},
    {{"raw", "binary?"},
     "m",
     {"\"\"", "a", "\xff\xfe", "~", "~~a", "\"a,\"\"b\"", "\x80",
      "more than the twelve bytes \xc3 of a prefix"}},
    {{"tag", "fixed(3)"},
     "aab",
     {"aaa", "~~~", "\xff\xff\xff", "aab", "\x80~a", "abc", "~~a", "zzz"}},
    {{"big", "decimal(38,10)?"},
     "18446744073709551616",
     {"0", "9999999999999999999999999999.9999999999",
      "-9999999999999999999999999999.9999999999", "0.0000000001",
      "-0.0000000001", "18446744073709551616", "-18446744073709551617.5",
      "1.5"}},
    {{"mid", "decimal(19,4)"},
     "0.0001",
     {"0", "999999999999999.9999", "-999999999999999.9999", "0.0001", "-0.0001",
      "922337203685477.5808", "-922337203685477.5809", "12.5"}},
    {{"whole", "decimal(20,0)?"},
     "-1",
     {"0", "99999999999999999999", "-99999999999999999999", "1", "-1",
      "18446744073709551616", "9223372036854775808", "-9223372036854775809"}},
    {{"ts_s", "timestamp(s)"},
     "1970-01-01 00:00:00",
     {"0001-01-01 00:00:00", "9999-12-31 23:59:59", "1970-01-01 00:00:00",
      "1969-12-31 23:59:59", "2000-02-29 12:00:00", "2013-07-01 00:00:00",
      "1900-03-01 00:00:00", "2013-07-01 00:00:01"}},
    {{"ts_ms", "timestamp(ms)?"},
     "1970-01-01 00:00:00.001",
     {"0001-01-01 00:00:00", "9999-12-31 23:59:59.999",
      "1970-01-01 00:00:00.001", "1969-12-31 23:59:59.999",
      "2000-02-29 12:00:00.500", "2013-07-01 00:00:00",
      "2013-07-01 00:00:00.010", "1970-01-01 00:00:00"}},
    {{"ts_us", "timestamp(us)?"},
     "1970-01-01 00:00:00.000001",
     {"0001-01-01 00:00:00", "9999-12-31 23:59:59.999999",
      "1970-01-01 00:00:00.000001", "1969-12-31 23:59:59.999999",
      "2000-02-29 12:00:00.500000", "2013-07-01 00:00:00",
      "2013-07-01 00:00:00.000010", "1970-01-01 00:00:00"}},
    {{"ts_ns", "timestamp(ns)?"},
     "1970-01-01 00:00:00.000000001",
     {"1677-09-21 00:12:43.145224192", "2262-04-11 23:47:16.854775807",
      "1970-01-01 00:00:00.000000001", "1969-12-31 23:59:59.999999999",
      "2000-02-29 12:00:00.500000000", "2013-07-01 00:00:00",
      "2013-07-01 00:00:00.000000010", "1970-01-01 00:00:00"}},
    {{"day", "date?"},
     "1970-01-01",
     {"0001-01-01", "9999-12-31", "1970-01-01", "1969-12-31", "2000-02-29",
      "1900-03-01", "2013-07-01", "2012-12-31"}},
};
enum { N_WIDE = sizeof(wide) / sizeof(wide[0]) };

const struct wt_wide_column *wt_wide_columns(uint32_t *n_out)
{
    *n_out = N_WIDE;
    return wide;
}

static void put_text(FILE *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        (void)fputc(*at == '~' ? '\0' : *at, out);
    }
}

/* The first rows have each value once; then they mix, with nulls. */
static void cell(FILE *out, uint64_t row, uint32_t column, void *arg)
{
    (void)arg;
    if (column == 0) {
        (void)fprintf(out, "%" PRIu64, row);
        return;
    }
    const struct wt_wide_column *c = &wide[column - 1];
    const uint64_t x = (row * 2654435761u + column * 40503u) >> 7;
    const bool nullable = strchr(c->column.type, '?') != NULL;
    if (row < WT_WIDE_VALUES) {
        put_text(out, c->text[row]);
    } else if (!nullable || x % 9 != 0) {
        put_text(out, c->text[x / 9 % WT_WIDE_VALUES]);
    }
}

void wt_wide_data(struct wt_oracle *o)
{
    struct wt_oracle_column columns[N_WIDE + 1] = {{"id", "int64"}};
    for (uint32_t i = 0; i < N_WIDE; i++) {
        columns[i + 1] = wide[i].column;
    }
    const struct wt_oracle_table table = {
        .name = "wide", .columns = columns, .n_columns = N_WIDE + 1};
    wt_oracle_write(o, &table, WT_WIDE_ROWS, cell, NULL);
}

char *wt_wide_table(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_not_null(out);
    (void)fprintf(out, "\"wide\": {\"csv\": \"wide.csv\", \"columns\": ["
                       "{\"name\": \"id\", \"type\": \"int64\"}");
    for (uint32_t i = 0; i < N_WIDE; i++) {
        (void)fprintf(out, ", {\"name\": \"%s\", \"type\": \"%s\"}",
                      wide[i].column.name, wide[i].column.type);
    }
    (void)fprintf(out, "]}");
    (void)fclose(out);
    return text;
}
