/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of regions on tcp with TLS. */
#include "test/conformance/region.h"

WT_REGION_CONFORMANCE(region_tls, &wt_place_tls)
WT_REGION_THREAD_CASES(WT_REGION_TEST, region_tls, &wt_place_tls)
