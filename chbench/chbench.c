/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the CH-benCHmark: which columns they have, and which rows.
 *
 * Source: TPC Benchmark C, revision 5.11: clause 1.3 (columns), 4.3.3.1 (rows);
 * CH-benCHmark: Cole et al., "The mixed workload CH-benCHmark", DBTest 2011.
 */
#include "chbench/chbench.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "chbench/fill.h"
#include "operators/base/fail.h"
#include "operators/table/random.h"
#include "operators/table/table.h"

enum { CUSTOMER, ORDERS, NEW_ORDER, ORDER_LINE, N_TABLES };
enum { MAX_WAREHOUSES = 100000, LINES_COLUMN = 6, ENTRY_COLUMN = 4 };

/* Clause 1.3. Dollars are decimal(12,2), in cents here. */
static const struct ch_column customer[] = {
    {"c_id", "int32", CH_ID, 0, 0},
    {"c_d_id", "int32", CH_DISTRICT, 0, 0},
    {"c_w_id", "int32", CH_WAREHOUSE, 0, 0},
    {"c_first", "utf8", CH_LETTERS_DIGITS, 8, 16},
    {"c_middle", "utf8", CH_WORD, 0, 0},
    {"c_last", "utf8", CH_LAST_NAME, 0, 0},
    {"c_street_1", "utf8", CH_LETTERS_DIGITS, 10, 20},
    {"c_street_2", "utf8", CH_LETTERS_DIGITS, 10, 20},
    {"c_city", "utf8", CH_LETTERS_DIGITS, 10, 20},
    {"c_state", "utf8", CH_STATE, 0, 0},
    {"c_zip", "utf8", CH_ZIP, 0, 0},
    {"c_phone", "utf8", CH_DIGITS, 16, 0},
    {"c_since", "timestamp(us)", CH_SINCE, 0, 0},
    {"c_credit", "utf8", CH_CREDIT, 0, 0},
    {"c_credit_lim", "decimal(12,2)", CH_NUMBER, 5000000, 0},
    {"c_discount", "decimal(4,4)", CH_BETWEEN, 0, 5000},
    {"c_balance", "decimal(12,2)", CH_NUMBER, -1000, 0},
    {"c_ytd_payment", "decimal(12,2)", CH_NUMBER, 1000, 0},
    {"c_payment_cnt", "int32", CH_NUMBER, 1, 0},
    {"c_delivery_cnt", "int32", CH_NUMBER, 0, 0},
    {"c_data", "utf8", CH_LETTERS_DIGITS, 300, 500},
};

static const struct ch_column orders[] = {
    {"o_id", "int32", CH_ID, 0, 0},
    {"o_d_id", "int32", CH_DISTRICT, 0, 0},
    {"o_w_id", "int32", CH_WAREHOUSE, 0, 0},
    {"o_c_id", "int32", CH_CUSTOMER, 0, 0},
    [ENTRY_COLUMN] = {"o_entry_d", "timestamp(us)", CH_ENTRY, 0, 0},
    {"o_carrier_id", "int32?", CH_CARRIER, 0, 0},
    [LINES_COLUMN] = {"o_ol_cnt", "int32", CH_LINES, 0, 0},
    {"o_all_local", "int32", CH_NUMBER, 1, 0},
};

static const struct ch_column new_order[] = {
    {"no_o_id", "int32", CH_ID, 0, 0},
    {"no_d_id", "int32", CH_DISTRICT, 0, 0},
    {"no_w_id", "int32", CH_WAREHOUSE, 0, 0},
};

static const struct ch_column order_line[] = {
    {"ol_o_id", "int32", CH_ID, 0, 0},
    {"ol_d_id", "int32", CH_DISTRICT, 0, 0},
    {"ol_w_id", "int32", CH_WAREHOUSE, 0, 0},
    {"ol_number", "int32", CH_LINE, 0, 0},
    {"ol_i_id", "int32", CH_BETWEEN, 1, 100000},
    {"ol_supply_w_id", "int32", CH_WAREHOUSE, 0, 0},
    {"ol_delivery_d", "timestamp(us)?", CH_DELIVERY, 0, 0},
    {"ol_quantity", "int32", CH_BETWEEN, 1, 10},
    {"ol_amount", "decimal(12,2)", CH_BETWEEN, 1, 999999},
    {"ol_dist_info", "utf8", CH_LETTERS_DIGITS, 24, 24},
};

#define COLUMNS(list) list, sizeof(list) / sizeof(list[0])
static const struct {
    const char *name;
    const struct ch_column *columns;
    uint32_t n_columns;
    uint32_t per_district; /* units */
} tables[N_TABLES] = {
    [CUSTOMER] = {"customer", COLUMNS(customer), CH_CUSTOMERS},
    [ORDERS] = {"orders", COLUMNS(orders), CH_CUSTOMERS},
    [NEW_ORDER] = {"new_order", COLUMNS(new_order), CH_NEW_ORDERS},
    [ORDER_LINE] = {"order_line", COLUMNS(order_line), CH_CUSTOMERS},
};

struct chbench {
    struct ch ch;
    struct wi_columns columns; /* a view of the table's */
};

struct scan {
    const struct chbench *table;
    struct wi_build build;
    uint64_t unit; /* next */
    uint64_t end;
    uint32_t line; /* lines of that order that are done */
    struct ch_rows rows;
};

/* ---- rows ---------------------------------------------------------------- */

/* Add n rows of a unit: its lines from `first` on, or its only row. */
static void put_unit(const struct ch *ch, uint64_t unit, uint32_t first,
                     struct ch_rows *rows, uint32_t n)
{
    const uint64_t district = unit / ch->per_district;
    const int32_t id = (int32_t)(unit % ch->per_district + ch->first_id);
    const int32_t warehouse = (int32_t)(district / CH_DISTRICTS) + 1;
    const int32_t number = (int32_t)(district % CH_DISTRICTS) + 1;
    for (uint32_t i = rows->n; i < rows->n + n; i++) {
        uint32_t line = first + (i - rows->n);
        rows->unit[i] = unit;
        rows->key[i] = ch->lines ? unit * 16 + line : unit;
        rows->warehouse[i] = warehouse;
        rows->district[i] = number;
        rows->id[i] = id;
        rows->line[i] = (int32_t)line + 1;
    }
    rows->n += n;
}

static void take_lines(struct scan *s)
{
    const struct ch *ch = &s->table->ch;
    while (s->unit < s->end && s->rows.n < WI_BUILD_ROWS) {
        uint32_t left = ch_lines(ch, s->unit) - s->line;
        uint32_t room = WI_BUILD_ROWS - s->rows.n;
        uint32_t n = left < room ? left : room;
        put_unit(ch, s->unit, s->line, &s->rows, n);
        s->line = n < left ? s->line + n : 0;
        s->unit += n == left;
    }
}

static void take_units(struct scan *s)
{
    while (s->unit < s->end && s->rows.n < WI_BUILD_ROWS) {
        put_unit(&s->table->ch, s->unit++, 0, &s->rows, 1);
    }
}

static weir_err scan_next(void *scan, struct ArrowArray *batch_out,
                          struct weir_error *err)
{
    struct scan *s = scan;
    const struct ch *ch = &s->table->ch;
    s->rows.n = 0;
    if (ch->lines) {
        take_lines(s);
    } else {
        take_units(s);
    }
    if (s->rows.n == 0) {
        return WEIR_DONE;
    }
    wi_build_begin(&s->build);
    for (uint32_t i = 0; i < s->build.n_cols; i++) {
        if (!ch_fill_column(ch, s->build.which[i], &s->rows,
                            &s->build.col[i])) {
            return wi_exec_no_memory(err, s->build.col[i].text_room);
        }
    }
    wi_build_end(&s->build, s->rows.n, batch_out);
    return WEIR_OK;
}

static void scan_close(void *arg)
{
    struct scan *s = arg;
    wi_build_fini(&s->build);
    free(s);
}

static weir_err scan_open(void *table, const struct weir_table_part *part,
                          void **scan_out, struct weir_error *err)
{
    const struct chbench *t = table;
    const struct wi_row_range units =
        wi_table_cut(t->ch.units, part->part, part->n_parts);
    struct scan *s = malloc(sizeof(*s));
    if (s == NULL) {
        return wi_exec_no_memory(err, sizeof(*s));
    }
    s->table = t;
    s->build = (struct wi_build){0};
    s->unit = units.first;
    s->end = units.end;
    s->line = 0;
    s->rows.shuffled = 0;
    weir_err rc = wi_build_init(&s->build, &t->columns, part->columns,
                                part->n_columns, err);
    if (rc != WEIR_OK) {
        scan_close(s);
        return rc;
    }
    *scan_out = s;
    return WEIR_OK;
}

static const struct weir_table_ops ops = {
    .open = scan_open,
    .next = scan_next,
    .close = scan_close,
    .free = free,
};

/* ---- opening ------------------------------------------------------------- */

static weir_err make_columns(uint32_t table, struct wi_columns *out,
                             struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    for (uint32_t i = 0; rc == WEIR_OK && i < tables[table].n_columns; i++) {
        const struct ch_column *c = &tables[table].columns[i];
        struct wi_type type = {0};
        bool known = wi_type_parse(c->type, &type);
        assert(known);
        (void)known;
        rc = wi_columns_add(out, c->name, &type);
    }
    return rc == WEIR_OK ? rc : wi_exec_no_memory(err, sizeof(*out->at));
}

static void init_table(struct ch *ch, uint32_t table, uint32_t warehouses,
                       uint64_t seed)
{
    const uint32_t per_district = tables[table].per_district;
    *ch = (struct ch){
        .seed = seed,
        .columns = tables[table].columns,
        .table = table,
        .units = (uint64_t)warehouses * CH_DISTRICTS * per_district,
        .per_district = per_district,
        .first_id = CH_CUSTOMERS - per_district + 1,
        .lines = table == ORDER_LINE,
        .lines_key = wi_random_key(seed, ORDERS * 64 + LINES_COLUMN),
        .entry_key = wi_random_key(seed, ORDERS * 64 + ENTRY_COLUMN),
    };
    ch->name_c =
        (uint32_t)wi_random_below(wi_random_key(seed, N_TABLES * 64), 256);
    ch_init(ch);
}

static weir_err find_table(const char *name, uint32_t *out,
                           struct weir_error *err)
{
    for (uint32_t i = 0; i < N_TABLES; i++) {
        if (strcmp(tables[i].name, name) == 0) {
            *out = i;
            return WEIR_OK;
        }
    }
    return wi_exec_fail(err, WEIR_ERR_NOT_FOUND,
                        "chbench has no table \"%s\"; its tables are customer, "
                        "orders, new_order and order_line",
                        name);
}

weir_err ch_open(const char *name, uint32_t warehouses, uint64_t seed,
                 weir_table **table_out, struct weir_error *err)
{
    struct wi_columns columns = {0};
    uint32_t table = 0;
    if (warehouses < 1 || warehouses > MAX_WAREHOUSES) {
        return wi_exec_fail(err, WEIR_ERR_ARG,
                            "chbench: %" PRIu32 " warehouses; 1..%d are "
                            "possible",
                            warehouses, (int)MAX_WAREHOUSES);
    }
    weir_err rc = find_table(name, &table, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct chbench *t = malloc(sizeof(*t));
    rc = t == NULL ? wi_exec_no_memory(err, sizeof(*t))
                   : make_columns(table, &columns, err);
    if (rc == WEIR_OK) {
        init_table(&t->ch, table, warehouses, seed);
        t->columns = columns;
        rc = wi_table_open(&columns, &ops, t, table_out, err);
    }
    if (rc != WEIR_OK) {
        free(t);
    }
    wi_columns_fini(&columns);
    return rc;
}

/* ---- in plans ------------------------------------------------------------ */

enum { WAREHOUSES, SEED, N_NUMBERS };

static weir_err open_kind(void *arg, const char *text, const uint64_t *numbers,
                          weir_table **table_out, struct weir_error *err)
{
    const uint64_t n = numbers[WAREHOUSES];
    (void)arg;
    return ch_open(text, n > UINT32_MAX ? UINT32_MAX : (uint32_t)n,
                   numbers[SEED], table_out, err);
}

static const struct weir_table_number numbers[N_NUMBERS] = {
    [WAREHOUSES] = {"warehouses", 1}, [SEED] = {"seed", 1}, /* as `weir gen` */
};

const struct weir_table_kind ch_kind = {
    .field = "chbench",
    .what = "a table of the CH-benCHmark",
    .numbers = numbers,
    .n_numbers = N_NUMBERS,
    .open = open_kind,
};

const struct weir_plan_read_params ch_params = {.kinds = &ch_kind,
                                                .n_kinds = 1};
