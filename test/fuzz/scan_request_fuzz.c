/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a peer sends beside batches: a request, a fault, and the layout of a
 * payload, whose first four bytes are the length of its schema and how many
 * batches there should be. A request that is one comes back as the same bytes.
 */
#include "services/scan/fault_bytes.h"
#include "services/scan/parts.h"
#include "services/scan/request_bytes.h"
#include "test/fuzz/fuzz.h"

static void take_request(const uint8_t *bytes, size_t n)
{
    struct weir_scan_request *r;
    struct wi_scan_buf again = {0};
    if (wi_scan_request_decode(bytes, n, &r, NULL) != WEIR_OK) {
        return;
    }
    FZ_CHECK(wi_scan_request_encode(r, &again, NULL) == WEIR_OK, "not again");
    FZ_CHECK(again.len == n && memcmp(again.bytes, bytes, n) == 0, "other");
    free(again.bytes);
    free(r);
}

static void take_fault(const uint8_t *bytes, size_t n)
{
    struct weir_scan_fault fault;
    if (wi_scan_fault_decode(bytes, n, &fault, NULL) == WEIR_OK) {
        FZ_CHECK(strlen(fault.sqlstate) < sizeof(fault.sqlstate), "no end");
        free(fault.text);
    }
}

static void take_parts(const uint8_t *bytes, size_t n)
{
    struct wi_scan_parts parts;
    struct wi_scan_part_view v;
    uint16_t numbers[2];
    if (n < sizeof(numbers)) {
        return;
    }
    memcpy(numbers, bytes, sizeof(numbers));
    weir_err code =
        wi_scan_parts_init(&parts, bytes, n, numbers[0], numbers[1], NULL);
    while (code == WEIR_OK) {
        code = wi_scan_parts_next(&parts, &v, NULL);
        if (code == WEIR_OK) {
            FZ_CHECK((const uint8_t *)v.head + v.head_bytes <= bytes + n &&
                         (const uint8_t *)v.body + v.body_bytes <= bytes + n,
                     "beyond the end");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint8_t *exact = malloc(n + 1);
    FZ_CHECK(exact != NULL, "no memory");
    if (n != 0) {
        memcpy(exact, bytes, n);
    }
    take_request(exact, n);
    take_fault(exact, n);
    take_parts(exact, n);
    free(exact);
    return 0;
}
