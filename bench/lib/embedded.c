/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/embedded.h"

#include <stddef.h>
#include <string.h>

const char *wb_embedded(const char *path)
{
    const struct wb_embedded_file *file = wb_embedded_files;
    while (file->path != NULL && strcmp(file->path, path) != 0) {
        file++;
    }
    return file->text;
}
