/* SPDX-License-Identifier: Apache-2.0 */
/* weir explain: a plan as a tree or a graph, without running it. */
#define _GNU_SOURCE 1
#include "cli/cmd.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/options.h"
#include "cli/status.h"
#include "tools/plan_file.h"

struct explain_args {
    const char *file;
    const char *data;
    bool dot;
};

static const struct option_row rows[] = {
    {"data", 'd', "DIR", "Where relative paths of the plan begin [.]",
     OPTION_TEXT(struct explain_args, data)},
    {"dot", 0, NULL, "For Graphviz: weir explain --dot PLAN | dot -Tsvg",
     OPTION_FLAG(struct explain_args, dot)},
    {.name = NULL},
};

static const char doc[] =
    "Check a plan and print it as a tree: what reads stands above what it "
    "reads.\vPLAN is a file as docs/plan.md has it; - is standard input. "
    "Each line is the kind of an operator, its name, what it does, and in "
    "brackets where its rows are: anywhere, by hash of columns, on one worker, "
    "on every worker.\n"
    "\n"
    "Exit status: 0 done; 1 failed; 2 wrong use; 3 bad input (no such file, a "
    "mistake in the plan).";

static int explain(const struct explain_args *a, struct weir_error *err)
{
    weir_plan *plan;
    char *text;
    weir_err rc = plan_file_read(a->file, a->data, &plan, err);
    if (rc != WEIR_OK) {
        return status_of_input(rc);
    }
    rc = weir_plan_explain(plan, a->dot ? WEIR_EXPLAIN_DOT : WEIR_EXPLAIN_TEXT,
                           &text, err);
    weir_plan_close(plan);
    if (rc != WEIR_OK) {
        return STATUS_FAILED;
    }
    (void)fputs(text, stdout);
    free(text);
    return STATUS_OK;
}

int cmd_explain(int argc, char **argv)
{
    static const struct options options = {
        .rows = rows,
        .doc = doc,
        OPTION_OPERAND("PLAN", struct explain_args, file)};
    struct explain_args a = {.data = "."};
    struct weir_error err = {.message = "no memory"};
    options_parse(&options, argc, argv, &a);
    int status = explain(&a, &err);
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "weir explain: %s\n", err.message);
    }
    return status;
}
