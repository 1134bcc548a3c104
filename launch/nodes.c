/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "launch/nodes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/err.h"
#include "launch/ask.h"

#define NAME_BYTES 64

/* All links are made at once, on few cores: 64 nodes clear gigabytes, perhaps
 * in an emulated machine. */
#define CONNECT_NS UINT64_C(30000000000)

/* The name of a process in messages, the same as in the group's. */
static void name_node(const struct wl_nodes *nodes, uint32_t i,
                      char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "process %u of %u", i, nodes->n);
}

static bool has_ports(const char *transport)
{
    return transport != NULL && strcmp(transport, "shm") != 0;
}

/* NULL: the transport chooses. A random number tells apart what runs at the
 * same time; process numbers do not, where containers share a network. */
static const char *listen_at(const struct wl_nodes *nodes, uint32_t self,
                             char text[WL_ADDRESS_BYTES])
{
    if (!has_ports(nodes->params.transport)) {
        uint64_t salt = 0;
        if (getrandom(&salt, sizeof(salt), 0) != (ssize_t)sizeof(salt)) {
            salt = (uint64_t)getpid() << 32 | nodes->run;
        }
        (void)snprintf(text, WL_ADDRESS_BYTES, "%s-%u-%016" PRIx64, nodes->kind,
                       self, salt);
        return text;
    }
    if (nodes->params.listen == NULL) {
        return NULL;
    }
    (void)snprintf(text, WL_ADDRESS_BYTES, "%s:0", nodes->params.listen);
    return text;
}

weir_err wl_nodes_open(const struct wl_nodes *nodes, uint32_t self,
                       weir_node **out, struct weir_error *err)
{
    char name[NAME_BYTES];
    char listen[WL_ADDRESS_BYTES];
    struct weir_node_params params = nodes->params;
    name_node(nodes, self, name);
    params.name = name;
    params.max_members = nodes->n;
    if (params.connect_ns == 0) {
        params.connect_ns = CONNECT_NS;
    }
    params.listen = listen_at(nodes, self, listen);
    weir_node *node = NULL;
    weir_err rc = weir_node_open(&params, &node, err);
    if (rc == WEIR_OK) {
        rc = wl_ask_node(node, err);
    }
    if (rc != WEIR_OK) {
        weir_node_close(node);
        return rc;
    }
    (void)snprintf(nodes->address[self], WL_ADDRESS_BYTES, "%s",
                   weir_node_address(node));
    *out = node;
    return WEIR_OK;
}

void wl_nodes_close(weir_node *node)
{
    wl_ask_forget(node);
    weir_node_close(node);
}

weir_err wl_nodes_join(const struct wl_nodes *nodes, weir_node *node,
                       struct weir_error *err)
{
    uint32_t n = nodes->n;
    struct weir_member *members = calloc(n, sizeof(*members));
    char(*names)[NAME_BYTES] = calloc(n, sizeof(*names));
    weir_err rc = WEIR_ERR_NO_MEMORY;
    if (members == NULL || names == NULL) {
        rc = wi_fail(err, rc, "no memory for %u members", n);
    } else {
        for (uint32_t i = 0; i < n; i++) {
            name_node(nodes, i, names[i]);
            members[i] = (struct weir_member){
                .name = names[i],
                .address = nodes->address[i],
                .workers = nodes->params.workers,
            };
        }
        rc = weir_node_join(node, members, n, err);
    }
    free(names);
    free(members);
    return rc;
}

const char *wl_nodes_cause(const struct wl_nodes *nodes, const char *message)
{
    char name[NAME_BYTES];
    for (uint32_t i = 0; i < nodes->n; i++) {
        name_node(nodes, i, name);
        const size_t n = strlen(name);
        if (strncmp(message, name, n) == 0 &&
            strncmp(message + n, ": ", 2) == 0) {
            return message + n + 2;
        }
    }
    return message;
}
