/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/payload.h"

#include <errno.h>

#include "services/scan/fail.h"
#include "services/scan/scan.h"

static const uint64_t gather_ns = 1000000;

enum { BATCHES_MAX = 4096 };

/* ---- batches of the engine ----------------------------------------------- */

static weir_err code_of(int status)
{
    return status == ECANCELED   ? WEIR_ERR_CANCELLED
           : status == ENOMEM    ? WEIR_ERR_NO_MEMORY
           : status == ETIMEDOUT ? WEIR_ERR_TIMEOUT
           : status == ENOSYS    ? WEIR_ERR_UNSUPPORTED
                                 : WEIR_ERR_QUERY_DATA;
}

static void fail_stream(struct wi_scan_scan *scan, int status)
{
    struct ArrowArrayStream *stream = &scan->stream;
    const char *text = stream->get_last_error(stream);
    if (text == NULL || text[0] == '\0') {
        text = "the engine's stream failed, and says no more";
    }
    wi_scan_scan_fail(scan, code_of(status), text);
}

/* The next batch, or none: ended or failed. */
static bool next_batch(struct wi_scan_scan *scan, struct ArrowArray *out)
{
    *out = scan->kept;
    scan->kept.release = NULL;
    if (out->release != NULL || scan->ended || scan->code != WEIR_OK) {
        return out->release != NULL;
    }
    int status = scan->stream.get_next(&scan->stream, out);
    if (status != 0) {
        fail_stream(scan, status);
        return false;
    }
    scan->ended = out->release == NULL;
    return !scan->ended;
}

/* ---- the payload --------------------------------------------------------- */

static bool grow(struct wi_scan_payload *p)
{
    uint32_t cap = p->cap * 2 + 4;
    struct ArrowArray *batches = realloc(p->batches, cap * sizeof(*batches));
    p->batches = batches != NULL ? batches : p->batches;
    struct wi_scan_split *splits = realloc(p->splits, cap * sizeof(*splits));
    p->splits = splits != NULL ? splits : p->splits;
    if (batches == NULL || splits == NULL) {
        return false;
    }
    memset(splits + p->cap, 0, (cap - p->cap) * sizeof(*splits));
    p->cap = cap;
    return true;
}

static weir_err split_next(struct wi_scan_scan *scan, struct wi_scan_payload *p,
                           const struct ArrowArray *batch,
                           struct weir_error *err)
{
    if (p->n == p->cap && !grow(p)) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a batch");
    }
    return wi_scan_split(&scan->shape, batch, &p->splits[p->n], err);
}

/* Puts it in. False: it is kept for the next payload, or cannot be sent. */
static bool put(struct wi_scan_scan *scan, struct wi_scan_payload *p,
                struct ArrowArray *batch, uint64_t limit_bytes)
{
    struct weir_error err = {0};
    weir_err code = split_next(scan, p, batch, &err);
    if (code != WEIR_OK) {
        wi_scan_scan_fail(scan, code, err.message);
        batch->release(batch);
        return false;
    }
    uint64_t bytes = wi_scan_part_bytes(&p->splits[p->n]);
    if (p->n > 0 && p->bytes + bytes > limit_bytes) {
        scan->kept = *batch;
        return false;
    }
    p->batches[p->n] = *batch;
    p->n++;
    p->bytes += bytes;
    p->rows += (uint64_t)batch->length;
    return true;
}

void wi_scan_payload_take(struct wi_scan_scan *scan, struct wi_scan_payload *p,
                          uint64_t limit_bytes)
{
    struct ArrowArray batch;
    uint64_t until_ns = wi_scan_now_ns() + gather_ns;
    while (next_batch(scan, &batch) && put(scan, p, &batch, limit_bytes)) {
        if (p->bytes >= limit_bytes || p->n == BATCHES_MAX ||
            wi_scan_now_ns() >= until_ns) {
            break;
        }
    }
    p->taken = true;
    p->end = scan->ended;
    p->code = p->n == 0 ? scan->code : WEIR_OK;
}

void wi_scan_payload_clear(struct wi_scan_payload *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        p->batches[i].release(&p->batches[i]);
    }
    p->n = 0;
    p->bytes = p->rows = 0;
    p->taken = p->end = false;
    p->code = WEIR_OK;
}

void wi_scan_payload_fini(struct wi_scan_payload *p)
{
    wi_scan_payload_clear(p);
    for (uint32_t i = 0; i < p->cap; i++) {
        wi_scan_split_fini(&p->splits[i]);
    }
    free(p->batches);
    free(p->splits);
    *p = (struct wi_scan_payload){0};
}
