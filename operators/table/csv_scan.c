/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only four bytes mean anything to the grammar: delimiter, quote, CR and LF.
 * Each block of 64 bytes becomes a mask of where they are, and the parser goes
 * from one to the next; libcsv, which looks at every byte, is five times
 * slower.
 *
 * Fields point into the buffer. A record that does not end in it is parsed
 * again once more has been read; the buffer grows with the longest record.
 */
#include "operators/table/csv_scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "operators/base/fail.h"
#include "operators/base/utf8.h"

enum { BUFFER_BYTES = 1 << 18, FIRST_FIELDS = 64, BLOCK = 64 };

struct wi_csv_scan {
    struct wi_csv_file file;
    uint32_t columns; /* 0: any */
    uint64_t stop;

    /* the file: buffer holds [buffer_off, buffer_off + len), and a block of
     * zeros after it */
    char *buffer;
    size_t room;
    size_t len;
    uint64_t buffer_off;
    bool ascii; /* all of it */

    size_t pos; /* next byte in buffer */
    uint64_t line;
    bool after_cr; /* a LF at pos belongs to the CR before it */

    /* special bytes of [mask_at, mask_at + BLOCK) that are not yet taken */
    uint64_t mask;
    size_t mask_at;
    size_t seen; /* special bytes before this are taken */

    struct wi_csv_field *fields;
    uint32_t n_fields;
    uint32_t fields_room;
    uint64_t lines; /* line ends inside the record so far */
};

weir_err wi_csv_scan_open(const struct wi_csv_file *file, uint32_t columns,
                          struct wi_csv_scan **out, struct weir_error *err)
{
    struct wi_csv_scan *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return wi_exec_no_memory(err, sizeof(*s));
    }
    s->file = *file;
    s->columns = columns;
    s->room = BUFFER_BYTES;
    s->buffer = malloc(s->room + BLOCK);
    s->fields_room = columns > FIRST_FIELDS ? columns : FIRST_FIELDS;
    s->fields = calloc(s->fields_room, sizeof(*s->fields));
    if (s->buffer == NULL || s->fields == NULL) {
        wi_csv_scan_close(s);
        return wi_exec_no_memory(err, BUFFER_BYTES);
    }
    *out = s;
    return WEIR_OK;
}

void wi_csv_scan_close(struct wi_csv_scan *scan)
{
    if (scan != NULL) {
        free(scan->fields);
        free(scan->buffer);
        free(scan);
    }
}

void wi_csv_scan_range(struct wi_csv_scan *scan, uint64_t begin, uint64_t stop,
                       uint64_t line)
{
    scan->buffer_off = begin;
    scan->len = 0;
    scan->pos = 0;
    scan->seen = SIZE_MAX;
    scan->stop = stop;
    scan->line = line;
    scan->after_cr = false;
}

void wi_csv_scan_columns(struct wi_csv_scan *scan, uint32_t columns)
{
    scan->columns = columns;
}

/* ---- the buffer ---------------------------------------------------------- */

static bool at_end(const struct wi_csv_scan *s)
{
    return s->buffer_off + s->len == s->file.bytes;
}

static weir_err grow_buffer(struct wi_csv_scan *s, struct weir_error *err)
{
    char *buffer = realloc(s->buffer, s->room * 2 + BLOCK);
    if (buffer == NULL) {
        return wi_exec_no_memory(err, s->room * 2);
    }
    s->buffer = buffer;
    s->room *= 2;
    return WEIR_OK;
}

/* Keep the bytes from pos on, and read more after them. WEIR_AGAIN: done. */
static weir_err read_more(struct wi_csv_scan *s, struct weir_error *err)
{
    memmove(s->buffer, s->buffer + s->pos, s->len - s->pos);
    s->buffer_off += s->pos;
    s->len -= s->pos;
    s->pos = 0;
    s->seen = SIZE_MAX;
    if (s->len > s->room / 2) {
        weir_err rc = grow_buffer(s, err);
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    const uint64_t off = s->buffer_off + s->len;
    const uint64_t left = s->file.bytes - off;
    const size_t room = s->room - s->len;
    size_t got;
    weir_err rc = wi_csv_file_read(&s->file, off, left < room ? left : room,
                                   s->buffer + s->len, &got, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    s->len += got;
    memset(s->buffer + s->len, 0, BLOCK);
    s->ascii = wi_utf8_is_ascii(s->buffer, s->len);
    return WEIR_AGAIN;
}

/* ---- special bytes ------------------------------------------------------- */

#if defined(__SSE2__)
static uint64_t special_bytes(const char *at, char delimiter)
{
    const __m128i delimiters = _mm_set1_epi8(delimiter);
    const __m128i quotes = _mm_set1_epi8('"');
    const __m128i lfs = _mm_set1_epi8('\n');
    const __m128i crs = _mm_set1_epi8('\r');
    uint64_t mask = 0;
    for (int i = 0; i < BLOCK / 16; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)at + i);
        __m128i hit = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(v, delimiters),
                         _mm_cmpeq_epi8(v, quotes)),
            _mm_or_si128(_mm_cmpeq_epi8(v, lfs), _mm_cmpeq_epi8(v, crs)));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(hit) << (16 * i);
    }
    return mask;
}
#else
static uint64_t special_bytes(const char *at, char delimiter)
{
    uint64_t mask = 0;
    for (int i = 0; i < BLOCK; i++) {
        char c = at[i];
        bool hit = c == delimiter || c == '"' || c == '\n' || c == '\r';
        mask |= (uint64_t)hit << i;
    }
    return mask;
}
#endif

static void seek_special(struct wi_csv_scan *s, size_t pos)
{
    s->mask_at = pos;
    s->mask = special_bytes(s->buffer + pos, s->file.delimiter);
    s->seen = pos;
}

/* Take the next special byte; len or more: there is none. */
static inline size_t next_special(struct wi_csv_scan *s)
{
    while (s->mask == 0) {
        if (s->mask_at + BLOCK >= s->len) {
            s->seen = SIZE_MAX;
            return s->len;
        }
        s->mask_at += BLOCK;
        s->mask = special_bytes(s->buffer + s->mask_at, s->file.delimiter);
    }
    size_t at = s->mask_at + (size_t)__builtin_ctzll(s->mask);
    s->mask &= s->mask - 1;
    s->seen = at + 1;
    return at;
}

/* ---- fields -------------------------------------------------------------- */

/* What became of a field or record. */
enum outcome {
    FIELD,  /* a delimiter follows */
    RECORD, /* a line end follows, or the file's end */
    MORE,   /* it does not end in the buffer */
    STRAY,  /* a quote where none may be */
    OPEN,   /* the file ends inside quotes */
};

static bool room_for_field(struct wi_csv_scan *s)
{
    if (s->n_fields < s->fields_room) {
        return true;
    }
    struct wi_csv_field *fields =
        reallocarray(s->fields, s->fields_room, 2 * sizeof(*fields));
    if (fields == NULL) {
        return false;
    }
    s->fields = fields;
    s->fields_room *= 2;
    return true;
}

/* What the byte at `at`, right after a field, says of it. */
static enum outcome after(const struct wi_csv_scan *s, size_t at)
{
    if (at >= s->len) {
        return at_end(s) ? RECORD : MORE;
    }
    char c = s->buffer[at];
    if (c == s->file.delimiter) {
        return FIELD;
    }
    return c == '\n' || c == '\r' ? RECORD : STRAY;
}

/* Find the quote that ends a field; the one that begins it was taken. */
static enum outcome find_quote(struct wi_csv_scan *s, struct wi_csv_field *f,
                               size_t *at)
{
    for (;;) {
        size_t q = next_special(s);
        if (q >= s->len) {
            return at_end(s) ? OPEN : MORE;
        }
        char c = s->buffer[q];
        if (c != '"') {
            s->lines += c == '\r' || (c == '\n' && s->buffer[q - 1] != '\r');
        } else if (q + 1 == s->len && !at_end(s)) {
            return MORE;
        } else if (s->buffer[q + 1] == '"') { /* zeros after the end */
            (void)next_special(s);
            f->escaped = true;
        } else {
            *at = q;
            return FIELD;
        }
    }
}

static enum outcome take_quoted(struct wi_csv_scan *s, struct wi_csv_field *f,
                                size_t *at)
{
    const size_t begin = *at + 1;
    size_t quote;
    (void)next_special(s); /* the quote at *at */
    enum outcome found = find_quote(s, f, &quote);
    if (found != FIELD) {
        return found;
    }
    f->text = s->buffer + begin;
    f->len = (uint32_t)(quote - begin);
    f->quoted = true;
    *at = quote + 1;
    found = after(s, *at);
    if (found != STRAY && *at < s->len) {
        (void)next_special(s); /* what comes next */
    }
    return found;
}

static inline enum outcome take_plain(struct wi_csv_scan *s,
                                      struct wi_csv_field *f, size_t *at)
{
    size_t end = next_special(s);
    end = end < s->len ? end : s->len;
    f->text = s->buffer + *at;
    f->len = (uint32_t)(end - *at);
    *at = end;
    return after(s, end);
}

/* Take the record at pos; *at is where it ended or failed. */
static enum outcome take_fields(struct wi_csv_scan *s, size_t *at)
{
    size_t p = s->pos;
    enum outcome found;
    s->n_fields = 0;
    s->lines = 0;
    if (s->seen != p) {
        seek_special(s, p);
    }
    do {
        if (!room_for_field(s)) {
            *at = SIZE_MAX;
            return MORE;
        }
        struct wi_csv_field *f = &s->fields[s->n_fields];
        *f = (struct wi_csv_field){.quoted = false};
        found = p < s->len && s->buffer[p] == '"' ? take_quoted(s, f, &p)
                                                  : take_plain(s, f, &p);
        *at = p++;
        s->n_fields += found == FIELD || found == RECORD;
    } while (found == FIELD);
    return found;
}

/* ---- records ------------------------------------------------------------- */

static weir_err say_stray(const struct wi_csv_scan *s, struct weir_error *err)
{
    return wi_exec_fail(err, WEIR_ERR_DATA,
                        "%s:%" PRIu64 ": a quote in the middle of field %u; a "
                        "field with quotes in it is written in quotes, and "
                        "each of those inside twice",
                        s->file.name, s->line + s->lines, s->n_fields + 1);
}

static weir_err say_open(const struct wi_csv_scan *s, struct weir_error *err)
{
    return wi_exec_fail(err, WEIR_ERR_DATA,
                        "%s:%" PRIu64 ": the quote that opens field %u of the "
                        "record that begins here is never closed",
                        s->file.name, s->line, s->n_fields + 1);
}

/* A quote that is never closed would swallow the file. */
static weir_err say_long(const struct wi_csv_scan *s, struct weir_error *err)
{
    return wi_exec_fail(err, WEIR_ERR_DATA,
                        "%s:%" PRIu64 ": the record that begins here is longer "
                        "than %u MiB; is a quote not closed?",
                        s->file.name, s->line, WI_CSV_MAX_RECORD_BYTES >> 20);
}

static weir_err say_fields(const struct wi_csv_scan *s, struct weir_error *err)
{
    return wi_exec_fail(err, WEIR_ERR_DATA,
                        "%s:%" PRIu64 ": %u field%s, the header has %u",
                        s->file.name, s->line, s->n_fields,
                        s->n_fields == 1 ? "" : "s", s->columns);
}

/* A quote inside is written twice. */
static void unescape(struct wi_csv_field *f)
{
    char *text = (char *)(uintptr_t)f->text; /* in our buffer */
    uint32_t len = 0;
    for (uint32_t i = 0; i < f->len; i++) {
        text[len++] = text[i];
        i += text[i] == '"';
    }
    f->len = len;
}

/* Go past the line end at pos. */
static void skip_line_end(struct wi_csv_scan *s)
{
    if (s->pos == s->len) {
        return; /* the file ended instead */
    }
    bool cr = s->buffer[s->pos++] == '\r';
    s->line++;
    if (cr && s->pos < s->len) {
        s->pos += s->buffer[s->pos] == '\n';
    } else {
        s->after_cr = cr;
    }
}

static weir_err hand_out(struct wi_csv_scan *s, size_t end,
                         struct wi_csv_record *record, struct weir_error *err)
{
    if (s->columns != 0 && s->n_fields != s->columns) {
        return say_fields(s, err);
    }
    for (uint32_t i = 0; i < s->n_fields; i++) {
        if (s->fields[i].escaped) {
            unescape(&s->fields[i]);
        }
    }
    record->fields = s->fields;
    record->n_fields = s->n_fields;
    record->ascii = s->ascii;
    record->begin = s->buffer_off + s->pos;
    record->line = s->line;
    s->line += s->lines;
    s->pos = end;
    skip_line_end(s);
    record->end = s->buffer_off + s->pos;
    record->next_line = s->line;
    return WEIR_OK;
}

/* WEIR_AGAIN: more of the file is needed. */
static weir_err take_record(struct wi_csv_scan *s, struct wi_csv_record *record,
                            struct weir_error *err)
{
    size_t end = s->pos;
    enum outcome found = take_fields(s, &end);
    if (end == SIZE_MAX) {
        return wi_exec_no_memory(err, s->fields_room * sizeof(*s->fields));
    }
    if (found != STRAY && end - s->pos > WI_CSV_MAX_RECORD_BYTES) {
        return say_long(s, err);
    }
    switch (found) {
    case STRAY:
        return say_stray(s, err);
    case OPEN:
        return s->len - s->pos > WI_CSV_MAX_RECORD_BYTES ? say_long(s, err)
                                                         : say_open(s, err);
    case MORE:
        return s->len - s->pos > WI_CSV_MAX_RECORD_BYTES ? say_long(s, err)
                                                         : WEIR_AGAIN;
    default:
        return hand_out(s, end, record, err);
    }
}

/* The line at pos is empty. */
static weir_err take_empty(struct wi_csv_scan *s, struct wi_csv_record *record)
{
    record->begin = s->buffer_off + s->pos;
    record->line = s->line;
    skip_line_end(s);
    if (s->columns != 1) {
        return WEIR_AGAIN;
    }
    s->fields[0] = (struct wi_csv_field){.text = ""};
    record->fields = s->fields;
    record->n_fields = 1;
    record->ascii = true;
    record->end = s->buffer_off + s->pos;
    record->next_line = s->line;
    return WEIR_OK;
}

/* One step: a record, or WEIR_AGAIN, or the end. */
static weir_err take_line(struct wi_csv_scan *s, struct wi_csv_record *record,
                          struct weir_error *err)
{
    char c = s->buffer[s->pos];
    bool lf_of_cr = s->after_cr && c == '\n';
    s->after_cr = false;
    if (lf_of_cr) {
        s->pos++;
        return WEIR_AGAIN;
    }
    if (s->buffer_off + s->pos >= s->stop) {
        return WEIR_DONE;
    }
    if (c == '\n' || c == '\r') {
        return take_empty(s, record);
    }
    weir_err rc = take_record(s, record, err);
    return rc == WEIR_AGAIN ? read_more(s, err) : rc;
}

weir_err wi_csv_scan_next(struct wi_csv_scan *scan,
                          struct wi_csv_record *record_out,
                          struct weir_error *err)
{
    struct wi_csv_scan *s = scan;
    weir_err rc = WEIR_AGAIN;
    while (rc == WEIR_AGAIN) {
        if (s->pos < s->len) {
            rc = take_line(s, record_out, err);
        } else if (at_end(s) || s->buffer_off + s->pos >= s->stop) {
            rc = WEIR_DONE;
        } else {
            rc = read_more(s, err);
        }
    }
    return rc;
}
