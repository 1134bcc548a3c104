/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/client_answer.h"

#include <stdlib.h>

#include <nanoarrow/nanoarrow.h>

#include "services/scan/client_lend.h"
#include "services/scan/fail.h"
#include "services/scan/fault_bytes.h"
#include "services/scan/schema_bytes.h"

static weir_err no_columns(struct ArrowSchema *out, struct weir_error *err)
{
    ArrowSchemaInit(out);
    if (ArrowSchemaSetTypeStruct(out, 0) != NANOARROW_OK) {
        ArrowSchemaRelease(out);
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a schema");
    }
    return WEIR_OK;
}

weir_err wi_scan_answer_schema(const struct wi_scan_call *call,
                               struct ArrowSchema *out, struct weir_error *err)
{
    uint32_t n = call->answer.schema_bytes;
    if (n == 0) {
        return no_columns(out, err);
    }
    if (call->payload == NULL || call->payload->bytes < n) {
        return wi_scan_fail(err, WEIR_ERR_DATA,
                            "malformed payload: no schema is in it");
    }
    void *bytes = wi_scan_payload_private(call->payload, n);
    if (bytes == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a schema");
    }
    weir_err code = wi_scan_schema_decode(bytes, n, out, err);
    free(bytes);
    return code;
}

weir_err wi_scan_answer_fault(struct weir_scan_client *c,
                              const struct wi_scan_call *call,
                              struct weir_error *err)
{
    struct weir_scan_fault fault = {0};
    weir_err code = call->answer.code < 0 ? (weir_err)call->answer.code
                                          : WEIR_ERR_PEER_PROTOCOL;
    uint64_t n = call->payload != NULL ? call->payload->bytes : 0;
    void *bytes = n > 0 ? wi_scan_payload_private(call->payload, n) : NULL;
    if (bytes == NULL ||
        wi_scan_fault_decode(bytes, n, &fault, NULL) != WEIR_OK) {
        free(bytes);
        return wi_scan_fail(err, code, "%s", weir_err_text(code));
    }
    free(bytes);
    wi_scan_client_fault(c, fault.text, &fault);
    (void)wi_scan_fail(err, code, "%s", fault.text);
    free(fault.text);
    return code;
}
