/* SPDX-License-Identifier: Apache-2.0 */
/** DuckDB's parser, for how many statements there are in a text. */
#ifndef WEIR_TOOL_PARSER_H
#define WEIR_TOOL_PARSER_H

#include <stdint.h>

#include <weir/error.h>

struct parser;

/**
 * Find the parser in DuckDB's library.
 *
 * Errors:     WEIR_ERR_NO_MEMORY, WEIR_ERR_UNSUPPORTED (it has none to call)
 * Blocks:     while the library is loaded
 * Threads:    any
 * Ownership:  parser_close
 */
weir_err parser_open(const char *driver, struct parser **parser_out,
                     struct weir_error *err);

/** NULL is allowed. */
void parser_close(struct parser *parser);

/**
 * Count statements. Nothing is run, and nothing is known of tables.
 *
 * Errors:     WEIR_ERR_DATA (it cannot be parsed: with DuckDB's text),
 *             WEIR_ERR_NO_MEMORY
 * Blocks:     shortly
 * Threads:    any; they take turns
 * Ownership:  nothing
 */
weir_err parser_count(struct parser *parser, const char *text, uint64_t *n_out,
                      struct weir_error *err);

#endif /* WEIR_TOOL_PARSER_H */
