/* SPDX-License-Identifier: Apache-2.0 */
/* Words for requests that failed, seen from here: "it" is the peer. */
#include "transport/verbs/verbs.h"

const char *wi_vb_status_text(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
        return "it does not answer (retries exceeded): host or wire is down";
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return "it posts no receives (receiver-not-ready retries exceeded)";
    case IBV_WC_REM_ACCESS_ERR:
        return "it refused access to its memory (key or range not granted)";
    case IBV_WC_REM_INV_REQ_ERR:
        return "it refused a request as invalid";
    case IBV_WC_REM_OP_ERR:
        return "it could not carry out a request";
    case IBV_WC_LOC_LEN_ERR:
        return "a message longer than the longest";
    case IBV_WC_LOC_PROT_ERR:
        return "local memory that is not registered";
    case IBV_WC_WR_FLUSH_ERR:
        return "the connection was closed or broke";
    default:
        return ibv_wc_status_str(status);
    }
}
