/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of the public interface on tcp with TLS. */
#include "test/conformance/api.h"

WT_API_CONFORMANCE(api_tls, &wt_place_tls)
