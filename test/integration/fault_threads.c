/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user who may have few threads only. Root may have any number, so a
 * child becomes somebody else first.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/weir.h>

#include "test/support/lacks.h"

enum { UID = 54321, MOST = 8, OPENED = 10, REFUSED = 11, SKIPPED = 12 };

static bool be_limited(rlim_t threads)
{
    const struct rlimit lim = {threads, threads};
    return setresuid(UID, UID, UID) == 0 && setrlimit(RLIMIT_NPROC, &lim) == 0;
}

/* Two nodes that have a link, so that everything of them is used and freed. */
static weir_err live(struct weir_error *err)
{
    static const uint32_t both[] = {0, 1};
    const struct weir_query_params query = {
        .id = 1, .members = both, .n_members = 2};
    const struct weir_node_params params = {.transport = "tcp",
                                            .max_members = 2};
    struct weir_member members[2];
    weir_node *nodes[2] = {NULL, NULL};
    weir_query *q = NULL;
    weir_err rc = weir_node_open(&params, &nodes[0], err);
    rc = rc == WEIR_OK ? weir_node_open(&params, &nodes[1], err) : rc;
    for (int i = 0; rc == WEIR_OK && i < 2; i++) {
        members[i] =
            (struct weir_member){.name = weir_node_name(nodes[i]),
                                 .address = weir_node_address(nodes[i]),
                                 .workers = 1};
    }
    for (int i = 0; rc == WEIR_OK && i < 2; i++) {
        rc = weir_node_join(nodes[i], members, 2, err);
    }
    rc = rc == WEIR_OK ? weir_query_open(nodes[1], &query, &q, err) : rc;
    weir_query_close(q);
    weir_node_close(nodes[1]);
    weir_node_close(nodes[0]);
    return rc;
}

static int child(rlim_t threads, char *why)
{
    struct weir_error err = {0};
    char limit[64];
    if (!be_limited(threads)) {
        return SKIPPED;
    }
    weir_err rc = live(&err);
    (void)snprintf(why, 600, "%s: %s", weir_err_name(rc), err.message);
    (void)snprintf(limit, sizeof(limit), "%u threads (RLIMIT_NPROC)",
                   (unsigned)threads);
    if (rc == WEIR_OK) {
        return OPENED;
    }
    return rc == WEIR_ERR_SYSTEM && strstr(err.message, limit) != NULL ? REFUSED
                                                                       : 1;
}

/* Whatever the number is: an error that names the limit, or all goes well, and
 * with one more, too. Nothing aborts. */
Test(fault_threads, every_number_of_threads_ends_in_an_error_or_well,
     .timeout = 120)
{
    char *why = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(why, MAP_FAILED);
    if (geteuid() != 0) {
        WT_LACKS("only root can become somebody else");
    }
    int last = REFUSED;
    int status = 0;
    for (rlim_t threads = 1; threads <= MOST; threads++) {
        pid_t pid = fork();
        cr_assert_geq(pid, 0);
        if (pid == 0) {
            _exit(child(threads, why));
        }
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert(WIFEXITED(status), "%u threads: signal %d, %s",
                  (unsigned)threads, WTERMSIG(status), why);
        int said = WEXITSTATUS(status);
        if (said == SKIPPED) {
            WT_LACKS("setresuid is not allowed here");
        }
        cr_assert(said == REFUSED || said == OPENED, "%u threads: %s",
                  (unsigned)threads, why);
        cr_assert(last == REFUSED || said == OPENED, "%u threads: %s",
                  (unsigned)threads, why);
        cr_assert(threads > 1 || said == REFUSED, "one thread cannot do");
        last = said;
    }
    cr_assert_eq(last, OPENED, "%s", why);
}
