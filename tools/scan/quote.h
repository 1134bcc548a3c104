/* SPDX-License-Identifier: Apache-2.0 */
/** Names and texts in statements of SQL. */
#ifndef WEIR_TOOL_QUOTE_H
#define WEIR_TOOL_QUOTE_H

/** The first `bytes` of a text between two marks, with these doubled inside:
 *  'it''s', "a ""name""".
 *  Returns: of malloc; NULL: no memory. Errors: none. Blocks: never.
 *  Threads: any. Ownership: the caller's. */
char *sql_quote(const char *text, unsigned long bytes, char mark);

#endif /* WEIR_TOOL_QUOTE_H */
