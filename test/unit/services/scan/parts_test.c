/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads: batches of all types in one, there and back; and altered ones. */
#include <criterion/criterion.h>

#include "services/scan/parts.h"
#include "services/scan/proto.h"
#include "services/scan/schema_bytes.h"
#include "test/unit/services/scan/make.h"

TestSuite(scan_parts, .timeout = 60);

enum { BATCHES = 3 };

/* A payload of some batches of one kind, in memory of exactly its size. */
struct payload {
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct wi_scan_shape shape;
    struct wi_scan_split split[BATCHES];
    struct wi_scan_buf text;
    uint8_t *bytes;
    uint64_t n;
};

static void payload_open(struct payload *p, int kind)
{
    *p = (struct payload){0};
    wt_scan_make(kind, &p->schema, &p->array);
    cr_assert_eq(wi_scan_shape_init(&p->shape, &p->schema, NULL), WEIR_OK);
    cr_assert_eq(wi_scan_schema_encode(&p->schema, &p->text, NULL), WEIR_OK);
    for (int i = 0; i < BATCHES; i++) {
        cr_assert_eq(wi_scan_split(&p->shape, &p->array, &p->split[i], NULL),
                     WEIR_OK);
    }
    p->n = wi_scan_parts_bytes((uint32_t)p->text.len, p->split, BATCHES);
    cr_assert_eq(p->n % WI_SCAN_ALIGN, 0);
    p->bytes = aligned_alloc(WI_SCAN_ALIGN, p->n);
    cr_assert_not_null(p->bytes);
    memset(p->bytes, 0xaa, p->n);
    wi_scan_parts_copy(p->text.bytes, (uint32_t)p->text.len, p->split, BATCHES,
                       p->bytes);
}

static void payload_close(struct payload *p)
{
    for (int i = 0; i < BATCHES; i++) {
        wi_scan_split_fini(&p->split[i]);
    }
    free(p->bytes);
    free(p->text.bytes);
    wi_scan_shape_fini(&p->shape);
    p->array.release(&p->array);
    p->schema.release(&p->schema);
}

/* Walk over all of it; how it ends. */
static weir_err walk(const void *bytes, uint64_t n, uint32_t schema_bytes,
                     uint32_t batches, uint32_t *seen_out)
{
    struct wi_scan_parts parts;
    struct wi_scan_part_view v;
    struct weir_error err;
    weir_err code =
        wi_scan_parts_init(&parts, bytes, n, schema_bytes, batches, &err);
    *seen_out = 0;
    while (code == WEIR_OK) {
        code = wi_scan_parts_next(&parts, &v, &err);
        if (code == WEIR_OK) {
            const uint8_t *end = (const uint8_t *)bytes + n;
            cr_assert((const uint8_t *)v.head + v.head_bytes <= end);
            cr_assert((const uint8_t *)v.body + v.body_bytes <= end);
            ++*seen_out;
        }
    }
    return code;
}

static void join_part(struct payload *p, const struct wi_scan_part_view *v)
{
    struct wi_scan_body body = {v->body, v->body_bytes, NULL, NULL, false};
    struct ArrowArray out;
    struct weir_error err;
    cr_assert_eq((uintptr_t)v->body % WI_SCAN_ALIGN, 0);
    cr_assert_eq(
        wi_scan_join(&p->shape, v->head, v->head_bytes, &body, &out, &err),
        WEIR_OK, "%s", err.message);
    cr_assert_eq(out.length, p->array.length);
    out.release(&out);
}

Test(scan_parts, batches_of_all_types_come_back)
{
    for (int k = 0; k < wt_scan_kinds(); k++) {
        struct payload p;
        struct wi_scan_parts parts;
        struct wi_scan_part_view v;
        payload_open(&p, k);
        cr_assert_eq(memcmp(p.bytes, p.text.bytes, p.text.len), 0);
        cr_assert_eq(wi_scan_parts_init(&parts, p.bytes, p.n,
                                        (uint32_t)p.text.len, BATCHES, NULL),
                     WEIR_OK);
        for (int i = 0; i < BATCHES; i++) {
            cr_assert_eq(wi_scan_parts_next(&parts, &v, NULL), WEIR_OK);
            join_part(&p, &v);
        }
        cr_assert_eq(wi_scan_parts_next(&parts, &v, NULL), WEIR_DONE);
        payload_close(&p);
    }
}

Test(scan_parts, gaps_are_zeros)
{
    struct payload p;
    payload_open(&p, 0);
    for (size_t i = p.text.len; i % WI_SCAN_ALIGN != 0; i++) {
        cr_assert_eq(p.bytes[i], 0);
    }
    size_t at = (p.text.len + 63) / 64 * 64 + sizeof(struct wi_scan_part) +
                p.split[0].head.len;
    for (; at % WI_SCAN_ALIGN != 0; at++) {
        cr_assert_eq(p.bytes[at], 0);
    }
    payload_close(&p);
}

Test(scan_parts, nothing_is_a_payload_of_no_batches)
{
    uint32_t seen;
    cr_assert_eq(wi_scan_parts_bytes(0, NULL, 0), 0);
    cr_assert_eq(walk("", 0, 0, 0, &seen), WEIR_DONE);
    cr_assert_eq(walk("", 0, 0, 1, &seen), WEIR_ERR_DATA);
    cr_assert_eq(walk("", 0, 1, 0, &seen), WEIR_ERR_DATA);
    cr_assert_eq(walk("", 0, UINT32_MAX, 0, &seen), WEIR_ERR_DATA);
}

Test(scan_parts, a_payload_cut_anywhere_is_an_error)
{
    struct payload p;
    uint32_t seen;
    payload_open(&p, 1);
    for (uint64_t n = 0; n < p.n; n++) {
        uint8_t *part = malloc(n + 1);
        memcpy(part, p.bytes, n);
        cr_assert_eq(walk(part, n, (uint32_t)p.text.len, BATCHES, &seen),
                     WEIR_ERR_DATA, "%llu", (unsigned long long)n);
        free(part);
    }
    for (uint32_t n = 0; n < BATCHES; n++) { /* more than it says */
        cr_assert_eq(walk(p.bytes, p.n, (uint32_t)p.text.len, n, &seen),
                     WEIR_ERR_DATA);
        cr_assert_eq(seen, n);
    }
    payload_close(&p);
}

/* Lengths up to the largest number there is, and those around what is left. */
Test(scan_parts, lengths_are_checked)
{
    static const uint64_t wrong[] = {
        UINT64_MAX, UINT64_MAX - 63, UINT64_MAX / 2, (uint64_t)1 << 32, 1 << 20,
    };
    struct payload p;
    uint32_t seen;
    payload_open(&p, 2);
    size_t first = (p.text.len + 63) / 64 * 64;
    for (size_t field = 0; field < 2; field++) {
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
            uint64_t was;
            uint8_t *at = p.bytes + first + field * sizeof(was);
            memcpy(&was, at, sizeof(was));
            memcpy(at, &wrong[i], sizeof(was));
            cr_assert_eq(
                walk(p.bytes, p.n, (uint32_t)p.text.len, BATCHES, &seen),
                WEIR_ERR_DATA);
            cr_assert_eq(seen, 0);
            memcpy(at, &was, sizeof(was));
        }
    }
    cr_assert_eq(walk(p.bytes, p.n, (uint32_t)p.text.len, BATCHES, &seen),
                 WEIR_DONE);
    payload_close(&p);
}
