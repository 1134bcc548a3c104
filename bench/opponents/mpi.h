/* SPDX-License-Identifier: Apache-2.0 */
/** Opponents "mpi" and "mpi-tcp": start bench/opponents/alltoallv_mpi.c under
 *  mpirun. */
#ifndef WB_MPI_H
#define WB_MPI_H

#include <stdbool.h>

#include "bench/lib/plan.h"

struct wb_mpi_params {
    const char *shape; /* "bulk" or "chunked" */
    bool tcp;          /* over sockets on the loopback device (Open MPI, btl
                          tcp), else over shared memory (btl vader) */
};

/**
 * Run the plan once over MPI_Alltoallv, one rank per worker. Times are taken
 * inside, as for every opponent.
 *
 * The executable alltoallv_mpi is looked for at $WEIR_BENCH_MPI, then beside
 * the running program, then in ../bench from there.
 *
 * @param seconds_out  [out] set on WEIR_OK only, and then the rows were checked
 *
 * Errors:     WEIR_ERR_NOT_FOUND: no mpirun or no executable, with what to
 *             install; WEIR_ERR_INTEGRITY; WEIR_ERR_TIMEOUT; WEIR_ERR_SYSTEM;
 *             WEIR_ERR_ARG (rows per node must divide by workers)
 * Blocks:     until the run has ended, at most params->timeout_ns
 * Threads:    any
 * Ownership:  nothing
 */
weir_err wb_mpi_run(const struct wb_plan_params *params,
                    const struct wb_mpi_params *mpi, double *seconds_out,
                    struct weir_error *err);

/** Are mpirun and the executable there? Errors and rest as wb_mpi_run. */
weir_err wb_mpi_check(struct weir_error *err);

/** Read the executable's line. Errors: WEIR_ERR_DATA, WEIR_ERR_INTEGRITY.
 *  Blocks: never. Threads: any. Ownership: nothing. */
weir_err wb_mpi_parse(const char *line, double *seconds_out,
                      struct weir_error *err);

#endif /* WB_MPI_H */
