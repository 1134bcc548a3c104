/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a client's statement may be, before DuckDB sees it.
 *
 *   text --> one statement? --> its first words --> functions that it names
 *
 * DuckDB itself keeps a database that it has opened READ_ONLY as it is, files
 * out of reach that were not allowed, and its settings. What it does not keep a
 * client from, in 1.5, is looked for here:
 *  - COPY TO, EXPORT and ATTACH write to each file that may be read;
 *  - what belongs to all connections: attached databases, extensions, the log
 *    (one that cannot be written fails everybody's next statement), profiles,
 *    the parser, a checkpoint by force;
 *  - functions that run a text, where all this would be out of sight;
 *  - functions that read files, where none are allowed: those of the folder are
 *    behind views, and DuckDB lets them read what it has spilled.
 *
 * What is not known is refused.
 */
#ifndef WEIR_TOOL_STATEMENT_H
#define WEIR_TOOL_STATEMENT_H

#include <stdbool.h>

#include <weir/error.h>

/** Which files it may name; DuckDB knows where they lie. */
struct statement_may {
    bool read_files;
    bool write_files; /* and attach */
};

/**
 * Is there more than one statement in it? Only a parser can tell where a
 * semicolon is that of a text or a comment.
 *
 * Returns: false: there is one at most; true: DuckDB's parser has to count
 * Errors: none. Blocks: never. Threads: any. Ownership: nothing.
 */
bool statement_may_be_many(const char *text);

/**
 * Check one statement.
 *
 * Errors:     WEIR_ERR_UNSUPPORTED (says what is refused, and why),
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
weir_err statement_check(const char *text, const struct statement_may *may,
                         struct weir_error *err);

#endif /* WEIR_TOOL_STATEMENT_H */
