/* SPDX-License-Identifier: Apache-2.0 */
/* Runs Criterion tests without Criterion's own runner, which keeps state in an
 * arena at an address that ThreadSanitizer does not give away (Criterion issue
 * 274: "Could not initialize inheritable arena"). Linked into the test
 * programs of the tsan build only; what it defines takes the place of
 * libcriterion's functions of the same names.
 *
 * Each test runs in a child made by fork from this process, which never has a
 * second thread, so ThreadSanitizer can follow it. Understood: init, fini,
 * signal, exit_code, timeout, disabled, parameterized tests, cr_skip_test and
 * --filter PATTERN; other options are ignored. criterion/new/assert.h is not:
 * its macros do not compile under -Wconversion.
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

enum { FAILED = 1, SKIPPED = 77, LONGEST_SECONDS = 300 };

/* What the linker puts around Criterion's sections. */
extern struct criterion_test *__start_cr_tst[];
extern struct criterion_test *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

struct tally {
    unsigned run;
    unsigned failed;
    unsigned skipped;
};

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

/* Wait status of the child that ran the test. */
static int run_in_child(struct criterion_test *test, void *param)
{
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
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) {
        perror("waitpid");
        exit(FAILED);
    }
    (void)kill(-pid, SIGKILL);
    return status;
}

static void run_once(struct criterion_test *test, void *param,
                     struct tally *tally)
{
    const struct criterion_test_extra_data *want = test->data;
    int status = run_in_child(test, param);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    tally->run++;
    if (signal_number == 0 && code == SKIPPED && want->exit_code != SKIPPED) {
        tally->skipped++;
        (void)printf("[SKIP] %s/%s\n", test->category, test->name);
    } else if (code != want->exit_code || signal_number != want->signal) {
        tally->failed++;
        (void)printf("[FAIL] %s/%s: exit code %d, signal %d\n", test->category,
                     test->name, code, signal_number);
    }
}

static void run_parameterized(struct criterion_test *test, struct tally *tally)
{
    struct criterion_test_params params = test->data->param_();
    for (size_t i = 0; i < params.length; i++) {
        run_once(test, (char *)params.params + i * params.size, tally);
    }
    if (params.cleanup != NULL) {
        params.cleanup(&params);
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

int main(int argc, char **argv)
{
    struct tally tally = {0, 0, 0};
    const char *pattern = NULL;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--filter") == 0) {
            pattern = argv[i + 1];
        }
    }
    for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
        if (*t == NULL || !wanted(*t, pattern)) {
            continue;
        }
        if ((*t)->data->kind_ == CR_TEST_PARAMETERIZED) {
            run_parameterized(*t, &tally);
        } else {
            run_once(*t, NULL, &tally);
        }
    }
    (void)printf("Tested: %u | Failing: %u | Skipped: %u\n", tally.run,
                 tally.failed, tally.skipped);
    return tally.run == 0 || tally.failed > 0 ? FAILED : 0;
}
