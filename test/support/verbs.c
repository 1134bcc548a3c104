/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/verbs.h"

const char *wt_verbs_listen(void)
{
    static char listen[64];
    const char *ip = getenv("WEIR_TEST_VERBS_ADDR");
    if (ip == NULL || ip[0] == '\0') {
        puts("skipped: WEIR_TEST_VERBS_ADDR names no address of an RDMA "
             "device; `make test-vm` runs this in a machine that has some");
        exit(77);
    }
    (void)snprintf(listen, sizeof(listen), "%s:0", ip);
    return listen;
}

bool wt_verbs_is_siw(void)
{
    const char *siw = getenv("WEIR_VM_SIW");
    return siw != NULL && strncmp(wt_verbs_listen(), siw, strlen(siw)) == 0;
}

void *wt_verbs_no_srq(void)
{
    static struct wi_vb_options options = {.no_srq = true};
    return &options;
}
