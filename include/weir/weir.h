/* SPDX-License-Identifier: Apache-2.0 */
/** All of libweir: nodes, queries, shuffles. libweir-plan, which runs whole
 *  queries on top of it, has weir/plan.h, weir/table.h and weir/run.h. */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/ask.h>
#include <weir/batch.h>
#include <weir/error.h>
#include <weir/fetch.h>
#include <weir/identity.h>
#include <weir/layout.h>
#include <weir/node.h>
#include <weir/peer.h>
#include <weir/query.h>
#include <weir/region.h>
#include <weir/report.h>
#include <weir/row.h>
#include <weir/shuffle.h>
#include <weir/sim.h>
#include <weir/stats.h>
#include <weir/worker.h>

#endif /* WEIR_WEIR_H */
