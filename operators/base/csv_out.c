/* SPDX-License-Identifier: Apache-2.0 */
#include "operators/base/csv_out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "operators/base/csv_field.h"
#include "operators/base/fail.h"

void wi_csv_out_init(struct wi_csv_out *out, int fd)
{
    out->fd = fd;
    out->failed = 0;
    out->fields = 0;
    out->used = 0;
    out->bytes = 0;
}

static void flush(struct wi_csv_out *out)
{
    size_t done = 0;
    while (done < out->used && out->failed == 0) {
        ssize_t n = write(out->fd, out->buffer + done, out->used - done);
        if (n >= 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            out->failed = errno;
        }
    }
    out->used = 0;
}

static void put(void *to, const char *text, size_t len)
{
    struct wi_csv_out *out = to;
    out->bytes += len;
    while (len > 0) {
        size_t room = WI_CSV_OUT_BYTES - out->used;
        size_t n = len < room ? len : room;
        memcpy(out->buffer + out->used, text, n);
        out->used += n;
        text += n;
        len -= n;
        if (out->used == WI_CSV_OUT_BYTES) {
            flush(out);
        }
    }
}

void wi_csv_out_field(struct wi_csv_out *out, const char *text, size_t len)
{
    if (out->fields++ > 0) {
        put(out, ",", 1);
    }
    if (text != NULL) {
        wi_csv_field_put(text, len, put, out);
    }
}

void wi_csv_out_end(struct wi_csv_out *out)
{
    put(out, "\n", 1);
    out->fields = 0;
}

int wi_csv_out_failed(const struct wi_csv_out *out)
{
    return out->failed;
}

weir_err wi_csv_out_sync(struct wi_csv_out *out, const char *name,
                         struct weir_error *err)
{
    flush(out);
    if (out->failed == 0 && fsync(out->fd) != 0) {
        out->failed = errno;
    }
    if (out->failed != 0) {
        return wi_exec_fail(err, WEIR_ERR_SYSTEM, "write %s: %s", name,
                            strerror(out->failed));
    }
    return WEIR_OK;
}
