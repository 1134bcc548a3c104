/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants: a descriptor each, sent by the engine at once, so that no message
 * with the key can overtake it. What has come and was not mapped holds a
 * descriptor here, which the end of the grant gives back.
 */
#include "transport/shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/forks.h"

static struct shm_ep *ep_of(struct wi_ep *ep)
{
    return wi_container_of(ep, struct shm_ep, base);
}

/* The array with room for one more than n; NULL: no memory. */
static void *with_room(void *array, uint32_t *room, uint32_t n, size_t size)
{
    if (n < *room) {
        return array;
    }
    uint32_t more = *room == 0 ? 4 : *room * 2;
    void *p = realloc(array, more * size);
    *room = p != NULL ? more : *room;
    return p;
}

/* ---- giving -------------------------------------------------------------- */

/* A key, and a descriptor unless it is -1. 0, or errno. */
static int send_key(const struct shm_ep *ep, enum shm_kind kind, uint64_t key,
                    int fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct shm_head head = {.kind = kind, .bytes = sizeof(key)};
    struct iovec iov[2] = {{&head, sizeof(head)}, {&key, sizeof(key)}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
    if (fd >= 0) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(int));
    }
    ssize_t n;
    do {
        n = sendmsg(ep->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n >= 0 ? 0 : errno;
}

/* Another descriptor of the same memory, to read only; -1 and errno. Of a file
 * that was opened like this, itself. */
static int read_only(int fd)
{
    char path[40];
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
        return fd;
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static WI_COLD weir_err not_sent(struct shm_ep *ep, int why,
                                 struct weir_error *err)
{
    if (why == EAGAIN) {
        wi_shm_arm_out(ep);
        return WEIR_AGAIN;
    }
    if (why == EPIPE || why == ECONNRESET) {
        return wi_fail(err, WEIR_ERR_PEER_LOST, "peer closed the connection");
    }
    if (why == ETOOMANYREFS) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "too many descriptors on their way to peers; raise the "
                       "limit of %llu (\"ulimit -n\")",
                       wi_shm_fd_limit());
    }
    return wi_fail_errno(err, why, "granting shared memory");
}

weir_err wi_shm_grant(struct wi_ep *base, const struct wi_mem *mem,
                      uint32_t access, uint64_t *key_out,
                      struct weir_error *err)
{
    struct shm_ep *ep = ep_of(base);
    bool write = (access & WI_ACCESS_WRITE) != 0;
    int fd = write ? (int)mem->handle : read_only((int)mem->handle);
    if (fd < 0) {
        return wi_shm_fail_fd(
            err, errno, "opening shared memory to read, by /proc/self/fd");
    }
    int why = send_key(ep, SHM_GRANT, ep->last_key + 1, fd);
    if (fd != (int)mem->handle) {
        (void)close(fd);
    }
    if (why != 0) {
        return not_sent(ep, why, err);
    }
    *key_out = ++ep->last_key;
    return WEIR_OK;
}

/* Whether it was mapped or not is the peer's business. Without memory to keep
 * the key, the peer keeps the descriptor as long as the link. */
weir_err wi_shm_ungrant(struct wi_ep *base, const struct wi_mem *mem,
                        uint64_t key)
{
    struct shm_ep *ep = ep_of(base);
    (void)mem;
    if (ep->n_ungranted == 0 && send_key(ep, SHM_UNGRANT, key, -1) != EAGAIN) {
        return WEIR_OK;
    }
    uint64_t *keys = with_room(ep->ungranted, &ep->ungranted_room,
                               ep->n_ungranted, sizeof(key));
    if (keys != NULL) {
        ep->ungranted = keys;
        keys[ep->n_ungranted++] = key;
        wi_shm_arm_out(ep);
    }
    return WEIR_OK;
}

void wi_shm_ungrant_rest(struct shm_ep *ep)
{
    while (ep->n_ungranted != 0) {
        uint64_t key = ep->ungranted[ep->n_ungranted - 1];
        if (send_key(ep, SHM_UNGRANT, key, -1) == EAGAIN) {
            wi_shm_arm_out(ep);
            return;
        }
        ep->n_ungranted--;
    }
}

/* ---- taking -------------------------------------------------------------- */

static uint32_t find(const struct shm_ep *ep, uint64_t key)
{
    uint32_t i = 0;
    while (i < ep->n_in && ep->in[i].key != key) {
        i++;
    }
    return i;
}

static int take(struct shm_ep *ep, uint32_t i)
{
    int fd = ep->in[i].fd;
    ep->in[i] = ep->in[--ep->n_in];
    return fd;
}

bool wi_shm_granted(struct shm_ep *ep, uint64_t key, int fd)
{
    bool fresh = find(ep, key) == ep->n_in;
    struct shm_in *in = NULL;
    if (fresh && ep->n_in < SHM_UNMAPPED) {
        in = with_room(ep->in, &ep->in_room, ep->n_in, sizeof(*in));
    }
    if (in != NULL) {
        ep->in = in;
        in[ep->n_in++] = (struct shm_in){key, fd};
        return true;
    }
    wi_fd_close(fd);
    if (fresh) {
        wi_shm_doom(ep,
                    "peer granted more than %u pieces of memory that were not "
                    "mapped",
                    ep->n_in);
    }
    return fresh;
}

void wi_shm_ungranted(struct shm_ep *ep, uint64_t key)
{
    uint32_t i = find(ep, key);
    int fd = i < ep->n_in ? take(ep, i) : -1;
    wi_fd_close(fd);
}

/* A peer's memory must be as large as it said, for as long as it is mapped:
 * what is to be written is sealed; what is to be read may be a file, which its
 * program has promised to leave as it is. */
static weir_err check_grant(int fd, size_t bytes, uint32_t access,
                            struct weir_error *err)
{
    struct stat st;
    if (fd < 0) {
        return wi_fail(err, WEIR_ERR_SYSTEM,
                       "no descriptor left for memory that the peer granted; "
                       "raise the limit of %llu open files (\"ulimit -n\")",
                       wi_shm_fd_limit());
    }
    int seals = fcntl(fd, F_GET_SEALS);
    bool sealed = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        (!sealed && access != WI_ACCESS_READ)) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "peer granted something that is not sealed memory");
    }
    if (bytes == 0 || bytes % WI_PAGE != 0 ||
        wi_align_up((uint64_t)st.st_size, WI_PAGE) < bytes) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "peer granted %lld bytes of memory and announced %zu",
                       (long long)st.st_size, bytes);
    }
    return WEIR_OK;
}

weir_err wi_shm_map(struct wi_ep *base, uint64_t key, size_t bytes,
                    uint32_t access, void **base_out, struct weir_error *err)
{
    struct shm_ep *ep = ep_of(base);
    uint32_t i = find(ep, key);
    if (i == ep->n_in) {
        return wi_fail(err, WEIR_ERR_PEER_PROTOCOL,
                       "peer named memory that it did not grant (key %llu)",
                       (unsigned long long)key);
    }
    int fd = take(ep, i);
    weir_err rc = check_grant(fd, bytes, access, err);
    rc = rc == WEIR_OK ? wi_shm_map_fd(fd, bytes, access, base_out, err) : rc;
    wi_fd_close(fd);
    return rc;
}

void wi_shm_grants_fini(struct shm_ep *ep)
{
    for (uint32_t i = 0; i < ep->n_in; i++) {
        wi_fd_close(ep->in[i].fd);
    }
    free(ep->in);
    free(ep->ungranted);
}
