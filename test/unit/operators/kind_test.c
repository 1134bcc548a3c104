/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operator kinds has a whole row for each of them. */
#include "operators/plan/kind.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Fields up to the NULL, which must be there. */
static uint32_t count(const char *const list[WI_KIND_FIELDS])
{
    uint32_t n = 0;
    while (n < WI_KIND_FIELDS && list[n] != NULL) {
        n++;
    }
    cr_assert_lt(n, WI_KIND_FIELDS, "no NULL at the end");
    return n;
}

static bool has(const char *const list[WI_KIND_FIELDS], const char *field)
{
    for (uint32_t i = 0; i < count(list); i++) {
        if (strcmp(list[i], field) == 0) {
            return true;
        }
    }
    return false;
}

Test(kind, every_row_is_whole)
{
    for (uint32_t i = 0; i < WI_PLAN_KINDS; i++) {
        const struct wi_kind *k = &wi_kinds[i];
        cr_assert_not_null(k->name, "kind %u is forgotten", i);
        cr_assert_not_null(k->what, "%s", k->name);
        cr_assert_not_null(strstr(k->what, k->name), "%s", k->name);
        cr_assert_eq(k->read == NULL, i >= WI_KINDS_JSON, "%s", k->name);
        cr_assert_not_null(k->spread, "%s", k->name);
        cr_assert_eq(k->make == NULL, k->cuts, "%s", k->name);
        for (uint32_t other = 0; other < i; other++) {
            cr_assert_str_neq(k->name, wi_kinds[other].name);
        }
        if (i >= WI_KINDS_JSON) {
            continue;
        }
        cr_assert(has(k->fields, "name") && has(k->fields, "op"), "%s",
                  k->name);
        cr_assert_geq(count(k->needed), 1u, "%s", k->name);
        for (uint32_t f = 0; f < count(k->needed); f++) {
            cr_assert(has(k->fields, k->needed[f]), "%s: %s", k->name,
                      k->needed[f]);
        }
    }
}

Test(kind, each_is_read_from_json_by_its_name)
{
    for (uint32_t i = 0; i < WI_KINDS_JSON; i++) {
        char json[160];
        char message[160];
        struct weir_error err;
        weir_plan *plan = NULL;
        (void)snprintf(json, sizeof(json),
                       "{\"weir\": 1, \"operators\": [{\"name\": \"x\", "
                       "\"op\": \"%s\"}], \"result\": \"x\"}",
                       wi_kinds[i].name);
        (void)snprintf(message, sizeof(message), "%s needs \"%s\"",
                       wi_kinds[i].what, wi_kinds[i].needed[0]);
        cr_assert_eq(weir_plan_read(json, strlen(json), NULL, &plan, &err),
                     WEIR_ERR_DATA);
        cr_assert_not_null(strstr(err.message, message), "%s", err.message);
    }
}
