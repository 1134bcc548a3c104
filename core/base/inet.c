/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/inet.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

struct parts {
    char host[NI_MAXHOST]; /* without brackets */
    bool v6;               /* there were brackets */
    uint16_t port;
};

/* ---- text ---------------------------------------------------------------- */

/* getaddrinfo(3) takes ports beyond 65535 modulo 2^16. */
static bool take_port(const char *text, bool zero, uint16_t *out)
{
    size_t len = strspn(text, "0123456789");
    unsigned long port = len <= 5 ? strtoul(text, NULL, 10) : UINT16_MAX + 1;
    *out = (uint16_t)port;
    return len > 0 && text[len] == '\0' && port <= UINT16_MAX &&
           (port > 0 || zero);
}

/* False if the text does not have the form of an address. */
static bool split(const char *text, unsigned how, struct parts *out)
{
    const char *colon = strrchr(text, ':');
    size_t len = colon != NULL ? (size_t)(colon - text) : 0;
    if (len == 0 ||
        !take_port(colon + 1, (how & WI_INET_LISTEN) != 0, &out->port)) {
        return false;
    }
    out->v6 = text[0] == '[';
    if (out->v6) {
        if (len < 3 || text[len - 1] != ']') {
            return false;
        }
        text++;
        len -= 2;
    } else if (memchr(text, ':', len) != NULL) {
        return false; /* IPv6 without brackets: where would the port be? */
    }
    if (len >= sizeof(out->host)) {
        return false;
    }
    memcpy(out->host, text, len);
    out->host[len] = '\0';
    return true;
}

/* Can it be a name? RFC 1123, section 2.1: a name does not look like dotted
 * numbers. */
static bool is_name(const struct parts *p)
{
    return !p->v6 && p->host[strspn(p->host, "0123456789.")] != '\0';
}

static bool is_quad(const char *host)
{
    struct in_addr quad;
    return inet_pton(AF_INET, host, &quad) == 1;
}

/* ---- decode -------------------------------------------------------------- */

static WI_COLD weir_err not_an_address(const char *text, unsigned how,
                                       struct weir_error *err)
{
    bool names = (how & WI_INET_NAMES) != 0;
    return wi_fail(err, WEIR_ERR_ARG,
                   "address '%.100s' is not %s:PORT or [IP]:PORT with %s and "
                   "a port of %u to 65535",
                   text, names ? "HOST" : "IP",
                   names ? "a name or numeric IP" : "a numeric IP",
                   (how & WI_INET_LISTEN) != 0 ? 0u : 1u);
}

/* Take a text apart; WEIR_ERR_ARG: it does not have the form of an address. */
static weir_err take(const char *text, unsigned how, struct parts *p,
                     struct weir_error *err)
{
    if (!split(text, how, p)) {
        return not_an_address(text, how, err);
    }
    bool name = is_name(p);
    if (name ? (how & WI_INET_NAMES) == 0 : !p->v6 && !is_quad(p->host)) {
        return not_an_address(text, how, err);
    }
    return WEIR_OK;
}

/* RFC 6761, section 6.3: "localhost" is this host, whatever a resolver says. A
 * small container may have no /etc/hosts, and then nobody knows it. */
static int look_up(const char *host, const struct addrinfo *hints,
                   struct addrinfo **out)
{
    int rc = getaddrinfo(host, NULL, hints, out);
    if (rc != 0 && strcmp(host, "localhost") == 0) {
        rc = getaddrinfo("127.0.0.1", NULL, hints, out);
    }
    return rc;
}

static weir_err find(const char *text, unsigned how, const struct parts *p,
                     union wi_inet *out, struct weir_error *err)
{
    bool name = is_name(p);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    hints.ai_family = p->v6 ? AF_INET6 : AF_UNSPEC;
    hints.ai_flags = name ? 0 : AI_NUMERICHOST;
    int rc = look_up(p->host, &hints, &found);
    if (rc != 0) {
        return name ? wi_fail(err, WEIR_ERR_ARG, "address '%.100s': %s", text,
                              gai_strerror(rc))
                    : not_an_address(text, how, err);
    }
    *out = wi_inet_of(found->ai_addr);
    wi_inet_set_port(out, p->port);
    freeaddrinfo(found);
    return WEIR_OK;
}

weir_err wi_inet_decode(const char *text, unsigned how, union wi_inet *out,
                        struct weir_error *err)
{
    struct parts p;
    weir_err rc = take(text, how, &p, err);
    return rc == WEIR_OK ? find(text, how, &p, out, err) : rc;
}

weir_err wi_inet_check(const char *text, unsigned how, bool *name_out,
                       struct weir_error *err)
{
    struct parts p;
    union wi_inet addr;
    weir_err rc = take(text, how, &p, err);
    if (rc == WEIR_OK && !is_name(&p)) {
        rc = find(text, how, &p, &addr, err);
    }
    if (rc == WEIR_OK) {
        *name_out = is_name(&p);
    }
    return rc;
}

/* ---- hosts --------------------------------------------------------------- */

bool wi_inet_number(const char *host, char out[INET6_ADDRSTRLEN])
{
    union {
        struct in_addr v4;
        struct in6_addr v6;
    } addr;
    int family = strchr(host, ':') != NULL ? AF_INET6 : AF_INET;
    return inet_pton(family, host, &addr) == 1 &&
           inet_ntop(family, &addr, out, INET6_ADDRSTRLEN) != NULL;
}

bool wi_inet_host(const char *text, char *out, size_t room)
{
    struct parts p;
    char number[INET6_ADDRSTRLEN];
    if (!split(text, WI_INET_NAMES, &p)) {
        return false;
    }
    if (p.v6) {
        p.host[strcspn(p.host, "%")] = '\0'; /* the interface is of this host */
    }
    const char *host = wi_inet_number(p.host, number) ? number : p.host;
    int n = snprintf(out, room, "%s", host);
    return n > 0 && (size_t)n < room;
}

/* ---- the rest ------------------------------------------------------------ */

void wi_inet_encode(const union wi_inet *addr, char *text, size_t room)
{
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
    char port[8];
    bool v6 = addr->any.sa_family == AF_INET6;
    if (getnameinfo(&addr->any, wi_inet_len(addr), host, sizeof(host), port,
                    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        (void)snprintf(text, room, "unknown:0");
        return;
    }
    (void)snprintf(text, room, v6 ? "[%s]:%s" : "%s:%s", host, port);
}

weir_err wi_inet_advertise(const char *text, unsigned how,
                           const union wi_inet *at, char *out, size_t room,
                           struct weir_error *err)
{
    struct parts p;
    struct weir_error why;
    union wi_inet addr = {.any = {.sa_family = AF_UNSPEC}};
    weir_err rc = take(text, how | WI_INET_LISTEN, &p, &why);
    if (rc == WEIR_OK && !is_name(&p)) {
        rc = find(text, how | WI_INET_LISTEN, &p, &addr, &why);
    }
    if (rc != WEIR_OK) {
        return wi_fail(err, rc, "advertise: %.300s", why.message);
    }
    if (addr.any.sa_family != AF_UNSPEC && wi_inet_is_any(&addr)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "advertise: nobody can connect to %.100s: give the "
                       "address that peers reach",
                       text);
    }
    int n = snprintf(out, room, p.v6 ? "[%s]:%u" : "%s:%u", p.host,
                     p.port != 0 ? p.port : wi_inet_port(at));
    return n >= 0 && (size_t)n < room
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_ARG,
                         "advertise: longer than %zu bytes: %.100s", room - 1,
                         text);
}

union wi_inet wi_inet_of(const struct sockaddr *addr)
{
    union wi_inet out = {.any = {.sa_family = AF_UNSPEC}};
    if (addr->sa_family == AF_INET6) {
        memcpy(&out.v6, addr, sizeof(out.v6));
    } else if (addr->sa_family == AF_INET) {
        memcpy(&out.v4, addr, sizeof(out.v4));
    }
    return out;
}

socklen_t wi_inet_len(const union wi_inet *addr)
{
    return addr->any.sa_family == AF_INET6 ? sizeof(addr->v6)
                                           : sizeof(addr->v4);
}

bool wi_inet_is_any(const union wi_inet *addr)
{
    return addr->any.sa_family == AF_INET6
               ? IN6_IS_ADDR_UNSPECIFIED(&addr->v6.sin6_addr)
               : addr->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

bool wi_inet_is_loopback(const union wi_inet *addr)
{
    return addr->any.sa_family == AF_INET6
               ? IN6_IS_ADDR_LOOPBACK(&addr->v6.sin6_addr)
               : ntohl(addr->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

void wi_inet_set_host(union wi_inet *addr, const union wi_inet *from)
{
    uint16_t port = wi_inet_port(addr);
    *addr = *from;
    wi_inet_set_port(addr, port);
}

uint16_t wi_inet_port(const union wi_inet *addr)
{
    return ntohs(addr->any.sa_family == AF_INET6 ? addr->v6.sin6_port
                                                 : addr->v4.sin_port);
}

void wi_inet_set_port(union wi_inet *addr, uint16_t port)
{
    if (addr->any.sa_family == AF_INET6) {
        addr->v6.sin6_port = htons(port);
    } else {
        addr->v4.sin_port = htons(port);
    }
}
