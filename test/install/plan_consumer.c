/* SPDX-License-Identifier: Apache-2.0 */
/* The same for libweir-plan: a plan from JSON, which pulls in all of it, beside
 * a function of libweir. Valid as C and as C++. */
#include <stdio.h>
#include <string.h>

#include <weir/plan.h>
#include <weir/run.h>
#include <weir/weir.h>

static const char json[] =
    "{\"weir\": 1,"
    " \"tables\": {\"t\": {\"series\": {\"rows\": 9, \"columns\": ["
    "  {\"name\": \"n\", \"type\": \"int64\"}]}}},"
    " \"operators\": ["
    "  {\"name\": \"s\", \"op\": \"scan\", \"table\": \"t\"},"
    "  {\"name\": \"f\", \"op\": \"filter\", \"input\": \"s\","
    "   \"where\": \"n > 5\"}],"
    " \"result\": \"f\"}";

int main(void)
{
    weir_plan *plan = NULL;
    struct weir_error err;
    if (weir_plan_read(json, strlen(json), NULL, &plan, &err) != WEIR_OK) {
        (void)fprintf(stderr, "plan: %s\n", err.message);
        return 1;
    }
    int wrong = weir_run_shuffles(plan) != 2 ||
                strcmp(weir_err_name(WEIR_OK), "WEIR_OK") != 0;
    (void)printf("a plan of %u shuffles\n", weir_run_shuffles(plan));
    weir_plan_close(plan);
    return wrong;
}
