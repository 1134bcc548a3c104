/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/report.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/err.h"

weir_err wb_report_write(json_t *object, FILE *out, struct weir_error *err)
{
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
