/* SPDX-License-Identifier: Apache-2.0 */
/** Weir: everything. */
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/batch.h>
#include <weir/error.h>
#include <weir/node.h>
#include <weir/plan.h>
#include <weir/query.h>
#include <weir/report.h>
#include <weir/row.h>
#include <weir/run.h>
#include <weir/shuffle.h>
#include <weir/sim.h>
#include <weir/stats.h>
#include <weir/table.h>
#include <weir/worker.h>

#endif /* WEIR_WEIR_H */
