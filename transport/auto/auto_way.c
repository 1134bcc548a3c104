/* SPDX-License-Identifier: Apache-2.0 */
/* Which way to a peer, and what to say about it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/neutral.h"
#include "transport/auto/auto.h"

/* What speaks for each part, in the order of wi_auto_names. */
static const char *const merits[AUTO_PARTS] = {
    "same host", "both have a device", "leads everywhere"};

/* ---- choosing ------------------------------------------------------------ */

static bool same_boot(const struct auto_transport *t,
                      const struct auto_peer *peer)
{
    return peer->host != NULL && strncmp(t->host, peer->host, 17) == 0;
}

/* An address that means another machine to everybody else. */
static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 ||
           strncmp(address, "[::1]:", 6) == 0 ||
           strncmp(address, "localhost:", 10) == 0;
}

bool wi_auto_way(const struct auto_transport *t, const struct auto_peer *peer,
                 uint32_t i, char *word)
{
    const struct auto_part *p = &t->parts[i];
    const char *to = peer->parts[i];
    bool maps = p->ops != NULL && (p->ops->caps & WI_CAP_MAP) != 0;
    bool boot = same_boot(t, peer);
    bool here = boot && strcmp(t->host, peer->host) == 0;
    const char *say = merits[i];
    bool can = false;
    if (p->t == NULL) {
        say = p->note;
    } else if (peer->plain && to != NULL) {
        say = "the address names it";
        can = true;
    } else if (maps && !here && peer->host != NULL) {
        say = boot ? "same host, other network namespace" : "another host";
    } else if (to == NULL) {
        say = "not offered by the peer";
    } else if (!here && peer->host != NULL && is_loopback(to)) {
        say = "at loopback there: open that node with listen = HOST:PORT";
    } else {
        can = true;
    }
    /* Several share one line; the node's own `why` has the whole text. */
    int len = p->t == NULL ? AUTO_NOTE_SHORT : AUTO_WORD_BYTES - 1;
    (void)snprintf(word, AUTO_WORD_BYTES, "%.*s", len, say);
    return can;
}

/* Number of the part that an endpoint is of. */
static uint32_t part_of(const struct auto_transport *t, const struct wi_ep *ep)
{
    uint32_t i = 0;
    while (i < AUTO_PARTS && t->parts[i].t != ep->transport) {
        i++;
    }
    return i;
}

/* ---- saying why ---------------------------------------------------------- */

/* Append to a text of WI_REASON_BYTES; what does not fit is cut. */
static void WI_PRINTF(2, 3) add(char *text, const char *fmt, ...)
{
    size_t at = strlen(text);
    va_list args;
    va_start(args, fmt);
    (void)wi_neutral_vformat(text + at, WI_REASON_BYTES - at, fmt, args);
    va_end(args);
}

static void why_node(const struct auto_transport *t, char *text)
{
    const char *between = "";
    add(text, "auto: ");
    for (uint32_t i = 0; i < AUTO_PARTS; i++) {
        if (t->parts[i].t != NULL) {
            add(text, "%s%s", between, wi_auto_names[i]);
            between = ", ";
        }
    }
    for (uint32_t i = 0; i < AUTO_PARTS; i++) {
        if (t->parts[i].t == NULL) {
            add(text, "; no %s: %s", wi_auto_names[i], t->parts[i].note);
        }
    }
}

void wi_auto_why(struct wi_transport *base, const char *address,
                 const struct wi_ep *ep, char *text)
{
    const struct auto_transport *t = wi_auto_of(base);
    struct auto_peer peer;
    char word[AUTO_WORD_BYTES];
    text[0] = '\0';
    if (address == NULL ||
        wi_auto_address_get(address, &peer, NULL) != WEIR_OK) {
        why_node(t, text);
        return;
    }
    uint32_t taken = ep != NULL ? part_of(t, ep) : 0;
    while (ep == NULL && taken < AUTO_PARTS &&
           !wi_auto_way(t, &peer, taken, word)) {
        taken++;
    }
    add(text, "%s: ", taken < AUTO_PARTS ? wi_auto_names[taken] : "none");
    for (uint32_t i = 0; i < taken; i++) {
        bool can = wi_auto_way(t, &peer, i, word);
        add(text, "%s%s %s (%s)", i > 0 ? ", " : "",
            can ? "not taken was" : "no", wi_auto_names[i], word);
    }
    if (taken < AUTO_PARTS && wi_auto_way(t, &peer, taken, word)) {
        add(text, "%s%s", taken > 0 ? "; " : "", word);
    }
}

/* ---- connecting ---------------------------------------------------------- */

enum { OWN_BYTES = WI_ADDRESS_BYTES + 8 };

/* The address of a part, as the part itself has it. */
static void own_address(char *text, const struct auto_part *p, const char *at)
{
    (void)snprintf(text, OWN_BYTES, "%s:%s", p->ops->name, at);
}

/* The first way from number i on that can be begun. WEIR_DONE: none. */
static weir_err connect_from(struct auto_transport *t, const char *address,
                             uint32_t i, struct wi_ep **ep_out,
                             struct weir_error *err)
{
    struct auto_peer peer;
    char word[AUTO_WORD_BYTES];
    weir_err rc = wi_auto_address_get(address, &peer, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    for (rc = WEIR_DONE; i < AUTO_PARTS && rc != WEIR_OK; i++) {
        if (!wi_auto_way(t, &peer, i, word)) {
            continue;
        }
        struct auto_part *p = &t->parts[i];
        char own[OWN_BYTES];
        struct weir_error why = {0};
        own_address(own, p, peer.parts[i]);
        rc = p->ops->connect(p->t, own, ep_out, &why);
        if (rc != WEIR_OK) {
            wi_log(t->log, WI_LOG_WARN, "%s: %s", own, why.message);
            (void)wi_fail(err, rc, "%s", why.message);
        }
    }
    return rc;
}

weir_err wi_auto_check(struct wi_transport *base, const char *address,
                       struct weir_error *err)
{
    struct auto_transport *t = wi_auto_of(base);
    struct auto_peer peer;
    weir_err rc = wi_auto_address_get(address, &peer, err);
    for (uint32_t i = 0; rc == WEIR_OK && i < AUTO_PARTS; i++) {
        const struct auto_part *p = &t->parts[i];
        if (p->t != NULL && peer.parts[i] != NULL) {
            char own[OWN_BYTES];
            own_address(own, p, peer.parts[i]);
            rc = p->ops->check(p->t, own, err);
        }
    }
    return rc;
}

weir_err wi_auto_connect(struct wi_transport *base, const char *address,
                         struct wi_ep **ep_out, struct weir_error *err)
{
    struct auto_transport *t = wi_auto_of(base);
    weir_err rc = connect_from(t, address, 0, ep_out, err);
    if (rc == WEIR_DONE) {
        char text[WI_REASON_BYTES];
        wi_auto_why(base, address, NULL, text);
        return wi_fail(err, WEIR_ERR_UNSUPPORTED, "no way to %.120s: %s",
                       address, text);
    }
    return rc;
}

weir_err wi_auto_connect_next(struct wi_transport *base, const char *address,
                              const struct wi_ep *failed, struct wi_ep **ep_out,
                              struct weir_error *err)
{
    struct auto_transport *t = wi_auto_of(base);
    return connect_from(t, address, part_of(t, failed) + 1, ep_out, err);
}
