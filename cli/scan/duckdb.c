/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "cli/scan/duckdb.h"

#include <stdlib.h>
#include <unistd.h>

#ifndef WEIR_DUCKDB_BUILD
#define WEIR_DUCKDB_BUILD ""
#endif

const char *duckdb_driver(void)
{
    const char *given = getenv("WEIR_DUCKDB");
    if (given != NULL && given[0] != '\0') {
        return given;
    }
    return access(WEIR_DUCKDB_BUILD, R_OK) == 0 ? WEIR_DUCKDB_BUILD
                                                : "libduckdb.so";
}
