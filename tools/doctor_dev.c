/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RDMA devices as sysfs shows them (Documentation/ABI/stable/sysfs-class-
 * infiniband of the kernel), without any RDMA library, so that
 * machines without one are told what is missing, too.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "tools/doctor.h"

#define IB "/sys/class/infiniband/"
#define NET "/sys/class/net/"

/** One RDMA device. */
struct device {
    char name[DOCTOR_NAME_BYTES];
    char netdev[DOCTOR_NAME_BYTES]; /* of its first port, or "" */
    bool iwarp;
};

/* ---- network devices ----------------------------------------------------- */

static bool net_is_up(const struct doctor *d, const char *netdev)
{
    char flags[32];
    return doctor_read(d, flags, sizeof(flags), NET "%s/flags", netdev) &&
           (strtoul(flags, NULL, 16) & 1) != 0; /* IFF_UP */
}

static unsigned net_mtu(const struct doctor *d, const char *netdev)
{
    char mtu[32];
    (void)doctor_read(d, mtu, sizeof(mtu), NET "%s/mtu", netdev);
    return (unsigned)strtoul(mtu, NULL, 10);
}

/* The node GUID of iWARP and software devices is the EUI-64 of the network
 * device's address: "0200:00ff:fe00:0001" of "02:00:00:00:00:01", perhaps
 * with its second bit inverted (RFC 4291, appendix A). */
static bool guid_is_of(const char *guid, const char *mac)
{
    unsigned g[8];
    unsigned m[6];
    if (sscanf(guid, "%2x%2x:%2x%2x:%2x%2x:%2x%2x", &g[0], &g[1], &g[2], &g[3],
               &g[4], &g[5], &g[6], &g[7]) != 8 ||
        sscanf(mac, "%2x:%2x:%2x:%2x:%2x:%2x", &m[0], &m[1], &m[2], &m[3],
               &m[4], &m[5]) != 6) {
        return false;
    }
    return (g[0] | 2) == (m[0] | 2) && g[1] == m[1] && g[2] == m[2] &&
           g[5] == m[3] && g[6] == m[4] && g[7] == m[5];
}

static void net_of_guid(const struct doctor *d, const char *device,
                        char *netdev)
{
    struct doctor_names nets;
    char guid[64];
    char mac[64];
    (void)doctor_read(d, guid, sizeof(guid), IB "%s/node_guid", device);
    doctor_list(d, &nets, NET);
    for (unsigned i = 0; i < nets.n && netdev[0] == '\0'; i++) {
        (void)doctor_read(d, mac, sizeof(mac), NET "%s/address", nets.name[i]);
        if (guid_is_of(guid, mac)) {
            (void)strcpy(netdev, nets.name[i]);
        }
    }
}

/* The network device of a port, or "": told by the GID table (RoCE), by rxe
 * itself, by the bus, or known by its address. */
static void net_of_port(const struct doctor *d, const char *device,
                        const char *port, char *netdev)
{
    struct doctor_names nets;
    if (doctor_read(d, netdev, DOCTOR_NAME_BYTES,
                    IB "%s/ports/%s/gid_attrs/ndevs/0", device, port) &&
        netdev[0] != '\0') {
        return;
    }
    if (doctor_read(d, netdev, DOCTOR_NAME_BYTES, IB "%s/parent", device) &&
        netdev[0] != '\0') {
        return;
    }
    doctor_list(d, &nets, IB "%s/device/net", device);
    if (nets.n == 1) {
        (void)strcpy(netdev, nets.name[0]);
        return;
    }
    net_of_guid(d, device, netdev);
}

/* ---- ports --------------------------------------------------------------- */

static unsigned count_gids(const struct doctor *d, const char *device,
                           const char *port, char *first, size_t bytes)
{
    struct doctor_names gids;
    char gid[64];
    unsigned n = 0;
    first[0] = '\0';
    doctor_list(d, &gids, IB "%s/ports/%s/gids", device, port);
    for (unsigned i = 0; i < gids.n; i++) {
        if (doctor_read(d, gid, sizeof(gid), IB "%s/ports/%s/gids/%s", device,
                        port, gids.name[i]) &&
            strspn(gid, "0:") != strlen(gid)) {
            if (n++ == 0) {
                (void)snprintf(first, bytes, "%s", gid);
            }
        }
    }
    return n;
}

static void check_gids(struct doctor *d, const struct device *v,
                       const char *port, const char *netdev)
{
    char first[64];
    char fix[160];
    unsigned n = count_gids(d, v->name, port, first, sizeof(first));
    if (n > 0) {
        doctor_say(d, DOCTOR_OK, "gid", NULL, "%s port %s: %u, first %s",
                   v->name, port, n, first);
        return;
    }
    if (netdev[0] == '\0') {
        (void)snprintf(fix, sizeof(fix), "systemctl start opensm");
    } else if (!net_is_up(d, netdev)) {
        (void)snprintf(fix, sizeof(fix), "ip link set %s up", netdev);
    } else {
        (void)snprintf(fix, sizeof(fix),
                       "ip addr add 192.0.2.1/24 dev %s   # an address of your "
                       "network",
                       netdev);
    }
    doctor_say(d, DOCTOR_PROBLEM, "gid", fix,
               "%s port %s has none: it has no address that peers could use",
               v->name, port);
}

/* Largest RoCE packet that fits a network device's MTU: RDMA sizes are powers
 * of two (InfiniBand 1.5, 9.6.5.1), plus up to 58 bytes of headers. */
static unsigned roce_mtu(unsigned net)
{
    unsigned mtu = 4096;
    while (mtu > 256 && mtu + 58 > net) {
        mtu /= 2;
    }
    return mtu;
}

static void check_mtu(struct doctor *d, const struct device *v,
                      const char *port, const char *netdev)
{
    unsigned net = net_mtu(d, netdev);
    if (v->iwarp) {
        doctor_say(d, DOCTOR_OK, "mtu", NULL,
                   "%s port %s: segments of TCP over %s, MTU %u", v->name, port,
                   netdev, net);
        return;
    }
    unsigned mtu = roce_mtu(net);
    char fix[128];
    (void)snprintf(fix, sizeof(fix), "ip link set %s mtu 4200", netdev);
    bool full = mtu == 4096;
    doctor_say(d, full ? DOCTOR_OK : DOCTOR_NOTE, "mtu", full ? NULL : fix,
               "%s port %s: packets of %u bytes over %s, MTU %u%s", v->name,
               port, mtu, netdev, net,
               full ? "" : "; 4096 need switches that pass 4200");
}

static void port_fix(const struct doctor *d, const char *state,
                     const char *netdev, bool infiniband, char *fix,
                     size_t bytes)
{
    if (netdev[0] != '\0' && !net_is_up(d, netdev)) {
        (void)snprintf(fix, bytes, "ip link set %s up", netdev);
    } else if (infiniband && strcmp(state, "INIT") == 0) {
        (void)snprintf(fix, bytes, "systemctl start opensm");
    } else if (netdev[0] != '\0') {
        (void)snprintf(fix, bytes, "ethtool %s   # no link: plug in the cable",
                       netdev);
    } else {
        (void)snprintf(fix, bytes, "ibstat   # no link: plug in the cable");
    }
}

static void check_port(struct doctor *d, struct device *v, const char *port)
{
    char state[64];
    char layer[64];
    char netdev[DOCTOR_NAME_BYTES] = "";
    char fix[160] = "";
    (void)doctor_read(d, state, sizeof(state), IB "%s/ports/%s/state", v->name,
                      port);
    (void)doctor_read(d, layer, sizeof(layer), IB "%s/ports/%s/link_layer",
                      v->name, port);
    net_of_port(d, v->name, port, netdev);
    const char *colon = strstr(state, ": ");
    const char *word = colon != NULL ? colon + 2 : state;
    bool active = strcmp(word, "ACTIVE") == 0;
    bool infiniband = strcasecmp(layer, "InfiniBand") == 0;
    if (v->netdev[0] == '\0') {
        (void)strcpy(v->netdev, netdev);
    }
    port_fix(d, word, netdev, infiniband, fix, sizeof(fix));
    doctor_say(d, active ? DOCTOR_OK : DOCTOR_PROBLEM, "port",
               active ? NULL : fix, "%s port %s: %s, %s%s%s%s", v->name, port,
               word[0] != '\0' ? word : "state unknown",
               layer[0] != '\0' ? layer : "link layer unknown",
               netdev[0] != '\0' ? ", network device " : "", netdev,
               netdev[0] != '\0' && !net_is_up(d, netdev) ? " which is down"
                                                          : "");
    if (!active) {
        return; /* the rest follows from it */
    }
    check_gids(d, v, port, netdev);
    if (netdev[0] != '\0') {
        check_mtu(d, v, port, netdev);
    }
}

/* ---- device files -------------------------------------------------------- */

static void check_file(struct doctor *d, const char *file, const char *of,
                       const char *module)
{
    char fix[160];
    bool there = false;
    if (doctor_may_use(d, &there, "/dev/infiniband/%s", file)) {
        doctor_say(d, DOCTOR_OK, "device file", NULL,
                   "/dev/infiniband/%s (%s) can be opened", file, of);
        return;
    }
    if (there) {
        (void)snprintf(fix, sizeof(fix), "sudo chmod a+rw /dev/infiniband/%s",
                       file);
    } else {
        (void)snprintf(fix, sizeof(fix),
                       "modprobe %s   # containers: --device "
                       "/dev/infiniband/%s",
                       module, file);
    }
    doctor_say(d, DOCTOR_PROBLEM, "device file", fix,
               "/dev/infiniband/%s (%s) %s", file, of,
               there ? "may not be read and written by this user"
                     : "is not there");
}

static void check_uverbs(struct doctor *d, const struct device *v)
{
    struct doctor_names files;
    char name[DOCTOR_NAME_BYTES];
    doctor_list(d, &files, "/sys/class/infiniband_verbs");
    for (unsigned i = 0; i < files.n; i++) {
        if (doctor_read(d, name, sizeof(name),
                        "/sys/class/infiniband_verbs/%s/ibdev",
                        files.name[i]) &&
            strcmp(name, v->name) == 0) {
            check_file(d, files.name[i], v->name, "ib_uverbs");
            return;
        }
    }
    doctor_say(d, DOCTOR_PROBLEM, "device file", "modprobe ib_uverbs",
               "%s has no uverbs file: programs cannot use it", v->name);
}

/* ---- devices ------------------------------------------------------------- */

static void check_device(struct doctor *d, struct device *v)
{
    struct doctor_names ports;
    char type[64];
    char driver[64];
    (void)doctor_read(d, type, sizeof(type), IB "%s/node_type", v->name);
    v->iwarp = strstr(type, "RNIC") != NULL;
    doctor_list(d, &ports, IB "%s/ports", v->name);
    (void)doctor_read(d, driver, sizeof(driver), IB "%s/node_desc", v->name);
    doctor_say(d, DOCTOR_OK, "device", NULL, "%s: %s, %u port%s%s%s", v->name,
               v->iwarp ? "iWARP" : "InfiniBand or RoCE", ports.n,
               ports.n == 1 ? "" : "s", driver[0] != '\0' ? ", " : "", driver);
    for (unsigned i = 0; i < ports.n; i++) {
        check_port(d, v, ports.name[i]);
    }
    check_uverbs(d, v);
}

/* Does the running kernel have a module, loaded or not? */
static bool has_module(const struct doctor *d, const char *name)
{
    struct utsname u;
    bool there = false;
    char path[512];
    char line[512];
    char word[64];
    (void)doctor_may_use(d, &there, "/sys/module/%s", name);
    if (there || uname(&u) != 0) {
        return there;
    }
    (void)snprintf(word, sizeof(word), "/%s.ko", name);
    (void)snprintf(path, sizeof(path), "%s/lib/modules/%s/modules.dep", d->root,
                   u.release);
    FILE *f = fopen(path, "re");
    while (!there && f != NULL && fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, ":")] = '\0';
        there = strstr(line, word) != NULL;
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return there;
}

static bool is_loopback(const struct doctor *d, const char *netdev)
{
    char type[16];
    return doctor_read(d, type, sizeof(type), NET "%s/type", netdev) &&
           strcmp(type, "772") == 0; /* ARPHRD_LOOPBACK */
}

/* The network device for a software device: the first that is up. */
static const char *spare_netdev(const struct doctor *d,
                                const struct doctor_names *nets)
{
    for (unsigned i = 0; i < nets->n; i++) {
        if (!is_loopback(d, nets->name[i]) && net_is_up(d, nets->name[i])) {
            return nets->name[i];
        }
    }
    return "eth0";
}

static void say_none(struct doctor *d, const struct doctor_names *nets)
{
    char fix[256];
    bool must = strcmp(d->transport, "verbs") == 0;
    const char *driver = has_module(d, "rdma_rxe") ? "rdma_rxe"
                         : has_module(d, "siw")    ? "siw"
                                                   : NULL;
    const char *netdev = spare_netdev(d, nets);
    if (driver != NULL) {
        const char *type = strcmp(driver, "siw") == 0 ? "siw" : "rxe";
        (void)snprintf(fix, sizeof(fix),
                       "modprobe %s && rdma link add %s0 type %s netdev %s",
                       driver, type, type, netdev);
    } else {
        (void)snprintf(fix, sizeof(fix),
                       "apt-get install linux-image-amd64 rdma-core iproute2   "
                       "# boot it, then: modprobe rdma_rxe && rdma link add "
                       "rxe0 type rxe netdev %s",
                       netdev);
    }
    doctor_say(d, must ? DOCTOR_PROBLEM : DOCTOR_NOTE, "device", fix,
               "no RDMA device%s: links run over shm and tcp",
               driver != NULL ? ""
                              : ", and no module for a software device "
                                "in this kernel");
}

static void say_netdevs(struct doctor *d, const struct doctor_names *nets,
                        const struct device *devices, unsigned n)
{
    for (unsigned i = 0; i < nets->n; i++) {
        const char *net = nets->name[i];
        const char *device = NULL;
        char fix[128];
        for (unsigned k = 0; k < n && device == NULL; k++) {
            device =
                strcmp(devices[k].netdev, net) == 0 ? devices[k].name : NULL;
        }
        if (is_loopback(d, net)) {
            continue;
        }
        (void)snprintf(fix, sizeof(fix),
                       "rdma link add rxe_%s type rxe netdev %s", net, net);
        const char *up = net_is_up(d, net) ? "up" : "down";
        doctor_say(d, device != NULL || n == 0 ? DOCTOR_OK : DOCTOR_NOTE,
                   "netdev", device != NULL || n == 0 ? NULL : fix,
                   "%s: %s, MTU %u, RDMA device: %s", net, up, net_mtu(d, net),
                   device != NULL ? device : "none");
    }
}

void doctor_devices(struct doctor *d)
{
    static struct device devices[DOCTOR_NAMES];
    struct doctor_names names;
    struct doctor_names nets;
    doctor_list(d, &names, IB);
    doctor_list(d, &nets, NET);
    d->devices = names.n;
    for (unsigned i = 0; i < names.n; i++) {
        devices[i] = (struct device){.iwarp = false};
        (void)strcpy(devices[i].name, names.name[i]);
        check_device(d, &devices[i]);
    }
    if (names.n == 0) {
        say_none(d, &nets);
    } else {
        check_file(d, "rdma_cm", "connections", "rdma_ucm");
    }
    say_netdevs(d, &nets, devices, names.n);
}
