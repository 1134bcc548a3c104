/* SPDX-License-Identifier: Apache-2.0 */
/* Runs Criterion tests without Criterion's own runner, which keeps state in an
 * arena at an address that ThreadSanitizer does not give away (Criterion issue
 * 274: "Could not initialize inheritable arena"). Linked into the test
 * programs of the tsan build only; what it defines takes the place of
 * libcriterion's functions of the same names.
 *
 * Each test runs in a child made by fork from this process, which never has a
 * second thread, so ThreadSanitizer can follow it. Understood: init, fini,
 * signal, exit_code, timeout, disabled, parameterized tests, cr_skip_test,
 * --filter PATTERN, --fail-fast and -jN [1]; other options are ignored.
 * criterion/new/assert.h is not: its macros do not compile under -Wconversion.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 1, SKIPPED = 77, LONGEST_SECONDS = 300, MOST_JOBS = 64 };

/* What the linker puts around Criterion's sections. */
extern struct criterion_test *__start_cr_tst[];
extern struct criterion_test *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

/* ---- inside the child: the test that it runs ----------------------------- */

static struct criterion_test *current;
static void *current_param;
static bool expectation_failed;

static struct criterion_test_extra_data *suite_data(const char *name)
{
    for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++) {
        if (*s != NULL && strcmp((*s)->name, name) == 0) {
            return (*s)->data;
        }
    }
    return NULL;
}

static void leave(int code)
{
    (void)fflush(NULL);
    _exit(code);
}

void criterion_internal_test_setup(void)
{
    struct criterion_test_extra_data *suite = suite_data(current->category);
    if (suite != NULL && suite->init != NULL) {
        suite->init();
    }
    if (current->data->init != NULL) {
        current->data->init();
    }
}

void criterion_internal_test_main(void (*fn)(void))
{
    if (current_param != NULL) {
        ((void (*)(void *))(void *)fn)(current_param);
    } else {
        fn();
    }
}

void criterion_internal_test_teardown(void)
{
    struct criterion_test_extra_data *suite = suite_data(current->category);
    if (current->data->fini != NULL) {
        current->data->fini();
    }
    if (suite != NULL && suite->fini != NULL) {
        suite->fini();
    }
}

void criterion_abort_test(void)
{
    leave(FAILED);
    abort();
}

void criterion_continue_test(void)
{
    expectation_failed = true;
}

void criterion_skip_test(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    leave(SKIPPED);
    abort();
}

void criterion_test_die(const char *msg, ...)
{
    va_list args;
    va_start(args, msg);
    (void)vfprintf(stderr, msg, args);
    va_end(args);
    leave(FAILED);
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    (void)fprintf(stderr, "%s:%u: %s\n", stats->file, stats->line,
                  stats->message);
}

void cri_asserts_passed_incr(void)
{
}

void *cr_malloc(size_t size)
{
    return malloc(size);
}

void *cr_calloc(size_t n, size_t size)
{
    return calloc(n, size);
}

void *cr_realloc(void *ptr, size_t size)
{
    return realloc(ptr, size);
}

void cr_free(void *ptr)
{
    free(ptr);
}

/* ---- the parent ---------------------------------------------------------- */

struct job {
    pid_t pid;
    struct criterion_test *test;
};

static struct {
    bool fail_fast;
    int most; /* jobs */
    int n;
    struct job jobs[MOST_JOBS];
    unsigned run;
    unsigned failed;
    unsigned skipped;
} all = {.most = 1};

static void judge(const struct criterion_test *test, int status)
{
    const struct criterion_test_extra_data *want = test->data;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    all.run++;
    if (signal_number == 0 && code == SKIPPED && want->exit_code != SKIPPED) {
        all.skipped++;
        (void)printf("[SKIP] %s/%s\n", test->category, test->name);
    } else if (code != want->exit_code || signal_number != want->signal) {
        all.failed++;
        (void)printf("[FAIL] %s/%s: exit code %d, signal %d\n", test->category,
                     test->name, code, signal_number);
    }
}

/* Wait for the end of one of them. */
static void reap(void)
{
    int status = 0;
    int i = 0;
    pid_t pid = waitpid(-1, &status, 0);
    while (i < all.n && all.jobs[i].pid != pid) {
        i++;
    }
    if (i == all.n) {
        perror("waitpid");
        exit(FAILED);
    }
    (void)kill(-pid, SIGKILL);
    judge(all.jobs[i].test, status);
    all.jobs[i] = all.jobs[--all.n];
}

static bool over(void)
{
    return all.fail_fast && all.failed > 0;
}

static void run_once(struct criterion_test *test, void *param)
{
    while (all.n == all.most) {
        reap();
    }
    if (over()) {
        return;
    }
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(FAILED);
    }
    if (pid == 0) {
        /* A group of its own, so that what it forks can be ended with it. */
        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        double limit = test->data->timeout;
        (void)alarm(limit > 0 ? (unsigned)(limit * 4) + 1 : LONGEST_SECONDS);
        current = test;
        current_param = param;
        test->test();
        exit(expectation_failed ? FAILED : 0);
    }
    (void)setpgid(pid, pid);
    all.jobs[all.n++] = (struct job){pid, test};
}

static void run_parameterized(struct criterion_test *test)
{
    struct criterion_test_params params = test->data->param_();
    for (size_t i = 0; i < params.length; i++) {
        run_once(test, (char *)params.params + i * params.size);
    }
    if (params.cleanup != NULL) {
        params.cleanup(&params); /* children have their own */
    }
}

static bool wanted(const struct criterion_test *test, const char *pattern)
{
    char name[512];
    struct criterion_test_extra_data *suite = suite_data(test->category);
    if (test->data->disabled || (suite != NULL && suite->disabled)) {
        return false;
    }
    (void)snprintf(name, sizeof(name), "%s/%s", test->category, test->name);
    return pattern == NULL || fnmatch(pattern, name, 0) == 0;
}

static const char *read_options(int argc, char **argv)
{
    const char *pattern = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
            pattern = argv[i + 1];
        } else if (strcmp(argv[i], "--fail-fast") == 0) {
            all.fail_fast = true;
        } else if (strncmp(argv[i], "-j", 2) == 0) {
            all.most = atoi(argv[i] + 2);
        }
    }
    if (all.most < 1 || all.most > MOST_JOBS) {
        (void)fprintf(stderr, "-j takes 1 to %d\n", MOST_JOBS);
        exit(FAILED);
    }
    return pattern;
}

int main(int argc, char **argv)
{
    const char *pattern = read_options(argc, argv);
    for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
        if (*t == NULL || !wanted(*t, pattern)) {
            continue;
        }
        if ((*t)->data->kind_ == CR_TEST_PARAMETERIZED) {
            run_parameterized(*t);
        } else {
            run_once(*t, NULL);
        }
    }
    while (all.n > 0 && !over()) {
        reap();
    }
    for (int i = 0; i < all.n; i++) {
        (void)kill(-all.jobs[i].pid, SIGKILL);
    }
    (void)printf("Tested: %u | Failing: %u | Skipped: %u\n", all.run,
                 all.failed, all.skipped);
    return all.run == 0 || all.failed > 0 ? FAILED : 0;
}
