/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of the verbs transport, "IP:PORT" with IPv6 in brackets, and the
 * words for what can go wrong with a request. No device is needed here. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "transport/verbs/verbs.h"

/* Port of one to five digits; -1: that is none. */
static long port_of(const char *text)
{
    size_t len = strspn(text, "0123456789");
    if (len == 0 || len > 5 || text[len] != '\0') {
        return -1;
    }
    long port = strtol(text, NULL, 10);
    return port <= 65535 ? port : -1;
}

static bool decode_host(const char *host, bool v6, long port,
                        struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    if (v6) {
        struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
                                   .sin6_port = htons((uint16_t)port)};
        if (inet_pton(AF_INET6, host, &in6.sin6_addr) != 1) {
            return false;
        }
        memcpy(out, &in6, sizeof(in6));
        return true;
    }
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, host, &in.sin_addr) != 1) {
        return false;
    }
    memcpy(out, &in, sizeof(in));
    return true;
}

/* False if the text has not the form of an address. */
static bool decode(const char *text, bool listen, struct sockaddr_storage *out)
{
    char host[INET6_ADDRSTRLEN];
    const char *colon = strrchr(text, ':');
    size_t len = colon != NULL ? (size_t)(colon - text) : 0;
    long port = colon != NULL ? port_of(colon + 1) : -1;
    if (port < 0 || (port == 0 && !listen)) {
        return false;
    }
    bool v6 = text[0] == '[';
    if (v6 && (len < 3 || text[len - 1] != ']')) {
        return false;
    }
    text += v6 ? 1 : 0;
    len -= v6 ? 2 : 0;
    if (len == 0 || len >= sizeof(host)) {
        return false;
    }
    memcpy(host, text, len);
    host[len] = '\0';
    return decode_host(host, v6, port, out);
}

weir_err wi_vb_addr_decode(const char *text, bool listen,
                           struct sockaddr_storage *addr_out,
                           struct weir_error *err)
{
    struct sockaddr_storage addr;
    if (!decode(text, listen, &addr)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "verbs address '%.100s' is not IP:PORT or [IP]:PORT "
                       "with a numeric IP and a port of %u to 65535",
                       text, listen ? 0u : 1u);
    }
    *addr_out = addr;
    return WEIR_OK;
}

void wi_vb_addr_encode(const struct sockaddr *addr, char *text)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (addr->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, addr, sizeof(in6));
        (void)inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
        (void)snprintf(text, WI_ADDRESS_BYTES - 8, "[%s]:%u", host,
                       ntohs(in6.sin6_port));
        return;
    }
    struct sockaddr_in in;
    memcpy(&in, addr, sizeof(in));
    (void)inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
    (void)snprintf(text, WI_ADDRESS_BYTES - 8, "%s:%u", host,
                   ntohs(in.sin_port));
}

bool wi_vb_addr_is_any(const struct sockaddr_storage *addr)
{
    if (addr->ss_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, addr, sizeof(in6));
        return IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr);
    }
    struct sockaddr_in in;
    memcpy(&in, addr, sizeof(in));
    return in.sin_addr.s_addr == htonl(INADDR_ANY);
}

const char *wi_vb_status_text(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
        return "it does not answer (retries exceeded): host or wire is down";
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return "it posts no receives (receiver-not-ready retries exceeded)";
    case IBV_WC_REM_ACCESS_ERR:
        return "it refused access to its memory (key or range not granted)";
    case IBV_WC_REM_INV_REQ_ERR:
        return "it refused a request as invalid";
    case IBV_WC_REM_OP_ERR:
        return "it could not carry out a request";
    case IBV_WC_LOC_LEN_ERR:
        return "a message longer than the longest";
    case IBV_WC_LOC_PROT_ERR:
        return "local memory that is not registered";
    case IBV_WC_WR_FLUSH_ERR:
        return "the connection was closed or broke";
    default:
        return ibv_wc_status_str(status);
    }
}
