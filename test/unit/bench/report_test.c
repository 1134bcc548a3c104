/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/report.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

Test(report, is_one_line)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    cr_assert_eq(wb_report_write(json_pack("{s:i}", "rows", 3), out, NULL),
                 WEIR_OK);
    cr_assert_eq(fclose(out), 0);
    json_t *o = json_loads(text, 0, NULL);
    cr_assert_not_null(o, "%s", text);
    cr_assert_eq(json_integer_value(json_object_get(o, "rows")), 3);
    cr_assert_eq(strcspn(text, "\n"), len - 1, "one line");
    json_decref(o);
    free(text);
}

Test(report, names_the_processor_and_its_instructions)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    setenv("WEIR_ISA", "portable", 1); /* each test is a process */
    cr_assert_eq(wb_report_write(json_object(), out, NULL), WEIR_OK);
    cr_assert_eq(fclose(out), 0);
    json_t *o = json_loads(text, 0, NULL);
    const char *isa = json_string_value(json_object_get(o, "instructions"));
    const char *name = json_string_value(json_object_get(o, "processor"));
    cr_assert_str_eq(isa, "portable");
    cr_assert(name != NULL && name[0] != '\0');
    json_decref(o);
    free(text);
}

Test(report, that_cannot_be_written_is_an_error)
{
    struct weir_error err = {.code = WEIR_OK};
    FILE *full = fopen("/dev/full", "w");
    cr_assert_not_null(full);
    cr_assert_eq(wb_report_write(json_pack("{s:i}", "rows", 3), full, &err),
                 WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, "No space left"), "%s", err.message);
    (void)fclose(full);
    cr_assert_eq(wb_report_write(NULL, stdout, &err), WEIR_ERR_NO_MEMORY);
}
