/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only list of transports, and what all of them share: the check of a
 * table, and the named stubs for slots that a transport has no use for. To add
 * a transport, add its line to `transports` and its name to `names`.
 */
#include "transport/registry.h"

#include <stdio.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/base/err.h"

static const struct wi_transport_ops *const transports[] = {
    &wi_shm_ops,   &wi_tcp_ops, &wi_sim_ops, &wi_auto_ops,
#ifdef WEIR_HAVE_VERBS
    &wi_verbs_ops,
#endif
};

static const char names[] = "shm, tcp, sim, auto"
#ifdef WEIR_HAVE_VERBS
                            ", verbs"
#endif
    ;

static const struct wi_transport_ops *added; /* set before threads start */

void wi_transport_add(const struct wi_transport_ops *ops)
{
    added = ops;
}

const struct wi_transport_ops *wi_transport_find(const char *name)
{
    size_t len = strcspn(name, ":");
    if (added != NULL && strlen(added->name) == len &&
        memcmp(added->name, name, len) == 0) {
        return added;
    }
    for (size_t i = 0; i < WI_ARRAY_LEN(transports); i++) {
        const char *candidate = transports[i]->name;
        if (strlen(candidate) == len && memcmp(candidate, name, len) == 0) {
            return transports[i];
        }
    }
    return NULL;
}

const char *wi_transport_names(void)
{
    return names;
}

/* ---- check --------------------------------------------------------------- */

static const char *empty_slot(const struct wi_transport_ops *ops)
{
#define SLOT(name)                                                             \
    if (!ops->name) {                                                          \
        return #name;                                                          \
    }
    SLOT(open)
    SLOT(close)
    SLOT(address)
    SLOT(mem_open)
    SLOT(mem_reserve)
    SLOT(mem_take)
    SLOT(mem_borrow)
    SLOT(mem_close)
    SLOT(grant)
    SLOT(ungrant)
    SLOT(map)
    SLOT(unmap)
    SLOT(check)
    SLOT(connect)
    SLOT(connect_next)
    SLOT(why)
    SLOT(disconnect)
    SLOT(send)
    SLOT(write)
    SLOT(read)
    SLOT(kick)
    SLOT(poll)
    SLOT(arm)
    SLOT(fd)
#undef SLOT
    return NULL;
}

/* Name of a slot that does not agree with its capability bit, or NULL. */
static const char *lying_slot(const struct wi_transport_ops *ops)
{
#define AGREE(bit, slot, stub)                                                 \
    if (((ops->caps & (bit)) != 0) != (ops->slot != (stub))) {                 \
        return #slot;                                                          \
    }
    AGREE(WI_CAP_WRITE, write, wi_no_rma)
    AGREE(WI_CAP_READ, read, wi_no_rma)
    AGREE(WI_CAP_MAP, map, wi_no_map)
    AGREE(WI_CAP_MAP, unmap, wi_no_unmap)
    AGREE(WI_CAP_LAZY, mem_take, wi_all_taken)
    AGREE(WI_CAP_FD, fd, wi_no_fd)
#undef AGREE
    return NULL;
}

weir_err wi_transport_check(const struct wi_transport_ops *ops,
                            struct weir_error *err)
{
    const char *name = ops->name;
    if (!name || !name[0] || strpbrk(name, ":, ")) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "a transport needs a name without ':', ',' and space");
    }
    const char *slot = empty_slot(ops);
    if (slot) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "transport %s: slot '%s' is empty; point it to a stub "
                       "of transport/registry.c",
                       name, slot);
    }
    slot = lying_slot(ops);
    if (slot) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "transport %s: slot '%s' and its capability bit "
                       "disagree",
                       name, slot);
    }
    if ((ops->caps & (WI_CAP_WRITE | WI_CAP_MAP)) == 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "transport %s can neither write nor map", name);
    }
    if (ops->max_message_bytes < WI_MIN_MESSAGE_BYTES) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "transport %s: max_message_bytes is %u, least is %u",
                       name, ops->max_message_bytes,
                       (unsigned)WI_MIN_MESSAGE_BYTES);
    }
    if (ops->usual_frame_bytes < 1024 || ops->usual_frame_bytes % 64 != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "transport %s: usual_frame_bytes is %u, no multiple of "
                       "64 from 1024 on",
                       name, ops->usual_frame_bytes);
    }
    if (ops->write_bytes % 64 != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "transport %s: write_bytes is %u, no multiple of 64",
                       name, ops->write_bytes);
    }
    return WEIR_OK;
}

/* ---- stubs --------------------------------------------------------------- */

weir_err wi_no_borrow(struct wi_transport *t, const struct wi_borrow *what,
                      uint32_t access, struct wi_mem *out,
                      struct weir_error *err)
{
    (void)what;
    (void)access;
    (void)out;
    return wi_fail(err, WEIR_ERR_UNSUPPORTED,
                   "transport %s cannot send from memory of the program",
                   t->ops->name);
}

weir_err wi_no_map(struct wi_ep *ep, uint64_t key, size_t bytes,
                   uint32_t access, void **base_out, struct weir_error *err)
{
    (void)key;
    (void)bytes;
    (void)access;
    (void)base_out;
    return wi_fail(err, WEIR_ERR_UNSUPPORTED,
                   "transport %s cannot map a peer's memory",
                   ep->transport->ops->name);
}

void wi_no_unmap(struct wi_transport *t, void *base, size_t bytes)
{
    (void)t;
    (void)base;
    (void)bytes;
}

weir_err wi_no_rma(struct wi_ep *ep, const struct wi_rma *op)
{
    (void)ep;
    (void)op;
    return WEIR_ERR_UNSUPPORTED;
}

weir_err wi_all_taken(struct wi_transport *t, const struct wi_mem_part *part,
                      struct weir_error *err)
{
    (void)t;
    (void)part;
    (void)err;
    return WEIR_OK;
}

int wi_no_fd(struct wi_transport *t)
{
    (void)t;
    return -1;
}

weir_err wi_no_next(struct wi_transport *t, const char *address,
                    const struct wi_ep *failed, struct wi_ep **ep_out,
                    struct weir_error *err)
{
    (void)t;
    (void)address;
    (void)failed;
    (void)ep_out;
    (void)err;
    return WEIR_DONE;
}

void wi_plain_why(struct wi_transport *t, const char *address,
                  const struct wi_ep *ep, char *text)
{
    (void)address;
    (void)ep;
    (void)snprintf(text, WI_REASON_BYTES, "%s: the only transport of this node",
                   t->ops->name);
}
