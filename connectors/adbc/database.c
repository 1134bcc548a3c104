/* SPDX-License-Identifier: Apache-2.0 */
/* Databases: options, then a node. */
#include "connectors/adbc/database.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/identity.h>

#include "connectors/adbc/address.h"
#include "connectors/adbc/error.h"
#include "connectors/adbc/options.h"

enum { MOST_AHEAD = 16, MS = 1000 * 1000 };

struct database {
    struct wi_adbc_options options;
    struct wi_adbc_address address; /* these: once initialised */
    struct wi_adbc_home *home;
    struct wi_adbc_session_params session;
};

static struct database *of(const struct AdbcDatabase *database,
                           struct AdbcError *error)
{
    if (database == NULL || database->private_data == NULL) {
        (void)wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                           "the database was not made, or was released");
        return NULL;
    }
    return database->private_data;
}

/* ---- options ------------------------------------------------------------- */

static int is_known(const char *key)
{
    static const char *const known[] = {
        ADBC_OPTION_URI,       WI_ADBC_TRANSPORT,    WI_ADBC_DATASET,
        WI_ADBC_AHEAD,         WI_ADBC_MAX_BYTES,    WI_ADBC_TIMEOUT_MS,
        WI_ADBC_SECRET_FILE,   WI_ADBC_NAME,         WI_ADBC_SERVER_NAME,
        WI_ADBC_TLS_CERT_FILE, WI_ADBC_TLS_KEY_FILE, WI_ADBC_TLS_CA_FILE,
        WI_ADBC_PLAIN};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(key, known[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

AdbcStatusCode wi_adbc_database_set(struct AdbcDatabase *database,
                                    const char *key, const char *value,
                                    struct AdbcError *error)
{
    struct database *d = of(database, error);
    if (d == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (!is_known(key)) {
        return wi_adbc_fail(error, ADBC_STATUS_NOT_IMPLEMENTED,
                            "databases of Weir have no option %s", key);
    }
    if (d->home != NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                            "option %s: the database is open already", key);
    }
    return wi_adbc_options_set(&d->options, key, value, error);
}

AdbcStatusCode wi_adbc_database_set_int(struct AdbcDatabase *database,
                                        const char *key, int64_t value,
                                        struct AdbcError *error)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    return wi_adbc_database_set(database, key, text, error);
}

AdbcStatusCode wi_adbc_database_get(struct AdbcDatabase *database,
                                    const char *key, char *value,
                                    size_t *length, struct AdbcError *error)
{
    struct database *d = of(database, error);
    return d == NULL ? ADBC_STATUS_INVALID_STATE
                     : wi_adbc_give(key, wi_adbc_options_find(&d->options, key),
                                    value, length, error);
}

AdbcStatusCode wi_adbc_database_get_int(struct AdbcDatabase *database,
                                        const char *key, int64_t *value,
                                        struct AdbcError *error)
{
    struct database *d = of(database, error);
    return d == NULL
               ? ADBC_STATUS_INVALID_STATE
               : wi_adbc_give_int(key, wi_adbc_options_find(&d->options, key),
                                  value, error);
}

AdbcStatusCode wi_adbc_database_get_double(struct AdbcDatabase *database,
                                           const char *key, double *value,
                                           struct AdbcError *error)
{
    struct database *d = of(database, error);
    return d == NULL
               ? ADBC_STATUS_INVALID_STATE
               : wi_adbc_give_double(
                     key, wi_adbc_options_find(&d->options, key), value, error);
}

/* ---- new, init, release -------------------------------------------------- */

AdbcStatusCode wi_adbc_database_new(struct AdbcDatabase *database,
                                    struct AdbcError *error)
{
    database->private_data = calloc(1, sizeof(struct database));
    return database->private_data != NULL
               ? ADBC_STATUS_OK
               : wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory");
}

static AdbcStatusCode read_numbers(struct database *d, struct AdbcError *error)
{
    const struct wi_adbc_options *o = &d->options;
    uint64_t ahead = 0;
    uint64_t timeout_ms = 0;
    AdbcStatusCode status =
        wi_adbc_options_number(o, WI_ADBC_AHEAD, MOST_AHEAD, &ahead, error);
    if (status == ADBC_STATUS_OK) {
        status = wi_adbc_options_number(o, WI_ADBC_MAX_BYTES, UINT64_MAX,
                                        &d->session.max_bytes, error);
    }
    if (status == ADBC_STATUS_OK) {
        status = wi_adbc_options_number(o, WI_ADBC_TIMEOUT_MS, UINT64_MAX / MS,
                                        &timeout_ms, error);
    }
    d->session.ahead = (uint32_t)ahead;
    d->session.timeout_ns = timeout_ms * MS;
    return status;
}

static AdbcStatusCode read_uri(struct database *d, struct AdbcError *error)
{
    const char *uri = wi_adbc_options_find(&d->options, ADBC_OPTION_URI);
    const char *dataset = wi_adbc_options_find(&d->options, WI_ADBC_DATASET);
    if (uri == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_ARGUMENT,
                            "option uri is missing: weir://HOST:PORT");
    }
    AdbcStatusCode status = wi_adbc_address_init(
        &d->address, uri, wi_adbc_options_find(&d->options, WI_ADBC_TRANSPORT),
        error);
    if (status == ADBC_STATUS_OK) {
        d->session.address = d->address.address;
        d->session.server_name =
            wi_adbc_options_find(&d->options, WI_ADBC_SERVER_NAME);
        d->session.dataset = dataset != NULL              ? dataset
                             : d->address.dataset != NULL ? d->address.dataset
                                                          : "";
    }
    return status;
}

/* A node of the database, which is who the options say. */
static AdbcStatusCode open_home(struct database *d, struct AdbcError *error)
{
    const struct wi_adbc_options *o = &d->options;
    uint64_t plain = 0;
    AdbcStatusCode status =
        wi_adbc_options_number(o, WI_ADBC_PLAIN, 1, &plain, error);
    if (status != ADBC_STATUS_OK) {
        return status;
    }
    const struct weir_identity identity = {
        .tls_cert_file = wi_adbc_options_find(o, WI_ADBC_TLS_CERT_FILE),
        .tls_key_file = wi_adbc_options_find(o, WI_ADBC_TLS_KEY_FILE),
        .tls_ca_file = wi_adbc_options_find(o, WI_ADBC_TLS_CA_FILE),
        .plain = plain != 0};
    const struct weir_node_params who = {
        .name = wi_adbc_options_find(o, WI_ADBC_NAME),
        .transport = d->address.transport,
        .secret_file = wi_adbc_options_find(o, WI_ADBC_SECRET_FILE),
        .identity = &identity};
    return wi_adbc_home_open(&who, &d->home, error);
}

AdbcStatusCode wi_adbc_database_init(struct AdbcDatabase *database,
                                     struct AdbcError *error)
{
    struct database *d = of(database, error);
    if (d == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (d->home != NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                            "the database is open already");
    }
    AdbcStatusCode status = read_numbers(d, error);
    if (status == ADBC_STATUS_OK) {
        wi_adbc_address_fini(&d->address);
        status = read_uri(d, error);
    }
    return status == ADBC_STATUS_OK ? open_home(d, error) : status;
}

AdbcStatusCode wi_adbc_database_release(struct AdbcDatabase *database,
                                        struct AdbcError *error)
{
    struct database *d = of(database, error);
    if (d == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (d->home != NULL) {
        wi_adbc_home_drop(d->home);
    }
    wi_adbc_address_fini(&d->address);
    wi_adbc_options_fini(&d->options);
    free(d);
    database->private_data = NULL;
    return ADBC_STATUS_OK;
}

AdbcStatusCode wi_adbc_database_session(struct AdbcDatabase *database,
                                        struct wi_adbc_session **session_out,
                                        struct AdbcError *error)
{
    struct database *d = of(database, error);
    if (d == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    if (d->home == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_STATE,
                            "the database was not initialised");
    }
    return wi_adbc_session_open(d->home, &d->session, session_out, error);
}
