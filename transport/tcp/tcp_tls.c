/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows go from the ring to the record layer 16 KiB at a time, which encrypts
 * them into a buffer of its own and sends that; what comes is decrypted there
 * and copied to its place. Where the kernel encrypts (SSL_OP_ENABLE_KTLS), the
 * same calls copy nothing.
 */
#include "transport/tcp/tcp_tls.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/cc.h"
#include "core/base/err.h"
#include "transport/tcp/tcp_bio.h"
#include "transport/tcp/tcp_cert.h"
#include "transport/tcp/tcp_psk.h"

enum {
    WHY_BYTES = 160,
    RECORD_BYTES = 16384,
    READ_BUFFER = 1 << 16,
    GET_BYTES = 1 << 16, /* then those that send have their turn */
    TLS_PIECES = 64,     /* as many as a queue has */
};

/* RFC 8446, section 5.5: 2^24.5 full records of AES-GCM under one key. */
#define KEY_BYTES (UINT64_C(1) << 37)

struct wi_tls {
    SSL_CTX *ctx;
    const struct wi_psks *psks; /* NULL: certificates */
    uint64_t key_bytes;
};

struct wi_tls_session {
    pthread_mutex_t lock;
    int fd;
    SSL *ssl;
    bool by_psk;
    struct wi_psk_end psk;
    uint64_t key_bytes; /* then there is a new key */
    uint64_t put_bytes; /* under the present one */
    uint32_t again;     /* bytes of a put that has to be repeated */
    struct wi_cert_names names;
    char why[WHY_BYTES];
};

/* ---- opening ------------------------------------------------------------ */

/* OpenSSL 3.5 takes what it has read ahead of a change of keys for records of
 * the new ones, and fails (3.0 does not; those between were not tried). The
 * library that is there counts, not the headers. */
static int may_read_ahead(void)
{
    return OpenSSL_version_num() < 0x30200000ul;
}

static bool set_up(SSL_CTX *ctx)
{
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       NULL);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* The end of a link is said within it (BYE), so TLS need not say it. */
    SSL_CTX_set_options(ctx, SSL_OP_ENABLE_KTLS | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                 SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(ctx, may_read_ahead());
    SSL_CTX_set_default_read_buffer_len(ctx, READ_BUFFER);
    return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_num_tickets(ctx, 0) == 1 &&
           SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:"
                                         "TLS_AES_256_GCM_SHA384:"
                                         "TLS_CHACHA20_POLY1305_SHA256") == 1;
}

weir_err wi_tls_open(const struct wi_tls_params *params, const char *name,
                     struct wi_tls **out, struct weir_error *err)
{
    struct wi_tls *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for TLS");
    }
    t->key_bytes = KEY_BYTES;
    t->psks = params->psks;
    t->ctx = SSL_CTX_new(TLS_method());
    weir_err rc = WEIR_OK;
    if (t->ctx == NULL || !set_up(t->ctx) ||
        (t->psks != NULL && !wi_psk_set_up(t->ctx, t->psks))) {
        rc = wi_fail(err, WEIR_ERR_SYSTEM,
                     "OpenSSL does not do TLS 1.3: look at openssl.cnf");
    }
    if (rc == WEIR_OK && t->psks == NULL) {
        rc = wi_cert_load(t->ctx, params, name, err);
    }
    if (rc != WEIR_OK) {
        wi_tls_close(t);
        return rc;
    }
    *out = t;
    return WEIR_OK;
}

void wi_tls_close(struct wi_tls *t)
{
    if (t != NULL) {
        SSL_CTX_free(t->ctx);
        free(t);
    }
}

void wi_tls_rekey(struct wi_tls *t, uint64_t bytes)
{
    t->key_bytes = bytes;
}

/* ---- sessions ------------------------------------------------------------ */

uint32_t wi_tls_turns(const struct wi_tls *t)
{
    return t->psks != NULL ? t->psks->n : 1;
}

struct wi_tls_session *wi_tls_start(struct wi_tls *t, int fd, bool accepted,
                                    uint32_t turn)
{
    struct wi_tls_session *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&s->lock, NULL);
    s->fd = fd;
    s->key_bytes = t->key_bytes;
    s->ssl = SSL_new(t->ctx);
    if (s->ssl == NULL || !wi_tcp_bio_set(s->ssl, fd)) {
        wi_tls_end(s);
        return NULL;
    }
    s->by_psk = t->psks != NULL;
    s->psk.turn = turn;
    wi_psk_begin(s->ssl, &s->psk);
    if (accepted) {
        SSL_set_accept_state(s->ssl);
    } else {
        SSL_set_connect_state(s->ssl);
    }
    return s;
}

void wi_tls_end(struct wi_tls_session *s)
{
    if (s != NULL) {
        SSL_free(s->ssl);
        (void)pthread_mutex_destroy(&s->lock);
        free(s);
    }
}

/* What OpenSSL says is not always what has happened. NULL: it is. */
static WI_COLD const char *reword(const struct wi_tls_session *s,
                                  unsigned long error)
{
    if (ERR_GET_REASON(error) == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION) {
        return "it does not speak TLS 1.3: perhaps it has no secret, was told "
               "to be plain, or is of an older release";
    }
    if (s->by_psk) {
        return wi_psk_why(s->ssl, error);
    }
    return ERR_GET_REASON(error) == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE
               ? "it takes no certificate: perhaps it has a secret instead"
               : NULL;
}

/* In words: what is wrong with its certificate, or what it or we say. */
static WI_COLD void explain(struct wi_tls_session *s)
{
    long verify = s->by_psk ? X509_V_OK : SSL_get_verify_result(s->ssl);
    unsigned long error = ERR_peek_last_error();
    const char *said = reword(s, error);
    const char *why = said != NULL ? said : ERR_reason_error_string(error);
    (void)snprintf(s->why, sizeof(s->why), "%s%s",
                   verify != X509_V_OK ? "its certificate: " : "",
                   verify != X509_V_OK ? X509_verify_cert_error_string(verify)
                   : why != NULL       ? why
                                       : "it closed the connection");
}

/* The handshake is done. False: it does not say who the peer is. */
static bool is_known(struct wi_tls_session *s)
{
    X509 *cert = SSL_get0_peer_certificate(s->ssl);
    if (s->by_psk) {
        return cert == NULL && SSL_session_reused(s->ssl) == 1;
    }
    if (cert != NULL) {
        wi_cert_names(cert, &s->names);
    }
    return cert != NULL;
}

static WI_COLD enum wi_tls_want give_up(struct wi_tls_session *s)
{
    unsigned long error = ERR_peek_last_error();
    explain(s);
    if (error == 0) {
        return WI_TLS_GONE;
    }
    return s->by_psk && wi_psk_unknown(s->ssl, error) ? WI_TLS_UNKNOWN
                                                      : WI_TLS_FAILED;
}

enum wi_tls_want wi_tls_shake(struct wi_tls_session *s, char *why, size_t bytes)
{
    ERR_clear_error();
    int rc = SSL_do_handshake(s->ssl);
    if (rc == 1 && is_known(s)) {
        return WI_TLS_DONE;
    }
    switch (SSL_get_error(s->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        return WI_TLS_IN;
    case SSL_ERROR_WANT_WRITE:
        return WI_TLS_OUT;
    default:
        break;
    }
    enum wi_tls_want end = give_up(s);
    (void)snprintf(why, bytes, "%s", s->why);
    return end;
}

const char *wi_tls_names(const struct wi_tls_session *s)
{
    return s->by_psk ? NULL : s->names.dns;
}

const char *wi_tls_ips(const struct wi_tls_session *s)
{
    return s->by_psk ? NULL : s->names.ips;
}

const char *wi_tls_why(const struct wi_tls_session *s)
{
    return s->why;
}

/* Sets errno: EAGAIN, or EPROTO and why. True: the end. */
static bool failed(struct wi_tls_session *s, int rc)
{
    int what = SSL_get_error(s->ssl, rc);
    if (what == SSL_ERROR_ZERO_RETURN) {
        return true;
    }
    bool again = what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE;
    if (!again) {
        explain(s);
    }
    errno = again ? EAGAIN : EPROTO;
    return false;
}

/* SSL_get_error() looks at the queue of this thread, in which the program may
 * have left something. To clear an empty one takes longer than to look. */
static void clear_errors(void)
{
    if (ERR_peek_error() != 0) {
        ERR_clear_error();
    }
}

/* ---- bytes out ----------------------------------------------------------- */

/* One record's worth from the front of the queue: what lies in one piece, or
 * small pieces together. */
static uint32_t gather(const struct iovec *iov, uint32_t n,
                       uint8_t room[RECORD_BYTES], uint32_t most,
                       const void **from)
{
    uint32_t len = (uint32_t)wi_min_u64(iov[0].iov_len, most);
    *from = iov[0].iov_base;
    if (len == most || n == 1) {
        return len;
    }
    len = 0;
    for (uint32_t i = 0; i < n && len < most; i++) {
        uint32_t part = (uint32_t)wi_min_u64(iov[i].iov_len, most - len);
        memcpy(room + len, iov[i].iov_base, part);
        len += part;
    }
    *from = room;
    return len;
}

/* Moves past n bytes of the copy of the queue. */
static void skip(struct iovec **iov, uint32_t *n, uint32_t bytes)
{
    while (*n > 0 && bytes >= (*iov)->iov_len) {
        bytes -= (uint32_t)(*iov)->iov_len;
        (*iov)++;
        (*n)--;
    }
    if (*n > 0) {
        (*iov)->iov_base = (uint8_t *)(*iov)->iov_base + bytes;
        (*iov)->iov_len -= bytes;
    }
}

/* A put that was not taken is repeated with as many bytes as it had. */
static ssize_t put_record(struct wi_tls_session *s, const struct iovec *iov,
                          uint32_t n)
{
    uint8_t room[RECORD_BYTES];
    const void *from;
    uint32_t most = s->again != 0 ? s->again : (uint32_t)RECORD_BYTES;
    uint32_t len = gather(iov, n, room, most, &from);
    if (s->put_bytes > s->key_bytes && s->again == 0 &&
        BIO_get_ktls_send(SSL_get_wbio(s->ssl)) == 0) {
        (void)SSL_key_update(s->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
        s->put_bytes = 0;
    }
    clear_errors();
    int rc = SSL_write(s->ssl, from, (int)len);
    s->again = rc > 0 ? 0 : len;
    if (rc <= 0 && failed(s, rc)) {
        errno = EPIPE;
    }
    s->put_bytes += rc > 0 ? (uint64_t)rc : 0;
    return rc > 0 ? rc : -1;
}

/* The engine reads between two records. */
static ssize_t put_one(struct wi_tls_session *s, const struct iovec *iov,
                       uint32_t n)
{
    (void)pthread_mutex_lock(&s->lock);
    ssize_t one = put_record(s, iov, n);
    (void)pthread_mutex_unlock(&s->lock);
    return one;
}

/* Records of one put go out together, as segments of any length: else each of
 * them wakes the peer. */
static void cork(const struct wi_tls_session *s, int on)
{
    (void)setsockopt(s->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
}

ssize_t wi_tls_put(struct wi_tls_session *s, const struct iovec *iov,
                   uint32_t n)
{
    struct iovec copy[TLS_PIECES];
    struct iovec *at = copy;
    ssize_t all = 0;
    ssize_t one = 0;
    n = wi_min_u32(n, TLS_PIECES);
    memcpy(copy, iov, n * sizeof(*iov));
    bool several = n > 2 || iov[n - 1].iov_len > RECORD_BYTES;
    if (several) {
        cork(s, 1);
    }
    while (n > 0 && (one = put_one(s, at, n)) > 0) {
        all += one;
        skip(&at, &n, (uint32_t)one);
    }
    if (several) {
        int why = errno;
        cork(s, 0);
        errno = why;
    }
    return all > 0 ? all : one;
}

/* ---- bytes in ------------------------------------------------------------ */

static ssize_t get_one(struct wi_tls_session *s, const struct iovec *iov)
{
    uint32_t all = 0;
    uint32_t most = (uint32_t)wi_min_u64(iov->iov_len, GET_BYTES);
    while (all < most) {
        clear_errors();
        int rc =
            SSL_read(s->ssl, (uint8_t *)iov->iov_base + all, (int)(most - all));
        if (rc > 0) {
            all += (uint32_t)rc;
            continue;
        }
        if (all > 0) {
            break; /* the next call says it again */
        }
        return failed(s, rc) ? 0 : -1;
    }
    return (ssize_t)all;
}

ssize_t wi_tls_get(struct wi_tls_session *s, const struct iovec *iov,
                   uint32_t n)
{
    ssize_t all = 0;
    (void)pthread_mutex_lock(&s->lock);
    for (uint32_t i = 0; i < n; i++) {
        ssize_t one = get_one(s, &iov[i]);
        if (one <= 0 && all == 0) {
            all = one;
        }
        all += one > 0 ? one : 0;
        if (one < (ssize_t)iov[i].iov_len) {
            break;
        }
    }
    (void)pthread_mutex_unlock(&s->lock);
    return all;
}
