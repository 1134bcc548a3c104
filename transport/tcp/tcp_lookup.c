/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of hosts are looked up beside the engine, which must not block: a few
 * threads, started when there is something to look up, ended when there is not.
 *
 *   connect --> wanted --> a thread: getaddrinfo(3) --> done, news_fd --> poll
 *
 * The resolver cannot be interrupted, and may take as long as its timeouts add
 * up to. So nobody waits for it: an endpoint that closes abandons its look-up,
 * and a transport that closes abandons the threads that are busy with one. The
 * last of these threads frees what they share.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/forks.h"
#include "core/base/thread.h"
#include "transport/tcp/tcp.h"

enum { THREADS = 4 }; /* names that may hang before others have to wait */

/** One look-up. Under the lock, except what its thread is given. */
struct tcp_lookup {
    struct wi_list list; /* in wanted or done; alone while in work */
    struct tcp_ep *ep;   /* whom it is for; NULL: nobody any more */
    bool taken;          /* by a thread, which may have ended it */
    char text[WI_ADDRESS_BYTES];
    union wi_inet addr;
    weir_err rc;
    struct weir_error err;
};

struct tcp_lookups {
    pthread_mutex_t lock;
    struct wi_list wanted;
    struct wi_list done;
    uint32_t threads;
    int news_fd; /* readable: something is in done. -1: the transport is gone */
};

/* ---- threads ------------------------------------------------------------- */

static struct tcp_lookup *lookup_of(struct wi_list *n)
{
    return n != NULL ? wi_container_of(n, struct tcp_lookup, list) : NULL;
}

static void free_list(struct wi_list *list)
{
    struct tcp_lookup *job;
    while ((job = lookup_of(wi_list_take(list))) != NULL) {
        free(job);
    }
}

static void free_all(struct tcp_lookups *s)
{
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

static void finish(struct tcp_lookups *s, struct tcp_lookup *job)
{
    const uint64_t one = 1;
    if (job->ep == NULL) {
        free(job);
        return;
    }
    wi_list_push_back(&s->done, &job->list);
    (void)!write(s->news_fd, &one, sizeof(one));
}

static void *look_up(void *arg)
{
    struct tcp_lookups *s = arg;
    struct tcp_lookup *job;
    (void)pthread_mutex_lock(&s->lock);
    while ((job = lookup_of(wi_list_take(&s->wanted))) != NULL) {
        job->taken = true;
        (void)pthread_mutex_unlock(&s->lock);
        job->rc =
            wi_inet_decode(job->text, WI_INET_NAMES, &job->addr, &job->err);
        (void)pthread_mutex_lock(&s->lock);
        finish(s, job);
    }
    s->threads--;
    bool last = s->threads == 0 && s->news_fd < 0;
    (void)pthread_mutex_unlock(&s->lock);
    if (last) {
        free_all(s);
    }
    return NULL;
}

/* ---- engine -------------------------------------------------------------- */

static weir_err open_lookups(struct tcp_transport *t, struct weir_error *err)
{
    struct tcp_lookups *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory to look up names");
    }
    s->news_fd = wi_fd_open(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &t->lookups};
    if (s->news_fd < 0 ||
        epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, s->news_fd, &ev) != 0) {
        int why = errno;
        wi_fd_close(s->news_fd);
        free(s);
        return wi_fail_errno(err, why,
                             "a descriptor to look up names (if out of them: "
                             "raise ulimit -n)");
    }
    (void)pthread_mutex_init(&s->lock, NULL);
    wi_list_init(&s->wanted);
    wi_list_init(&s->done);
    t->lookups = s;
    return WEIR_OK;
}

/* One more thread, unless there are enough; under the lock. */
static weir_err staff(struct tcp_lookups *s, struct weir_error *err)
{
    if (s->threads == THREADS) {
        return WEIR_OK;
    }
    struct weir_error why = {0};
    weir_err rc =
        wi_thread_start(NULL, look_up, s, "the look-up of names", &why);
    if (rc == WEIR_OK) {
        s->threads++;
    } else if (s->threads == 0) {
        return wi_fail(err, rc, "%s", why.message);
    }
    return WEIR_OK; /* if this failed, the others do it */
}

weir_err wi_tcp_lookup_start(struct tcp_ep *ep, const char *text,
                             struct weir_error *err)
{
    struct tcp_transport *t = tcp_home(ep);
    weir_err rc = t->lookups != NULL ? WEIR_OK : open_lookups(t, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    struct tcp_lookups *s = t->lookups;
    struct tcp_lookup *job = calloc(1, sizeof(*job));
    if (job == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory to look up %s",
                       text);
    }
    job->ep = ep;
    (void)snprintf(job->text, sizeof(job->text), "%s", text);
    (void)pthread_mutex_lock(&s->lock);
    wi_list_push_back(&s->wanted, &job->list);
    rc = staff(s, err);
    if (rc == WEIR_OK) {
        ep->lookup = job;
    } else {
        wi_list_remove(&job->list);
        free(job);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return rc;
}

void wi_tcp_lookup_drop(struct tcp_ep *ep)
{
    struct tcp_lookup *job = ep->lookup;
    if (job == NULL) {
        return;
    }
    struct tcp_lookups *s = tcp_home(ep)->lookups;
    (void)pthread_mutex_lock(&s->lock);
    ep->lookup = NULL;
    job->ep = NULL;
    if (!job->taken || !wi_list_empty(&job->list)) {
        wi_list_remove(&job->list);
        free(job);
    } /* else its thread does */
    (void)pthread_mutex_unlock(&s->lock);
}

void wi_tcp_lookup_poll(struct tcp_transport *t)
{
    struct tcp_lookups *s = t->lookups;
    uint64_t count;
    (void)!read(s->news_fd, &count, sizeof(count));
    for (;;) {
        (void)pthread_mutex_lock(&s->lock);
        struct tcp_lookup *job = lookup_of(wi_list_take(&s->done));
        (void)pthread_mutex_unlock(&s->lock);
        if (job == NULL) {
            return;
        }
        job->ep->lookup = NULL;
        wi_tcp_ep_found(job->ep, job->rc == WEIR_OK ? &job->addr : NULL,
                        job->err.message);
        free(job);
    }
}

void wi_tcp_lookup_close(struct tcp_transport *t)
{
    struct tcp_lookups *s = t->lookups;
    if (s == NULL) {
        return;
    }
    t->lookups = NULL;
    (void)pthread_mutex_lock(&s->lock);
    free_list(&s->wanted);
    free_list(&s->done);
    wi_fd_close(s->news_fd);
    s->news_fd = -1;
    bool last = s->threads == 0;
    (void)pthread_mutex_unlock(&s->lock);
    if (last) {
        free_all(s);
    }
}
