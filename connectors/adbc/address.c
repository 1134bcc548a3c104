/* SPDX-License-Identifier: Apache-2.0 */
/* What a uri says. Source: RFC 3986, 2.1 (bytes as %XX) and 3 (parts). */
#include "connectors/adbc/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/adbc/error.h"

static const char scheme[] = "weir://";

void wi_adbc_address_fini(struct wi_adbc_address *a)
{
    free(a->address);
    free(a->transport);
    free(a->dataset);
    memset(a, 0, sizeof(*a));
}

static AdbcStatusCode refuse(const char *uri, struct AdbcError *error)
{
    return wi_adbc_fail(error, ADBC_STATUS_INVALID_ARGUMENT,
                        "uri '%s': expected weir://HOST:PORT[/DATASET], or an "
                        "address as a server's node says it (tcp:HOST:PORT, "
                        "auto:..., shm:NAME)",
                        uri);
}

static AdbcStatusCode no_memory(struct AdbcError *error)
{
    return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory for a uri");
}

/* "%2F" and the like, in place; 0: it is no such text. */
static int decode(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        char byte = *at;
        if (byte == '%') {
            if (strspn(at + 1, "0123456789ABCDEFabcdef") < 2) {
                return 0;
            }
            const char digits[] = {at[1], at[2], '\0'};
            byte = (char)strtoul(digits, NULL, 16);
            at += 2;
        }
        if (byte == '\0') {
            return 0;
        }
        *to++ = byte;
    }
    *to = '\0';
    return 1;
}

static AdbcStatusCode from_uri(struct wi_adbc_address *a, const char *uri,
                               const char *transport, struct AdbcError *error)
{
    const char *host = uri + strlen(scheme);
    size_t len = strcspn(host, "/");
    if (len == 0 || host[strcspn(host, "?#@")] != '\0') {
        return refuse(uri, error);
    }
    transport = transport != NULL ? transport : "auto";
    a->transport = strdup(transport);
    if (asprintf(&a->address, "%s:%.*s", transport, (int)len, host) < 0) {
        a->address = NULL;
    }
    if (host[len] == '/' && host[len + 1] != '\0') {
        a->dataset = strdup(host + len + 1);
        if (a->dataset != NULL && !decode(a->dataset)) {
            return refuse(uri, error);
        }
    }
    return a->address != NULL && a->transport != NULL ? ADBC_STATUS_OK
                                                      : no_memory(error);
}

static AdbcStatusCode from_address(struct wi_adbc_address *a, const char *uri,
                                   const char *transport,
                                   struct AdbcError *error)
{
    size_t len = strcspn(uri, ":");
    if (len == 0 || uri[len] != ':' || uri[len + 1] == '\0') {
        return refuse(uri, error);
    }
    a->address = strdup(uri);
    a->transport = transport != NULL ? strdup(transport) : strndup(uri, len);
    return a->address != NULL && a->transport != NULL ? ADBC_STATUS_OK
                                                      : no_memory(error);
}

AdbcStatusCode wi_adbc_address_init(struct wi_adbc_address *a, const char *uri,
                                    const char *transport,
                                    struct AdbcError *error)
{
    memset(a, 0, sizeof(*a));
    AdbcStatusCode status;
    if (strncmp(uri, scheme, strlen(scheme)) == 0) {
        status = from_uri(a, uri, transport, error);
    } else if (strstr(uri, "://") != NULL) {
        status = refuse(uri, error);
    } else {
        status = from_address(a, uri, transport, error);
    }
    if (status != ADBC_STATUS_OK) {
        wi_adbc_address_fini(a);
    }
    return status;
}
