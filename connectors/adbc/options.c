/* SPDX-License-Identifier: Apache-2.0 */
/* Options as ADBC has them. */
#include "connectors/adbc/options.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/adbc/error.h"

enum { MOST = 1024 }; /* as requests can have */

/* ---- a list of them ------------------------------------------------------ */

static void drop(struct weir_scan_option *o)
{
    free((char *)(uintptr_t)o->key);
    free((char *)(uintptr_t)o->value);
    *o = (struct weir_scan_option){NULL, NULL};
}

void wi_adbc_options_fini(struct wi_adbc_options *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        drop(&o->list[i]);
    }
    free(o->list);
    *o = (struct wi_adbc_options){NULL, 0};
}

static struct weir_scan_option *find(const struct wi_adbc_options *o,
                                     const char *key)
{
    for (uint32_t i = 0; i < o->n; i++) {
        if (strcmp(o->list[i].key, key) == 0) {
            return &o->list[i];
        }
    }
    return NULL;
}

const char *wi_adbc_options_find(const struct wi_adbc_options *o,
                                 const char *key)
{
    const struct weir_scan_option *found = find(o, key);
    return found != NULL ? found->value : NULL;
}

static void unset(struct wi_adbc_options *o, struct weir_scan_option *at)
{
    if (at != NULL) {
        drop(at);
        *at = o->list[--o->n];
    }
}

static AdbcStatusCode no_memory(struct AdbcError *error)
{
    return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory for an option");
}

static AdbcStatusCode add(struct wi_adbc_options *o, const char *key,
                          const char *value, struct AdbcError *error)
{
    struct weir_scan_option *list =
        realloc(o->list, (o->n + 1u) * sizeof(*list));
    if (list == NULL) {
        return no_memory(error);
    }
    o->list = list;
    list[o->n] = (struct weir_scan_option){strdup(key), strdup(value)};
    if (list[o->n].key == NULL || list[o->n].value == NULL) {
        drop(&list[o->n]);
        return no_memory(error);
    }
    o->n++;
    return ADBC_STATUS_OK;
}

AdbcStatusCode wi_adbc_options_set(struct wi_adbc_options *o, const char *key,
                                   const char *value, struct AdbcError *error)
{
    unset(o, find(o, key));
    if (value == NULL) {
        return ADBC_STATUS_OK;
    }
    if (o->n == MOST) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_ARGUMENT,
                            "more than %d options", MOST);
    }
    return add(o, key, value, error);
}

/* ---- numbers ------------------------------------------------------------- */

AdbcStatusCode wi_adbc_options_number(const struct wi_adbc_options *o,
                                      const char *key, uint64_t max,
                                      uint64_t *number_out,
                                      struct AdbcError *error)
{
    const char *text = wi_adbc_options_find(o, key);
    if (text == NULL) {
        return ADBC_STATUS_OK;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
        n > max) {
        return wi_adbc_fail(error, ADBC_STATUS_INVALID_ARGUMENT,
                            "option %s: no number from 0 to %llu: '%s'", key,
                            (unsigned long long)max, text);
    }
    *number_out = n;
    return ADBC_STATUS_OK;
}

/* ---- getters ------------------------------------------------------------- */

static AdbcStatusCode not_set(const char *key, struct AdbcError *error)
{
    return wi_adbc_fail(error, ADBC_STATUS_NOT_FOUND, "option %s is not set",
                        key);
}

AdbcStatusCode wi_adbc_give(const char *key, const char *text, char *value,
                            size_t *length, struct AdbcError *error)
{
    if (text == NULL) {
        return not_set(key, error);
    }
    size_t bytes = strlen(text) + 1;
    if (value != NULL && bytes <= *length) {
        memcpy(value, text, bytes);
    }
    *length = bytes;
    return ADBC_STATUS_OK;
}

static AdbcStatusCode no_number(const char *key, const char *text,
                                struct AdbcError *error)
{
    return wi_adbc_fail(error, ADBC_STATUS_NOT_FOUND,
                        "option %s is no number: '%s'", key, text);
}

AdbcStatusCode wi_adbc_give_int(const char *key, const char *text,
                                int64_t *value, struct AdbcError *error)
{
    if (text == NULL) {
        return not_set(key, error);
    }
    char *end = NULL;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0) {
        return no_number(key, text, error);
    }
    *value = n;
    return ADBC_STATUS_OK;
}

AdbcStatusCode wi_adbc_give_double(const char *key, const char *text,
                                   double *value, struct AdbcError *error)
{
    if (text == NULL) {
        return not_set(key, error);
    }
    char *end = NULL;
    /* The C locale is no allocation. */
    double n = strtod_l(text, &end, newlocale(LC_ALL_MASK, "C", (locale_t)0));
    if (end == text || *end != '\0') {
        return no_number(key, text, error);
    }
    *value = n;
    return ADBC_STATUS_OK;
}
