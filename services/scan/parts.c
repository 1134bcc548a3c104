/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/parts.h"

#include <string.h>

#include "services/scan/fail.h"
#include "services/scan/proto.h"

static uint64_t round_up(uint64_t n)
{
    return (n + WI_SCAN_ALIGN - 1) / WI_SCAN_ALIGN * WI_SCAN_ALIGN;
}

/* ---- write --------------------------------------------------------------- */

uint64_t wi_scan_part_bytes(const struct wi_scan_split *split)
{
    return round_up(sizeof(struct wi_scan_part) + split->head.len) +
           round_up(split->body_bytes);
}

uint64_t wi_scan_parts_bytes(uint32_t schema_bytes,
                             const struct wi_scan_split *splits, uint32_t n)
{
    uint64_t bytes = round_up(schema_bytes);
    for (uint32_t i = 0; i < n; i++) {
        bytes += wi_scan_part_bytes(&splits[i]);
    }
    return bytes;
}

/* Bytes and zeros up to the next multiple of 64; where that is. */
static uint8_t *put(uint8_t *at, uint64_t before, const void *bytes, uint64_t n)
{
    uint64_t end = round_up(before + n) - before;
    if (n > 0) {
        memcpy(at, bytes, n);
    }
    memset(at + n, 0, end - n);
    return at + end;
}

void wi_scan_parts_copy(const void *schema, uint32_t schema_bytes,
                        const struct wi_scan_split *splits, uint32_t n,
                        void *dst)
{
    uint8_t *at = put(dst, 0, schema, schema_bytes);
    for (uint32_t i = 0; i < n; i++) {
        const struct wi_scan_split *s = &splits[i];
        struct wi_scan_part part = {s->head.len, s->body_bytes};
        memcpy(at, &part, sizeof(part));
        at = put(at + sizeof(part), sizeof(part), s->head.bytes, s->head.len);
        wi_scan_split_copy(s, at);
        at += round_up(s->body_bytes);
    }
}

/* ---- walk ---------------------------------------------------------------- */

static weir_err bad(struct weir_error *err, const char *what)
{
    return wi_scan_fail(err, WEIR_ERR_DATA, "malformed payload: %s", what);
}

/* Go over n bytes and their gap; NULL: there are not so many. */
static const uint8_t *pass(struct wi_scan_parts *p, uint64_t n)
{
    uint64_t left = p->bytes - p->at;
    const uint8_t *at = p->base + p->at;
    if (n > left || round_up(n) > left) {
        return NULL;
    }
    p->at += round_up(n);
    return at;
}

weir_err wi_scan_parts_init(struct wi_scan_parts *parts, const void *payload,
                            uint64_t bytes, uint32_t schema_bytes,
                            uint32_t n_batches, struct weir_error *err)
{
    *parts = (struct wi_scan_parts){payload, bytes, 0, n_batches};
    if (schema_bytes > 0 && pass(parts, schema_bytes) == NULL) {
        return bad(err, "its schema goes beyond its end");
    }
    return WEIR_OK;
}

weir_err wi_scan_parts_next(struct wi_scan_parts *parts,
                            struct wi_scan_part_view *view_out,
                            struct weir_error *err)
{
    struct wi_scan_part part;
    if (parts->left == 0) {
        return parts->at == parts->bytes ? WEIR_DONE
                                         : bad(err, "more than its batches");
    }
    if (parts->bytes - parts->at < sizeof(part)) {
        return bad(err, "fewer batches than there should be");
    }
    memcpy(&part, parts->base + parts->at, sizeof(part));
    if (part.head_bytes > UINT32_MAX) {
        return bad(err, "a head goes beyond its end");
    }
    const uint8_t *head = pass(parts, sizeof(part) + part.head_bytes);
    const uint8_t *body = head != NULL ? pass(parts, part.body_bytes) : NULL;
    if (body == NULL) {
        return bad(err, "a batch goes beyond its end");
    }
    parts->left--;
    *view_out = (struct wi_scan_part_view){head + sizeof(part), part.head_bytes,
                                           body, part.body_bytes};
    return WEIR_OK;
}
