/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts mpirun, reads its one line of JSON, and gives up after the time
 * limit. mpirun passes SIGTERM on to the ranks; SIGKILL follows if it has not
 * ended then.
 */
#define _GNU_SOURCE 1
#include "bench/opponents/mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/lib/median.h"
#include "core/base/cc.h"
#include "core/base/err.h"
#include "launch/clock.h"

#define DEFAULT_TIMEOUT_NS UINT64_C(120000000000)
#define GRACE_MS 3000
#define PATH_BYTES 4096

static const char executable[] = "alltoallv_mpi";

/* ---- what must be there -------------------------------------------------- */

static bool find_in_path(const char *name)
{
    const char *path = getenv("PATH");
    char *copy = path != NULL ? strdup(path) : NULL;
    bool found = false;
    char *rest = NULL;
    for (char *dir = copy != NULL ? strtok_r(copy, ":", &rest) : NULL;
         dir != NULL && !found; dir = strtok_r(NULL, ":", &rest)) {
        char file[PATH_BYTES];
        (void)snprintf(file, sizeof(file), "%s/%s", dir, name);
        found = access(file, X_OK) == 0;
    }
    free(copy);
    return found;
}

static bool try_dir(const char *dir, const char *sub, char *file)
{
    int n = snprintf(file, PATH_BYTES, "%s%s/%s", dir, sub, executable);
    return n > 0 && n < PATH_BYTES && access(file, X_OK) == 0;
}

static bool find_executable(char *file)
{
    const char *env = getenv("WEIR_BENCH_MPI");
    if (env != NULL) {
        (void)snprintf(file, PATH_BYTES, "%s", env);
        return access(file, X_OK) == 0;
    }
    char self[PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0) {
        return false;
    }
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    static const char *const subs[] = {"", "/../bench", "/bench"};
    for (size_t i = 0; i < WI_ARRAY_LEN(subs); i++) {
        if (try_dir(self, subs[i], file)) {
            return true;
        }
    }
    return false;
}

static weir_err find_all(char *file, struct weir_error *err)
{
    if (!find_in_path("mpirun")) {
        return wi_fail(err, WEIR_ERR_NOT_FOUND,
                       "mpi: no mpirun in PATH; install the packages "
                       "openmpi-bin and libopenmpi-dev (Debian, Ubuntu), or "
                       "leave mpi out of --transports");
    }
    if (!find_executable(file)) {
        return wi_fail(err, WEIR_ERR_NOT_FOUND,
                       "mpi: no executable %s beside this program; install "
                       "libopenmpi-dev (and openmpi-bin) and build again, or "
                       "set WEIR_BENCH_MPI to its path",
                       executable);
    }
    return WEIR_OK;
}

weir_err wb_mpi_check(struct weir_error *err)
{
    char file[PATH_BYTES];
    return find_all(file, err);
}

/* ---- the child ----------------------------------------------------------- */

static void exec_mpirun(const char *file, const struct wb_plan_params *p,
                        const struct wb_mpi_params *mpi, int out)
    __attribute__((noreturn));

static void exec_mpirun(const char *file, const struct wb_plan_params *p,
                        const struct wb_mpi_params *mpi, int out)
{
    char ranks[16];
    char rows[32];
    char times[16];
    (void)snprintf(times, sizeof(times), "%u", wb_plan_times(p));
    (void)snprintf(ranks, sizeof(ranks), "%u", p->nodes * p->workers);
    (void)snprintf(rows, sizeof(rows), "%" PRIu64,
                   p->rows_per_node / p->workers);
    const char *argv[] = {"mpirun",
                          "--allow-run-as-root",
                          "--oversubscribe",
                          "--bind-to",
                          "none",
                          "--mca",
                          "btl",
                          mpi->tcp ? "tcp,self" : "vader,self",
                          "--mca",
                          "btl_tcp_if_include",
                          "lo",
                          "--mca",
                          "mpi_yield_when_idle",
                          "1",
                          "-n",
                          ranks,
                          file,
                          rows,
                          times,
                          mpi->shape,
                          wb_row_names[p->row],
                          p->pin ? "pin" : NULL,
                          NULL};
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(out, STDOUT_FILENO) < 0) {
        _exit(126);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static int ms_left(uint64_t deadline_ns)
{
    uint64_t now_ns = wl_now_ns();
    if (now_ns >= deadline_ns) {
        return 0;
    }
    return (int)((deadline_ns - now_ns) / 1000000u % 3600000u) + 1;
}

/* Read until the end of the pipe; false: the time is up. */
static bool read_output(int fd, char *text, size_t bytes, uint64_t deadline_ns)
{
    size_t used = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int left = ms_left(deadline_ns);
        if (left == 0) {
            return false;
        }
        if (poll(&p, 1, left) <= 0) {
            continue;
        }
        char extra[256]; /* what does not fit is read and dropped */
        bool fits = used + 1 < bytes;
        ssize_t n = read(fd, fits ? text + used : extra,
                         fits ? bytes - used - 1 : sizeof(extra));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            text[used] = '\0';
            return true;
        }
        used += fits ? (size_t)n : 0;
    }
}

/* Wait for the child's end; SIGTERM and SIGKILL when it takes too long. */
static int reap(pid_t pid, bool late)
{
    int status = 0;
    int pidfd = pidfd_open(pid, 0);
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    if (late) {
        (void)kill(pid, SIGTERM);
    }
    if (pidfd >= 0) {
        if (poll(&p, 1, GRACE_MS) <= 0) {
            (void)kill(pid, SIGKILL);
        }
        (void)close(pidfd);
    }
    (void)waitpid(pid, &status, 0);
    return status;
}

/* Of all timed runs; 0: there is none. */
static double median_of(const json_t *seconds)
{
    static double v[WB_MAX_TIMES];
    uint32_t n = (uint32_t)wi_min_u64(json_array_size(seconds), WB_MAX_TIMES);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = json_real_value(json_array_get(seconds, i));
    }
    return n != 0 ? wb_spread_of(v, n).median : 0.0;
}

weir_err wb_mpi_parse(const char *line, double *seconds_out,
                      struct weir_error *err)
{
    const char *start =
        strchr(line, '{'); /* mpirun may print a warning first */
    json_error_t why;
    json_t *o =
        start != NULL ? json_loads(start, JSON_DISABLE_EOF_CHECK, &why) : NULL;
    const double median = median_of(json_object_get(o, "seconds"));
    weir_err rc = WEIR_OK;
    if (median <= 0.0) {
        rc = wi_fail(err, WEIR_ERR_DATA, "mpi: no result in \"%.200s\"", line);
    } else if (!json_is_true(json_object_get(o, "rows_ok"))) {
        rc = wi_fail(err, WEIR_ERR_INTEGRITY,
                     "mpi: rows, sums or edge counts "
                     "do not match");
    } else {
        *seconds_out = median;
    }
    json_decref(o);
    return rc;
}

weir_err wb_mpi_run(const struct wb_plan_params *params,
                    const struct wb_mpi_params *mpi, double *seconds_out,
                    struct weir_error *err)
{
    char file[PATH_BYTES];
    static char text[32 * WB_MAX_TIMES];
    int fds[2];
    weir_err rc = find_all(file, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    if (params->rows_per_node % params->workers != 0 || params->distinct != 0) {
        return wi_fail(err, WEIR_ERR_ARG,
                       "mpi: rows must be a multiple of workers, all distinct");
    }
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return wi_fail_errno(err, errno, "pipe");
    }
    pid_t pid = fork();
    if (pid == 0) {
        exec_mpirun(file, params, mpi, fds[1]);
    }
    (void)close(fds[1]);
    if (pid < 0) {
        (void)close(fds[0]);
        return wi_fail_errno(err, errno, "fork");
    }
    uint64_t limit_ns =
        params->timeout_ns != 0 ? params->timeout_ns : DEFAULT_TIMEOUT_NS;
    bool in_time =
        read_output(fds[0], text, sizeof(text), wl_now_ns() + limit_ns);
    int status = reap(pid, !in_time);
    (void)close(fds[0]);
    if (!in_time) {
        return wi_fail(err, WEIR_ERR_TIMEOUT, "mpi: not done after %.1f s",
                       (double)limit_ns * 1e-9);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return wi_fail(err, WEIR_ERR_SYSTEM,
                       "mpi: mpirun failed (status 0x%x), output \"%.200s\"",
                       (unsigned)status, text);
    }
    return wb_mpi_parse(text, seconds_out, err);
}
