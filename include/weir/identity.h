/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Who a node is, to its peers: that it knows the secret of its cluster, or that
 * it has a certificate of its name, or both. Either encrypts tcp.
 *
 *   openssl rand -hex 32 > secret && chmod 600 secret      once, for all nodes
 *
 *   struct weir_node_params p = {.secret_file = "secret", ...};
 *
 * Nodes with a secret talk to nobody else, members or not: both sides prove
 * that they know it, without sending it, before either tells a name, grants
 * memory or takes a message. docs/security.md says against whom this helps, and
 * what it does not do.
 *
 * To change the secret while the cluster runs, put the new one above the old
 * one in every node's file (two lines) and call weir_node_renew_secret, in any
 * order; then take the old one out in the same way. Links that are open stay.
 */
#ifndef WEIR_IDENTITY_H
#define WEIR_IDENTITY_H

#include <stdint.h>

#include <weir/node.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Gives a secret: 32 to 256 bytes, random.
 *
 * @param which  0 the current one, 1 the previous one
 * @param bytes  [out] `room` bytes
 *
 * Returns:    how many bytes it has; 0: there is none
 * Blocks:     the call that asks: weir_node_open, weir_node_renew_secret
 */
typedef uint32_t (*weir_secret_fn)(void *arg, uint32_t which, void *bytes,
                                   uint32_t room);

/**
 * What there is beside weir_node_params.secret_file.
 *
 * With the three files of TLS everything that goes over tcp is encrypted by TLS
 * 1.3, and peers show certificates of one authority to each other before either
 * says a word. A certificate has the names that its node may have as DNS names
 * (subjectAltName): a peer that calls itself otherwise is refused, so give
 * nodes names. Files are PEM, read by weir_node_open. For tcp, and for auto,
 * which leaves verbs out then; what goes over shm stays in the host.
 *
 * Whom a guest expects: of members the list says who is at which address. Who
 * is given an address alone - of a peer (peer.h: regions, asks), of a server of
 * scans, of a seed - expects the host of that address, as it stands there: a
 * name among the DNS names of the certificate, a number among its IP addresses.
 * Or the program says a name: weir_peer_open_named, weir_node_join_seed_named,
 * weir_scan_client_params.server_name. Nothing is said to anybody else
 * (WEIR_ERR_PEER_REFUSED): whoever has another certificate of the authority is
 * no more than a stranger on the way.
 *
 * Without files, but with a secret, the same is encrypted with nothing but that
 * (TLS 1.3 with pre-shared keys and Diffie-Hellman): what was recorded cannot
 * be read by who learns the secret later. It says nothing of names: whoever
 * knows the secret can have each of them.
 *
 * With `plain` the secret is proved and no more: whoever is on the way and does
 * not know it can read and alter what is said once a link is open, statements
 * and rows. For networks where nobody is.
 *
 * Over tcp a node of one of the three kinds talks to none of another, and both
 * say so: change all nodes at a time.
 *
 * `tls_psk` says of the secret what certificates say by themselves: that
 * nothing may go unencrypted to another host. auto leaves verbs out then, which
 * has no encryption.
 */
struct weir_identity {
    weir_secret_fn secret; /* instead of a file */
    void *secret_arg;
    const char
        *tls_cert_file;       /* this node's, and those above it but the last */
    const char *tls_key_file; /* its key, which others may not read */
    const char *tls_ca_file;  /* authorities of peers */
    int tls_psk;              /* 1: TLS by the secret, or nothing [tcp: TLS by
                                 the secret if there is one] */
    int plain;                /* 1: over tcp, no TLS in spite of a secret [0] */
    uint64_t reserved[6];     /* must be zero */
};

/**
 * Read the secret again, from the file or by the callback that the node was
 * opened with. Proofs from now on are by the new one; the node keeps what it
 * had if this fails.
 *
 * Errors:     WEIR_ERR_STATE (the node was opened without), WEIR_ERR_ARG (not
 *             one or two secrets), WEIR_ERR_SYSTEM (the file cannot be read, or
 *             others can, or it is another user's and not root's)
 * Blocks:     while the file is read or the callback runs
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API weir_err weir_node_renew_secret(weir_node *node,
                                         struct weir_error *err);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_IDENTITY_H */
