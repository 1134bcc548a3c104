/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections, by rdma_cm.
 *
 *   connecting                              accepting
 *   resolve address, then route
 *   connect (hello) ----------------------> CONNECT_REQUEST: queue pair, accept
 *   CONNECT_RESPONSE or ESTABLISHED  <----- (hello)
 *   FIRST  -------------------------------> reported as ACCEPTED
 *   reported as CONNECTED
 *
 * FIRST is there for iWARP, where the accepting side may not send before it
 * has received (RFC 5044, section 7.1.2); strangers that never send it are
 * dropped in time. Queue pairs belong to the transport's own context and not
 * to that of rdma_cm, so the states are moved by hand where the kernel does
 * not (rdma_init_qp_attr(3), rdma_establish(3)).
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/neutral.h"
#include "transport/verbs/verbs.h"

enum { RESOLVE_MS = 2000, REFUSAL_BYTES = 64 };

/* ---- hello --------------------------------------------------------------- */

static struct vb_hello make_hello(const struct vb_ep *ep)
{
    return (struct vb_hello){.magic = htole32(VB_MAGIC),
                             .version = VB_VERSION,
                             .tag = ep->tag,
                             .window = htole16(VB_WINDOW)};
}

/* False: the endpoint is lost. */
static bool take_hello(struct vb_ep *ep, const void *bytes, size_t len)
{
    struct vb_hello hello = {0};
    memcpy(&hello, bytes, len < sizeof(hello) ? len : sizeof(hello));
    if (le32toh(hello.magic) != VB_MAGIC) {
        wi_vb_ep_lose(ep, "%s is not a Weir node", ep->peer);
        return false;
    }
    ep->peer_tag = hello.tag;
    ep->peer_window = le16toh(hello.window);
    if (hello.version != VB_VERSION || hello.tag >= VB_KEY_TAGS ||
        ep->peer_window <= VB_RESERVE || ep->peer_window > VB_SLOTS) {
        wi_vb_ep_lose(ep,
                      "%s speaks version %u of the verbs transport (window "
                      "%u), this node speaks %u: run the same release on both",
                      ep->peer, hello.version, ep->peer_window, VB_VERSION);
        return false;
    }
    return true;
}

static struct rdma_conn_param conn_param(const struct vb_ep *ep,
                                         const struct vb_hello *hello)
{
    const struct vb_device *dev = &vb_home(ep)->dev;
    return (struct rdma_conn_param){
        .private_data = hello,
        .private_data_len = sizeof(*hello),
        .responder_resources = dev->max_answers,
        .initiator_depth = dev->max_reads,
        .flow_control = 1,
        .retry_count = 7,
        .rnr_retry_count = 7,
        .srq = dev->srq,
        .qp_num = ep->qp->qp_num,
    };
}

/* ---- connecting ---------------------------------------------------------- */

/* From our address, and a port that rdma_cm chooses. False and errno:
 * failed. */
static bool resolve(struct vb_ep *ep, union wi_inet *to)
{
    union wi_inet from = vb_home(ep)->local;
    wi_inet_set_port(&from, 0);
    return rdma_resolve_addr(ep->id, &from.any, &to->any, RESOLVE_MS) == 0;
}

/* Begin again from another port if TCP has the one there was, as in listen_at()
 * of listen.c; the queue pair stays. False and errno: that is not it. */
static bool from_another_port(struct vb_ep *ep)
{
    struct rdma_cm_id *id = NULL;
    union wi_inet to = wi_inet_of(rdma_get_peer_addr(ep->id));
    if (errno != EADDRINUSE || ++ep->port_tries == VB_PORT_TRIES ||
        rdma_create_id(vb_home(ep)->cm, &id, ep, RDMA_PS_TCP) != 0) {
        return false;
    }
    (void)rdma_destroy_id(ep->id);
    ep->id = id;
    ep->state = VB_RESOLVING;
    return resolve(ep, &to);
}

static weir_err decode(const char *address, union wi_inet *out,
                       struct weir_error *err)
{
    if (strncmp(address, "verbs:", 6) != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "'%.100s' is not an address of verbs (verbs:IP:PORT)",
                       address);
    }
    return wi_inet_decode(address + 6, 0, out, err);
}

weir_err wi_vb_check(struct wi_transport *t, const char *address,
                     struct weir_error *err)
{
    union wi_inet to;
    (void)t;
    return decode(address, &to, err);
}

weir_err wi_vb_connect(struct wi_transport *base, const char *address,
                       struct wi_ep **ep_out, struct weir_error *err)
{
    struct vb_transport *t = vb_of(base);
    union wi_inet to;
    struct rdma_cm_id *id = NULL;
    weir_err rc = decode(address, &to, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (t->dead) {
        return wi_fail(err, WEIR_ERR_SYSTEM, "verbs: %s", t->dead_reason);
    }
    if (rdma_create_id(t->cm, &id, NULL, RDMA_PS_TCP) != 0) {
        return wi_fail_errno(err, errno, "connection to %s", address);
    }
    struct vb_ep *ep = wi_vb_ep_open(t, id, false);
    if (ep == NULL) {
        (void)rdma_destroy_id(id);
        return wi_fail(err, WEIR_ERR_NO_MEMORY,
                       "no room for a link to %s beside %u others", address,
                       t->max_eps);
    }
    wi_inet_encode(&to, ep->peer, sizeof(ep->peer));
    if (!resolve(ep, &to)) {
        wi_vb_ep_lose(ep, "address %s: %s (from %s)", ep->peer, strerror(errno),
                      t->address);
    }
    *ep_out = &ep->base;
    return WEIR_OK;
}

static bool same_device(const struct vb_ep *ep)
{
    return ep->id->verbs != NULL &&
           strcmp(ibv_get_device_name(ep->id->verbs->device),
                  vb_home(ep)->dev.name) == 0;
}

static void on_address(struct vb_ep *ep)
{
    if (!same_device(ep)) {
        wi_vb_ep_lose(ep, "%s is not reached through %s, the device of %s",
                      ep->peer, vb_home(ep)->dev.name, vb_home(ep)->address);
    } else if (rdma_resolve_route(ep->id, RESOLVE_MS) != 0) {
        wi_vb_ep_lose(ep, "route to %s: %s", ep->peer, strerror(errno));
    }
}

static void on_route(struct vb_ep *ep)
{
    struct weir_error err;
    if (ep->qp == NULL && wi_vb_qp_open(ep, &err) != WEIR_OK) {
        wi_vb_ep_lose(ep, "link to %s: %.120s", ep->peer, err.message);
        return;
    }
    struct vb_hello hello = make_hello(ep);
    struct rdma_conn_param param = conn_param(ep, &hello);
    ep->state = VB_CONNECTING;
    if (rdma_connect(ep->id, &param) != 0 && !from_another_port(ep)) {
        wi_vb_ep_lose(ep, "connect to %s: %s", ep->peer, strerror(errno));
    }
}

/* InfiniBand: the answer has come, and we take the queue pair on. */
static void on_response(struct vb_ep *ep, const struct rdma_conn_param *p)
{
    const struct vb_device *dev = &vb_home(ep)->dev;
    uint8_t reads = p->initiator_depth < dev->max_reads ? p->initiator_depth
                                                        : dev->max_reads;
    if (!take_hello(ep, p->private_data, p->private_data_len)) {
        return;
    }
    if (!wi_vb_qp_move(ep, IBV_QPS_RTR, dev->max_answers) ||
        !wi_vb_qp_move(ep, IBV_QPS_RTS, reads) || rdma_establish(ep->id) != 0) {
        wi_vb_ep_lose(ep, "connect to %s: %s", ep->peer, strerror(errno));
        return;
    }
    wi_vb_ep_up(ep);
}

static WI_COLD void on_rejected(struct vb_ep *ep, int status, const char *text,
                                size_t len)
{
    char said[REFUSAL_BYTES + 1] = {0};
    memcpy(said, text, len < REFUSAL_BYTES ? len : REFUSAL_BYTES);
    for (char *c = said; *c != '\0'; c++) {
        *c = wi_neutral_print(*c) ? *c : '.';
    }
    if (said[0] != '\0') {
        ep->refused = true;
        wi_vb_ep_lose(ep, "%s refused: %s", ep->peer, said);
    } else {
        /* 8: no such service (InfiniBand Architecture, REJ reasons) */
        wi_vb_ep_lose(ep, "connect to %s: %s", ep->peer,
                      status == -ECONNREFUSED || status == 8
                          ? "nobody listens there"
                          : "rejected");
    }
}

/* ---- accepting ----------------------------------------------------------- */

static void refuse(struct rdma_cm_id *id, const char *text)
{
    char bytes[REFUSAL_BYTES] = {0};
    (void)snprintf(bytes, sizeof(bytes), "%s", text);
    (void)rdma_reject(id, bytes, sizeof(bytes));
    (void)rdma_destroy_id(id);
}

static bool accept_ep(struct vb_ep *ep, const struct rdma_conn_param *p)
{
    const struct vb_device *dev = &vb_home(ep)->dev;
    struct weir_error err;
    uint8_t answers = p->responder_resources < dev->max_answers
                          ? p->responder_resources
                          : dev->max_answers;
    uint8_t reads = p->initiator_depth < dev->max_reads ? p->initiator_depth
                                                        : dev->max_reads;
    if (!take_hello(ep, p->private_data, p->private_data_len)) {
        return false;
    }
    if (wi_vb_qp_open(ep, &err) != WEIR_OK) {
        (void)snprintf(ep->reason, sizeof(ep->reason), "%.*s",
                       REFUSAL_BYTES - 1, err.message);
        return false;
    }
    struct vb_hello hello = make_hello(ep);
    struct rdma_conn_param param = conn_param(ep, &hello);
    param.responder_resources = answers;
    param.initiator_depth = reads;
    if (!wi_vb_qp_move(ep, IBV_QPS_RTR, answers) ||
        !wi_vb_qp_move(ep, IBV_QPS_RTS, reads) ||
        rdma_accept(ep->id, &param) != 0) {
        (void)snprintf(ep->reason, sizeof(ep->reason), "accept: %s",
                       strerror(errno));
        return false;
    }
    return true;
}

static void on_request(struct vb_transport *t, struct rdma_cm_id *id,
                       const struct rdma_conn_param *p)
{
    if (t->n_links >= t->max_links || t->dead) {
        refuse(id, "no room for another link (max_members)");
        return;
    }
    if (t->n_greeting >= VB_MAX_GREETING) {
        /* Strangers that stay silent must not keep out a node that comes. */
        wi_vb_ep_close(wi_container_of(t->greeting.next, struct vb_ep, all));
    }
    struct vb_ep *ep = wi_vb_ep_open(t, id, true);
    if (ep == NULL) {
        refuse(id, "no memory for another link");
        return;
    }
    union wi_inet peer = wi_inet_of(rdma_get_peer_addr(id));
    wi_inet_encode(&peer, ep->peer, sizeof(ep->peer));
    if (!same_device(ep)) {
        (void)snprintf(ep->reason, sizeof(ep->reason), "listens on %s only",
                       t->dev.name);
    } else if (accept_ep(ep, p)) {
        return;
    }
    ep->id = NULL; /* refuse() ends it */
    char reason[REFUSAL_BYTES];
    (void)snprintf(reason, sizeof(reason), "%.*s", REFUSAL_BYTES - 1,
                   ep->reason);
    wi_vb_ep_close(ep);
    refuse(id, reason);
}

/* ---- events -------------------------------------------------------------- */

/* What is needed of an event after it was acknowledged. */
struct news {
    enum rdma_cm_event_type type;
    int status;
    struct rdma_cm_id *id;
    struct rdma_conn_param param;
    uint8_t bytes[256];
};

static bool next_news(struct vb_transport *t, struct news *out)
{
    struct rdma_cm_event *ev = NULL;
    if (rdma_get_cm_event(t->cm, &ev) != 0) {
        return false;
    }
    *out = (struct news){.type = ev->event, .status = ev->status, .id = ev->id};
    out->param = ev->param.conn;
    out->param.private_data = out->bytes;
    if (ev->param.conn.private_data != NULL) {
        memcpy(out->bytes, ev->param.conn.private_data,
               ev->param.conn.private_data_len);
    } else {
        out->param.private_data_len = 0;
    }
    (void)rdma_ack_cm_event(ev); /* an id ends when its events are back */
    return true;
}

static void take_failure(struct vb_ep *ep, const struct news *news)
{
    int why = news->status < 0 ? -news->status : 0;
    const char *text = why != 0 ? strerror(why) : "no answer";
    switch (news->type) {
    case RDMA_CM_EVENT_ADDR_ERROR:
        wi_vb_ep_lose(ep, "address %s cannot be reached from %s: %s", ep->peer,
                      vb_home(ep)->address, text);
        break;
    case RDMA_CM_EVENT_ROUTE_ERROR:
        wi_vb_ep_lose(ep, "no route to %s: %s", ep->peer, text);
        break;
    case RDMA_CM_EVENT_REJECTED:
        on_rejected(ep, news->status, (const char *)news->bytes,
                    news->param.private_data_len);
        break;
    case RDMA_CM_EVENT_DISCONNECTED:
        wi_vb_ep_lose(ep, "%s closed the connection", ep->peer);
        break;
    default:
        wi_vb_ep_lose(ep, "connect to %s: %s", ep->peer, text);
    }
}

static void take_news(struct vb_transport *t, const struct news *news)
{
    struct vb_ep *ep = news->id->context;
    switch (news->type) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
        on_request(t, news->id, &news->param);
        return;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        wi_vb_all_lost(t, "the device %s was removed", t->dev.name);
        return;
    case RDMA_CM_EVENT_ADDR_CHANGE:
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        return;
    default:
        break;
    }
    if (ep == NULL || ep->state == VB_LOST) {
        return;
    }
    switch (news->type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        on_address(ep);
        break;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        on_route(ep);
        break;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
        on_response(ep, &news->param);
        break;
    case RDMA_CM_EVENT_ESTABLISHED:
        if (!ep->accepted && ep->state == VB_CONNECTING &&
            take_hello(ep, news->bytes, news->param.private_data_len)) {
            wi_vb_ep_up(ep);
        }
        break;
    default:
        take_failure(ep, news);
    }
}

void wi_vb_cm_poll(struct vb_transport *t)
{
    struct news news;
    while (next_news(t, &news)) {
        take_news(t, &news);
    }
}
