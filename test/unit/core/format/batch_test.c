/* SPDX-License-Identifier: Apache-2.0 */
#include <weir/batch.h>

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/cc.h"

static const struct weir_field two_fields[] = {
    {"id", "l", 0},
    {"text", "u", 1},
};

Test(batch, schema_build_gives_a_struct_of_the_fields)
{
    struct ArrowSchema s;
    struct weir_error err;

    cr_assert_eq(weir_schema_build(two_fields, 2, &s, &err), WEIR_OK);
    cr_assert_str_eq(s.format, "+s");
    cr_assert_eq(s.n_children, 2);
    cr_assert_str_eq(s.children[0]->name, "id");
    cr_assert_str_eq(s.children[0]->format, "l");
    cr_assert_eq(s.children[0]->flags, 0);
    cr_assert_str_eq(s.children[1]->name, "text");
    cr_assert_str_eq(s.children[1]->format, "u");
    cr_assert_eq(s.children[1]->flags, ARROW_FLAG_NULLABLE);
    s.release(&s);
    cr_assert_null(s.release);
}

Test(batch, schema_build_copies_the_fields)
{
    char name[] = "id";
    char format[] = "l";
    struct weir_field field = {name, format, 0};
    struct ArrowSchema s;

    cr_assert_eq(weir_schema_build(&field, 1, &s, NULL), WEIR_OK);
    name[0] = 'x';
    format[0] = 'x';
    cr_assert_str_eq(s.children[0]->name, "id");
    cr_assert_str_eq(s.children[0]->format, "l");
    s.release(&s);
}

Test(batch, a_child_moved_out_outlives_the_schema)
{
    struct ArrowSchema s;

    cr_assert_eq(weir_schema_build(two_fields, 2, &s, NULL), WEIR_OK);
    struct ArrowSchema moved = *s.children[1];
    s.children[1]->release = NULL;
    s.release(&s);
    cr_assert_str_eq(moved.name, "text");
    cr_assert_not_null(moved.release);
    moved.release(&moved);
    cr_assert_null(moved.release);
}

Test(batch, schema_build_refuses_what_is_not_there)
{
    struct weir_field field = {NULL, "l", 0};
    struct ArrowSchema s = {.n_children = 7};
    struct weir_error err;

    cr_assert_eq(weir_schema_build(NULL, 1, &s, &err), WEIR_ERR_ARG);
    cr_assert_eq(weir_schema_build(two_fields, 0, &s, &err), WEIR_ERR_ARG);
    cr_assert_eq(weir_schema_build(two_fields, 1025, &s, &err), WEIR_ERR_ARG);
    cr_assert_eq(weir_schema_build(two_fields, 2, NULL, &err), WEIR_ERR_ARG);
    cr_assert_eq(weir_schema_build(&field, 1, &s, &err), WEIR_ERR_ARG);
    cr_assert_eq(s.n_children, 7, "output written on failure");
}

Test(batch, schema_build_names_the_column_with_a_bad_format)
{
    struct weir_field fields[] = {{"id", "l", 0}, {"bad", "+l", 0}};
    struct ArrowSchema s = {.n_children = 7};
    struct weir_error err;

    cr_assert_eq(weir_schema_build(fields, 2, &s, &err), WEIR_ERR_SCHEMA);
    cr_assert_not_null(strstr(err.message, "bad"), "%s", err.message);
    cr_assert_eq(s.n_children, 7, "output written on failure");
}

/* Behind the last byte of both lies memory that cannot be read. */
Test(batch, schema_build_reads_no_further_than_the_texts)
{
    struct ArrowSchema s;
    char *pages = mmap(NULL, 2 * WI_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(pages, MAP_FAILED);
    cr_assert_eq(mprotect(pages + WI_PAGE, WI_PAGE, PROT_NONE), 0);
    char *text = pages + WI_PAGE - 2; /* "l" and its end */
    text[0] = 'l';
    const struct weir_field fields[] = {{"id", text, 0}, {text, "u", 0}};
    cr_assert_eq(weir_schema_build(fields, 2, &s, NULL), WEIR_OK);
    cr_assert_str_eq(s.children[0]->format, "l");
    cr_assert_str_eq(s.children[0]->name, "id");
    cr_assert_str_eq(s.children[1]->name, "l");
    s.release(&s);
    (void)munmap(pages, 2 * WI_PAGE);
}
