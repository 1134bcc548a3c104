/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/report.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/lib/machine.h"
#include "core/base/err.h"
#include "core/base/isa.h"

weir_err wb_report_write(json_t *object, FILE *out, struct weir_error *err)
{
    char processor[WB_PROCESSOR_TEXT];
    wb_processor(processor, "");
    (void)json_object_set_new(object, "processor", json_string(processor));
    (void)json_object_set_new(object, "instructions",
                              json_string(wi_isa_name(wi_isa_best())));
    char *text = json_dumps(object, JSON_REAL_PRECISION(9));
    json_decref(object);
    if (text == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for the report");
    }
    int rc = fprintf(out, "%s\n", text);
    free(text);
    return rc >= 0 && fflush(out) == 0
               ? WEIR_OK
               : wi_fail_errno(err, errno, "write the report");
}
