/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive side. A packet is read into a slot of the transport and its
 * messages are handed out in place; slots are reused by the next poll.
 * Everything in a packet is untrusted and checked here.
 */
#include "transport/shm/shm.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/atomic.h"
#include "core/base/forks.h"

enum { GOT_PACKET, GOT_NOTHING, GOT_END };

struct packet {
    const uint8_t *body;
    uint32_t kind, bytes;
    int fd; /* -1 = none; whoever handles the packet closes it */
};

static WI_COLD void end_of_socket(struct shm_ep *ep)
{
    /* E40 acquire: a reason stored before the socket was shut down; pairs
     * with E40 release in fail_send() */
    int err = wi_load_acq(&ep->tx_errno);
    if (err == ETOOMANYREFS) {
        wi_shm_doom(ep,
                    "too many descriptors on their way to peers; raise "
                    "the limit of %llu (\"ulimit -n\")",
                    wi_shm_fd_limit());
    } else if (err != 0) {
        wi_shm_doom(ep, "sending failed: %s", strerror(err));
    } else if (ep->state == SHM_GREETING) {
        ep->hung_up = true;
        wi_shm_doom(ep, "shm:%s closed the connection without a greeting",
                    ep->name);
    } else {
        wi_shm_doom(ep, "peer closed the connection (pid %d)", (int)ep->pid);
    }
}

/* The first descriptor of a packet, -1 if there is none. The control buffer
 * has room for one: the kernel closes others and sets MSG_CTRUNC. */
static int descriptor_of(struct msghdr *msg)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(msg);
    int fd = -1;
    if (c != NULL && c->cmsg_level == SOL_SOCKET &&
        c->cmsg_type == SCM_RIGHTS && c->cmsg_len >= CMSG_LEN(sizeof(int))) {
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    }
    return fd;
}

/* Bounded: ECONNRESET (the peer closed with our data unread) is told once and
 * hides packets that came before it. */
static ssize_t receive(int fd, struct msghdr *msg)
{
    ssize_t n = -1;
    for (int tries = 0; n < 0 && tries < 8; tries++) {
        /* E4 acquire: bytes written through mappings before this message;
         * pairs with E4 release in send_messages() */
        n = recvmsg(fd, msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n < 0 && errno != EINTR && errno != ECONNRESET) {
            break;
        }
    }
    return n;
}

static WI_COLD int refuse_packet(struct shm_ep *ep, int fd)
{
    wi_fd_close(fd);
    if (ep->state == SHM_GREETING) {
        wi_shm_doom(ep, "shm:%s is not a Weir node (its greeting is another)",
                    ep->name);
    } else {
        wi_shm_doom(ep, "peer broke the shm protocol: malformed packet");
    }
    return GOT_END;
}

static int next_packet(struct shm_ep *ep, uint8_t *slot, struct packet *out)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {slot, SHM_PACKET_BYTES};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t n = receive(ep->fd, &msg);
    if (n < 0 && errno == EAGAIN) {
        return GOT_NOTHING;
    }
    if (n <= 0) {
        end_of_socket(ep);
        return GOT_END;
    }
    struct shm_head head = {0, 0};
    int fd = wi_fd_keep(descriptor_of(&msg));
    if ((size_t)n >= sizeof(head)) {
        memcpy(&head, slot, sizeof(head));
    }
    /* The kernel cuts descriptors off of which it has none left for us. */
    bool cut = (msg.msg_flags & MSG_CTRUNC) != 0;
    if ((msg.msg_flags & MSG_TRUNC) != 0 ||
        (size_t)n != sizeof(head) + (size_t)head.bytes || (cut && fd >= 0) ||
        (cut || fd >= 0) != (head.kind == SHM_GRANT)) {
        return refuse_packet(ep, fd);
    }
    *out = (struct packet){slot + sizeof(head), head.kind, head.bytes, fd};
    return GOT_PACKET;
}

/* Text of a peer as one printable line. */
static void printable(char *text, size_t size, const struct packet *p)
{
    size_t n = wi_min_u64(p->bytes, size - 1);
    for (size_t i = 0; i < n; i++) {
        text[i] =
            (char)(p->body[i] < ' ' || p->body[i] > '~' ? '?' : p->body[i]);
    }
    text[n] = '\0';
}

static void take_greeting(struct shm_ep *ep, const struct packet *p,
                          struct shm_events *out)
{
    struct shm_greeting g = {0, 0, 0};
    if (p->kind == SHM_REFUSE) {
        char text[128];
        printable(text, sizeof(text), p);
        ep->hung_up = true;
        wi_shm_doom(ep, "peer refused the connection: %s", text);
        return;
    }
    if (p->kind == SHM_GREET && p->bytes == sizeof(g)) {
        memcpy(&g, p->body, sizeof(g));
    }
    if (g.magic != SHM_MAGIC) {
        (void)refuse_packet(ep, p->fd);
    } else if (g.version != SHM_VERSION || g.packet_bytes != SHM_PACKET_BYTES) {
        wi_shm_doom(ep,
                    "peer speaks version %u of shm, this is version %u: "
                    "run the same Weir on both",
                    g.version, SHM_VERSION);
    } else {
        wi_shm_greeted(ep, out);
    }
}

/* A grant, or its end. */
static void take_key(struct shm_ep *ep, const struct packet *p)
{
    uint64_t key;
    if (p->bytes != sizeof(key)) {
        (void)refuse_packet(ep, p->fd);
        return;
    }
    memcpy(&key, p->body, sizeof(key));
    if (p->kind == SHM_UNGRANT) {
        wi_shm_ungranted(ep, key);
    } else if (!wi_shm_granted(ep, key, p->fd)) {
        (void)refuse_packet(ep, -1);
    }
}

/* One message at off of a slot. false: there is no whole message. */
static bool take_message(struct shm_ep *ep, const uint8_t *slot, uint32_t *off,
                         uint32_t end, struct shm_events *out)
{
    uint32_t record[2];
    if (end - *off < sizeof(record)) {
        return false;
    }
    memcpy(record, slot + *off, sizeof(record));
    uint32_t len = record[0];
    uint32_t room = end - *off - (uint32_t)sizeof(record);
    if (len == 0 || len > SHM_MESSAGE_BYTES || wi_align_up(len, 8) > room) {
        return false;
    }
    wi_shm_event(out, (struct wi_event){.kind = WI_EV_MESSAGE,
                                        .ep = &ep->base,
                                        .bytes = slot + *off + sizeof(record),
                                        .len = len});
    *off += (uint32_t)(sizeof(record) + wi_align_up(len, 8));
    return true;
}

static void take_messages(struct shm_ep *ep, struct shm_rest rest,
                          struct shm_events *out)
{
    struct shm *t = ep->t;
    while (rest.off < rest.end && !wi_shm_full(out)) {
        if (!take_message(ep, t->slots[rest.slot], &rest.off, rest.end, out)) {
            wi_shm_doom(ep, "peer broke the shm protocol: malformed message");
            return;
        }
    }
    if (rest.off < rest.end) {
        t->rest = rest;
    }
}

void wi_shm_take_rest(struct shm *t, struct shm_events *out)
{
    struct shm_rest rest = t->rest;
    t->n_slots = 0;
    if (rest.ep == NULL) {
        return;
    }
    uint8_t *slot = t->slots[rest.slot];
    t->slots[rest.slot] = t->slots[0];
    t->slots[0] = slot;
    t->n_slots = 1;
    t->rest.ep = NULL;
    rest.slot = 0;
    take_messages(rest.ep, rest, out);
}

static void take_packet(struct shm_ep *ep, const struct packet *p,
                        struct shm_events *out)
{
    if (ep->state == SHM_GREETING) {
        take_greeting(ep, p, out);
    } else if (p->kind == SHM_GRANT || p->kind == SHM_UNGRANT) {
        take_key(ep, p);
    } else if (p->kind == SHM_MESSAGES && p->bytes > 0) {
        uint32_t off = sizeof(struct shm_head);
        uint32_t slot = ep->t->n_slots++;
        take_messages(ep, (struct shm_rest){ep, slot, off, off + p->bytes},
                      out);
    } else {
        (void)refuse_packet(ep, p->fd);
    }
}

void wi_shm_read(struct shm_ep *ep, struct shm_events *out)
{
    struct shm *t = ep->t;
    for (int turn = 0; turn < SHM_TURN; turn++) {
        struct packet p = {.fd = -1};
        if (wi_shm_full(out) || t->n_slots == SHM_SLOTS ||
            ep->state == SHM_DOOMED ||
            next_packet(ep, t->slots[t->n_slots], &p) != GOT_PACKET) {
            return;
        }
        take_packet(ep, &p, out);
    }
}
