/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcsv calls back for fields and records; this collects one record and hands
 * it out. Fields are copied into one growing text, and become pointers when the
 * record has ended and the text no longer moves.
 */
#define _GNU_SOURCE 1
#include "tools/csv_scan.h"

#include <csv.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/fail.h"

enum { BUFFER_BYTES = 1 << 18, FIRST_FIELDS = 64, FIRST_TEXT = 4096 };

struct csv_scan {
    int fd;
    const char *name;
    uint32_t columns; /* 0: any */
    struct csv_parser parser;

    /* the file: buffer holds [buffer_off, buffer_off + buffer_len) */
    unsigned char *buffer;
    size_t buffer_len;
    size_t pos; /* next byte in buffer */
    uint64_t buffer_off;
    uint64_t end;
    bool ended;

    /* lines and records */
    uint64_t line;
    bool after_cr; /* the last line ended with CR: a LF belongs to it */
    bool in_record;
    uint64_t record_begin;
    uint64_t record_line;

    /* the record, filled by the callbacks */
    bool complete;
    bool no_memory;
    char *text;
    size_t text_len;
    size_t text_cap;
    struct csv_field *fields;
    uint32_t n_fields;
    uint32_t fields_cap;
};

static int no_space(unsigned char c)
{
    (void)c;
    return 0;
}

weir_err csv_scan_open(int fd, const char *name, uint32_t columns,
                       struct csv_scan **out, struct weir_error *err)
{
    const unsigned char options =
        CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL;
    struct csv_scan *s = calloc(1, sizeof(*s));
    if (s == NULL || csv_init(&s->parser, options) != 0) {
        free(s);
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "%s: no memory to read it",
                         name);
    }
    csv_set_space_func(&s->parser, no_space);
    csv_set_blk_size(&s->parser, BUFFER_BYTES); /* it grows by so much */
    s->fd = fd;
    s->name = name;
    s->columns = columns;
    s->buffer = malloc(BUFFER_BYTES);
    s->text_cap = FIRST_TEXT;
    s->text = malloc(s->text_cap);
    s->fields_cap = FIRST_FIELDS;
    s->fields = calloc(s->fields_cap, sizeof(*s->fields));
    if (s->buffer == NULL || s->text == NULL || s->fields == NULL) {
        csv_scan_close(s);
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "%s: no memory to read it",
                         name);
    }
    *out = s;
    return WEIR_OK;
}

void csv_scan_close(struct csv_scan *scan)
{
    if (scan == NULL) {
        return;
    }
    csv_free(&scan->parser);
    free(scan->fields);
    free(scan->text);
    free(scan->buffer);
    free(scan);
}

void csv_scan_range(struct csv_scan *scan, uint64_t begin, uint64_t end,
                    uint64_t line)
{
    scan->buffer_off = begin;
    scan->buffer_len = 0;
    scan->pos = 0;
    scan->end = end;
    scan->ended = false;
    scan->line = line;
    scan->after_cr = false;
    scan->in_record = false;
}

void csv_scan_columns(struct csv_scan *scan, uint32_t columns)
{
    scan->columns = columns;
}

/* ---- what libcsv calls ----------------------------------------------------- */

static bool room_for_text(struct csv_scan *s, size_t len)
{
    if (s->text_cap - s->text_len >= len) {
        return true;
    }
    size_t cap = s->text_cap;
    while (cap - s->text_len < len) {
        cap *= 2;
    }
    char *text = realloc(s->text, cap);
    if (text == NULL) {
        return false;
    }
    s->text = text;
    s->text_cap = cap;
    return true;
}

static bool room_for_field(struct csv_scan *s)
{
    if (s->n_fields < s->fields_cap) {
        return true;
    }
    uint32_t cap = s->fields_cap * 2;
    struct csv_field *fields = reallocarray(s->fields, cap, sizeof(*fields));
    if (fields == NULL) {
        return false;
    }
    s->fields = fields;
    s->fields_cap = cap;
    return true;
}

/* A field's `text` only says null or not until the record is complete. */
static void field_ended(void *text, size_t len, void *arg)
{
    struct csv_scan *s = arg;
    if (!room_for_field(s) || !room_for_text(s, len)) {
        s->no_memory = true;
        return;
    }
    if (len > 0) {
        memcpy(s->text + s->text_len, text, len);
    }
    s->fields[s->n_fields++] =
        (struct csv_field){text == NULL ? NULL : "", len};
    s->text_len += len;
}

static void record_ended(int c, void *arg)
{
    struct csv_scan *s = arg;
    (void)c;
    s->complete = true;
}

/* ---- lines ----------------------------------------------------------------- */

static weir_err fill_buffer(struct csv_scan *s, struct weir_error *err)
{
    s->buffer_off += s->buffer_len;
    s->buffer_len = 0;
    s->pos = 0;
    uint64_t left = s->end - s->buffer_off;
    if (left == 0) {
        s->ended = true;
        return WEIR_OK;
    }
    size_t want = left < BUFFER_BYTES ? (size_t)left : BUFFER_BYTES;
    ssize_t got;
    do {
        got = pread(s->fd, s->buffer, want, (off_t)s->buffer_off);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return tool_fail_errno(err, "read %s", s->name);
    }
    if (got == 0) {
        return tool_fail(err, WEIR_ERR_DATA,
                         "%s: the file became shorter while it was read",
                         s->name);
    }
    s->buffer_len = (size_t)got;
    return WEIR_OK;
}

/* Bytes from pos up to and including the next line end, or all there are. */
static size_t line_bytes(const struct csv_scan *s)
{
    const unsigned char *from = s->buffer + s->pos;
    size_t left = s->buffer_len - s->pos;
    const unsigned char *lf = memchr(from, '\n', left);
    size_t n = lf == NULL ? left : (size_t)(lf - from) + 1;
    const unsigned char *cr = memchr(from, '\r', n);
    return cr == NULL ? n : (size_t)(cr - from) + 1;
}

static weir_err say_parse_error(struct csv_scan *s, struct weir_error *err)
{
    int code = csv_error(&s->parser);
    if (code != CSV_EPARSE) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "%s:%" PRIu64 ": %s", s->name,
                         s->line, csv_strerror(code));
    }
    return tool_fail(err, WEIR_ERR_DATA,
                     "%s:%" PRIu64 ": a quote in the middle of field %u; a "
                     "field with quotes in it is written in quotes, and each "
                     "of those inside twice",
                     s->name, s->line, s->n_fields + 1);
}

static weir_err feed(struct csv_scan *s, size_t n, struct weir_error *err)
{
    size_t fed = csv_parse(&s->parser, s->buffer + s->pos, n, field_ended,
                           record_ended, s);
    return fed == n ? WEIR_OK : say_parse_error(s, err);
}

/* A quote that is never closed would swallow the file. */
static weir_err check_length(const struct csv_scan *s, struct weir_error *err)
{
    if (s->buffer_off + s->pos - s->record_begin <= CSV_MAX_RECORD_BYTES) {
        return WEIR_OK;
    }
    return tool_fail(err, WEIR_ERR_DATA,
                     "%s:%" PRIu64 ": the record that begins here is longer "
                     "than %u MiB; is a quote not closed?",
                     s->name, s->record_line, CSV_MAX_RECORD_BYTES >> 20);
}

/* A line end where no record has begun. */
static void empty_line(struct csv_scan *s)
{
    if (s->columns == 1) {
        s->record_begin = s->buffer_off + s->pos;
        s->record_line = s->line;
        field_ended(NULL, 0, s);
        s->complete = true;
    }
}

/* Take one line, or what the buffer has of it. */
static weir_err take_line(struct csv_scan *s, struct weir_error *err)
{
    const unsigned char *from = s->buffer + s->pos;
    bool lf_of_cr = s->after_cr && from[0] == '\n';
    s->after_cr = false;
    if (lf_of_cr && !s->in_record) {
        s->pos++;
        return WEIR_OK;
    }
    size_t n = lf_of_cr ? 1 : line_bytes(s);
    unsigned char last = from[n - 1];
    bool ends = last == '\n' || last == '\r';
    if (n == 1 && ends && !s->in_record) {
        empty_line(s);
    } else {
        if (!s->in_record) {
            s->in_record = true;
            s->record_begin = s->buffer_off + s->pos;
            s->record_line = s->line;
        }
        weir_err rc = feed(s, n, err);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    s->pos += n;
    s->line += ends && !lf_of_cr;
    s->after_cr = last == '\r';
    return s->in_record ? check_length(s, err) : WEIR_OK;
}

/* The end of the range is the end of the last record. */
static weir_err take_end(struct csv_scan *s, struct weir_error *err)
{
    if (csv_fini(&s->parser, field_ended, record_ended, s) != 0) {
        return tool_fail(err, WEIR_ERR_DATA,
                         "%s:%" PRIu64 ": the quote that opens field %u of the "
                         "record that begins here is never closed",
                         s->name, s->record_line, s->n_fields + 1);
    }
    return WEIR_OK;
}

static weir_err check_record(const struct csv_scan *s, struct weir_error *err)
{
    if (s->no_memory) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY,
                         "%s:%" PRIu64 ": no memory for a record", s->name,
                         s->record_line);
    }
    if (s->columns != 0 && s->n_fields != s->columns) {
        return tool_fail(err, WEIR_ERR_DATA,
                         "%s:%" PRIu64 ": %u field%s, the header has %u",
                         s->name, s->record_line, s->n_fields,
                         s->n_fields == 1 ? "" : "s", s->columns);
    }
    return WEIR_OK;
}

static void hand_out(struct csv_scan *s, struct csv_record *record)
{
    size_t at = 0;
    for (uint32_t i = 0; i < s->n_fields; i++) {
        struct csv_field *f = &s->fields[i];
        f->text = f->text == NULL ? NULL : s->text + at;
        at += f->len;
    }
    *record = (struct csv_record){
        .fields = s->fields,
        .n_fields = s->n_fields,
        .begin = s->record_begin,
        .end = s->buffer_off + s->pos,
        .line = s->record_line,
        .bytes = s->text_len,
    };
}

weir_err csv_scan_next(struct csv_scan *scan, struct csv_record *record_out,
                       struct weir_error *err)
{
    struct csv_scan *s = scan;
    weir_err rc = WEIR_OK;
    s->complete = false;
    s->text_len = 0;
    s->n_fields = 0;
    while (rc == WEIR_OK && !s->complete && !s->ended) {
        if (s->pos < s->buffer_len) {
            rc = take_line(s, err);
        } else {
            rc = fill_buffer(s, err);
        }
    }
    if (rc == WEIR_OK && !s->complete && s->in_record) {
        rc = take_end(s, err);
    }
    s->in_record = false;
    if (rc != WEIR_OK) {
        return rc;
    }
    if (!s->complete) {
        return WEIR_DONE;
    }
    rc = check_record(s, err);
    if (rc == WEIR_OK) {
        hand_out(s, record_out);
    }
    return rc;
}
