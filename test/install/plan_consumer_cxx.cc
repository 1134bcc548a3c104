/* SPDX-License-Identifier: Apache-2.0 */
/* The same program as C++. */
#include "plan_consumer.c"
