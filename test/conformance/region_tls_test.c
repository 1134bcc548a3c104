/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of regions on tcp with TLS. */
#include "test/conformance/region.h"

static uint32_t tell(void *arg, uint32_t which, void *bytes, uint32_t room)
{
    static const char secret[] = "one-one-one-one-one-one-one-one-one";
    (void)arg;
    (void)room;
    memcpy(bytes, secret, sizeof(secret));
    return which == 0 ? (uint32_t)sizeof(secret) : 0;
}

static const struct weir_identity identity = {.secret = tell, .tls_psk = 1};
static const struct wt_place place = {.transport = "tcp",
                                      .identity = &identity};

WT_REGION_CONFORMANCE(region_tls, &place)
WT_REGION_THREAD_CASES(WT_REGION_TEST, region_tls, &place)
