/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Many runs, in a few processes: one that crashes, or never ends, is a finding
 * like any other, and the rest go on.
 *
 *   this process, which runs nothing itself
 *     +-- child 0: seeds first, first + jobs, ...
 *     +-- child 1: ...          each writes into its slot of shared memory
 */
#ifndef WS_RUNS_H
#define WS_RUNS_H

#include "tools/sim/world.h"

enum { WS_JOBS = 64, WS_FAILURES = 8 };

struct ws_runs_params {
    struct ws_options options; /* all but the seed */
    uint64_t first;
    uint64_t last;
    uint32_t jobs;     /* 1..WS_JOBS */
    uint64_t limit_ns; /* begins none after this time; 0: no limit */
    uint32_t most_bad; /* stops after so many failures, 1..WS_FAILURES */
};

struct ws_failure {
    uint64_t seed;
    struct ws_finding finding;
};

struct ws_tally {
    uint64_t runs;
    uint64_t done; /* queries, by how they ended on their members */
    uint64_t failed;
    uint64_t events;
    uint64_t took_ns;
    uint64_t hash; /* of all runs: equal for equal runs */
    uint32_t n_bad;
    struct ws_failure bad[WS_FAILURES];
};

/** Run them. Errors: WEIR_ERR_SYSTEM. Blocks: as long as it takes. */
weir_err ws_runs(const struct ws_runs_params *params, struct ws_tally *out,
                 struct weir_error *err);

/** Run one, in a process of its own. Errors: WEIR_ERR_SYSTEM. */
weir_err ws_runs_one(const struct ws_options *o, struct ws_result *out,
                     struct weir_error *err);

#endif /* WS_RUNS_H */
