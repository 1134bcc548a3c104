/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/oracle.h"

#include <criterion/criterion.h>
#include <csv.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chbench/chbench.h"
#include "test/support/exact.h"

enum {
    SQL_BYTES = 2048,
    READ_BYTES = 65536,
    DIGITS_BYTES = 64,
    BINARY_BYTES = 64,
};

void wt_oracle_open(struct wt_oracle *o)
{
    *o = (struct wt_oracle){.dir = "/tmp/weir-oracle-XXXXXX"};
    cr_assert_not_null(mkdtemp(o->dir));
    cr_assert_eq(sqlite3_open(":memory:", &o->db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(o->db, "pragma case_sensitive_like = on", NULL,
                              NULL, NULL),
                 SQLITE_OK);
    cr_assert_eq(wt_exact_register(o->db), SQLITE_OK);
}

static void path_of(const struct wt_oracle *o, const char *table, char *path)
{
    (void)snprintf(path, WT_ORACLE_PATH_BYTES * 2, "%s/%s.csv", o->dir, table);
}

static int remove_table(void *arg, int n, char **value, char **name)
{
    char path[WT_ORACLE_PATH_BYTES * 2];
    (void)n;
    (void)name;
    path_of(arg, value[0], path);
    (void)unlink(path);
    return 0;
}

void wt_oracle_close(struct wt_oracle *o)
{
    (void)sqlite3_exec(o->db, "select name from sqlite_master", remove_table, o,
                       NULL);
    (void)sqlite3_close(o->db);
    (void)rmdir(o->dir);
}

/* ---- tables -------------------------------------------------------------- */

static void begin_file(FILE *out, const struct wt_oracle_table *t)
{
    for (uint32_t c = 0; c < t->n_columns; c++) {
        (void)fprintf(out, "%s%s", c > 0 ? "," : "", t->columns[c].name);
    }
    (void)fputc('\n', out);
}

void wt_oracle_write(struct wt_oracle *o, const struct wt_oracle_table *t,
                     uint64_t rows, wt_cell_fn cell, void *arg)
{
    char path[WT_ORACLE_PATH_BYTES * 2];
    path_of(o, t->name, path);
    FILE *out = fopen(path, "w");
    cr_assert_not_null(out, "%s", path);
    begin_file(out, t);
    for (uint64_t row = 0; row < rows; row++) {
        for (uint32_t c = 0; c < t->n_columns; c++) {
            (void)fputs(c > 0 ? "," : "", out);
            cell(out, row, c, arg);
        }
        (void)fputc('\n', out);
    }
    cr_assert_eq(fclose(out), 0);
    wt_oracle_load(o, t, path);
}

struct load {
    const struct wt_oracle_table *table;
    sqlite3 *db;
    sqlite3_stmt *insert;
    uint32_t column;
    uint64_t row; /* 0: the header */
    const char *why;
};

static bool is_type(const char *type, const char *prefix)
{
    return strncmp(type, prefix, strlen(prefix)) == 0;
}

static bool is_long(const char *type)
{
    return is_type(type, "uint64") ||
           (is_type(type, "decimal") && atoi(strchr(type, '(') + 1) > 18);
}

static int scale_of(const char *type)
{
    const char *comma = strchr(type, ',');
    return comma == NULL ? 0 : atoi(comma + 1);
}

/* "-12.5" with scale 2: "-1250". */
static void unscaled(const char *text, size_t len, int scale,
                     char out[DIGITS_BYTES])
{
    size_t n = 0;
    int after = -1;
    for (size_t i = 0; i < len; i++) {
        const bool leading = text[i] == '0' && (n == 0 || out[n - 1] == '-');
        if (text[i] == '.') {
            after = 0;
            continue;
        }
        after += after >= 0;
        if (!leading) {
            out[n++] = text[i];
        }
    }
    for (int i = after < 0 ? 0 : after; i < scale && n > 0; i++) {
        out[n++] = '0';
    }
    out[n] = '\0';
    if (n == 0 || strspn(out, "-0") == n) {
        (void)strcpy(out, "0");
    }
}

static int bind_bytes(struct load *l, const unsigned char *bytes, size_t len)
{
    char text[2 * BINARY_BYTES + 1] = "";
    cr_assert_leq(len, BINARY_BYTES);
    for (size_t i = 0; i < len; i++) {
        (void)sprintf(text + 2 * i, "%02X", bytes[i]);
    }
    return sqlite3_bind_text(l->insert, (int)l->column + 1, text, -1,
                             SQLITE_TRANSIENT);
}

static int bind_number(struct load *l, const char *text, size_t len)
{
    const char *type = l->table->columns[l->column].type;
    const int at = (int)l->column + 1;
    char digits[DIGITS_BYTES];
    if (is_type(type, "float")) {
        return sqlite3_bind_double(l->insert, at,
                                   is_type(type, "float32")
                                       ? (double)strtof(text, NULL)
                                       : strtod(text, NULL));
    }
    unscaled(text, len, scale_of(type), digits);
    return is_long(type)
               ? sqlite3_bind_text(l->insert, at, digits, -1, SQLITE_TRANSIENT)
               : sqlite3_bind_int64(l->insert, at, strtoll(digits, NULL, 10));
}

static int bind_cell(struct load *l, const char *text, size_t len)
{
    const char *type = l->table->columns[l->column].type;
    const int at = (int)l->column + 1;
    if (text == NULL) {
        return sqlite3_bind_null(l->insert, at);
    }
    if (is_type(type, "decimal") || is_type(type, "int") ||
        is_type(type, "uint") || is_type(type, "float")) {
        return bind_number(l, text, len);
    }
    if (is_type(type, "bool")) {
        return sqlite3_bind_int64(l->insert, at, text[0] == 't');
    }
    if (is_type(type, "binary") || is_type(type, "fixed")) {
        return bind_bytes(l, (const unsigned char *)text, len);
    }
    return sqlite3_bind_text(l->insert, at, text, (int)len, SQLITE_TRANSIENT);
}

static void take_field(void *text, size_t len, void *arg)
{
    struct load *l = arg;
    if (l->row > 0 && l->why == NULL &&
        (l->column >= l->table->n_columns ||
         bind_cell(l, text, len) != SQLITE_OK)) {
        l->why = "a field cannot be bound";
    }
    l->column++;
}

static void end_row(int end, void *arg)
{
    struct load *l = arg;
    (void)end;
    if (l->row > 0 && l->why == NULL) {
        if (sqlite3_step(l->insert) != SQLITE_DONE) {
            l->why = sqlite3_errmsg(l->db);
        }
        (void)sqlite3_reset(l->insert);
    }
    l->row++;
    l->column = 0;
}

static void open_insert(struct load *l)
{
    char create[SQL_BYTES];
    char insert[SQL_BYTES];
    size_t a = (size_t)snprintf(create, sizeof(create), "create table %s",
                                l->table->name);
    size_t b = (size_t)snprintf(insert, sizeof(insert), "insert into %s values",
                                l->table->name);
    for (uint32_t c = 0; c < l->table->n_columns; c++) {
        const struct wt_oracle_column *column = &l->table->columns[c];
        a += (size_t)snprintf(
            create + a, sizeof(create) - a, "%s%s%s", c == 0 ? "(" : ",",
            column->name, is_long(column->type) ? " text collate exact" : "");
        b += (size_t)snprintf(insert + b, sizeof(insert) - b, "%s?",
                              c == 0 ? "(" : ",");
    }
    (void)snprintf(create + a, sizeof(create) - a, ")");
    (void)snprintf(insert + b, sizeof(insert) - b, ")");
    cr_assert_eq(sqlite3_exec(l->db, create, NULL, NULL, NULL), SQLITE_OK,
                 "%s: %s", create, sqlite3_errmsg(l->db));
    cr_assert_eq(sqlite3_prepare_v2(l->db, insert, -1, &l->insert, NULL),
                 SQLITE_OK, "%s: %s", insert, sqlite3_errmsg(l->db));
}

static void parse_file(struct load *l, FILE *in)
{
    struct csv_parser parser;
    char buffer[READ_BYTES];
    size_t n;
    cr_assert_eq(
        csv_init(&parser, CSV_STRICT | CSV_EMPTY_IS_NULL | CSV_APPEND_NULL), 0);
    while ((n = fread(buffer, 1, sizeof(buffer), in)) > 0) {
        cr_assert_eq(csv_parse(&parser, buffer, n, take_field, end_row, l), n);
    }
    (void)csv_fini(&parser, take_field, end_row, l);
    csv_free(&parser);
}

void wt_oracle_load(struct wt_oracle *o, const struct wt_oracle_table *t,
                    const char *path)
{
    struct load l = {.table = t, .db = o->db};
    FILE *in = fopen(path, "r");
    cr_assert_not_null(in, "%s", path);
    open_insert(&l);
    (void)sqlite3_exec(o->db, "begin", NULL, NULL, NULL);
    parse_file(&l, in);
    (void)sqlite3_exec(o->db, "commit", NULL, NULL, NULL);
    (void)sqlite3_finalize(l.insert);
    (void)fclose(in);
    cr_assert_null(l.why, "%s: row %" PRIu64 ": %s", path, l.row, l.why);
}

/* ---- a plan on a cluster ------------------------------------------------- */

struct part {
    weir_run *run;
    uint32_t worker;
};

struct job {
    struct ArrowSchema schema;
    struct wt_answer *answer;
    weir_run *run[WT_NODES];
    struct part part[WT_NODES * 8];
};

static weir_err step(void *arg)
{
    struct part *p = arg;
    return weir_run_step(p->run, p->worker);
}

static weir_err take_rows(void *arg, const struct ArrowArray *batch,
                          struct weir_error *err)
{
    struct job *job = arg;
    const char *unknown = wt_answer_batch(job->answer, &job->schema, batch);
    if (unknown != NULL) {
        err->code = WEIR_ERR_SCHEMA;
        (void)snprintf(err->message, sizeof(err->message),
                       "no text for format \"%s\"", unknown);
    }
    return unknown == NULL ? WEIR_OK : WEIR_ERR_SCHEMA;
}

static void open_runs(struct wt_oracle *o, struct wt_cluster *c,
                      weir_plan *const *plans, struct job *job)
{
    struct weir_run_params params = {
        .query_id = ++o->queries, .rows = take_rows, .rows_arg = job};
    struct weir_error err = {0};
    c->n_tasks = 0;
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        cr_assert_eq(
            weir_run_open(c->node[i], plans[i], &params, &job->run[i], &err),
            WEIR_OK, "%s", err.message);
        for (uint32_t w = 0; w < c->n_workers; w++) {
            struct part *p = &job->part[i * c->n_workers + w];
            *p = (struct part){.run = job->run[i], .worker = w};
            (void)wt_task(c, i, w, step, p);
        }
    }
}

static void close_runs(struct wt_cluster *c, struct job *job)
{
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        struct weir_error err = {0};
        cr_assert_eq(weir_run_status(job->run[i], &err), WEIR_OK, "%s",
                     err.message);
    }
    for (uint32_t i = 0; i < c->n_tasks; i++) {
        cr_assert_eq(c->task[i].end, WEIR_DONE, "%s",
                     weir_err_name(c->task[i].end));
    }
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        weir_run_close(job->run[i]);
    }
}

static void run(struct wt_oracle *o, struct wt_cluster *c,
                const struct wt_oracle_case *check, struct wt_answer *answer)
{
    struct job job = {.answer = answer};
    struct weir_error err = {0};
    cr_assert_eq(weir_plan_schema(check->plans[0], NULL, &job.schema, &err),
                 WEIR_OK, "%s", err.message);
    open_runs(o, c, check->plans, &job);
    cr_assert(wt_cluster_run(c), "%s on %u x %u %s: %s\n%s", check->name,
              c->n_nodes, c->n_workers, c->place->transport, c->why,
              check->json == NULL ? "" : check->json);
    close_runs(c, &job);
    job.schema.release(&job.schema);
}

/* One plan for all nodes. */
static weir_plan *read_plan(const struct wt_oracle *o, const char *json,
                            weir_plan *plans[WT_NODES])
{
    const struct weir_plan_read_params params = {
        .data_dir = o->dir, .kinds = &ch_kind, .n_kinds = 1};
    struct weir_error err = {0};
    weir_plan *plan = NULL;
    cr_assert_eq(weir_plan_read(json, strlen(json), &params, &plan, &err),
                 WEIR_OK, "%s\n%s", err.message, json);
    for (int i = 0; i < WT_NODES; i++) {
        plans[i] = plan;
    }
    return plan;
}

void wt_oracle_ask(struct wt_oracle *o, const char *sql,
                   struct wt_answer *answer)
{
    const char *complaint = wt_answer_sqlite(answer, o->db, sql);
    cr_assert_null(complaint, "%s\n%s", complaint, sql);
}

static void compare(struct wt_oracle *o, struct wt_cluster *c,
                    const struct wt_oracle_case *check,
                    const struct wt_answer *sqlite)
{
    struct wt_answer weir = {0};
    char why[WT_ANSWER_WHY_BYTES];
    run(o, c, check, &weir);
    const bool same = wt_answer_same(&weir, sqlite, check->order, why);
    cr_assert(same, "%s on %u x %u %s: %s\n%s\n%s", check->name, c->n_nodes,
              c->n_workers, c->place->transport, why, check->sql,
              check->json == NULL ? "" : check->json);
    wt_answer_fini(&weir);
}

void wt_oracle_compare(struct wt_oracle *o, struct wt_cluster *c,
                       const struct wt_oracle_case *check,
                       const struct wt_answer *sqlite)
{
    weir_plan *plans[WT_NODES];
    weir_plan *plan = NULL;
    struct wt_oracle_case with_plans = *check;
    if (check->plans == NULL) {
        plan = read_plan(o, check->json, plans);
        with_plans.plans = plans;
    }
    for (int i = 0; i < 1 + check->twice; i++) {
        compare(o, c, &with_plans, sqlite);
    }
    weir_plan_close(plan);
}

void wt_oracle_check(struct wt_oracle *o, struct wt_cluster *c,
                     const struct wt_oracle_case *check)
{
    struct wt_answer sqlite = {0};
    wt_oracle_ask(o, check->sql, &sqlite);
    wt_oracle_compare(o, c, check, &sqlite);
    wt_answer_fini(&sqlite);
}
