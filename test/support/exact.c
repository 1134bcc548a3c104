/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/exact.h"

#include <stdbool.h>
#include <string.h>

__extension__ typedef __int128 int128;

enum { TEXT_BYTES = 48 };

static int by_number(void *arg, int n, const void *left, int m,
                     const void *right)
{
    const char *a = left;
    const char *b = right;
    const bool a_minus = n > 0 && a[0] == '-';
    const bool b_minus = m > 0 && b[0] == '-';
    (void)arg;
    if (a_minus != b_minus) {
        return a_minus ? -1 : 1;
    }
    const int order = n != m ? n - m : memcmp(a, b, (size_t)n);
    return a_minus ? -order : order;
}

struct sum {
    int128 value;
    bool any;
};

static void add(sqlite3_context *context, int n, sqlite3_value **value)
{
    struct sum *sum = sqlite3_aggregate_context(context, sizeof(*sum));
    const char *text = (const char *)sqlite3_value_text(value[0]);
    int128 v = 0;
    (void)n;
    if (sum == NULL || text == NULL) {
        return;
    }
    for (const char *at = text + (text[0] == '-'); *at != '\0'; at++) {
        v = v * 10 + (*at - '0');
    }
    sum->value += text[0] == '-' ? -v : v;
    sum->any = true;
}

static void give(sqlite3_context *context)
{
    const struct sum *sum = sqlite3_aggregate_context(context, 0);
    char text[TEXT_BYTES];
    char *at = text + sizeof(text);
    if (sum == NULL || !sum->any) {
        sqlite3_result_null(context);
        return;
    }
    const bool minus = sum->value < 0;
    int128 v = minus ? -sum->value : sum->value;
    do {
        *--at = (char)('0' + (int)(v % 10));
        v /= 10;
    } while (v != 0);
    if (minus) {
        *--at = '-';
    }
    sqlite3_result_text(context, at, (int)(text + sizeof(text) - at),
                        SQLITE_TRANSIENT);
}

int wt_exact_register(sqlite3 *db)
{
    const int rc =
        sqlite3_create_collation(db, "exact", SQLITE_UTF8, NULL, by_number);
    return rc != SQLITE_OK
               ? rc
               : sqlite3_create_function(db, "exact_sum", 1, SQLITE_UTF8, NULL,
                                         NULL, add, give);
}
