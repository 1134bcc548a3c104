/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "bench/scan/talk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/scan/sum.h"
#include "core/base/err.h"
#include "launch/clock.h"

static weir_err stream_failed(struct ArrowArrayStream *stream, int code,
                              struct weir_error *err)
{
    const char *why = stream->get_last_error(stream);
    return wi_fail(err, WEIR_ERR_DATA, "the stream: %s",
                   why != NULL ? why : strerror(code));
}

static weir_err no_sum(const struct ArrowSchema *schema, struct weir_error *err)
{
    char formats[256] = "";
    size_t at = 0;
    for (int64_t i = 0; i < schema->n_children && at < sizeof(formats); i++) {
        at += (size_t)snprintf(formats + at, sizeof(formats) - at, " %s",
                               schema->children[i]->format);
    }
    return wi_fail(err, WEIR_ERR_SCHEMA, "one of these types has no sum:%s",
                   formats);
}

static weir_err take_batch(struct ArrowArray *batch,
                           const struct ArrowSchema *schema, bool reads,
                           struct wb_scan_pass *out, struct weir_error *err)
{
    struct wb_scan_sum sum = {.sum = out->sum, .bytes = out->bytes};
    out->rows += (uint64_t)batch->length;
    int code = reads ? wb_scan_sum(schema, batch, &sum) : 0;
    batch->release(batch);
    out->sum = sum.sum;
    out->bytes = sum.bytes;
    return code == 0 ? WEIR_OK : no_sum(schema, err);
}

static weir_err take_all(struct ArrowArrayStream *stream, bool reads,
                         struct wb_scan_pass *out, struct weir_error *err)
{
    struct ArrowSchema schema;
    int code = stream->get_schema(stream, &schema);
    if (code != 0) {
        return stream_failed(stream, code, err);
    }
    weir_err rc = WEIR_OK;
    while (rc == WEIR_OK) {
        struct ArrowArray batch = {.release = NULL};
        code = stream->get_next(stream, &batch);
        if (code != 0) {
            rc = stream_failed(stream, code, err);
        } else if (batch.release == NULL) {
            break;
        } else {
            rc = take_batch(&batch, &schema, reads, out, err);
        }
    }
    schema.release(&schema);
    return rc;
}

static weir_err scan(const struct wb_scan_way *way, const char *text,
                     bool reads, struct wb_scan_pass *out,
                     struct weir_error *err)
{
    struct ArrowArrayStream stream = {.release = NULL};
    weir_err rc = way->open(way->arg, text, &stream, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = take_all(&stream, reads, out, err);
    stream.release(&stream);
    return rc;
}

/* "read TEXT" */
struct line {
    const char *text;
    uint64_t count;
    bool reads;
};

static bool parse(const char *from, struct line *line)
{
    char *end = NULL;
    *line = (struct line){.count = 1, .reads = from[0] != 't'};
    if (strncmp(from, "take ", 5) == 0 || strncmp(from, "read ", 5) == 0) {
        line->text = from + 5;
        return true;
    }
    if (strncmp(from, "one ", 4) != 0) {
        return false;
    }
    line->count = strtoull(from + 4, &end, 10);
    line->text = end + 1;
    return *end == ' ';
}

weir_err wb_scan_pass_run(const struct wb_scan_way *way, const char *line,
                          struct wb_scan_pass *out, struct weir_error *err)
{
    struct line l;
    weir_err rc = WEIR_OK;
    *out = (struct wb_scan_pass){.rows = 0};
    if (!parse(line, &l)) {
        return wi_fail(err, WEIR_ERR_DATA, "told to \"%s\"", line);
    }
    const uint64_t begin = wl_now_ns();
    for (uint64_t i = 0; rc == WEIR_OK && i < l.count; i++) {
        out->bytes = 0;
        out->sum = 0;
        rc = scan(way, l.text, l.reads, out, err);
    }
    out->seconds = (double)(wl_now_ns() - begin) * 1e-9;
    return rc;
}

static void answer(const struct wb_scan_way *way, const char *line, FILE *to)
{
    struct wb_scan_pass pass;
    struct weir_error err = {.code = WEIR_OK};
    if (wb_scan_pass_run(way, line, &pass, &err) != WEIR_OK) {
        err.message[strcspn(err.message, "\n")] = '\0';
        (void)fprintf(to, "failed %s\n", err.message);
        return;
    }
    (void)fprintf(
        to, "rows %" PRIu64 " bytes %" PRIu64 " sum %" PRIu64 " seconds %.9f\n",
        pass.rows, pass.bytes, pass.sum, pass.seconds);
}

weir_err wb_scan_talk(const struct wb_scan_way *way, const char *version,
                      FILE *from, FILE *to, struct weir_error *err)
{
    char *line = NULL;
    size_t room = 0;
    int written = fprintf(to, "ready %s\n", version);
    while (written >= 0 && fflush(to) == 0 && getline(&line, &room, from) > 0) {
        line[strcspn(line, "\n")] = '\0';
        answer(way, line, to);
    }
    free(line);
    return written >= 0 && !ferror(to)
               ? WEIR_OK
               : wi_fail_errno(err, errno, "writing an answer");
}
