/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting mpirun: with stand-ins for it in a PATH of our own, so that the
 * cases do not depend on what is installed.
 */
#define _GNU_SOURCE 1
#include "bench/opponents/mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

static char dir[64];
static char file[128];

static const struct wb_plan_params params = {
    .nodes = 2, .workers = 1, .rows_per_node = 1000};

static const struct wb_mpi_params bulk = {.shape = "bulk"};
static const struct wb_mpi_params chunked = {.shape = "chunked", .tcp = true};

static void make_dir(void)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/weir-mpi-test-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    (void)snprintf(file, sizeof(file), "%s/mpirun", dir);
    cr_assert_eq(setenv("PATH", dir, 1), 0);
    cr_assert_eq(setenv("WEIR_BENCH_MPI", "/bin/sh", 1), 0);
}

static void remove_dir(void)
{
    (void)unlink(file);
    (void)rmdir(dir);
}

static void make_mpirun(const char *script)
{
    FILE *f = fopen(file, "w");
    cr_assert_not_null(f);
    cr_assert_gt(fprintf(f, "#!/bin/sh\n%s\n", script), 0);
    cr_assert_eq(fclose(f), 0);
    cr_assert_eq(chmod(file, 0700), 0);
}

TestSuite(mpi, .init = make_dir, .fini = remove_dir, .timeout = 60);

Test(mpi, no_mpirun_names_the_packages)
{
    struct weir_error err = {.code = WEIR_OK};
    double s = 0.0;
    cr_assert_eq(wb_mpi_run(&params, &bulk, &s, &err), WEIR_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(err.message, "openmpi-bin"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "libopenmpi-dev"));
}

Test(mpi, no_executable_names_the_package)
{
    struct weir_error err = {.code = WEIR_OK};
    make_mpirun("exit 0");
    cr_assert_eq(setenv("WEIR_BENCH_MPI", "/nonexistent/alltoallv_mpi", 1), 0);
    cr_assert_eq(wb_mpi_check(&err), WEIR_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(err.message, "libopenmpi-dev"), "%s",
                       err.message);
}

Test(mpi, result_is_read_behind_a_warning)
{
    struct weir_error err = {.code = WEIR_OK};
    double s = 0.0;
    make_mpirun("echo 'a warning'\n"
                "echo '{\"seconds\":[0.25],\"rows_ok\":true}'");
    cr_assert_eq(wb_mpi_run(&params, &bulk, &s, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert(s == 0.25);
}

Test(mpi, ranks_rows_and_ways_are_passed)
{
    struct weir_error err = {.code = WEIR_OK};
    double s = 0.0;
    make_mpirun("case \"$*\" in *' btl tcp,self '*"
                "'-n 2 /bin/sh 1000 1 chunked narrow')\n"
                "echo '{\"seconds\":[0.5],\"rows_ok\":true}';;\n"
                "*) exit 3;; esac");
    cr_assert_eq(wb_mpi_run(&params, &chunked, &s, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert(s == 0.5);
}

Test(mpi, wrong_rows_are_an_error)
{
    struct weir_error err = {.code = WEIR_OK};
    double s = -1.0;
    make_mpirun("echo '{\"seconds\":[0.25],\"rows_ok\":false}'");
    cr_assert_eq(wb_mpi_run(&params, &bulk, &s, &err), WEIR_ERR_INTEGRITY);
    cr_assert(s == -1.0);
}

Test(mpi, no_result_is_an_error)
{
    struct weir_error err = {.code = WEIR_OK};
    double s = 0.0;
    make_mpirun("echo no ranks for you");
    cr_assert_eq(wb_mpi_run(&params, &bulk, &s, &err), WEIR_ERR_DATA);
    cr_assert_not_null(strstr(err.message, "no ranks for you"));
}

Test(mpi, failing_mpirun_is_an_error)
{
    struct weir_error err = {.code = WEIR_OK};
    double s = 0.0;
    make_mpirun("echo '{\"seconds\":[0.25],\"rows_ok\":true}'; exit 2");
    cr_assert_eq(wb_mpi_run(&params, &bulk, &s, &err), WEIR_ERR_SYSTEM);
}

Test(mpi, time_limit_ends_it)
{
    struct wb_plan_params p = params;
    struct weir_error err = {.code = WEIR_OK};
    double s = 0.0;
    p.timeout_ns = 200000000;
    make_mpirun("exec /usr/bin/tail -f /dev/null");
    cr_assert_eq(wb_mpi_run(&p, &bulk, &s, &err), WEIR_ERR_TIMEOUT);
}

Test(mpi, odd_shares_are_refused)
{
    struct wb_plan_params p = params;
    struct weir_error err = {.code = WEIR_OK};
    double s = 0.0;
    p.workers = 3;
    make_mpirun("exit 0");
    cr_assert_eq(wb_mpi_run(&p, &bulk, &s, &err), WEIR_ERR_ARG);
}
