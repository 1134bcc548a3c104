/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport as a whole: opening what works here, one epoll over the
 * descriptors of the parts, and the table.
 *
 * `listen` of a node: nothing, or HOST:PORT for tcp (verbs listens at HOST
 * too), or NAME[=LISTEN] of some parts with ';' between them: these are opened
 * then, no others, and each has to work.
 */
#include "transport/auto/auto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/forks.h"

const char *const wi_auto_names[AUTO_PARTS] = {"shm", "verbs", "tcp"};

/** How one part is opened. */
struct wish {
    bool wanted;
    bool must;          /* failing is an error */
    const char *listen; /* NULL: as the part likes */
};

struct wishes {
    struct wish part[AUTO_PARTS];
    char text[WI_ADDRESS_BYTES]; /* of listen, cut into words */
    char shm[64];
    char verbs[WI_ADDRESS_BYTES];
};

/* ---- what to open -------------------------------------------------------- */

/* The socket of shm needs a name that nobody else on the host has. */
static void name_shm(struct wishes *w, const char *node)
{
    uint32_t salt = 0;
    size_t n = 0;
    if (getrandom(&salt, sizeof(salt), 0) != (ssize_t)sizeof(salt)) {
        salt = (uint32_t)getpid();
    }
    for (; node != NULL && node[n] != '\0' && n < 24; n++) {
        bool plain = node[n] > ' ' && node[n] != ';' && node[n] < 0x7f;
        w->shm[n] = plain ? node[n] : '_';
    }
    (void)snprintf(w->shm + n, sizeof(w->shm) - n, "-%08x", salt);
}

static bool is_list(const char *listen)
{
    size_t word = strcspn(listen, "=;");
    return wi_auto_part(listen, word) < AUTO_PARTS;
}

static weir_err wish_list(struct wishes *w, struct weir_error *err)
{
    char *rest = w->text;
    char *word;
    while ((word = strsep(&rest, ";")) != NULL) {
        size_t len = strcspn(word, "=");
        uint32_t i = wi_auto_part(word, len);
        if (i == AUTO_PARTS) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "listen: \"%.60s\" is not NAME or NAME=ADDRESS of "
                           "%s, %s or %s",
                           word, wi_auto_names[0], wi_auto_names[1],
                           wi_auto_names[2]);
        }
        w->part[i].wanted = true;
        w->part[i].must = true;
        if (word[len] == '=') {
            w->part[i].listen = word + len + 1;
        }
    }
    return WEIR_OK;
}

static weir_err make_wishes(struct wishes *w,
                            const struct wi_transport_params *params,
                            struct weir_error *err)
{
    const uint32_t shm = wi_auto_part("shm", 3);
    const uint32_t verbs = wi_auto_part("verbs", 5);
    const uint32_t tcp = wi_auto_part("tcp", 3);
    *w = (struct wishes){.text = ""};
    name_shm(w, params->name);
    w->part[shm].listen = w->shm;
    if (params->listen != NULL &&
        strlen(params->listen) >= sizeof(w->text) - 2) {
        return wi_fail(err, WEIR_ERR_ARG, "listen is longer than %zu bytes",
                       sizeof(w->text) - 3);
    }
    if (params->listen != NULL) {
        (void)snprintf(w->text, sizeof(w->text), "%s", params->listen);
        if (is_list(w->text)) {
            return wish_list(w, err);
        }
        const char *port = strrchr(w->text, ':');
        size_t host = port != NULL ? (size_t)(port - w->text) : 0;
        w->part[tcp].listen = w->text;
        (void)snprintf(w->verbs, sizeof(w->verbs), "%.*s:0", (int)host,
                       w->text);
        w->part[verbs].listen = host != 0 ? w->verbs : NULL;
    }
    for (uint32_t i = 0; i < AUTO_PARTS; i++) {
        w->part[i].wanted = true;
    }
    w->part[tcp].must = true;
    return WEIR_OK;
}

/* ---- open and close ------------------------------------------------------ */

static void note(struct auto_part *p, const char *text)
{
    size_t name = strlen(p->ops != NULL ? p->ops->name : "");
    if (name > 0 && strncmp(text, p->ops->name, name) == 0 &&
        strncmp(text + name, ": ", 2) == 0) {
        text += name + 2; /* the line begins with it anyway */
    }
    /* What follows a semicolon is what to do about it. */
    int n = (int)wi_min_u32((uint32_t)strcspn(text, ";"), AUTO_WORD_BYTES - 1);
    (void)snprintf(p->note, sizeof(p->note), "%.*s", n, text);
}

static weir_err watch(struct auto_transport *t, struct auto_part *p,
                      struct weir_error *err)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};
    if (epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, p->ops->fd(p->t), &e) != 0) {
        return wi_fail_errno(err, errno, "epoll_ctl for %s", p->ops->name);
    }
    return WEIR_OK;
}

static weir_err open_part(struct auto_transport *t, uint32_t i,
                          const struct wi_transport_params *params,
                          const struct wish *wish, struct weir_error *err)
{
    struct auto_part *p = &t->parts[i];
    struct wi_transport_params own = *params;
    struct weir_error why = {0};
    p->ops = wi_transport_find(wi_auto_names[i]);
    own.listen = wish->listen;
    if (strcmp(wi_auto_names[i], "tcp") != 0) {
        own.advertise = NULL; /* devices and sockets of the host are what they
                                 are */
    }
    if (!wish->wanted) {
        note(p, "left out by listen");
        return WEIR_OK;
    }
    if (p->ops == NULL) {
        note(p, "not in this build");
        return wish->must ? wi_fail(err, WEIR_ERR_NOT_FOUND, "no transport %s",
                                    wi_auto_names[i])
                          : WEIR_OK;
    }
    if (own.tls != NULL && own.tls->strict &&
        strcmp(wi_auto_names[i], "verbs") == 0) {
        note(p, "left out: no TLS over it");
        return wish->must ? wi_fail(err, WEIR_ERR_UNSUPPORTED,
                                    "there is no TLS over verbs")
                          : WEIR_OK;
    }
    weir_err rc = p->ops->open(&own, &p->t, &why);
    if (rc != WEIR_OK) {
        p->t = NULL;
        note(p, why.message);
        return wish->must ? wi_fail(err, rc, "%s", why.message) : WEIR_OK;
    }
    t->base.networked = t->base.networked || p->t->networked;
    return watch(t, p, err);
}

static void auto_close(struct wi_transport *base)
{
    struct auto_transport *t = wi_auto_of(base);
    for (uint32_t i = 0; i < AUTO_PARTS; i++) {
        if (t->parts[i].t != NULL) {
            t->parts[i].ops->close(t->parts[i].t);
        }
    }
    wi_fd_close(t->epoll_fd);
    free(t);
}

/* Memory of the composite is for mapped endpoints, see rule 8; without any it
 * is ordinary memory, and the last part (tcp) registers nothing. */
static void pick_home(struct auto_transport *t)
{
    for (uint32_t i = AUTO_PARTS; i-- > 0;) {
        struct auto_part *p = &t->parts[i];
        if (p->t != NULL &&
            (t->home == NULL || (p->ops->caps & WI_CAP_MAP) != 0)) {
            t->home = p;
        }
    }
}

static weir_err open_parts(struct auto_transport *t,
                           const struct wi_transport_params *params,
                           struct weir_error *err)
{
    struct wishes w;
    weir_err rc = make_wishes(&w, params, err);
    t->epoll_fd = wi_fd_open(epoll_create1(EPOLL_CLOEXEC));
    if (rc == WEIR_OK && t->epoll_fd < 0) {
        rc = wi_fail_errno(err, errno,
                           "epoll_create1 (out of descriptors? raise ulimit "
                           "-n)");
    }
    for (uint32_t i = 0; rc == WEIR_OK && i < AUTO_PARTS; i++) {
        rc = open_part(t, i, params, &w.part[i], err);
    }
    if (rc == WEIR_OK && params->advertise != NULL &&
        t->parts[wi_auto_part("tcp", 3)].t == NULL) {
        rc = wi_fail(err, WEIR_ERR_ARG,
                     "advertise is for tcp, which listen leaves out");
    }
    if (rc == WEIR_OK) {
        pick_home(t);
        rc = wi_auto_address_put(t, err);
    }
    return rc;
}

static weir_err auto_open(const struct wi_transport_params *params,
                          struct wi_transport **out, struct weir_error *err)
{
    struct auto_transport *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a transport");
    }
    t->base.ops = &wi_auto_ops;
    t->log = params->log;
    wi_auto_host(t->host);
    weir_err rc = open_parts(t, params, err);
    if (rc != WEIR_OK) {
        auto_close(&t->base);
        return rc;
    }
    *out = &t->base;
    return WEIR_OK;
}

static void auto_address(struct wi_transport *base, char *text)
{
    memcpy(text, wi_auto_of(base)->address, WI_ADDRESS_BYTES);
}

/* ---- memory -------------------------------------------------------------- */

static weir_err auto_mem_open(struct wi_transport *base, size_t bytes,
                              struct wi_mem *out, struct weir_error *err)
{
    struct auto_part *home = wi_auto_of(base)->home;
    return home->ops->mem_open(home->t, bytes, out, err);
}

static weir_err auto_mem_reserve(struct wi_transport *base, size_t bytes,
                                 struct wi_mem *out, struct weir_error *err)
{
    struct auto_part *home = wi_auto_of(base)->home;
    return home->ops->mem_reserve(home->t, bytes, out, err);
}

static weir_err auto_mem_take(struct wi_transport *base,
                              const struct wi_mem_part *part,
                              struct weir_error *err)
{
    struct auto_part *home = wi_auto_of(base)->home;
    return home->ops->mem_take(home->t, part, err);
}

static weir_err auto_mem_borrow(struct wi_transport *base,
                                const struct wi_borrow *what, uint32_t access,
                                struct wi_mem *out, struct weir_error *err)
{
    struct auto_part *home = wi_auto_of(base)->home;
    return home->ops->mem_borrow(home->t, what, access, out, err);
}

static void auto_mem_close(struct wi_transport *base, struct wi_mem *mem)
{
    struct auto_part *home = wi_auto_of(base)->home;
    home->ops->mem_close(home->t, mem);
}

static void auto_unmap(struct wi_transport *base, void *at, size_t bytes)
{
    struct auto_part *home = wi_auto_of(base)->home;
    home->ops->unmap(home->t, at, bytes);
}

/* ---- events -------------------------------------------------------------- */

/* Each part once, in turn: what its last poll handed out stays valid until it
 * is polled again, and a busy one does not keep out the others. */
static uint32_t auto_poll(struct wi_transport *base, uint64_t now_ns,
                          struct wi_event *events, uint32_t max)
{
    struct auto_transport *t = wi_auto_of(base);
    uint32_t n = 0;
    for (uint32_t k = 0; k < AUTO_PARTS && n < max; k++) {
        struct auto_part *p = &t->parts[(t->first + k) % AUTO_PARTS];
        if (p->t != NULL) {
            n += p->ops->poll(p->t, now_ns, events + n, max - n);
        }
    }
    t->first = (t->first + 1) % AUTO_PARTS;
    return n;
}

static weir_err auto_arm(struct wi_transport *base)
{
    struct auto_transport *t = wi_auto_of(base);
    for (uint32_t i = 0; i < AUTO_PARTS; i++) {
        struct auto_part *p = &t->parts[i];
        weir_err rc = p->t != NULL ? p->ops->arm(p->t) : WEIR_OK;
        if (rc != WEIR_OK) {
            return rc;
        }
    }
    return WEIR_OK;
}

static int auto_fd(struct wi_transport *base)
{
    return wi_auto_of(base)->epoll_fd;
}

/* ---- endpoints: those of the parts --------------------------------------- */

static weir_err auto_grant(struct wi_ep *ep, const struct wi_mem *mem,
                           uint32_t access, uint64_t *key_out,
                           struct weir_error *err)
{
    return ep->transport->ops->grant(ep, mem, access, key_out, err);
}

static weir_err auto_ungrant(struct wi_ep *ep, const struct wi_mem *mem,
                             uint64_t key)
{
    return ep->transport->ops->ungrant(ep, mem, key);
}

static weir_err auto_map(struct wi_ep *ep, uint64_t key, size_t bytes,
                         uint32_t access, void **base_out,
                         struct weir_error *err)
{
    return ep->transport->ops->map(ep, key, bytes, access, base_out, err);
}

static void auto_disconnect(struct wi_ep *ep)
{
    ep->transport->ops->disconnect(ep);
}

static weir_err auto_send(struct wi_ep *ep, const void *bytes, uint32_t len)
{
    return ep->transport->ops->send(ep, bytes, len);
}

static weir_err auto_write(struct wi_ep *ep, const struct wi_rma *op)
{
    return ep->transport->ops->write(ep, op);
}

static weir_err auto_read(struct wi_ep *ep, const struct wi_rma *op)
{
    return ep->transport->ops->read(ep, op);
}

static weir_err auto_kick(struct wi_ep *ep)
{
    return ep->transport->ops->kick(ep);
}

const struct wi_transport_ops wi_auto_ops = {
    .name = "auto",
    .caps = WI_CAP_WRITE | WI_CAP_READ | WI_CAP_MAP | WI_CAP_GRANT_STICKS |
            WI_CAP_FD | WI_CAP_LAZY,
    .max_message_bytes = WI_MIN_MESSAGE_BYTES, /* what all of them take */
    .usual_frame_bytes = WI_USUAL_FRAME_BYTES,
    .open = auto_open,
    .close = auto_close,
    .address = auto_address,
    .mem_open = auto_mem_open,
    .mem_reserve = auto_mem_reserve,
    .mem_take = auto_mem_take,
    .mem_borrow = auto_mem_borrow,
    .mem_close = auto_mem_close,
    .grant = auto_grant,
    .ungrant = auto_ungrant,
    .map = auto_map,
    .unmap = auto_unmap,
    .check = wi_auto_check,
    .connect = wi_auto_connect,
    .connect_next = wi_auto_connect_next,
    .why = wi_auto_why,
    .disconnect = auto_disconnect,
    .send = auto_send,
    .write = auto_write,
    .read = auto_read,
    .kick = auto_kick,
    .poll = auto_poll,
    .arm = auto_arm,
    .fd = auto_fd,
};
