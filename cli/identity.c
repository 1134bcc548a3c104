/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/identity.h"

#include <stddef.h>

bool identity_by_secret(const struct identity *id)
{
    return id->secret_file != NULL && id->tls.tls_cert_file == NULL &&
           !id->plain;
}

void identity_check(struct argp_state *state, struct identity *id)
{
    const int files = (id->tls.tls_cert_file != NULL) +
                      (id->tls.tls_key_file != NULL) +
                      (id->tls.tls_ca_file != NULL);
    if (files != 0 && files != 3) {
        argp_error(state, "--tls-cert, --tls-key and --tls-ca belong together");
    }
    if (id->server_name != NULL && files == 0) {
        argp_error(state, "--server-name belongs to --tls-cert");
    }
    if (id->tls_psk + id->plain + (files != 0) > 1) {
        argp_error(state,
                   "--tls-psk, --plain and --tls-cert exclude each other");
    }
    if ((id->tls_psk || id->plain) && id->secret_file == NULL) {
        argp_error(state, "%s belongs to --secret-file",
                   id->plain ? "--plain" : "--tls-psk");
    }
    id->tls.tls_psk = id->tls_psk;
    id->tls.plain = id->plain;
}

void identity_use(const struct identity *id, struct weir_node_params *p)
{
    p->secret_file = id->secret_file;
    p->identity = &id->tls;
    if (id->name != NULL) {
        p->name = id->name;
    }
}
