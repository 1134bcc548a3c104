/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter in front of OpenSSL's BIO of a socket, for what is written alone. It
 * leaves everything that is not data to that BIO, also the kernel's encryption
 * (BIO_CTRL_SET_KTLS), which SSL sets up through it.
 */
#include "transport/tcp/tcp_bio.h"

#include <errno.h>
#include <openssl/bio.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static BIO_METHOD *method; /* as long as the program lives; NULL: no memory */

/* SIGPIPE of a write is sent to the thread that writes, so it can be held back
 * and taken there. What was pending before is not ours. */
static int write_quietly(BIO *next, const char *data, int len)
{
    const struct timespec now = {0};
    sigset_t pipe;
    sigset_t before;
    sigset_t pending;
    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)sigemptyset(&pending);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, &before);
    int n = BIO_write(next, data, len);
    int why = errno;
    if (n < 0 && why == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
        (void)sigtimedwait(&pipe, NULL, &now);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return n;
}

static int put(BIO *bio, const char *data, int len)
{
    BIO *next = BIO_next(bio);
    if (len <= 0) {
        return 0;
    }
    if (BIO_get_ktls_send(next)) {
        int n = write_quietly(next, data, len);
        BIO_clear_retry_flags(bio);
        BIO_copy_next_retry(bio);
        return n;
    }
    ssize_t n =
        send((int)BIO_get_fd(next, NULL), data, (size_t)len, MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        BIO_set_retry_write(bio);
    }
    return (int)n;
}

static long control(BIO *bio, int what, long number, void *arg)
{
    BIO *next = BIO_next(bio);
    return next != NULL ? BIO_ctrl(next, what, number, arg) : 0;
}

static int create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static void make(void)
{
    BIO_METHOD *m =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_FILTER, "weir socket");
    if (m == NULL || !BIO_meth_set_write(m, put) ||
        !BIO_meth_set_ctrl(m, control) || !BIO_meth_set_create(m, create)) {
        BIO_meth_free(m);
        return;
    }
    method = m;
}

bool wi_tcp_bio_set(SSL *ssl, int fd)
{
    (void)pthread_once(&once, make);
    BIO *socket = BIO_new_socket(fd, BIO_NOCLOSE);
    BIO *filter = method != NULL ? BIO_new(method) : NULL;
    if (socket == NULL || filter == NULL) {
        BIO_free(socket);
        BIO_free(filter);
        return false;
    }
    (void)BIO_push(filter, socket);
    (void)BIO_up_ref(socket); /* two ways lead to it, and each frees it */
    SSL_set_bio(ssl, socket, filter);
    return true;
}
