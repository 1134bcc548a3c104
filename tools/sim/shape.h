/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a simulated run is like before anything goes wrong: its nodes, its
 * network, and the queries that they run. A function of the seed and of what
 * the command line says.
 *
 *   query   stages in order; a stage is one shuffle
 *   stage   makes its rows, or has those of an earlier one (`from`), or of two
 *           that it joins: the second's rows whose key the first one has
 *
 * Sets of nodes are bits.
 */
#ifndef WS_SHAPE_H
#define WS_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/node.h>
#include <weir/shuffle.h>
#include <weir/sim.h>

#include "tools/sim/rows.h"
#include "tools/sim/schedule.h"

enum {
    WS_NODES = 8,
    WS_WORKERS = 2,
    WS_QUERIES = 4, /* the last one is that of the end, see world.h */
    WS_STAGES = 4,
    WS_MOST_ROWS = 1000,
    WS_NONE = 99,
};

enum ws_plan { WS_TWO_STAGE, WS_JOIN, WS_RANDOM, WS_EXECUTOR, WS_PLANS };
extern const char *const ws_plan_names[WS_PLANS + 1];

struct ws_stage {
    weir_partitioning kind;
    uint32_t producers;
    uint32_t consumers;
    uint32_t rows;  /* of each producing worker */
    uint32_t from;  /* WS_NONE: makes its rows */
    uint32_t probe; /* a join: of this one those that `from` has, or WS_NONE */
    uint32_t to;    /* who has it as `from` or `probe`, WS_NONE: nobody */
    bool to_node;   /* any worker of a consumer takes its rows; no join's */
};

struct ws_query {
    enum ws_plan plan;
    uint32_t members;
    uint64_t begin_ns;
    uint64_t deadline_ns;
    uint32_t n_stages;
    struct ws_stage stage[WS_STAGES];
    struct ws_rows rows;
};

/** What a run is drawn from. */
struct ws_options {
    uint64_t seed;
    uint32_t nodes; /* 0: as the seed has it */
    uint32_t rows;  /* most of each writer; 0: as the seed has it */
    uint32_t plan;  /* ws_plan, WS_PLANS: any */
    uint32_t kinds; /* bits: which faults there may be */
    bool log;       /* what the nodes log goes to stderr */
    bool scheduled; /* the schedule is given, not drawn: */
    struct ws_schedule schedule;
};

struct ws_shape {
    uint64_t seed;
    bool log;
    uint32_t nodes;
    uint32_t late; /* of these: the last ones, which are not there at first */
    uint32_t workers;
    uint32_t n_queries;
    bool wares;       /* regions and asks beside them */
    uint64_t step_ns; /* what a step of a worker takes, at most */
    struct weir_sim_params sim;
    struct ws_query query[WS_QUERIES];
    struct ws_schedule schedule;
};

void ws_shape_draw(struct ws_shape *shape, const struct ws_options *o);

/** A query of two stages on these nodes: that of the end. */
void ws_query_last(struct ws_query *q, uint32_t members);

/** The query as it is on nodes of which only some are there. False: nobody is
 *  left. */
bool ws_query_clip(struct ws_query *q, uint32_t present);

/** Is there such a fault in the schedule? */
bool ws_shape_has(const struct ws_shape *shape, enum ws_fault_kind kind);

/** The worst group of the faults in the schedule: ws_group. */
enum ws_group ws_shape_worst(const struct ws_shape *shape);

#endif /* WS_SHAPE_H */
