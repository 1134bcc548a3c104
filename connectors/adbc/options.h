/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Options as ADBC has them: keys with values, which are texts. Numbers are kept
 * as texts too, and read when they are asked for.
 */
#ifndef WI_ADBC_OPTIONS_H
#define WI_ADBC_OPTIONS_H

#include <weir/scan_request.h>

#include <arrow-adbc/adbc.h>

#define WI_ADBC_TRANSPORT "adbc.weir.transport"
#define WI_ADBC_DATASET "adbc.weir.dataset"
#define WI_ADBC_AHEAD "adbc.weir.ahead"
#define WI_ADBC_MAX_BYTES "adbc.weir.max_bytes"
#define WI_ADBC_TIMEOUT_MS "adbc.weir.timeout_ms"
#define WI_ADBC_SECRET_FILE "adbc.weir.secret_file"
#define WI_ADBC_PLAIN "adbc.weir.plain"
#define WI_ADBC_TLS_CERT_FILE "adbc.weir.tls_cert_file"
#define WI_ADBC_TLS_KEY_FILE "adbc.weir.tls_key_file"
#define WI_ADBC_TLS_CA_FILE "adbc.weir.tls_ca_file"
#define WI_ADBC_NAME "adbc.weir.name"
#define WI_ADBC_SERVER_NAME "adbc.weir.server_name"
#define WI_ADBC_PARTITIONS "adbc.weir.partitions"

/** Zeroed: none. */
struct wi_adbc_options {
    struct weir_scan_option *list; /* keys and values are its own */
    uint32_t n;
};

void wi_adbc_options_fini(struct wi_adbc_options *o);

/** Set, or set anew; value NULL: unset. Errors: ADBC_STATUS_INTERNAL (no
 *  memory), ADBC_STATUS_INVALID_ARGUMENT (too many). */
AdbcStatusCode wi_adbc_options_set(struct wi_adbc_options *o, const char *key,
                                   const char *value, struct AdbcError *error);

/** NULL: not set. Borrowed until the next set. */
const char *wi_adbc_options_find(const struct wi_adbc_options *o,
                                 const char *key);

/**
 * A number that an option holds; not set: *number_out stays as it is.
 *
 * Errors: ADBC_STATUS_INVALID_ARGUMENT (no decimal number from 0 to max:
 * names the option)
 */
AdbcStatusCode wi_adbc_options_number(const struct wi_adbc_options *o,
                                      const char *key, uint64_t max,
                                      uint64_t *number_out,
                                      struct AdbcError *error);

/* What the getters of struct AdbcDriver give of a value; NULL: not found. */
AdbcStatusCode wi_adbc_give(const char *key, const char *text, char *value,
                            size_t *length, struct AdbcError *error);
AdbcStatusCode wi_adbc_give_int(const char *key, const char *text,
                                int64_t *value, struct AdbcError *error);
AdbcStatusCode wi_adbc_give_double(const char *key, const char *text,
                                   double *value, struct AdbcError *error);

#endif /* WI_ADBC_OPTIONS_H */
