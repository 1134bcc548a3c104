/* SPDX-License-Identifier: Apache-2.0 */
/* The request that a statement becomes. */
#include "connectors/adbc/request.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/adbc/error.h"

const char *wi_adbc_request_table(const struct wi_adbc_statement *s)
{
    return wi_adbc_options_find(&s->options, ADBC_INGEST_OPTION_TARGET_TABLE);
}

/* Does the server get it? Those of Weir are for this driver, the table is the
 * request's text. */
static bool is_passed_on(const char *key, weir_scan_kind kind)
{
    if (strcmp(key, ADBC_INGEST_OPTION_TARGET_TABLE) == 0 ||
        strncmp(key, "adbc.weir.", strlen("adbc.weir.")) == 0) {
        return false;
    }
    return kind == WEIR_SCAN_INGEST ||
           strncmp(key, "adbc.ingest.", strlen("adbc.ingest.")) != 0;
}

static AdbcStatusCode add_options(struct weir_scan_request *request,
                                  const struct wi_adbc_options *from,
                                  struct AdbcError *error)
{
    struct weir_scan_option *list = calloc(from->n + 1u, sizeof(*list));
    if (list == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory");
    }
    for (uint32_t i = 0; i < from->n; i++) {
        if (is_passed_on(from->list[i].key, request->kind)) {
            list[request->n_options++] = from->list[i];
        }
    }
    request->options = list;
    return ADBC_STATUS_OK;
}

AdbcStatusCode wi_adbc_request_init(struct weir_scan_request *request,
                                    struct wi_adbc_statement *s,
                                    weir_scan_kind kind,
                                    struct AdbcError *error)
{
    const char *table = wi_adbc_request_table(s);
    *request = (struct weir_scan_request){
        .kind = table != NULL ? WEIR_SCAN_INGEST : kind,
        .text = table != NULL ? table : s->query,
        .bind = s->bind.release != NULL ? &s->bind : NULL};
    if (request->text == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                            "the statement has no query");
    }
    if (table != NULL && request->bind == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                            "no rows are bound that table '%s' could take in",
                            table);
    }
    return add_options(request, &s->options, error);
}

void wi_adbc_request_fini(struct weir_scan_request *request)
{
    free((void *)(uintptr_t)request->options);
    request->options = NULL;
}
