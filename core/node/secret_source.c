/* SPDX-License-Identifier: Apache-2.0 */
#include "core/node/secret_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/private_file.h"
#include "core/identity/mac.h"
#include "core/identity/psk.h"
#include "core/link/lock.h"
#include "core/node/node_os.h"

weir_err wi_secret_source_open(struct wi_secret_source *s,
                               const struct weir_node_params *p,
                               struct weir_error *err)
{
    const struct weir_identity *id = p->identity;
    for (size_t i = 0; id != NULL && i < WI_ARRAY_LEN(id->reserved); i++) {
        if (id->reserved[i] != 0) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "identity: reserved[%zu] is not zero", i);
        }
    }
    if (id != NULL && id->secret != NULL && p->secret_file != NULL) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "secret_file and identity.secret: give one of them");
    }
    *s = (struct wi_secret_source){0};
    if (id != NULL) {
        s->fn = id->secret;
        s->arg = id->secret_arg;
    }
    s->file = p->secret_file != NULL ? strdup(p->secret_file) : NULL;
    return s->file != NULL || p->secret_file == NULL
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a file name");
}

void wi_secret_source_close(struct wi_secret_source *s)
{
    free(s->file);
}

bool wi_secret_source_any(const struct wi_secret_source *s)
{
    return s->file != NULL || s->fn != NULL;
}

/* ---- files --------------------------------------------------------------- */

static weir_err read_text(const char *name, int fd, char *text, size_t *len,
                          struct weir_error *err)
{
    ssize_t n = 0;
    *len = 0;
    while (*len <= WI_SECRET_TEXT &&
           (n = read(fd, text + *len, WI_SECRET_TEXT + 1 - *len)) > 0) {
        *len += (size_t)n;
    }
    if (n < 0) {
        return wi_fail_errno(err, errno, "secret_file %.200s", name);
    }
    return *len <= WI_SECRET_TEXT
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_ARG,
                         "secret_file %.200s is longer than two secrets", name);
}

static weir_err read_file(const char *name, struct wi_keys *out,
                          struct weir_error *err)
{
    char *text = out->text;
    size_t len = 0;
    struct weir_error why;
    int fd = -1;
    weir_err rc = wi_private_open("secret_file", name, &fd, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = read_text(name, fd, text, &len, err);
    if (rc == WEIR_OK &&
        wi_secrets_parse(&out->secrets, text, len, &why) != WEIR_OK) {
        rc = wi_fail(err, why.code, "secret_file %.100s: %.300s", name,
                     why.message);
    }
    (void)close(fd);
    return rc;
}

/* ---- TLS ----------------------------------------------------------------- */

bool wi_tls_files(const struct weir_node_params *p)
{
    const struct weir_identity *id = p->identity;
    return id != NULL && (id->tls_cert_file != NULL ||
                          id->tls_key_file != NULL || id->tls_ca_file != NULL);
}

static bool has_tls(const char *transport)
{
    return strcmp(transport, "tcp") == 0 || strcmp(transport, "auto") == 0;
}

static bool has_secret(const struct weir_node_params *p)
{
    return p->secret_file != NULL ||
           (p->identity != NULL && p->identity->secret != NULL);
}

bool wi_tls_by_secret(const struct weir_node_params *p)
{
    bool plain = p->identity != NULL && p->identity->plain;
    return has_tls(p->transport) && has_secret(p) && !plain && !wi_tls_files(p);
}

static weir_err check_files(const struct weir_identity *id,
                            struct weir_error *err)
{
    return id->tls_cert_file != NULL && id->tls_key_file != NULL &&
                   id->tls_ca_file != NULL
               ? WEIR_OK
               : wi_fail(err, WEIR_ERR_ARG,
                         "TLS needs tls_cert_file, tls_key_file and "
                         "tls_ca_file");
}

weir_err wi_tls_check(const struct weir_node_params *p, struct weir_error *err)
{
    const struct weir_identity *id = p->identity;
    bool files = wi_tls_files(p);
    if (id == NULL) {
        return WEIR_OK;
    }
    if ((id->tls_psk != 0) + (id->plain != 0) + files > 1) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "identity: tls_psk, plain and files of certificates: "
                       "give one of them");
    }
    if ((id->tls_psk || files) && !has_tls(p->transport)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "TLS is for transports tcp and auto, not for %.40s",
                       p->transport);
    }
    if (id->tls_psk && !has_secret(p)) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "tls_psk needs a secret: secret_file, or "
                       "identity.secret");
    }
    return files ? check_files(id, err) : WEIR_OK;
}

/* ---- both ---------------------------------------------------------------- */

static weir_err ask(const struct wi_secret_source *s, struct wi_keys *out,
                    struct weir_error *err)
{
    weir_err rc = WEIR_OK;
    uint32_t n = 1;
    for (uint32_t i = 0; i < WI_SECRETS && n > 0 && rc == WEIR_OK; i++) {
        n = s->fn(s->arg, i, out->text, WI_SECRET_MAX);
        if (n > 0 || i == 0) {
            rc = wi_secrets_add(&out->secrets, out->text, n, err);
        }
    }
    return rc;
}

weir_err wi_secret_source_read(const struct wi_secret_source *s,
                               struct wi_keys **out, struct weir_error *err)
{
    struct wi_keys *new = NULL;
    uint8_t mac[WI_MAC_BYTES];
    weir_err rc = wi_keys_open(&new, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    rc = s->file != NULL ? read_file(s->file, new, err) : ask(s, new, err);
    wi_wipe(new->text, sizeof(new->text));
    /* Also sets libcrypto up, which takes a while. */
    if (rc == WEIR_OK &&
        !wi_mac((struct wi_mac_key){new->secrets.of[0].at, 1}, "", 0, mac)) {
        rc = wi_fail(err, WEIR_ERR_SYSTEM,
                     "libcrypto makes no HMAC-SHA-256: look at openssl.cnf");
    }
    if (rc != WEIR_OK) {
        wi_keys_close(new);
        return rc;
    }
    *out = new;
    return WEIR_OK;
}

bool wi_secret_draw(void *bytes, size_t n)
{
    return getrandom(bytes, n, 0) == (ssize_t)n;
}

/* Under the node's lock, so that proofs and TLS change at once. The pages stay:
 * OpenSSL knows where the keys are. */
static weir_err renew(struct wi_keys *keys, struct wi_keys *new,
                      struct weir_error *err)
{
    weir_err rc = keys->psks.n != 0
                      ? wi_psks_make(&new->secrets, &new->psks, err)
                      : WEIR_OK;
    if (rc == WEIR_OK) {
        *keys = *new;
    }
    return rc;
}

weir_err weir_node_renew_secret(weir_node *node, struct weir_error *err)
{
    struct wi_keys *new = NULL;
    weir_err rc = wi_check_args(err, WI_ARG(node));
    rc = rc == WEIR_OK ? wi_engine_check_own(&node->engine, err) : rc;
    if (rc != WEIR_OK) {
        return rc;
    }
    if (!wi_secret_source_any(&node->os->secret)) {
        return wi_fail(err, WEIR_ERR_STATE,
                       "%s was opened without a secret: open it with one",
                       node->engine.name);
    }
    rc = wi_secret_source_read(&node->os->secret, &new, err);
    if (rc == WEIR_OK) {
        wi_node_lock(node);
        rc = renew(node->engine.keys, new, err);
        wi_node_unlock(node);
    }
    wi_keys_close(new);
    return rc;
}
