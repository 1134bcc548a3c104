/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send side: messages collect in a staging buffer, a kick sends them as few
 * packets. The buffer is linear and starts over when it has run empty, so a
 * link that keeps up touches its first kilobytes only.
 */
#include "transport/shm/shm.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "core/base/atomic.h"

static struct shm_ep *ep_of(struct wi_ep *ep)
{
    return wi_container_of(ep, struct shm_ep, base);
}

/* ENOENT: the engine has seen the end of this endpoint, CLOSED is on its
 * way. */
void wi_shm_arm_out(struct shm_ep *ep)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | EPOLLOUT,
                            .data.ptr = ep};
    (void)epoll_ctl(ep->t->epoll_fd, EPOLL_CTL_MOD, ep->fd, &e);
}

static WI_COLD weir_err fail_send(struct shm_ep *ep, int errno_value)
{
    ep->tx.dead = true;
    if (errno_value != EPIPE && errno_value != ECONNRESET) {
        /* The socket is sound: end it, so that poll reports CLOSED.
         * E40 release: the reason before the end of the socket; pairs with
         * E40 acquire in end_of_socket() */
        wi_store_rel(&ep->tx_errno, errno_value);
        (void)shutdown(ep->fd, SHUT_RDWR);
    }
    return WEIR_ERR_PEER_LOST;
}

/* A packet goes whole or not at all. */
static weir_err transmit(struct shm_ep *ep, const struct msghdr *msg)
{
    ssize_t n;
    do {
        n = sendmsg(ep->fd, msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n >= 0) {
        return WEIR_OK;
    }
    return errno == EAGAIN ? WEIR_AGAIN : fail_send(ep, errno);
}

void wi_shm_send_now(int fd, enum shm_kind kind, const void *body,
                     uint32_t bytes)
{
    struct shm_head head = {.kind = kind, .bytes = bytes};
    struct iovec iov[2] = {{&head, sizeof(head)}, {(void *)body, bytes}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
    (void)sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Room that a message takes in the stage and in a packet. */
static uint32_t record_bytes(uint32_t len)
{
    return (uint32_t)wi_align_up(len, 8) + (uint32_t)sizeof(struct shm_head);
}

/* Length of the next packet's body: as many whole messages as fit. */
static uint32_t next_body(const struct shm_ep *ep)
{
    const uint32_t most = SHM_PACKET_BYTES - sizeof(struct shm_head);
    uint32_t off = ep->tx.head_off;
    while (off < ep->tx.tail_off) {
        uint32_t len;
        memcpy(&len, ep->stage + off, sizeof(len));
        uint32_t end = off + record_bytes(len);
        if (end - ep->tx.head_off > most) {
            break;
        }
        off = end;
    }
    return off - ep->tx.head_off;
}

static weir_err send_messages(struct shm_ep *ep)
{
    struct shm_tx *tx = &ep->tx;
    while (tx->head_off < tx->tail_off) {
        struct shm_head head = {.kind = SHM_MESSAGES, .bytes = next_body(ep)};
        struct iovec iov[2] = {{&head, sizeof(head)},
                               {ep->stage + tx->head_off, head.bytes}};
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
        /* E4 release: what was written through mappings before this message;
         * pairs with E4 acquire in receive(). The kernel's lock of the
         * socket's queue is what orders the two. */
        weir_err rc = transmit(ep, &msg);
        if (rc != WEIR_OK) {
            return rc;
        }
        tx->head_off += head.bytes;
    }
    tx->head_off = tx->tail_off = 0;
    return WEIR_OK;
}

weir_err wi_shm_kick(struct wi_ep *base)
{
    struct shm_ep *ep = ep_of(base);
    struct shm_tx *tx = &ep->tx;
    weir_err rc = tx->dead ? WEIR_ERR_PEER_LOST : WEIR_OK;
    if (rc == WEIR_OK) {
        rc = send_messages(ep);
    }
    if (rc == WEIR_AGAIN || (rc == WEIR_OK && tx->hungry)) {
        tx->hungry = false;
        wi_shm_arm_out(ep);
    }
    return rc;
}

/* Move what is queued to the front if enough was sent to be worth it. */
static bool make_room(struct shm_ep *ep, uint32_t need)
{
    struct shm_tx *tx = &ep->tx;
    uint32_t used = tx->tail_off - tx->head_off;
    if (tx->head_off < SHM_STAGE_BYTES / 2 || used + need > SHM_STAGE_BYTES) {
        return false;
    }
    memmove(ep->stage, ep->stage + tx->head_off, used);
    tx->head_off = 0;
    tx->tail_off = used;
    return true;
}

weir_err wi_shm_send(struct wi_ep *base, const void *bytes, uint32_t len)
{
    struct shm_ep *ep = ep_of(base);
    struct shm_tx *tx = &ep->tx;
    assert(len >= 1 && len <= SHM_MESSAGE_BYTES);
    if (wi_unlikely(tx->dead)) {
        return WEIR_ERR_PEER_LOST;
    }
    uint32_t need = record_bytes(len);
    if (need > SHM_STAGE_BYTES - tx->tail_off && !make_room(ep, need)) {
        tx->hungry = true;
        return WEIR_AGAIN;
    }
    uint8_t *at = ep->stage + tx->tail_off;
    uint32_t record[2] = {len, 0};
    /* The padding goes to the peer too: no stale bytes in it. */
    memset(at + need - 8, 0, 8);
    memcpy(at, record, sizeof(record));
    memcpy(at + sizeof(record), bytes, len);
    tx->tail_off += need;
    return WEIR_OK;
}
