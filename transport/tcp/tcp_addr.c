/* SPDX-License-Identifier: Apache-2.0 */
/* The address that a tcp transport tells its peers. */
#include <ifaddrs.h>
#include <net/if.h>

#include "transport/tcp/tcp.h"

/* Usable from outside, of the wanted family; link-local IPv6 is not. */
static bool is_reachable(const struct ifaddrs *ifa, int family)
{
    if (!ifa->ifa_addr || ifa->ifa_addr->sa_family != family ||
        (ifa->ifa_flags & IFF_UP) == 0 || (ifa->ifa_flags & IFF_LOOPBACK)) {
        return false;
    }
    union wi_inet addr = wi_inet_of(ifa->ifa_addr);
    return family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(&addr.v6.sin6_addr);
}

static union wi_inet loopback(int family)
{
    union wi_inet addr = {
        .v6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback}};
    if (family == AF_INET) {
        addr.v4 = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    }
    return addr;
}

void wi_tcp_addr_reachable(union wi_inet *addr)
{
    struct ifaddrs *list = NULL;
    int family = addr->any.sa_family;
    union wi_inet best = loopback(family); /* a host without a network */
    if (!wi_inet_is_any(addr)) {
        return;
    }
    if (getifaddrs(&list) != 0) {
        list = NULL;
    }
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (is_reachable(i, family)) {
            best = wi_inet_of(i->ifa_addr);
            break;
        }
    }
    wi_inet_set_host(addr, &best);
    if (list) {
        freeifaddrs(list);
    }
}
