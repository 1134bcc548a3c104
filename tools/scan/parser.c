/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of DuckDB's C interface that parse want a connection. It is one
 * to an empty database of its own, made when it is needed first: most texts
 * have no semicolon inside.
 *
 * Source: DuckDB 1.5, duckdb.h.
 */
#include "tools/scan/parser.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"

/* As in duckdb.h: handles are pointers, DuckDBSuccess is 0. */
struct functions {
    int (*open)(const char *path, void **database_out);
    void (*close)(void **database);
    int (*connect)(void *database, void **connection_out);
    void (*disconnect)(void **connection);
    uint64_t (*extract)(void *connection, const char *text, void **out);
    const char *(*error)(void *extracted);
    void (*destroy)(void **extracted);
};

struct parser {
    struct functions f;
    pthread_mutex_t lock;
    void *database; /* NULL: not yet */
    void *connection;
};

/* A function pointer of dlsym's: ISO C has no cast for this. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static bool find_all(void *library, struct functions *f)
{
    return find(library, "duckdb_open", &f->open) &&
           find(library, "duckdb_close", &f->close) &&
           find(library, "duckdb_connect", &f->connect) &&
           find(library, "duckdb_disconnect", &f->disconnect) &&
           find(library, "duckdb_extract_statements", &f->extract) &&
           find(library, "duckdb_extract_statements_error", &f->error) &&
           find(library, "duckdb_destroy_extracted", &f->destroy);
}

weir_err parser_open(const char *driver, struct parser **parser_out,
                     struct weir_error *err)
{
    struct parser *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a parser");
    }
    /* It is loaded, and stays: services/scan/adbc_load.c. */
    void *library = dlopen(driver, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const bool found = library != NULL && find_all(library, &p->f);
    if (library != NULL) {
        (void)dlclose(library);
    }
    if (!found) {
        free(p);
        return tool_fail(err, WEIR_ERR_UNSUPPORTED,
                         "%s has no duckdb_extract_statements: it is no "
                         "DuckDB, or one before 0.7",
                         driver);
    }
    (void)pthread_mutex_init(&p->lock, NULL);
    *parser_out = p;
    return WEIR_OK;
}

void parser_close(struct parser *p)
{
    if (p == NULL) {
        return;
    }
    if (p->connection != NULL) {
        p->f.disconnect(&p->connection);
    }
    if (p->database != NULL) {
        p->f.close(&p->database);
    }
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}

static bool connect_it(struct parser *p)
{
    return p->connection != NULL ||
           ((p->database != NULL || p->f.open(NULL, &p->database) == 0) &&
            p->f.connect(p->database, &p->connection) == 0);
}

weir_err parser_count(struct parser *p, const char *text, uint64_t *n_out,
                      struct weir_error *err)
{
    void *extracted = NULL;
    weir_err rc = WEIR_OK;
    (void)pthread_mutex_lock(&p->lock);
    if (connect_it(p)) {
        *n_out = p->f.extract(p->connection, text, &extracted);
        const char *why = extracted != NULL ? p->f.error(extracted) : NULL;
        if (*n_out == 0) {
            rc = tool_fail(err, WEIR_ERR_DATA, "%s",
                           why != NULL ? why : "no statement");
        }
        p->f.destroy(&extracted);
    } else {
        rc = tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a parser");
    }
    (void)pthread_mutex_unlock(&p->lock);
    return rc;
}
