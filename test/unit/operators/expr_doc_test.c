/* SPDX-License-Identifier: Apache-2.0 */
/* docs/expressions.md, read as a test: each line of a block that begins with
 * ```expr is an expression, "--", and what it gives for the row of the block
 * ```columns. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/expr.h"

enum { COLUMNS_MOST = 20, LINE_BYTES = 300 };

struct document {
    char names[COLUMNS_MOST][32];
    char types[COLUMNS_MOST][32];
    char values[COLUMNS_MOST][64];
    uint32_t n;
    struct wt_expr_rows rows;
    uint32_t n_examples;
};

static void read_column(struct document *d, const char *line)
{
    cr_assert_lt(d->n, COLUMNS_MOST);
    char name[32];
    cr_assert_eq(sscanf(line, "%31s %31s %63[^\n]", name, d->types[d->n],
                        d->values[d->n]),
                 3, "%s", line);
    size_t quoted = name[0] == '"';
    (void)snprintf(d->names[d->n], sizeof(d->names[0]), "%.*s",
                   (int)(strlen(name) - 2 * quoted), name + quoted);
    d->n++;
}

static void open_rows(struct document *d)
{
    const char *columns[COLUMNS_MOST][2];
    for (uint32_t i = 0; i < d->n; i++) {
        columns[i][0] = d->names[i];
        columns[i][1] = d->types[i];
    }
    wt_expr_rows_open(&d->rows, columns, d->n, 1);
    for (uint32_t i = 0; i < d->n; i++) {
        const char *value = d->values[i];
        wt_expr_rows_put(&d->rows, d->names[i], 0,
                         strcmp(value, "null") == 0 ? NULL : value);
    }
}

static void run_example(struct document *d, char *line)
{
    char *mark = strstr(line, " -- ");
    cr_assert_not_null(mark, "no ` -- ` in: %s", line);
    *mark = '\0';
    const char *want = mark + 4;
    char found[WT_VALUE_BYTES];
    (void)wt_expr_show(&d->rows, line, 0, found);
    if (strncmp(want, "error: ", 7) == 0) {
        cr_expect(strncmp(found, "error: ", 7) == 0 &&
                      strstr(found, want + 7) != NULL,
                  "%s\n  is      %s\n  but not %s", line, found, want);
    } else {
        cr_expect_str_eq(found, want, "%s\n  is      %s\n  but not %s", line,
                         found, want);
    }
    d->n_examples++;
}

Test(expr_doc, every_example_gives_what_is_written)
{
    static struct document d;
    enum { TEXT, COLUMNS, EXAMPLES } where = TEXT;
    char line[LINE_BYTES];
    FILE *file = fopen(WEIR_SOURCE_DIR "/docs/expressions.md", "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "```columns") == 0) {
            where = COLUMNS;
        } else if (strcmp(line, "```expr") == 0) {
            where = EXAMPLES;
        } else if (strcmp(line, "```") == 0) {
            if (where == COLUMNS) {
                open_rows(&d);
            }
            where = TEXT;
        } else if (where == COLUMNS) {
            read_column(&d, line);
        } else if (where == EXAMPLES) {
            run_example(&d, line);
        }
    }
    (void)fclose(file);
    cr_assert_gt(d.n_examples, 100, "examples were not found");
    wt_expr_rows_close(&d.rows);
}
