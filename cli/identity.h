/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Options of who a node is (weir/identity.h), the same for all commands that
 * open one:
 *
 *   --secret-file FILE                        that it knows a secret, with TLS
 *                                             by it over tcp
 *   --tls-psk                                 and no way without TLS
 *   --plain                                   and no TLS
 *   --tls-cert, --tls-key, --tls-ca FILE      that it has a certificate
 *   --name NAME                               of which name
 *   --server-name NAME                        and whom it talks to (guests)
 */
#ifndef WEIR_CLI_IDENTITY_H
#define WEIR_CLI_IDENTITY_H

#include <argp.h>
#include <stdbool.h>

#include <weir/identity.h>

#include "cli/options.h"

/** Texts borrowed from argv. */
struct identity {
    const char *secret_file; /* NULL: none */
    const char *name;        /* NULL: the library's, or the command's */
    const char *server_name; /* NULL: the host of the address */
    bool tls_psk;
    bool plain;
    struct weir_identity tls;
};

#define IDENTITY_CERT_DOC                                                      \
    "Use TLS over tcp, with this certificate in PEM; the node's name has to "  \
    "be in it"
#define IDENTITY_KEY_DOC "Its key, which others may not read"
#define IDENTITY_CA_DOC "Certificates of the authorities of peers"
#define IDENTITY_PSK_DOC                                                       \
    "With --secret-file: no way to other hosts but TLS by the secret; auto "   \
    "leaves RDMA out, which is not encrypted"
#define IDENTITY_PLAIN_DOC                                                     \
    "With --secret-file, and at all nodes: no TLS over tcp. Whoever is on "    \
    "the way can read and alter statements and rows"
#define IDENTITY_NAME_DOC "Of the node, as its certificate has it [HOST-PID]"

#define IDENTITY_SERVER_DOC                                                    \
    "With --tls-cert: a name or an IP address in the certificate of whom is "  \
    "expected there [the host of the address]"

/** What stands in a row of options; `member` is a struct identity:
 *  {IDENTITY_CERT(struct args, identity)}, */
#define IDENTITY_CERT(type, member)                                            \
    "tls-cert", 0, "FILE", IDENTITY_CERT_DOC,                                  \
        OPTION_TEXT(type, member.tls.tls_cert_file)
#define IDENTITY_KEY(type, member)                                             \
    "tls-key", 0, "FILE", IDENTITY_KEY_DOC,                                    \
        OPTION_TEXT(type, member.tls.tls_key_file)
#define IDENTITY_CA(type, member)                                              \
    "tls-ca", 0, "FILE", IDENTITY_CA_DOC,                                      \
        OPTION_TEXT(type, member.tls.tls_ca_file)
#define IDENTITY_PSK(type, member)                                             \
    "tls-psk", 0, NULL, IDENTITY_PSK_DOC, OPTION_FLAG(type, member.tls_psk)
#define IDENTITY_PLAIN(type, member)                                           \
    "plain", 0, NULL, IDENTITY_PLAIN_DOC, OPTION_FLAG(type, member.plain)
#define IDENTITY_NAME(type, member)                                            \
    "name", 0, "NAME", IDENTITY_NAME_DOC, OPTION_TEXT(type, member.name)

#define IDENTITY_SERVER(type, member)                                          \
    "server-name", 0, "NAME", IDENTITY_SERVER_DOC,                             \
        OPTION_TEXT(type, member.server_name)

/** Is it TLS by the secret, over tcp? Errors: none. Blocks: never. Threads:
 *  any. */
bool identity_by_secret(const struct identity *id);

/** After all options: ends the program by argp_error if those of TLS do not
 *  belong together; else `tls` is complete. Blocks: never. Threads: one. */
void identity_check(struct argp_state *state, struct identity *id);

/** Put it into what a node is opened with. Blocks: never. Threads: any.
 *  Ownership: `id` stays until the node is open. */
void identity_use(const struct identity *id, struct weir_node_params *p);

#endif /* WEIR_CLI_IDENTITY_H */
