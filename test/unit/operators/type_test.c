/* SPDX-License-Identifier: Apache-2.0 */
/* Types, their names, and their Arrow schemas. */
#include <criterion/criterion.h>
#include <string.h>

#include "operators/base/mem.h"
#include "operators/base/type.h"

static const char *const names[] = {
    "bool",          "int8",           "int16",         "int32",
    "int64",         "uint8",          "uint16",        "uint32",
    "uint64",        "float32",        "float64",       "date",
    "timestamp(s)",  "timestamp(ms)",  "timestamp(us)", "timestamp(ns)",
    "decimal(1,0)",  "decimal(18,18)", "decimal(38,4)", "utf8",
    "binary",        "fixed(1)",       "fixed(4096)",   "int64?",
    "decimal(9,2)?", "utf8?",
};
enum { N_NAMES = sizeof(names) / sizeof(names[0]) };

Test(type, names_are_read_as_they_are_written)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        struct wi_type type;
        char text[WI_TYPE_TEXT_BYTES];
        cr_assert(wi_type_parse(names[i], &type), "%s", names[i]);
        cr_assert_str_eq(wi_type_text(&type, text), names[i]);
    }
}

Test(type, short_forms_mean_the_usual)
{
    struct wi_type type;
    cr_assert(wi_type_parse("timestamp?", &type));
    cr_assert_eq(type.unit, WI_MICRO);
    cr_assert(type.nullable);
    cr_assert(wi_type_parse("decimal(7)", &type));
    cr_assert_eq(type.precision, 7);
    cr_assert_eq(type.scale, 0);
}

Test(type, other_names_are_refused)
{
    static const char *const bad[] = {
        "",         "int",          "int64 ",         "int64??",
        "decimal",  "decimal()",    "decimal(0,0)",   "decimal(39,0)",
        "fixed",    "decimal(5,6)", "decimal(5,2",    "decimal(5,2)x",
        "fixed(0)", "fixed(4097)",  "timestamp(m)",   "timestamp()",
        "int64(3)", "fixed(99999)", "decimal(10,-1)", "INT64",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wi_type type = {.n_bytes = 77};
        cr_assert_not(wi_type_parse(bad[i], &type), "%s", bad[i]);
        cr_assert_eq(type.n_bytes, 77);
    }
}

Test(type, values_have_the_representation_that_fits)
{
    static const struct {
        const char *name;
        enum wi_rep rep;
    } expected[] = {
        {"bool", WI_BOOL},         {"int8", WI_I64},
        {"uint32", WI_I64},        {"uint64", WI_I128},
        {"decimal(18,2)", WI_I64}, {"decimal(19,2)", WI_I128},
        {"float32", WI_F64},       {"date", WI_I64},
        {"timestamp(ns)", WI_I64}, {"fixed(3)", WI_STR},
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct wi_type type;
        cr_assert(wi_type_parse(expected[i].name, &type));
        cr_assert_eq(wi_type_rep(&type), expected[i].rep, "%s",
                     expected[i].name);
    }
}

Test(type, columns_survive_the_way_through_arrow)
{
    struct wi_columns in = {0};
    struct wi_columns out = {0};
    struct ArrowSchema schema;
    struct weir_error err = {0};
    for (size_t i = 0; i < N_NAMES; i++) {
        struct wi_type type;
        cr_assert(wi_type_parse(names[i], &type));
        cr_assert_eq(wi_columns_add(&in, names[i], &type), WEIR_OK);
    }
    cr_assert_eq(wi_columns_to_arrow(&in, &schema, &err), WEIR_OK);
    cr_assert_eq(wi_columns_from_arrow(&schema, &out, &err), WEIR_OK, "%s",
                 err.message);
    schema.release(&schema);
    cr_assert_eq(out.n, in.n);
    for (uint32_t i = 0; i < in.n; i++) {
        cr_assert(wi_type_same(&in.at[i].type, &out.at[i].type), "%s",
                  names[i]);
        cr_assert_eq(in.at[i].type.nullable, out.at[i].type.nullable);
        cr_assert_eq(wi_columns_find(&out, names[i]), (int)i);
    }
    cr_assert_eq(wi_columns_find(&out, "other"), -1);
    wi_columns_fini(&in);
    wi_columns_fini(&out);
}

Test(type, an_unknown_format_is_refused_with_the_column)
{
    struct ArrowSchema child = {.format = "+l", .name = "list"};
    struct ArrowSchema *children[] = {&child};
    struct ArrowSchema schema = {
        .format = "+s", .n_children = 1, .children = children};
    struct wi_columns columns = {0};
    struct weir_error err = {0};
    cr_assert_eq(wi_columns_from_arrow(&schema, &columns, &err),
                 WEIR_ERR_SCHEMA);
    cr_assert_not_null(strstr(err.message, "\"list\""), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "\"+l\""), "%s", err.message);
    cr_assert_eq(columns.n, 0);
}

Test(mem, a_share_is_kept_and_the_refusal_says_what_is_needed)
{
    struct wi_op_mem worker = {.limit_bytes = 1024, .sharers = 3};
    struct wi_op_mem op = {.above = &worker};
    struct weir_error err = {0};
    void *a = NULL;
    void *b = NULL;
    cr_assert_eq(wi_mem_take(&op, 600, &a, &err), WEIR_OK);
    cr_assert_eq((uintptr_t)a % 64, 0);
    cr_assert_eq(worker.held_bytes, 640);
    cr_assert_eq(wi_mem_take(&op, 400, &b, &err), WEIR_ERR_QUERY_MEMORY);
    cr_assert_null(b);
    cr_assert_not_null(strstr(err.message, "hold 640 bytes and need 448 more"),
                       "%s", err.message);
    cr_assert_not_null(strstr(err.message, "is 3072 bytes: raise it to 6144"),
                       "%s", err.message);
    cr_assert_eq(wi_mem_take(&op, 3000, &b, &err), WEIR_ERR_QUERY_MEMORY);
    cr_assert_not_null(strstr(err.message, "raise it to 10944"), "%s",
                       err.message);
    cr_assert_eq(wi_mem_take(&op, 384, &b, &err), WEIR_OK);
    wi_mem_put(&op, a, 600);
    wi_mem_put(&op, b, 384);
    cr_assert_eq(worker.held_bytes, 0);
    cr_assert_eq(op.held_bytes, 0);
    cr_assert_eq(op.peak_bytes, 1024);
}

Test(mem, growing_keeps_what_is_there)
{
    struct wi_op_mem mem = {0};
    struct weir_error err = {0};
    void *at = NULL;
    cr_assert_eq(wi_mem_grow(&mem, &at, 0, 100, &err), WEIR_OK);
    memset(at, 7, 100);
    cr_assert_eq(wi_mem_grow(&mem, &at, 100, 5000, &err), WEIR_OK);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(((uint8_t *)at)[i], 7);
    }
    wi_mem_put(&mem, at, 5000);
    cr_assert_eq(mem.held_bytes, 0);
    mem.limit_bytes = 64;
    at = NULL;
    cr_assert_eq(wi_mem_grow(&mem, &at, 0, 65, &err), WEIR_ERR_QUERY_MEMORY);
    cr_assert_null(at);
}
