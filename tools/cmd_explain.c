/* SPDX-License-Identifier: Apache-2.0 */
/* weir explain: a plan as a tree or a graph, without running it. */
#define _GNU_SOURCE 1
#include "tools/cmd.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/plan_file.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_INPUT = 3 };
enum { KEY_DOT = 256 };

struct explain_args {
    const char *file;
    const char *data;
    weir_explain_format format;
};

static const struct argp_option options[] = {
    {"data", 'd', "DIR", 0, "Where relative paths of the plan begin [.]", 0},
    {"dot", KEY_DOT, NULL, 0,
     "For Graphviz: weir explain --dot PLAN | dot "
     "-Tsvg",
     0},
    {NULL, 0, NULL, 0, NULL, 0},
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

static error_t parse_arg(int key, char *arg, struct argp_state *state)
{
    struct explain_args *a = state->input;
    switch (key) {
    case 'd':
        a->data = arg;
        return 0;
    case KEY_DOT:
        a->format = WEIR_EXPLAIN_DOT;
        return 0;
    case ARGP_KEY_ARG:
        if (a->file != NULL) {
            argp_error(state, "one PLAN only; \"%s\" is a second", arg);
        }
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (a->file == NULL) {
            argp_error(state, "no PLAN given");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int explain(const struct explain_args *a, struct weir_error *err)
{
    weir_plan *plan;
    char *text;
    if (plan_file_read(a->file, a->data, &plan, err) != WEIR_OK) {
        return STATUS_INPUT;
    }
    weir_err rc = weir_plan_explain(plan, a->format, &text, err);
    weir_plan_close(plan);
    if (rc != WEIR_OK) {
        return STATUS_FAILED;
    }
    (void)fputs(text, stdout);
    free(text);
    return EXIT_SUCCESS;
}

int cmd_explain(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_arg,
                                     .args_doc = "PLAN",
                                     .doc = doc};
    struct explain_args a = {.data = "."};
    struct weir_error err = {.message = "no memory"};
    if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0) {
        return STATUS_USAGE;
    }
    int status = explain(&a, &err);
    if (status != EXIT_SUCCESS) {
        (void)fprintf(stderr, "weir explain: %s\n", err.message);
    }
    return status;
}
