/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words are ASCII whatever the locale is: DuckDB's keywords and functions are.
 * Where DuckDB's lexer and this one could differ, as in a comment in a comment,
 * the statement is refused.
 *
 * Source: DuckDB 1.5, third_party/libpg_query (scan.l, grammar/statements), and
 * duckdb_functions() of type table and pragma.
 */
#include "tools/scan/statement.h"

#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"

enum { WORD_ROOM = 32 };

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool statement_may_be_many(const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && (is_space(text[n - 1]) || text[n - 1] == ';')) {
        n--;
    }
    return memchr(text, ';', n) != NULL;
}

/* ---- words --------------------------------------------------------------- */

/* Behind a comment that begins at `at`; NULL: who knows where it ends. */
static const char *skip_comment(const char *at)
{
    if (at[1] == '-') {
        at += strcspn(at, "\r\n");
        return at[0] != '\r' || at[1] == '\n' ? at : NULL;
    }
    const char *end = strstr(at + 2, "*/");
    const char *inner = strstr(at + 2, "/*");
    return end == NULL || (inner != NULL && inner < end) ? NULL : end + 2;
}

/* The next thing that is no space and no comment; NULL: see above. */
static const char *skip(const char *at)
{
    while (at != NULL) {
        if (is_space(*at)) {
            at++;
        } else if (strncmp(at, "--", 2) == 0 || strncmp(at, "/*", 2) == 0) {
            at = skip_comment(at);
        } else {
            return at;
        }
    }
    return NULL;
}

/* The word at *at, which moves behind it: "": none there, or a long one. */
static void take_word(const char **at, char word[WORD_ROOM])
{
    const char *from = *at != NULL ? skip(*at) : NULL;
    size_t n = 0;
    while (from != NULL && is_letter(from[n])) {
        n++;
    }
    word[0] = '\0';
    *at = from != NULL ? from + n : NULL;
    if (n < WORD_ROOM) {
        for (size_t i = 0; i < n; i++) {
            word[i] = lower(from[i]);
        }
        word[n] = '\0';
    }
}

static bool is_in(const char *word, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        if (strcmp(word, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- first words --------------------------------------------------------- */

/* DuckDB says itself whether the database may be changed by them. */
static const char *const plain[] = {
    "select",       "from",    "with",       "values", "table",   "show",
    "describe",     "desc",    "summarize",  "pivot",  "unpivot", "pivot_wider",
    "pivot_longer", "execute", "deallocate", "call",   "begin",   "start",
    "commit",       "end",     "rollback",   "abort",  "set",     "reset",
    "use",          "insert",  "update",     "delete", "merge",   "truncate",
    "comment",      "vacuum",  "analyze",    NULL};

/* Of a database, unless they are of all databases. */
static const char *const definitions[] = {"create", "alter", "drop", NULL};

static const char *const files[] = {"copy",   "export",     "attach",
                                    "detach", "checkpoint", NULL};

/* PRAGMA of these only tells something. */
static const char *const pragmas[] = {"table_info",
                                      "show",
                                      "show_tables",
                                      "show_tables_expanded",
                                      "show_databases",
                                      "database_list",
                                      "database_size",
                                      "storage_info",
                                      "metadata_info",
                                      "version",
                                      "platform",
                                      "user_agent",
                                      "functions",
                                      "collations",
                                      NULL};

static weir_err refuse(struct weir_error *err, const char *what,
                       const char *why)
{
    return tool_fail(err, WEIR_ERR_UNSUPPORTED, "%s: %s", what, why);
}

static weir_err check_first(const char *at, const struct statement_may *may,
                            struct weir_error *err);

static weir_err check_files(const char *word, const struct statement_may *may,
                            struct weir_error *err)
{
    return may->write_files
               ? WEIR_OK
               : refuse(err, word,
                        "this server writes and attaches no files (weir serve "
                        "--allow-files DIR --write)");
}

/* EXPLAIN [ANALYZE] [(options)] statement */
static weir_err check_explain(const char *at, const struct statement_may *may,
                              struct weir_error *err)
{
    char word[WORD_ROOM];
    const char *next = at;
    take_word(&next, word);
    at = strcmp(word, "analyze") == 0 ? next : at;
    at = at != NULL ? skip(at) : NULL;
    if (at != NULL && at[0] == '(') {
        at += strcspn(at, "'\"-/)");
        at = at[0] == ')' ? at + 1 : NULL;
    }
    return check_first(at, may, err);
}

/* PREPARE name [(types)] AS statement */
static weir_err check_prepare(const char *at, const struct statement_may *may,
                              struct weir_error *err)
{
    char word[WORD_ROOM];
    take_word(&at, word);
    at = word[0] != '\0' && at != NULL ? skip(at) : NULL;
    if (at != NULL && at[0] == '(') {
        at += strcspn(at, "'\"-/)");
        at = at[0] == ')' ? at + 1 : NULL;
    }
    take_word(&at, word);
    return strcmp(word, "as") == 0
               ? check_first(at, may, err)
               : refuse(err, "prepare", "PREPARE name AS ... was expected");
}

static weir_err check_definition(const char *at, const char *first,
                                 const struct statement_may *may,
                                 struct weir_error *err)
{
    char word[WORD_ROOM];
    take_word(&at, word);
    if (strcmp(word, "or") == 0) { /* REPLACE */
        take_word(&at, word);
        take_word(&at, word);
    }
    return strcmp(word, "database") == 0 ? check_files(first, may, err)
                                         : WEIR_OK;
}

static weir_err check_pragma(const char *at, struct weir_error *err)
{
    char word[WORD_ROOM];
    take_word(&at, word);
    return is_in(word, pragmas)
               ? WEIR_OK
               : refuse(err, "pragma",
                        "settings are the server's: weir serve "
                        "--set KEY=VALUE");
}

static weir_err check_first(const char *at, const struct statement_may *may,
                            struct weir_error *err)
{
    char word[WORD_ROOM];
    at = at != NULL ? skip(at) : NULL;
    if (at == NULL) {
        return refuse(err, "statement",
                      "where it begins is not clear: take the comments out");
    }
    if (at[0] == '(' || at[0] == '\0') { /* of a SELECT; DuckDB refuses "" */
        return WEIR_OK;
    }
    take_word(&at, word);
    if (is_in(word, plain)) {
        return WEIR_OK;
    }
    if (is_in(word, definitions)) {
        return check_definition(at, word, may, err);
    }
    if (is_in(word, files)) {
        return check_files(word, may, err);
    }
    if (strcmp(word, "explain") == 0) {
        return check_explain(at, may, err);
    }
    if (strcmp(word, "prepare") == 0) {
        return check_prepare(at, may, err);
    }
    if (strcmp(word, "pragma") == 0) {
        return check_pragma(at, err);
    }
    return tool_fail(err, WEIR_ERR_UNSUPPORTED,
                     "a statement that begins with '%s' is not served", word);
}

/* ---- functions ----------------------------------------------------------- */

/* Wherever they stand, in a text of SQL too: names are not worth a parser. */
static const char *const functions[] = {"enable_logging",
                                        "disable_logging",
                                        "truncate_duckdb_logs",
                                        "enable_profil",
                                        "disable_profil",
                                        "enable_peg_parser",
                                        "disable_peg_parser",
                                        "force_checkpoint",
                                        "import_database",
                                        "copy_database",
                                        "json_execute_serialized_sql",
                                        NULL};

static const char *const readers[] = {"read_csv",
                                      "read_json",
                                      "read_ndjson",
                                      "read_parquet",
                                      "read_blob",
                                      "read_text",
                                      "read_duckdb",
                                      "sniff_csv",
                                      "parquet_scan",
                                      "parquet_metadata",
                                      "parquet_schema",
                                      "parquet_file_metadata",
                                      "parquet_kv_metadata",
                                      "parquet_full_metadata",
                                      "parquet_bloom_probe",
                                      NULL};

/* The first of a list that is named in a text; NULL: none. */
static const char *find_name(const char *text, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        if (strstr(text, list[i]) != NULL) {
            return list[i];
        }
    }
    return NULL;
}

/* Names of escapes: DuckDB 1.5 has none, but its grammar has. */
static bool has_escapes(const char *text)
{
    static const char begin[] = "u&\"";
    const char *at = strstr(text, begin);
    while (at != NULL && at != text && is_letter(at[-1])) {
        at = strstr(at + 1, begin);
    }
    return at != NULL;
}

/* query('...') runs what its argument says. Other names may end or begin like
 * that; bytes beyond ASCII may be spaces to DuckDB. */
static bool calls_query(const char *text)
{
    static const char name[] = "query";
    const char *at = text;
    while ((at = strstr(at, name)) != NULL) {
        bool is_name = at == text || !is_letter(at[-1]);
        at += sizeof(name) - 1;
        if (is_letter(*at) || !is_name) {
            continue;
        }
        const char *next = at;
        while (is_space(*next) || *next == '"' || (unsigned char)*next > 127) {
            next++;
        }
        if (*next == '(' || strncmp(next, "--", 2) == 0 ||
            strncmp(next, "/*", 2) == 0) {
            return true;
        }
    }
    return false;
}

static weir_err check_functions(const char *lowered,
                                const struct statement_may *may,
                                struct weir_error *err)
{
    if (has_escapes(lowered)) {
        return refuse(err, "U&\"...\"", "give names in their letters");
    }
    const char *name = find_name(lowered, functions);
    if (name != NULL) {
        return refuse(err, name, "what it does would reach all clients");
    }
    name = may->read_files ? NULL : find_name(lowered, readers);
    if (name != NULL) {
        return refuse(err, name,
                      "this server lets nobody read files by their names (weir "
                      "serve --allow-files DIR)");
    }
    return calls_query(lowered)
               ? refuse(err, "query(...)",
                        "statements in a text are not looked into")
               : WEIR_OK;
}

/* ---- both ---------------------------------------------------------------- */

weir_err statement_check(const char *text, const struct statement_may *may,
                         struct weir_error *err)
{
    weir_err rc = check_first(text, may, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    const size_t bytes = strlen(text) + 1;
    char *lowered = malloc(bytes);
    if (lowered == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a statement");
    }
    for (size_t i = 0; i < bytes; i++) {
        lowered[i] = lower(text[i]);
    }
    rc = check_functions(lowered, may, err);
    free(lowered);
    return rc;
}
