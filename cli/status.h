/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Exit statuses, the same for all subcommands: docs/command.md has the table.
 *
 *   reading what the user gave --> status_of_input: it is bad, unless the
 *                                  machine lacks something
 *   everything after that      --> status_of: it failed, unless data are bad
 */
#ifndef WEIR_STATUS_H
#define WEIR_STATUS_H

#include <weir/error.h>

enum status {
    STATUS_OK,
    STATUS_FAILED,     /* the machine, a process, a limit of time or memory */
    STATUS_USAGE,      /* options and arguments */
    STATUS_INPUT,      /* a file, a plan, a value */
    STATUS_PIPE = 141, /* nobody reads the rows: as a shell says of SIGPIPE */
};

/** Status of a step that works on input already read. Errors: none.
 *  Blocks: never. Threads: any. Ownership: nothing. */
int status_of(weir_err code);

/** Status of a step that reads input; options were checked before. Otherwise
 *  as status_of. */
int status_of_input(weir_err code);

#endif /* WEIR_STATUS_H */
