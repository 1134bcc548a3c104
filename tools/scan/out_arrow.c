/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow IPC files, written by nanoarrow. */
#include "tools/scan/out.h"

#include "cli/fail.h"

#ifdef WEIR_HAS_IPC

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <nanoarrow/nanoarrow.h>
#include <nanoarrow/nanoarrow_ipc.h>

static weir_err failed(const char *doing, int code,
                       const struct ArrowError *error, struct weir_error *err)
{
    return tool_fail(
        err, code == ENOTSUP ? WEIR_ERR_SCHEMA : WEIR_ERR_DATA, "%s: %s", doing,
        error->message[0] != '\0' ? error->message : strerror(code));
}

static weir_err write_all(FILE *file, struct ArrowArrayStream *stream,
                          struct weir_error *err)
{
    struct ArrowIpcOutputStream to;
    struct ArrowIpcWriter writer;
    struct ArrowError error = {.message = ""};
    int code = ArrowIpcOutputStreamInitFile(&to, file, 0);
    if (code == 0) {
        code = ArrowIpcWriterInit(&writer, &to);
        if (code != 0) {
            to.release(&to);
        }
    }
    if (code != 0) {
        return failed("an Arrow file", code, &error, err);
    }
    code = ArrowIpcWriterStartFile(&writer, &error);
    if (code == 0) {
        code = ArrowIpcWriterWriteArrayStream(&writer, stream, &error);
    }
    if (code == 0) {
        code = ArrowIpcWriterFinalizeFile(&writer, &error);
    }
    ArrowIpcWriterReset(&writer);
    return code == 0 ? WEIR_OK
                     : failed("writing an Arrow file", code, &error, err);
}

weir_err out_arrow(const char *file, struct ArrowArrayStream *stream,
                   struct weir_error *err)
{
    FILE *to = fopen(file, "we");
    if (to == NULL) {
        return tool_fail_errno(err, "%s", file);
    }
    weir_err rc = write_all(to, stream, err);
    if (fclose(to) != 0 && rc == WEIR_OK) {
        rc = tool_fail_errno(err, "%s", file);
    }
    return rc;
}

#else

weir_err out_arrow(const char *file, struct ArrowArrayStream *stream,
                   struct weir_error *err)
{
    (void)stream;
    return tool_fail(err, WEIR_ERR_UNSUPPORTED,
                     "%s: built without nanoarrow's IPC (make setup-scan, and "
                     "build again)",
                     file);
}

#endif
