/* SPDX-License-Identifier: Apache-2.0 */
/* The `weir` command: finds the subcommand and runs it. */
#define _GNU_SOURCE 1
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "cli/begin.h"
#include "cli/cmd.h"
#include "cli/status.h"
#include "launch/ask.h"

enum { NAME_BYTES = 32 };

/* For argp, in libc: must be seen from there. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "weir " WEIR_VERSION;

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
};

static const struct command commands[] = {
    {"demo", cmd_demo, "show a shuffle between processes at work"},
    {"shuffle", cmd_shuffle, "partition the rows of a CSV file"},
    {"run", cmd_run, "run a query plan in several processes"},
#ifdef WEIR_HAS_SCAN
    {"serve", cmd_serve, "serve a database or a folder of files to clients"},
    {"scan", cmd_scan, "ask a server a query, and print or write its rows"},
#endif
    {"explain", cmd_explain, "check a query plan and print it as a tree"},
    {"gen", cmd_gen, "write the tables of a benchmark as CSV files"},
    {"doctor", cmd_doctor, "check what links run over, and say what fixes it"},
    {"sim", cmd_sim, "run clusters under faults, and check what holds"},
    {"bench", cmd_bench, "measure against other ways to exchange rows"},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *to)
{
    (void)fprintf(to, "Usage: weir COMMAND [OPTION...]\n"
                      "Moves rows between the nodes of a distributed query.\n"
                      "\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        (void)fprintf(to, "  weir %-9s %s\n", commands[i].name,
                      commands[i].what);
    }
    (void)fprintf(to, "\n"
                      "  weir COMMAND --help   what a command takes\n"
                      "  weir --version        print the version\n"
                      "\n"
                      "SIGUSR1 makes all processes of a command that runs say "
                      "who waits for whom.\n"
                      "\n"
                      "Exit status (docs/command.md):\n"
                      "    0  done\n"
                      "    1  it failed: the machine, a process, a limit of "
                      "time or memory\n"
                      "    2  wrong use\n"
                      "    3  bad input: a file, a plan, a value\n"
                      "  141  nobody reads the rows any more (run)\n"
                      "128+n  ended by signal n\n");
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

/* argp calls the program by argv[0]. */
static int run(const struct command *c, int argc, char **argv)
{
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof(name), "weir %s", c->name);
    argv[0] = name;
    argp_err_exit_status = STATUS_USAGE;
    int status = c->run(argc, argv);
    return status == EX_USAGE ? STATUS_USAGE : status;
}

/* Printing has succeeded only when all of it is written. */
static int flush(int status)
{
    if (fflush(stdout) != 0 && status == EXIT_SUCCESS) {
        perror("weir: standard output");
        return EXIT_FAILURE;
    }
    return status;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct command *c = find(name);
    cli_begin();
    wl_ask_begin();
    if (c != NULL) {
        return flush(run(c, argc - 1, argv + 1));
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-?") == 0 ||
        strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return flush(EXIT_SUCCESS);
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        (void)printf("%s\n", argp_program_version);
        return flush(EXIT_SUCCESS);
    }
    if (name[0] != '\0') {
        (void)fprintf(stderr, "weir: no command \"%s\"\n", name);
    }
    print_help(stderr);
    return STATUS_USAGE;
}
