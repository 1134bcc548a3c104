/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/rcu.h"

static void free_one(void)
{
    struct wi_rcu_head *h = malloc(sizeof(*h));
    struct weir_error err = {0};
    cr_assert_eq(wi_rcu_start(&err), WEIR_OK, "%s", err.message);
    cr_assert_not_null(h);
    wi_rcu_free(h, h);
    wi_rcu_barrier();
}

/* A child has none of the threads of its parent. */
Test(rcu, child_frees_with_a_thread_of_its_own, .timeout = 60)
{
#if defined(__SANITIZE_THREAD__)
    cr_skip_test("ThreadSanitizer lets a forked child start no thread");
#elif defined(WEIR_EMULATED)
    cr_skip_test("qemu 7.2 aborts where a forked child starts a thread");
#endif
    int status = 0;
    free_one();
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        (void)alarm(20); /* if it hangs */
        free_one();
        _exit(0);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %d",
              status);
    free_one();
}
