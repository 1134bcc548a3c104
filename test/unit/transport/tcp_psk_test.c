/* SPDX-License-Identifier: Apache-2.0 */
/* TLS by keys over a pair of sockets: which of them are known to whom. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tcp/tcp_tls.h"

enum { CONNECTING, ACCEPTING, ENDS };

static struct wi_psks psks[ENDS];
static struct wi_tls *tls[ENDS];
static struct wi_tls_session *session[ENDS];
static int fd[ENDS];
static char why[ENDS][160];

static struct wi_psk key_of(uint8_t n)
{
    struct wi_psk psk;
    memset(psk.id, n, sizeof(psk.id));
    memset(psk.key, 128 + n, sizeof(psk.key));
    return psk;
}

/* Keys by number; 0: none. */
static void open_end(uint32_t i, uint8_t current, uint8_t previous)
{
    const struct wi_tls_params params = {.psks = &psks[i]};
    struct weir_error err = {0};
    psks[i] = (struct wi_psks){.n = previous != 0 ? 2 : 1,
                               .of = {key_of(current), key_of(previous)}};
    weir_err rc = wi_tls_open(&params, "any", &tls[i], &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
}

static void start(uint32_t turn)
{
    int rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd);
    cr_assert_eq(rc, 0);
    for (uint32_t i = 0; i < ENDS; i++) {
        session[i] = wi_tls_start(tls[i], fd[i], i == ACCEPTING, turn);
        cr_assert_not_null(session[i]);
    }
}

/* What the connecting end makes of it. */
static enum wi_tls_want shake(void)
{
    enum wi_tls_want want[ENDS] = {WI_TLS_IN, WI_TLS_IN};
    for (uint32_t k = 0; k < 20; k++) {
        for (uint32_t i = 0; i < ENDS; i++) {
            if (want[i] == WI_TLS_IN || want[i] == WI_TLS_OUT) {
                want[i] = wi_tls_shake(session[i], why[i], sizeof(why[i]));
            }
        }
    }
    bool both = (want[0] == WI_TLS_DONE) == (want[1] == WI_TLS_DONE);
    cr_assert(both, "%d %d", (int)want[0], (int)want[1]);
    return want[CONNECTING];
}

static void end(void)
{
    for (uint32_t i = 0; i < ENDS; i++) {
        wi_tls_end(session[i]);
        (void)close(fd[i]);
    }
}

static void close_ends(void)
{
    wi_tls_close(tls[0]);
    wi_tls_close(tls[1]);
}

Test(tcp_psk, bytes_come_as_they_were_put)
{
    char sent[1000];
    char got[sizeof(sent)] = "";
    const struct iovec out = {sent, sizeof(sent)};
    const struct iovec in = {got, sizeof(got)};
    memset(sent, 7, sizeof(sent));
    open_end(CONNECTING, 1, 0);
    open_end(ACCEPTING, 1, 0);
    start(0);
    cr_assert_eq(shake(), WI_TLS_DONE, "%s", why[0]);
    for (uint32_t i = 0; i < ENDS; i++) {
        cr_assert_null(wi_tls_names(session[i])); /* it may have any */
        memset(got, 0, sizeof(got));
        ssize_t n = wi_tls_put(session[i], &out, 1);
        cr_assert_eq(n, (ssize_t)sizeof(sent));
        n = wi_tls_get(session[1 - i], &in, 1);
        cr_assert_eq(n, (ssize_t)sizeof(sent));
        cr_assert_arr_eq(got, sent, sizeof(sent));
    }
    end();
    close_ends();
}

/* RFC 8446, section 4.2.9: psk_key_exchange_modes has psk_dhe_ke and no other
 * one, so that no peer can choose to do without forward secrecy. */
Test(tcp_psk, diffie_hellman_is_a_must)
{
    static const uint8_t modes[] = {0, 0x2d, 0, 2, 1, 1};
    uint8_t hello[4096];
    open_end(CONNECTING, 1, 0);
    open_end(ACCEPTING, 1, 0);
    start(0);
    cr_assert_eq(wi_tls_shake(session[0], why[0], sizeof(why[0])), WI_TLS_IN);
    ssize_t n = recv(fd[ACCEPTING], hello, sizeof(hello), 0);
    cr_assert_gt(n, 100);
    cr_assert_not_null(memmem(hello, (size_t)n, modes, sizeof(modes)));
    end();
    close_ends();
}

/* The second turn is for the previous one. */
Test(tcp_psk, each_turn_offers_a_key)
{
    open_end(CONNECTING, 2, 1);
    open_end(ACCEPTING, 1, 0);
    cr_assert_eq(wi_tls_turns(tls[CONNECTING]), 2);
    cr_assert_eq(wi_tls_turns(tls[ACCEPTING]), 1);
    start(0);
    cr_assert_eq(shake(), WI_TLS_UNKNOWN);
    cr_assert_str_eq(why[CONNECTING],
                     "who answers there does not know the secret");
    cr_assert_not_null(strstr(why[ACCEPTING], "does not know the secret"));
    end();
    start(1);
    cr_assert_eq(shake(), WI_TLS_DONE, "%s", why[0]);
    end();
    close_ends();
}

Test(tcp_psk, either_of_two_is_taken)
{
    for (uint8_t key = 1; key <= 2; key++) {
        open_end(CONNECTING, key, 0);
        open_end(ACCEPTING, 2, 1);
        start(0);
        cr_assert_eq(shake(), WI_TLS_DONE, "%s", why[0]);
        end();
        close_ends();
    }
}

/* Keys change under a transport that is open: at the next handshake. */
Test(tcp_psk, keys_are_looked_at_when_they_are_needed)
{
    open_end(CONNECTING, 1, 0);
    open_end(ACCEPTING, 1, 0);
    psks[ACCEPTING].of[0] = key_of(2);
    start(0);
    cr_assert_eq(shake(), WI_TLS_UNKNOWN);
    end();
    psks[CONNECTING].of[0] = key_of(2);
    start(0);
    cr_assert_eq(shake(), WI_TLS_DONE, "%s", why[0]);
    end();
    close_ends();
}

Test(tcp_psk, the_key_has_to_fit_the_id)
{
    open_end(CONNECTING, 1, 0);
    open_end(ACCEPTING, 1, 0);
    psks[CONNECTING].of[0].key[31] ^= 1;
    start(0);
    cr_assert_gt(shake(), WI_TLS_GONE);
    cr_assert_str_eq(why[ACCEPTING], "who connects does not know the secret");
    end();
    close_ends();
}
