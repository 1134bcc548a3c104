/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Plain sockets as a transport, for the comparison of whole queries: what an
 * engine without Weir would do below its shuffles.
 *
 *   worker --kick--> sendmsg(2) --> socket of the pair of nodes
 *   reader thread of the node <-- epoll, recv(2) --> rings, or a locked queue
 *   of messages, which the engine polls
 *
 * It keeps all that core/transport.h asks for: a full socket is WEIR_AGAIN, and
 * a peer whose messages nobody polls is not read. test/conformance has its
 * suite.
 *
 * It is at an advantage over the opponent of the two-stage bench (sockets.h):
 * rows are not serialized, because partitioning has written columns already,
 * and the reader receives them where the consumer reads them.
 */
#ifndef WB_SOCKETS_TRANSPORT_H
#define WB_SOCKETS_TRANSPORT_H

#include "core/transport.h"

extern const struct wi_transport_ops wb_sockets_transport;

#endif /* WB_SOCKETS_TRANSPORT_H */
