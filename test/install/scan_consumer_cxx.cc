/* SPDX-License-Identifier: Apache-2.0 */
/* The same program as C++. */
#include "scan_consumer.c"
