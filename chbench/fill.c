/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of the CH-benCHmark's columns. Clauses are those of TPC Benchmark C,
 * revision 5.11; docs/chbench.md says where and why values differ.
 */
#include "chbench/fill.h"
#include "operators/table/random.h"

enum { PAIRS = CH_LETTERS * CH_LETTERS, BLOCK = 8, NAME_A = 255 };

/* Orders are entered between 2010-01-01 and 2016-12-31, in seconds. */
#define ENTRY_FIRST INT64_C(1262304000)
#define ENTRY_SECONDS UINT64_C(220924800)
#define MICROS INT64_C(1000000)

/* ---- tables of texts ----------------------------------------------------- */

/* Clause 4.3.2.3. */
static const char *const syllables[] = {"BAR",   "OUGHT", "ABLE", "PRI",
                                        "PRES",  "ESE",   "ANTI", "CALLY",
                                        "ATION", "EING"};

static uint8_t make_name(uint32_t number, char *to)
{
    const uint32_t digits[] = {number / 100, number / 10 % 10, number % 10};
    size_t len = 0;
    for (size_t i = 0; i < 3; i++) {
        const char *part = syllables[digits[i]];
        memcpy(to + len, part, strlen(part));
        len += strlen(part);
    }
    return (uint8_t)len;
}

void ch_init(struct ch *ch)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz";
    for (uint32_t i = 0; i < PAIRS; i++) {
        ch->pairs[i][0] = letters[i / CH_LETTERS];
        ch->pairs[i][1] = letters[i % CH_LETTERS];
    }
    for (uint32_t i = 0; i < 100; i++) {
        ch->digits[i][0] = letters[i / 10];
        ch->digits[i][1] = letters[i % 10];
    }
    for (uint32_t i = 0; i < CH_NAMES; i++) {
        ch->name_bytes[i] = make_name(i, ch->names[i]);
    }
}

/* ---- texts --------------------------------------------------------------- */

/* Four times, the high part of number * n is used and the low part becomes the
 * next number: as good as four random numbers below n. */
static void put_block(const char (*pairs)[2], uint32_t n, uint64_t number,
                      char *to)
{
    for (uint32_t i = 0; i < BLOCK / 2; i++) {
        wi_u128 product = (wi_u128)number * n;
        memcpy(to + 2 * i, pairs[product >> 64], 2);
        number = (uint64_t)product;
    }
}

/* A text of len characters; whole blocks are written. */
static char *reserve(struct wi_build_col *out, uint32_t row, size_t len)
{
    if (out->text_room - out->text_bytes < len + BLOCK &&
        !wi_build_grow(out, len + BLOCK)) {
        return NULL;
    }
    char *at = out->text + out->text_bytes;
    out->text_bytes += len;
    out->offsets[row + 1] = (int32_t)out->text_bytes;
    return at;
}

struct alphabet {
    const char (*pairs)[2];
    uint32_t n;
    uint32_t least; /* characters of a text */
    uint32_t most;
};

/* Clause 4.3.2.2: a-strings and n-strings. */
static bool fill_random(const struct alphabet *a, uint64_t key,
                        const struct ch_rows *rows, struct wi_build_col *out)
{
    for (uint32_t i = 0; i < rows->n; i++) {
        uint64_t number = wi_random_at(key, rows->key[i]);
        uint32_t len = a->least + (uint32_t)wi_random_below(
                                      number, a->most - a->least + 1);
        char *to = reserve(out, i, len);
        if (to == NULL) {
            return false;
        }
        for (uint32_t done = 0; done < len; done += BLOCK) {
            number += WI_RANDOM_GAMMA;
            put_block(a->pairs, a->n, wi_random_mix(number), to + done);
        }
    }
    return true;
}

static bool fill_word(const char *word, const struct ch_rows *rows,
                      struct wi_build_col *out)
{
    bool ok = true;
    for (uint32_t i = 0; i < rows->n; i++) {
        ok = ok && wi_build_text(out, i, word, strlen(word));
    }
    return ok;
}

/* Two capitals: the queries ask for `c_state like 'A%'`. */
static bool fill_state(uint64_t key, const struct ch_rows *rows,
                       struct wi_build_col *out)
{
    bool ok = true;
    for (uint32_t i = 0; i < rows->n; i++) {
        uint64_t pair =
            wi_random_below(wi_random_at(key, rows->key[i]), 26 * 26);
        const char state[] = {(char)('A' + pair / 26), (char)('A' + pair % 26)};
        ok = ok && wi_build_text(out, i, state, sizeof(state));
    }
    return ok;
}

/* Clause 4.3.2.7. */
static bool fill_zip(const struct ch *ch, uint64_t key,
                     const struct ch_rows *rows, struct wi_build_col *out)
{
    bool ok = true;
    for (uint32_t i = 0; i < rows->n; i++) {
        char zip[] = "000011111";
        char block[BLOCK];
        put_block(ch->digits, 100, wi_random_at(key, rows->key[i]), block);
        memcpy(zip, block, 4);
        ok = ok && wi_build_text(out, i, zip, sizeof(zip) - 1);
    }
    return ok;
}

/* Clause 4.3.3.1: "BC" for 10 % of the customers. */
static bool fill_credit(uint64_t key, const struct ch_rows *rows,
                        struct wi_build_col *out)
{
    bool ok = true;
    for (uint32_t i = 0; i < rows->n; i++) {
        bool bad = wi_random_below(wi_random_at(key, rows->key[i]), 10) == 0;
        ok = ok && wi_build_text(out, i, bad ? "BC" : "GC", 2);
    }
    return ok;
}

/* Clause 2.1.6: NURand(255, 0, 999). */
static uint32_t non_uniform_name(const struct ch *ch, uint64_t number)
{
    uint64_t a = wi_random_below(number, NAME_A + 1);
    uint64_t b = wi_random_below(wi_random_mix(number), CH_NAMES);
    return (uint32_t)(((a | b) + ch->name_c) % CH_NAMES);
}

/* Clause 4.3.3.1: the first customers have each name once. */
static bool fill_last_name(const struct ch *ch, uint64_t key,
                           const struct ch_rows *rows, struct wi_build_col *out)
{
    bool ok = true;
    for (uint32_t i = 0; i < rows->n; i++) {
        uint32_t id = (uint32_t)rows->id[i];
        uint32_t name =
            id <= CH_NAMES
                ? id - 1
                : non_uniform_name(ch, wi_random_at(key, rows->key[i]));
        ok = ok && wi_build_text(out, i, ch->names[name], ch->name_bytes[name]);
    }
    return ok;
}

/* ---- numbers ------------------------------------------------------------- */

static void copy_int(const int32_t *from, const struct ch_rows *rows,
                     struct wi_build_col *out)
{
    memcpy(out->values, from, rows->n * sizeof(*from));
}

static void fill_between(uint64_t key, int32_t a, int32_t b,
                         const struct ch_rows *rows, struct wi_build_col *out)
{
    const uint64_t n = (uint64_t)(b - a) + 1;
    int32_t *small = out->values;
    wi_i128 *decimal = out->values;
    if (out->type.kind == WI_TYPE_DECIMAL) {
        for (uint32_t i = 0; i < rows->n; i++) {
            decimal[i] = a + (int32_t)wi_random_below(
                                 wi_random_at(key, rows->key[i]), n);
        }
    } else {
        for (uint32_t i = 0; i < rows->n; i++) {
            small[i] = a + (int32_t)wi_random_below(
                               wi_random_at(key, rows->key[i]), n);
        }
    }
}

static void fill_number(int32_t value, const struct ch_rows *rows,
                        struct wi_build_col *out)
{
    int32_t *small = out->values;
    wi_i128 *decimal = out->values;
    for (uint32_t i = 0; i < rows->n; i++) {
        if (out->type.kind == WI_TYPE_DECIMAL) {
            decimal[i] = value;
        } else {
            small[i] = value;
        }
    }
}

/* Clause 4.3.3.1: 1..10 if the order is delivered, else null. */
static void fill_carrier(uint64_t key, const struct ch_rows *rows,
                         struct wi_build_col *out)
{
    int32_t *to = out->values;
    fill_between(key, 1, 10, rows, out);
    for (uint32_t i = 0; i < rows->n; i++) {
        if (rows->id[i] > CH_DELIVERED) {
            to[i] = 0;
            wi_build_null(out, i);
        }
    }
}

uint32_t ch_lines(const struct ch *ch, uint64_t order)
{
    return CH_LINES_LEAST +
           (uint32_t)wi_random_below(wi_random_at(ch->lines_key, order),
                                     CH_LINES_MOST - CH_LINES_LEAST + 1);
}

static void fill_lines(const struct ch *ch, const struct ch_rows *rows,
                       struct wi_build_col *out)
{
    int32_t *to = out->values;
    for (uint32_t i = 0; i < rows->n; i++) {
        to[i] = (int32_t)ch_lines(ch, rows->unit[i]);
    }
}

/* ---- the customers of orders --------------------------------------------- */

/* Clause 4.3.3.1: a random permutation of a district's customers. By Fisher
 * and Yates: all orders are equally likely. */
static void shuffle_customers(uint64_t key, uint64_t district,
                              struct ch_rows *rows)
{
    uint64_t own = wi_random_key(key, district);
    for (uint32_t i = 0; i < CH_CUSTOMERS; i++) {
        uint32_t j = (uint32_t)wi_random_below(wi_random_at(own, i), i + 1);
        rows->customer[i] = rows->customer[j];
        rows->customer[j] = (uint16_t)(i + 1);
    }
    rows->shuffled = district + 1;
}

static void fill_customer(uint64_t key, struct ch_rows *rows,
                          struct wi_build_col *out)
{
    int32_t *to = out->values;
    for (uint32_t i = 0; i < rows->n; i++) {
        uint64_t district = rows->unit[i] / CH_CUSTOMERS;
        if (rows->shuffled != district + 1) {
            shuffle_customers(key, district, rows);
        }
        to[i] = rows->customer[rows->id[i] - 1];
    }
}

/* ---- dates --------------------------------------------------------------- */

static int64_t entry(const struct ch *ch, uint64_t order)
{
    uint64_t number = wi_random_at(ch->entry_key, order);
    return (ENTRY_FIRST + (int64_t)wi_random_below(number, ENTRY_SECONDS)) *
           MICROS;
}

static void fill_entry(const struct ch *ch, const struct ch_rows *rows,
                       struct wi_build_col *out)
{
    int64_t *to = out->values;
    for (uint32_t i = 0; i < rows->n; i++) {
        to[i] = entry(ch, rows->unit[i]);
    }
}

/* Clause 4.3.3.1: the date of entry if the order is delivered, else null. */
static void fill_delivery(const struct ch *ch, const struct ch_rows *rows,
                          struct wi_build_col *out)
{
    int64_t *to = out->values;
    for (uint32_t i = 0; i < rows->n; i++) {
        if (rows->id[i] > CH_DELIVERED) {
            to[i] = 0;
            wi_build_null(out, i);
        } else {
            to[i] = entry(ch, rows->unit[i]);
        }
    }
}

static void fill_since(const struct ch_rows *rows, struct wi_build_col *out)
{
    int64_t *to = out->values;
    for (uint32_t i = 0; i < rows->n; i++) {
        to[i] = ENTRY_FIRST * MICROS;
    }
}

/* ---- by kind ------------------------------------------------------------- */

static void fill_numbers(const struct ch *ch, const struct ch_column *c,
                         uint64_t key, struct ch_rows *rows,
                         struct wi_build_col *out)
{
    switch (c->fill) {
    case CH_WAREHOUSE:
        copy_int(rows->warehouse, rows, out);
        break;
    case CH_DISTRICT:
        copy_int(rows->district, rows, out);
        break;
    case CH_ID:
        copy_int(rows->id, rows, out);
        break;
    case CH_LINE:
        copy_int(rows->line, rows, out);
        break;
    case CH_BETWEEN:
        fill_between(key, c->a, c->b, rows, out);
        break;
    case CH_SINCE:
        fill_since(rows, out);
        break;
    case CH_CUSTOMER:
        fill_customer(key, rows, out);
        break;
    case CH_ENTRY:
        fill_entry(ch, rows, out);
        break;
    case CH_DELIVERY:
        fill_delivery(ch, rows, out);
        break;
    case CH_CARRIER:
        fill_carrier(key, rows, out);
        break;
    case CH_LINES:
        fill_lines(ch, rows, out);
        break;
    default: /* CH_NUMBER */
        fill_number(c->a, rows, out);
        break;
    }
}

bool ch_fill_column(const struct ch *ch, uint32_t column, struct ch_rows *rows,
                    struct wi_build_col *out)
{
    const struct ch_column *c = &ch->columns[column];
    const uint64_t key = wi_random_key(ch->seed, ch->table * 64 + column);
    const struct alphabet letters = {ch->pairs, PAIRS, (uint32_t)c->a,
                                     (uint32_t)c->b};
    const struct alphabet digits = {ch->digits, 100, (uint32_t)c->a,
                                    (uint32_t)c->a};
    switch (c->fill) {
    case CH_LETTERS_DIGITS:
        return fill_random(&letters, key, rows, out);
    case CH_DIGITS:
        return fill_random(&digits, key, rows, out);
    case CH_WORD:
        return fill_word("OE", rows, out);
    case CH_LAST_NAME:
        return fill_last_name(ch, key, rows, out);
    case CH_STATE:
        return fill_state(key, rows, out);
    case CH_ZIP:
        return fill_zip(ch, key, rows, out);
    case CH_CREDIT:
        return fill_credit(key, rows, out);
    default:
        fill_numbers(ch, c, key, rows, out);
        return true;
    }
}
