/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/fault_bytes.h"

#include "services/scan/fail.h"
#include "services/scan/proto.h"
#include "services/scan/schema_bytes.h"

_Static_assert(sizeof(((struct wi_scan_fault_head *)0)->sqlstate) ==
                   sizeof(((struct weir_scan_fault *)0)->sqlstate),
               "the same letters");

void wi_scan_fault_encode(const struct weir_scan_fault *fault,
                          const char *message, struct wi_scan_buf *out)
{
    const char *text = fault->text != NULL ? fault->text : message;
    struct wi_scan_fault_head h = {.vendor = fault->vendor};
    memcpy(h.sqlstate, fault->sqlstate, sizeof(h.sqlstate) - 1);
    h.text_bytes = (uint32_t)strnlen(text, WI_SCAN_TEXT_MAX);
    wi_scan_buf_put(out, &h, sizeof(h));
    wi_scan_buf_put(out, text, h.text_bytes);
}

weir_err wi_scan_fault_decode(const void *bytes, size_t len,
                              struct weir_scan_fault *fault_out,
                              struct weir_error *err)
{
    struct wi_scan_cursor c = {bytes, len};
    struct wi_scan_fault_head h;
    const uint8_t *at = wi_scan_take(&c, sizeof(h));
    if (at != NULL) {
        memcpy(&h, at, sizeof(h));
    }
    if (at == NULL || h.zero != 0 || h.text_bytes != c.left ||
        h.text_bytes > WI_SCAN_TEXT_MAX || memchr(h.sqlstate, 0, 6) == NULL ||
        memchr(c.at, 0, c.left) != NULL) {
        return wi_scan_fail(err, WEIR_ERR_DATA, "malformed fault");
    }
    char *text = malloc(c.left + 1);
    if (text == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a fault");
    }
    memcpy(text, c.at, c.left);
    text[c.left] = '\0';
    *fault_out = (struct weir_scan_fault){.text = text, .vendor = h.vendor};
    memcpy(fault_out->sqlstate, h.sqlstate, sizeof(h.sqlstate));
    return WEIR_OK;
}
