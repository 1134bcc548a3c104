/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as a table, CSV or JSON lines. */
#include "cli/rows_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"
#include "operators/base/arrow.h"
#include "operators/base/csv_field.h"
#include "operators/base/value_text.h"

/* A table's cells one after the other, each terminated. */
struct cells {
    char *text;
    size_t used;
    size_t room;
};

struct rows_out {
    FILE *to;
    enum rows_format format;
    struct wi_columns columns;
    struct wi_op_mem mem;
    struct wi_arrow_in *in;
    struct wi_chunk now; /* rows of the batch under way */
    size_t *widths;      /* characters */
    struct cells cells;
    uint64_t rows;
    char *hex; /* of one value */
    size_t hex_room;
};

/* ---- cells of any format ------------------------------------------------- */

struct text {
    const char *text; /* NULL: null */
    size_t n_bytes;
    char memory[WI_VALUE_TEXT_BYTES]; /* of values that are not strings */
};

/* Two digits a byte; NULL: no memory. */
static const char *hex(struct rows_out *out, struct wi_str s)
{
    static const char digits[] = "0123456789abcdef";
    const size_t need = 2 * (size_t)s.n_bytes + 1;
    if (need > out->hex_room) {
        char *more = realloc(out->hex, need);
        if (more == NULL) {
            return NULL;
        }
        out->hex = more;
        out->hex_room = need;
    }
    for (size_t i = 0; i < s.n_bytes; i++) {
        const unsigned char byte = (unsigned char)s.data[i];
        out->hex[2 * i] = digits[byte >> 4];
        out->hex[2 * i + 1] = digits[byte & 15];
    }
    return out->hex;
}

/* The value as text, of bytes a printable one, but in CSV: its reader takes
 * bytes as they are. False: no memory. */
static bool cell(struct rows_out *out, uint32_t col, uint32_t row,
                 struct text *value)
{
    const struct wi_type *type = &out->columns.at[col].type;
    const struct wi_value v = wi_value_at(&out->now.col[col], row);
    value->n_bytes = 0;
    if (v.null) {
        value->text = NULL;
    } else if (wi_type_rep(type) != WI_STR) {
        value->text = value->memory;
        value->n_bytes = wi_value_text(type, &v, value->memory);
    } else if (type->kind != WI_TYPE_UTF8 && out->format != ROWS_CSV) {
        value->text = hex(out, v.s);
        value->n_bytes = 2 * (size_t)v.s.n_bytes;
        return value->text != NULL;
    } else {
        value->text = v.s.n_bytes == 0 ? "" : v.s.data;
        value->n_bytes = v.s.n_bytes;
    }
    return true;
}

/* ---- CSV ----------------------------------------------------------------- */

static void put(void *to, const char *text, size_t n)
{
    (void)fwrite(text, 1, n, to);
}

static void csv_header(const struct rows_out *out)
{
    for (uint32_t c = 0; c < out->columns.n; c++) {
        const char *name = out->columns.at[c].name;
        (void)fputs(c == 0 ? "" : ",", out->to);
        wi_csv_field_put(name, strlen(name), put, out->to);
    }
    (void)fputc('\n', out->to);
}

static bool csv_row(struct rows_out *out, uint32_t row)
{
    for (uint32_t c = 0; c < out->columns.n; c++) {
        struct text value;
        if (!cell(out, c, row, &value)) {
            return false;
        }
        (void)fputs(c == 0 ? "" : ",", out->to);
        if (value.text != NULL) {
            wi_csv_field_put(value.text, value.n_bytes, put, out->to);
        }
    }
    (void)fputc('\n', out->to);
    return true;
}

/* ---- JSON ---------------------------------------------------------------- */

static void json_string(FILE *to, const char *text, size_t n)
{
    (void)fputc('"', to);
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            (void)fprintf(to, "\\%c", c);
        } else if (c == '\n') {
            (void)fputs("\\n", to);
        } else if (c < 0x20) {
            (void)fprintf(to, "\\u%04x", c);
        } else {
            (void)fputc(c, to);
        }
    }
    (void)fputc('"', to);
}

/* JSON has no inf and no nan; decimals would be rounded by readers. */
static bool is_json_number(const struct wi_type *type, const struct text *value)
{
    return type->kind == WI_TYPE_BOOL ||
           (wi_type_is_number(type) && type->kind != WI_TYPE_DECIMAL &&
            memchr(value->text, 'n', value->n_bytes) == NULL);
}

static bool json_row(struct rows_out *out, uint32_t row)
{
    for (uint32_t c = 0; c < out->columns.n; c++) {
        const char *name = out->columns.at[c].name;
        struct text value;
        if (!cell(out, c, row, &value)) {
            return false;
        }
        (void)fputs(c == 0 ? "{" : ", ", out->to);
        json_string(out->to, name, strlen(name));
        (void)fputs(": ", out->to);
        if (value.text == NULL) {
            (void)fputs("null", out->to);
        } else if (is_json_number(&out->columns.at[c].type, &value)) {
            (void)fwrite(value.text, 1, value.n_bytes, out->to);
        } else {
            json_string(out->to, value.text, value.n_bytes);
        }
    }
    (void)fputs("}\n", out->to);
    return true;
}

/* ---- table --------------------------------------------------------------- */

/* Characters: bytes that do not continue one (UTF-8). */
static size_t width(const char *text, size_t n)
{
    size_t w = 0;
    for (size_t i = 0; i < n; i++) {
        w += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return w;
}

/* Line ends and other control characters would break the table. */
static char plain(char c)
{
    return (unsigned char)c < 0x20 ? ' ' : c;
}

static bool keep(struct cells *cells, const char *text, size_t n)
{
    if (cells->room - cells->used <= n) {
        const size_t room = 2 * (cells->room + n + 1);
        char *more = realloc(cells->text, room);
        if (more == NULL) {
            return false;
        }
        cells->text = more;
        cells->room = room;
    }
    for (size_t i = 0; i < n; i++) {
        cells->text[cells->used++] = plain(text[i]);
    }
    cells->text[cells->used++] = '\0';
    return true;
}

static bool table_row(struct rows_out *out, uint32_t row)
{
    static const char null[] = "null";
    for (uint32_t c = 0; c < out->columns.n; c++) {
        struct text value;
        if (!cell(out, c, row, &value)) {
            return false;
        }
        if (value.text == NULL) {
            value.text = null;
            value.n_bytes = sizeof(null) - 1;
        }
        const size_t w = width(value.text, value.n_bytes);
        out->widths[c] = w > out->widths[c] ? w : out->widths[c];
        if (!keep(&out->cells, value.text, value.n_bytes)) {
            return false;
        }
    }
    return true;
}

static void table_cell(const struct rows_out *out, uint32_t c, const char *text)
{
    const size_t n = strlen(text);
    const int pad = (int)(out->widths[c] - width(text, n));
    const bool last = c + 1 == out->columns.n;
    (void)fputs(c == 0 ? " " : " | ", out->to);
    const struct wi_type *type = &out->columns.at[c].type;
    const bool right = wi_type_is_number(type) || type->kind == WI_TYPE_BOOL;
    (void)fprintf(out->to, "%*s", right ? pad : 0, "");
    for (; *text != '\0'; text++) {
        (void)fputc(plain(*text), out->to);
    }
    (void)fprintf(out->to, "%*s", right || last ? 0 : pad, "");
}

static void table_end(const struct rows_out *out)
{
    const char *at = out->cells.text;
    for (uint32_t c = 0; c < out->columns.n; c++) {
        table_cell(out, c, out->columns.at[c].name);
    }
    (void)fputc('\n', out->to);
    for (uint32_t c = 0; c < out->columns.n; c++) {
        (void)fputs(c == 0 ? "-" : "-+-", out->to);
        for (size_t i = 0; i < out->widths[c]; i++) {
            (void)fputc('-', out->to);
        }
    }
    (void)fputs("-\n", out->to);
    for (uint64_t row = 0; row < out->rows; row++) {
        for (uint32_t c = 0; c < out->columns.n; c++) {
            table_cell(out, c, at);
            at += strlen(at) + 1;
        }
        (void)fputc('\n', out->to);
    }
    (void)fprintf(out->to, "(%" PRIu64 " row%s)\n", out->rows,
                  out->rows == 1 ? "" : "s");
}

/* ---- all ----------------------------------------------------------------- */

/* Call it in the row in which a call failed: making texts of later values
 * changes errno. */
static weir_err fail_write(struct weir_error *err)
{
    const bool closed = errno == EPIPE;
    const weir_err rc = tool_fail_errno(err, "write the rows");
    return closed ? WEIR_DONE : rc;
}

static weir_err check_stream(const struct rows_out *out, struct weir_error *err)
{
    return ferror(out->to) != 0 ? fail_write(err) : WEIR_OK;
}

static weir_err no_memory(struct weir_error *err)
{
    return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for the rows");
}

weir_err rows_out_open(FILE *to, enum rows_format format,
                       const struct ArrowSchema *schema, struct rows_out **out,
                       struct weir_error *err)
{
    struct rows_out *o = calloc(1, sizeof(*o));
    if (o == NULL) {
        return no_memory(err);
    }
    o->to = to;
    o->format = format;
    weir_err rc = wi_columns_from_arrow(schema, &o->columns, err);
    if (rc != WEIR_OK) {
        rows_out_close(o);
        return rc;
    }
    rc = wi_arrow_in_open(&o->columns, &o->mem, &o->in, err);
    if (rc != WEIR_OK) {
        rows_out_close(o);
        return rc;
    }
    o->widths = calloc(o->columns.n + 1u, sizeof(*o->widths));
    if (o->widths == NULL) {
        rows_out_close(o);
        return no_memory(err);
    }
    for (uint32_t c = 0; c < o->columns.n; c++) {
        const char *name = o->columns.at[c].name;
        o->widths[c] = width(name, strlen(name));
    }
    if (format == ROWS_CSV) {
        csv_header(o);
    }
    *out = o;
    return WEIR_OK;
}

weir_err rows_out_put(struct rows_out *out, const struct ArrowArray *batch,
                      struct weir_error *err)
{
    static bool (*const rows[])(struct rows_out *, uint32_t) = {
        [ROWS_TABLE] = table_row,
        [ROWS_CSV] = csv_row,
        [ROWS_JSON] = json_row,
    };
    for (int64_t at = 0; at < batch->length; at += out->now.n) {
        const int64_t left = batch->length - at;
        const uint32_t n =
            left < WI_CHUNK_ROWS ? (uint32_t)left : WI_CHUNK_ROWS;
        wi_arrow_in_slice(out->in, batch, at, n, &out->now);
        for (uint32_t row = 0; row < n; row++) {
            if (!rows[out->format](out, row)) {
                return no_memory(err);
            }
            weir_err rc = check_stream(out, err);
            if (rc != WEIR_OK) {
                return rc;
            }
        }
    }
    out->rows += (uint64_t)batch->length;
    return WEIR_OK;
}

weir_err rows_out_end(struct rows_out *out, struct weir_error *err)
{
    if (out->format == ROWS_TABLE) {
        table_end(out);
    }
    return fflush(out->to) != 0 ? fail_write(err) : check_stream(out, err);
}

void rows_out_close(struct rows_out *out)
{
    if (out != NULL) {
        wi_arrow_in_close(out->in);
        wi_columns_fini(&out->columns);
        free(out->widths);
        free(out->cells.text);
        free(out->hex);
        free(out);
    }
}
