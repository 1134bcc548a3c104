/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status.h"

int status_of(weir_err code)
{
    switch (code) {
    case WEIR_OK:
        return STATUS_OK;
    case WEIR_DONE:
        return STATUS_PIPE;
    case WEIR_ERR_DATA:
    case WEIR_ERR_QUERY_DATA:
        return STATUS_INPUT;
    default:
        return STATUS_FAILED;
    }
}

int status_of_input(weir_err code)
{
    switch (code) {
    case WEIR_OK:
        return STATUS_OK;
    case WEIR_ERR_NO_MEMORY:
    case WEIR_ERR_QUERY_MEMORY:
        return STATUS_FAILED;
    default:
        return STATUS_INPUT;
    }
}
