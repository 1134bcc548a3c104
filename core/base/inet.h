/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Addresses of IP sockets as text, for the transports that have them.
 *
 *   10.0.0.1:4711   [2001:db8::7]:4711   [fe80::1%eth0]:4711   name:4711
 *
 * "localhost" is 127.0.0.1 where the system does not know it.
 * IPv4 needs all four numbers: inet_aton(3) takes fewer, but that is mostly a
 * typing error.
 */
#ifndef WI_BASE_INET_H
#define WI_BASE_INET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <weir/error.h>

/** An address of either family, for bind(2) and the like: pass `any` and
 *  wi_inet_len(). */
union wi_inet {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

enum {
    WI_INET_LISTEN = 1, /* port 0 is allowed: the system chooses one */
    WI_INET_NAMES = 2,  /* hosts may be names */
};

/**
 * Decode HOST:PORT.
 *
 * @param how  WI_INET_* or 0
 * @param out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG: what is wrong with the text
 * Blocks:     never with numbers; names are looked up, which may take seconds
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wi_inet_decode(const char *text, unsigned how, union wi_inet *out,
                        struct weir_error *err);

/**
 * Check the form of an address: as wi_inet_decode, but names are not looked
 * up.
 *
 * @param name_out  [out] the host is a name; set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG: what is wrong with the text
 * Blocks:     never.  Threads: any.  Ownership: nothing
 */
weir_err wi_inet_check(const char *text, unsigned how, bool *name_out,
                       struct weir_error *err);

/** The host of HOST:PORT alone: a name as it stands, a number as
 *  wi_inet_number() has it. False: it is no such text, or there is no room. */
bool wi_inet_host(const char *text, char *out, size_t room);

/** A number of IPv4 or IPv6, without brackets, in the one form that
 *  inet_ntop(3) gives to it. False: it is none. */
bool wi_inet_number(const char *host, char out[INET6_ADDRSTRLEN]);

/** Write HOST:PORT with numbers; cut to `room` bytes. */
void wi_inet_encode(const union wi_inet *addr, char *text, size_t room);

/**
 * Write the address that peers use for a socket, which may listen at another.
 *
 * @param text  HOST:PORT; port 0 stands for that of `at`
 * @param how   0 or WI_INET_NAMES
 * @param at    where the socket listens
 * @param out   [out] HOST:PORT, `room` bytes
 *
 * Errors:     WEIR_ERR_ARG: what is wrong with the text
 * Blocks:     never.  Threads: any.  Ownership: nothing
 */
weir_err wi_inet_advertise(const char *text, unsigned how,
                           const union wi_inet *at, char *out, size_t room,
                           struct weir_error *err);

/** Copy a system address; family 0 if it is neither IPv4 nor IPv6. */
union wi_inet wi_inet_of(const struct sockaddr *addr);

/** Bytes of `addr` that count. */
socklen_t wi_inet_len(const union wi_inet *addr);

/** Is it 0.0.0.0 or [::]? */
bool wi_inet_is_any(const union wi_inet *addr);

/** Is it of this machine alone? */
bool wi_inet_is_loopback(const union wi_inet *addr);

/** Copy everything but the port. */
void wi_inet_set_host(union wi_inet *addr, const union wi_inet *from);

uint16_t wi_inet_port(const union wi_inet *addr);

void wi_inet_set_port(union wi_inet *addr, uint16_t port);

#endif /* WI_BASE_INET_H */
