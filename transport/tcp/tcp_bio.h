/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How OpenSSL writes to the socket of a link. Its own BIO calls write(2), which
 * raises SIGPIPE in whatever thread of the host program it runs when the peer
 * has gone, and ends the program unless that thinks of it. This one does not:
 *
 *   SSL --write--> filter --send(MSG_NOSIGNAL)--> socket
 *       <--read--- BIO of the socket itself
 *
 * Where the kernel encrypts, records go by OpenSSL's own way, with the signal
 * held back for as long as that takes.
 */
#ifndef WI_TCP_BIO_H
#define WI_TCP_BIO_H

#include <openssl/ssl.h>
#include <stdbool.h>

/** Give a session its socket, which stays the caller's. False: no memory. */
bool wi_tcp_bio_set(SSL *ssl, int fd);

#endif /* WI_TCP_BIO_H */
