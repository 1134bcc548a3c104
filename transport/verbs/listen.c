/* SPDX-License-Identifier: Apache-2.0 */
/* Listening: the address of a usable device, and a port that is free. */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "transport/verbs/verbs.h"

enum { BACKLOG = 128 };

static bool is_active(struct rdma_cm_id *id)
{
    struct ibv_port_attr attr;
    return id->verbs != NULL &&
           ibv_query_port(id->verbs, id->port_num, &attr) == 0 &&
           attr.state == IBV_PORT_ACTIVE;
}

/* What binding says where no usable device is. */
static bool is_elsewhere(int why)
{
    return why == ENODEV || why == ENETDOWN || why == EADDRNOTAVAIL;
}

/* A new id bound to an address of an RDMA device, or NULL and errno. */
static struct rdma_cm_id *bind_id(struct vb_transport *t,
                                  const union wi_inet *addr)
{
    struct rdma_cm_id *id = NULL;
    union wi_inet copy = *addr;
    if (rdma_create_id(t->cm, &id, NULL, RDMA_PS_TCP) != 0) {
        return NULL;
    }
    if (rdma_bind_addr(id, &copy.any) == 0) {
        if (is_active(id)) {
            return id;
        }
        errno = id->verbs != NULL ? ENETDOWN : ENODEV;
    }
    int why = errno;
    (void)rdma_destroy_id(id);
    errno = why;
    return NULL;
}

/* The first address of this machine that belongs to a usable device,
 * or NULL and errno. */
static struct rdma_cm_id *bind_any(struct vb_transport *t,
                                   const union wi_inet *like)
{
    struct ifaddrs *list = NULL;
    struct rdma_cm_id *id = NULL;
    int why = ENODEV;
    if (getifaddrs(&list) != 0) {
        return NULL;
    }
    for (const struct ifaddrs *i = list; i != NULL && id == NULL;
         i = i->ifa_next) {
        if (i->ifa_addr == NULL || (i->ifa_flags & IFF_UP) == 0 ||
            i->ifa_addr->sa_family != like->any.sa_family) {
            continue;
        }
        union wi_inet addr = *like;
        union wi_inet found = wi_inet_of(i->ifa_addr);
        wi_inet_set_host(&addr, &found);
        id = bind_id(t, &addr);
        if (id == NULL && !is_elsewhere(errno)) {
            why = errno; /* a device is there, this failed */
        }
    }
    freeifaddrs(list);
    errno = why;
    return id;
}

static weir_err open_channel(struct vb_transport *t, struct weir_error *err)
{
    t->cm = rdma_create_event_channel();
    if (t->cm == NULL) {
        return errno == ENODEV || errno == ENOENT
                   ? wi_vb_dev_none("no /dev/infiniband/rdma_cm (`modprobe "
                                    "rdma_ucm` makes it)",
                                    err)
                   : wi_fail_errno(err, errno,
                                   "verbs: open /dev/infiniband/rdma_cm (is it "
                                   "readable and writable for this user? if "
                                   "out of descriptors: raise ulimit -n)");
    }
    int flags = fcntl(t->cm->fd, F_GETFL);
    (void)fcntl(t->cm->fd, F_SETFL, flags | O_NONBLOCK);
    return WEIR_OK;
}

static WI_COLD weir_err cannot_listen(const char *text, int why,
                                      struct weir_error *err)
{
    return wi_fail_errno(err, why,
                         "verbs: listen at %.80s (take another port, or 0 for "
                         "a free one)",
                         text);
}

static weir_err bind_listener(struct vb_transport *t, const char *text,
                              const union wi_inet *addr, struct weir_error *err)
{
    char what[128];
    bool any = wi_inet_is_any(addr);
    t->listen_id = any ? bind_any(t, addr) : bind_id(t, addr);
    if (t->listen_id != NULL) {
        return WEIR_OK;
    }
    if (!is_elsewhere(errno)) {
        return cannot_listen(text, errno, err);
    }
    (void)snprintf(what, sizeof(what),
                   any ? "no address of an active RDMA device%s"
                       : "%.80s is no address of an active RDMA device",
                   any ? "" : text);
    return wi_vb_dev_none(what, err);
}

/* siw binds a socket of TCP, which may have the port that rdma_cm, with ports
 * of its own, took for free: then another one. */
static weir_err listen_at(struct vb_transport *t, const char *text,
                          const union wi_inet *addr, struct weir_error *err)
{
    int tries = wi_inet_port(addr) == 0 ? VB_PORT_TRIES : 1;
    weir_err rc;
    while ((rc = bind_listener(t, text, addr, err)) == WEIR_OK &&
           rdma_listen(t->listen_id, BACKLOG) != 0) {
        int why = errno;
        (void)rdma_destroy_id(t->listen_id);
        t->listen_id = NULL;
        if (--tries == 0 || why != EADDRINUSE) {
            return cannot_listen(text, why, err);
        }
    }
    return rc;
}

weir_err wi_vb_listen(struct vb_transport *t, const char *text,
                      const char *advertise, struct weir_error *err)
{
    union wi_inet wanted;
    text = text != NULL ? text : "0.0.0.0:0";
    weir_err rc =
        wi_inet_decode(text, WI_INET_LISTEN | WI_INET_NAMES, &wanted, err);
    if (rc == WEIR_OK) {
        rc = open_channel(t, err);
    }
    if (rc == WEIR_OK) {
        rc = listen_at(t, text, &wanted, err);
    }
    if (rc == WEIR_OK) {
        t->local = wi_inet_of(rdma_get_local_addr(t->listen_id));
        memcpy(t->address, "verbs:", 6);
        wi_inet_encode(&t->local, t->address + 6, sizeof(t->address) - 6);
    }
    if (rc == WEIR_OK && advertise != NULL) {
        rc = wi_inet_advertise(advertise, 0, &t->local, t->address + 6,
                               sizeof(t->address) - 6, err);
    }
    return rc;
}
