/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of the tcp transport: "HOST:PORT", IPv6 hosts in brackets. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "transport/tcp/tcp.h"

/* Text cut in two; both parts end with NUL. */
struct parts {
    char host[WI_ADDRESS_BYTES];
    char port[8];
};

static bool is_port(const char *text, bool listen)
{
    size_t len = strspn(text, "0123456789");
    if (len == 0 || len > 5 || text[len]) {
        return false;
    }
    unsigned port = 0;
    (void)sscanf(text, "%5u", &port);
    return port <= 65535 && (listen || port > 0);
}

/* False if the text has not the form of an address. */
static bool split(const char *text, bool listen, struct parts *out)
{
    const char *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    if (len == 0 || len >= sizeof(out->host) || !is_port(colon + 1, listen)) {
        return false;
    }
    if (text[0] == '[') {
        if (len < 3 || text[len - 1] != ']') {
            return false;
        }
        text++;
        len -= 2;
    } else if (memchr(text, ':', len)) {
        return false; /* IPv6 without brackets: where would the port be? */
    }
    memcpy(out->host, text, len);
    out->host[len] = 0;
    (void)snprintf(out->port, sizeof(out->port), "%s", colon + 1);
    return true;
}

weir_err wi_tcp_addr_decode(const char *text, bool listen,
                            struct sockaddr_storage *addr_out,
                            socklen_t *len_out, struct weir_error *err)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
    };
    struct addrinfo *found = NULL;
    struct parts parts;
    if (!split(text, listen, &parts)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "tcp address '%s' is not HOST:PORT or [HOST]:PORT with "
                       "a port of %u to 65535",
                       text, listen ? 0u : 1u);
    }
    int rc = getaddrinfo(parts.host, parts.port, &hints, &found);
    if (rc == EAI_NONAME) {
        hints.ai_flags = AI_NUMERICSERV;
        rc = getaddrinfo(parts.host, parts.port, &hints, &found);
    }
    if (rc != 0) {
        return wi_fail(err, WEIR_ERR_ARG, "tcp address '%s': host '%s': %s",
                       text, parts.host, gai_strerror(rc));
    }
    memset(addr_out, 0, sizeof(*addr_out));
    memcpy(addr_out, found->ai_addr, found->ai_addrlen);
    *len_out = found->ai_addrlen;
    freeaddrinfo(found);
    return WEIR_OK;
}

void wi_tcp_addr_encode(const struct sockaddr_storage *addr, char *text)
{
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
    char port[8];
    socklen_t len = addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                : sizeof(struct sockaddr_in);
    if (getnameinfo((const struct sockaddr *)addr, len, host, sizeof(host),
                    port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV)) {
        (void)snprintf(text, WI_ADDRESS_BYTES - 8, "unknown:0");
        return;
    }
    (void)snprintf(text, WI_ADDRESS_BYTES - 8,
                   addr->ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
                   port);
}

static bool is_wildcard(const struct sockaddr_storage *addr)
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

/* Usable from outside, of the wanted family; link-local IPv6 is not. */
static bool is_reachable(const struct ifaddrs *ifa, int family)
{
    if (!ifa->ifa_addr || ifa->ifa_addr->sa_family != family ||
        (ifa->ifa_flags & IFF_UP) == 0 || (ifa->ifa_flags & IFF_LOOPBACK)) {
        return false;
    }
    if (family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, ifa->ifa_addr, sizeof(in6));
        return !IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr);
    }
    return true;
}

static void set_host(struct sockaddr_storage *addr, const struct sockaddr *from)
{
    if (addr->ss_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, addr, sizeof(in6));
        in6.sin6_addr = in6addr_loopback;
        if (from) {
            struct sockaddr_in6 other;
            memcpy(&other, from, sizeof(other));
            in6.sin6_addr = other.sin6_addr;
        }
        memcpy(addr, &in6, sizeof(in6));
        return;
    }
    struct sockaddr_in in;
    memcpy(&in, addr, sizeof(in));
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (from) {
        struct sockaddr_in other;
        memcpy(&other, from, sizeof(other));
        in.sin_addr = other.sin_addr;
    }
    memcpy(addr, &in, sizeof(in));
}

void wi_tcp_addr_reachable(struct sockaddr_storage *addr)
{
    struct ifaddrs *list = NULL;
    const struct sockaddr *best = NULL;
    if (!is_wildcard(addr)) {
        return;
    }
    if (getifaddrs(&list) != 0) {
        list = NULL;
    }
    for (const struct ifaddrs *i = list; i && !best; i = i->ifa_next) {
        if (is_reachable(i, addr->ss_family)) {
            best = i->ifa_addr;
        }
    }
    set_host(addr, best); /* a host without a network: loopback */
    if (list) {
        freeifaddrs(list);
    }
}
