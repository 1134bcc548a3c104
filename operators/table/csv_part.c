/* SPDX-License-Identifier: Apache-2.0 */
/* Counts quotes at the speed of the page cache. */
#include "operators/table/csv_part.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "operators/base/fail.h"

enum { BUFFER_BYTES = 1 << 18, BOM_BYTES = 3, LANES = 16 };

typedef uint8_t lanes __attribute__((vector_size(LANES)));

uint64_t wi_csv_first_byte(int fd)
{
    char head[BOM_BYTES];
    ssize_t n = pread(fd, head, sizeof(head), 0);
    return n == BOM_BYTES && memcmp(head, "\xef\xbb\xbf", BOM_BYTES) == 0
               ? BOM_BYTES
               : 0;
}

/* Is the number of quotes odd? A comparison gives all bits of a byte or none,
 * so that xor counts them, in each lane separately. */
static bool odd_quotes(const char *text, size_t len)
{
    lanes odd = {0};
    lanes quotes;
    bool any = false;
    size_t i = 0;
    memset(&quotes, '"', sizeof(quotes));
    for (; i + LANES <= len; i += LANES) {
        lanes v;
        memcpy(&v, text + i, sizeof(v));
        odd ^= (lanes)(v == quotes);
    }
    for (; i < len; i++) {
        any ^= text[i] == '"';
    }
    for (i = 0; i < LANES; i++) {
        any ^= odd[i] != 0;
    }
    return any;
}

static weir_err read_at(const struct wi_csv_file *file, uint64_t off,
                        uint64_t end, char *buffer, size_t *len,
                        struct weir_error *err)
{
    const uint64_t left = end - off;
    return wi_csv_file_read(
        file, off, left < BUFFER_BYTES ? left : BUFFER_BYTES, buffer, len, err);
}

/* State of the walk from byte to byte. */
struct walk {
    bool quoted;
    bool ended;    /* a line end was found */
    bool after_cr; /* it was a CR: a LF after it belongs to it */
};

/* How many bytes come before the next record; len: all of them. */
static size_t walk_on(struct walk *w, const char *text, size_t len)
{
    size_t i = 0;
    for (; i < len && !w->ended; i++) {
        w->quoted ^= text[i] == '"';
        w->after_cr = text[i] == '\r';
        w->ended = !w->quoted && (text[i] == '\n' || text[i] == '\r');
    }
    if (w->ended && i < len) {
        i += w->after_cr && text[i] == '\n';
        w->after_cr = false;
    }
    return i;
}

static weir_err find(const struct wi_csv_file *file, uint64_t data, uint64_t at,
                     char *buffer, uint64_t *begin_out, struct weir_error *err)
{
    struct walk w = {.quoted = false};
    uint64_t off = data;
    size_t len;
    while (off < at - 1) {
        weir_err rc = read_at(file, off, at - 1, buffer, &len, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        w.quoted ^= odd_quotes(buffer, len);
        off += len;
    }
    /* The byte before `at` may be the line end before a record. */
    while (off < file->bytes && (!w.ended || w.after_cr)) {
        weir_err rc = read_at(file, off, file->bytes, buffer, &len, err);
        if (rc != WEIR_OK) {
            return rc;
        }
        off += walk_on(&w, buffer, len);
    }
    *begin_out = off;
    return WEIR_OK;
}

weir_err wi_csv_find(const struct wi_csv_file *file, uint64_t data, uint64_t at,
                     uint64_t *begin_out, struct weir_error *err)
{
    if (at <= data) {
        *begin_out = data;
        return WEIR_OK;
    }
    char *buffer = malloc(BUFFER_BYTES);
    if (buffer == NULL) {
        return wi_exec_no_memory(err, BUFFER_BYTES);
    }
    weir_err rc = find(file, data, at, buffer, begin_out, err);
    free(buffer);
    return rc;
}
