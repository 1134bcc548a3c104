/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that hold the addresses of several transports. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "transport/auto/auto.h"

/* ---- who the host is ----------------------------------------------------- */

/* FNV-1a, 64 bits (draft-eastlake-fnv): names are told apart, nothing is
 * protected by it. */
static uint64_t hash(const char *bytes, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
    }
    return h;
}

/* The boot id is the same in all containers of a host and new at each boot
 * (random(4)); where it cannot be read, the host's name has to do. */
static uint64_t boot_hash(void)
{
    char text[128] = "";
    ssize_t n = -1;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, text, sizeof(text));
        (void)close(fd);
    }
    if (n <= 0) {
        (void)gethostname(text, sizeof(text) - 1);
        n = (ssize_t)strlen(text);
    }
    return hash(text, (size_t)n);
}

void wi_auto_host(char *text)
{
    struct stat net = {0}; /* namespaces(7): one inode per namespace */
    (void)stat("/proc/self/ns/net", &net);
    (void)snprintf(text, AUTO_HOST_BYTES, "%016llx-%llx",
                   (unsigned long long)boot_hash(),
                   (unsigned long long)net.st_ino);
}

/* ---- composing ----------------------------------------------------------- */

weir_err wi_auto_address_put(struct auto_transport *t, struct weir_error *err)
{
    char part[WI_ADDRESS_BYTES];
    int at = snprintf(t->address, WI_ADDRESS_BYTES, "auto:%s", t->host);
    for (uint32_t i = 0; i < AUTO_PARTS; i++) {
        const struct auto_part *p = &t->parts[i];
        if (p->t == NULL) {
            continue;
        }
        p->ops->address(p->t, part);
        const char *own = part + strlen(p->ops->name) + 1;
        int room = WI_ADDRESS_BYTES - at;
        int n = snprintf(t->address + at, (size_t)room, ";%s=%s", p->ops->name,
                         own);
        if (strchr(own, ';') != NULL || n >= room) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "the address %.100s contains ';' or is too long to "
                           "stand beside the others: listen elsewhere",
                           part);
        }
        at += n;
    }
    return WEIR_OK;
}

/* ---- taking apart -------------------------------------------------------- */

uint32_t wi_auto_part(const char *name, size_t len)
{
    uint32_t i = 0;
    while (i < AUTO_PARTS && (strlen(wi_auto_names[i]) != len ||
                              memcmp(wi_auto_names[i], name, len) != 0)) {
        i++;
    }
    return i;
}

static bool is_host(const char *text)
{
    static const char hex[] = "0123456789abcdef";
    size_t boot = strspn(text, hex);
    return boot == 16 && text[boot] == '-' && text[boot + 1] != '\0' &&
           text[boot + 1 + strspn(text + boot + 1, hex)] == '\0';
}

static WI_COLD weir_err not_an_address(const char *address,
                                       struct weir_error *err)
{
    return wi_fail(err, WEIR_ERR_ARG,
                   "\"%.120s\" is not an address: expected what "
                   "weir_node_address says, auto:HOST:PORT, or an address of "
                   "one of the transports below auto",
                   address);
}

/* Words after the host; false: not of the form NAME=ADDRESS. Transports that
 * this build does not know are passed over. */
static bool take_parts(char *text, struct auto_peer *out)
{
    char *rest = text;
    char *word;
    while ((word = strsep(&rest, ";")) != NULL) {
        char *value = strchr(word, '=');
        if (value == NULL || value == word || value[1] == '\0') {
            return false;
        }
        uint32_t i = wi_auto_part(word, (size_t)(value - word));
        if (i < AUTO_PARTS) {
            out->parts[i] = value + 1;
        }
    }
    return true;
}

weir_err wi_auto_address_get(const char *address, struct auto_peer *out,
                             struct weir_error *err)
{
    const char *colon = strchr(address, ':');
    *out = (struct auto_peer){.host = NULL};
    if (colon == NULL || colon[1] == '\0' ||
        strlen(address) >= sizeof(out->text)) {
        return not_an_address(address, err);
    }
    (void)snprintf(out->text, sizeof(out->text), "%s", address);
    char *own = out->text + (colon + 1 - address);
    uint32_t i = wi_auto_part(address, (size_t)(colon - address));
    if (i < AUTO_PARTS) {
        out->plain = true;
        out->parts[i] = own;
        return WEIR_OK;
    }
    if (strncmp(address, "auto:", 5) != 0) {
        return not_an_address(address, err);
    }
    char *words = strchr(own, ';'); /* after the host */
    if (words != NULL) {
        *words++ = '\0';
    }
    if (is_host(own)) {
        out->host = own;
        return words == NULL || take_parts(words, out)
                   ? WEIR_OK
                   : not_an_address(address, err);
    }
    out->parts[wi_auto_part("tcp", 3)] = own;
    return words == NULL ? WEIR_OK : not_an_address(address, err);
}
