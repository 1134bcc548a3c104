/* SPDX-License-Identifier: Apache-2.0 */
/* What a node of this machine can use, and which way it takes to a peer. */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "tools/doctor.h"

enum { ADDRESS_BYTES = 256 };

/* ---- addresses ----------------------------------------------------------- */

static bool has_port(const char *text)
{
    const char *colon = strrchr(text, ':');
    bool bare_ipv6 = colon != NULL && strchr(text, ':') != colon &&
                     (text[0] != '[' || colon[-1] != ']');
    return colon != NULL && !bare_ipv6 && colon[1] != '\0' &&
           strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

/* "NAME:" of a transport in front? */
static bool has_transport(const char *text)
{
    static const char *const names[] = {"auto:", "shm:", "tcp:", "verbs:"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(text, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool doctor_address(const struct doctor *d, char *text, size_t bytes,
                    const char *where)
{
    bool ipv6 =
        where[0] != '[' && !has_port(where) && strchr(where, ':') != NULL;
    int n;
    if (has_transport(where)) {
        n = snprintf(text, bytes, "%s", where);
    } else if (has_port(where) || strcmp(d->transport, "shm") == 0) {
        n = snprintf(text, bytes, "%s:%s", d->transport, where);
    } else {
        n = snprintf(text, bytes, "%s:%s%s%s:%s", d->transport, ipv6 ? "[" : "",
                     where, ipv6 ? "]" : "", DOCTOR_PORT);
    }
    return n > 0 && (size_t)n < bytes;
}

/* Is a name or address one of this machine's? -1: it cannot be resolved. */
static int is_here(const char *host)
{
    struct addrinfo *found = NULL;
    struct ifaddrs *own = NULL;
    int here = 0;
    if (getaddrinfo(host, NULL, NULL, &found) != 0) {
        return strcmp(host, "localhost") == 0 ? 1 : -1; /* RFC 6761, 6.3 */
    }
    (void)getifaddrs(&own);
    for (struct addrinfo *f = found; f != NULL; f = f->ai_next) {
        for (struct ifaddrs *o = own; o != NULL && here == 0; o = o->ifa_next) {
            const struct sockaddr *sa = o->ifa_addr;
            if (sa == NULL || sa->sa_family != f->ai_family) {
                continue;
            }
            const void *a = f->ai_addr;
            const void *b = sa;
            here = sa->sa_family == AF_INET
                       ? ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
                             ((const struct sockaddr_in *)b)->sin_addr.s_addr
                       : memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                                &((const struct sockaddr_in6 *)b)->sin6_addr,
                                sizeof(struct in6_addr)) == 0;
        }
    }
    freeaddrinfo(found);
    freeifaddrs(own);
    return here;
}

/* ---- nodes --------------------------------------------------------------- */

static weir_node *open_node(struct doctor *d, const char *transport)
{
    char name[64];
    struct weir_error err = {.code = WEIR_OK};
    struct weir_node_params p = {.name = name, .transport = transport};
    weir_node *node = NULL;
    uint32_t salt = (uint32_t)getpid(); /* another container may have it, too */
    (void)!getrandom(&salt, sizeof(salt), 0);
    (void)snprintf(name, sizeof(name), "doctor-%08" PRIx32, salt);
    identity_use(&d->identity, &p);
    if (weir_node_open(&p, &node, &err) != WEIR_OK) {
        doctor_say(d, DOCTOR_PROBLEM, "transports", NULL,
                   "a node on %s does not open: %s", transport, err.message);
        return NULL;
    }
    return node;
}

static void say_identity(struct doctor *d)
{
    const struct identity *id = &d->identity;
    if (id->secret_file != NULL) {
        doctor_say(d, DOCTOR_OK, "identity", NULL,
                   "%s: a secret that others cannot read", id->secret_file);
    }
    if (identity_by_secret(id)) {
        doctor_say(d, DOCTOR_OK, "identity", NULL,
                   "TLS over tcp, by keys from the secret");
    } else if (id->tls.tls_cert_file != NULL) {
        doctor_say(d, DOCTOR_OK, "identity", NULL,
                   "%s: a certificate of this name, with its key",
                   id->tls.tls_cert_file);
    } else if (id->plain) {
        doctor_say(d, DOCTOR_NOTE, "identity", NULL,
                   "plain: whoever is on the way over tcp can read and alter "
                   "rows and statements");
    } else {
        doctor_say(d, DOCTOR_NOTE, "identity", DOCTOR_MAKE_SECRET,
                   "nodes that listen beyond 127.0.0.1 without secret_file "
                   "take whoever reaches them for a peer");
    }
}

void doctor_node(struct doctor *d)
{
    char why[256];
    struct weir_node_stats stats;
    weir_node *node = open_node(d, d->transport);
    if (node == NULL) {
        return;
    }
    weir_node_stats_get(node, &stats);
    d->need_bytes = stats.memory_plan_bytes;
    (void)weir_node_why(node, NULL, why, sizeof(why));
    doctor_say(d, DOCTOR_OK, "transports", NULL, "%s", why);
    weir_node_close(node);
    say_identity(d);
}

/* ---- why ----------------------------------------------------------------- */

static void why_host(struct doctor *d, weir_node *node, const char *where)
{
    char host[ADDRESS_BYTES];
    char address[ADDRESS_BYTES];
    char why[256];
    (void)snprintf(host, sizeof(host), "%s", where);
    if (has_port(where)) {
        *strrchr(host, ':') = '\0';
    }
    if (host[0] == '[') {
        memmove(host, host + 1, strlen(host));
        host[strcspn(host, "]")] = '\0';
    }
    int here = is_here(host);
    if (here < 0) {
        char fix[ADDRESS_BYTES + 32];
        (void)snprintf(fix, sizeof(fix), "getent hosts %s", host);
        doctor_say(d, DOCTOR_PROBLEM, "why", fix, "%s is no known host", host);
        return;
    }
    if (here > 0) {
        (void)weir_node_why(node, weir_node_address(node), why, sizeof(why));
        doctor_say(d, DOCTOR_OK, "why", NULL, "%s is this machine: %s", host,
                   why);
        return;
    }
    (void)snprintf(address, sizeof(address),
                   "auto:0000000000000000-0;verbs=%.80s:1;tcp=%.80s:1", host,
                   host);
    (void)weir_node_why(node, address, why, sizeof(why));
    doctor_say(d, DOCTOR_OK, "why", NULL,
               "%s is another machine: %s (if its node offers that; for "
               "certainty give the address that its node prints)",
               host, why);
}

void doctor_why(struct doctor *d, const char *where)
{
    char why[256];
    weir_node *node = open_node(d, "auto");
    if (node == NULL) {
        return;
    }
    if (!has_transport(where)) {
        why_host(d, node, where);
    } else {
        (void)weir_node_why(node, where, why, sizeof(why));
        bool none = strncmp(why, "none:", 5) == 0 ||
                    strncmp(why, "auto:", 5) == 0; /* not an address */
        doctor_say(d, none ? DOCTOR_PROBLEM : DOCTOR_OK, "why",
                   none
                       ? "weir doctor --listen   # there; it prints its address"
                       : NULL,
                   "%s%s", none ? "no way there; " : "", why);
    }
    weir_node_close(node);
}
