/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/scan/spill.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/fail.h"

enum { PATH_ROOM = 4200 };

static char path[PATH_ROOM];

weir_err spill_make(const char *prefix, struct weir_error *err)
{
    int n = snprintf(path, sizeof(path), "%s.spill-XXXXXX", prefix);
    if (n < 0 || (size_t)n >= sizeof(path)) {
        path[0] = '\0';
        return tool_fail(err, WEIR_ERR_ARG, "%s: the name is too long", prefix);
    }
    if (mkdtemp(path) == NULL) {
        path[0] = '\0';
        return tool_fail_errno(err, "a folder to spill to, %s.spill-*", prefix);
    }
    return WEIR_OK;
}

const char *spill_path(void)
{
    return path;
}

void spill_drop(void)
{
    if (path[0] != '\0') {
        (void)rmdir(path);
        path[0] = '\0';
    }
}
