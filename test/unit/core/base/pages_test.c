/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "core/base/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "core/base/cc.h"
#include "test/support/lacks.h"

static void skip_if_emulated(void)
{
#if defined(WEIR_EMULATED)
    cr_skip_test("qemu does not say which pages are there");
#endif
}

Test(pages, are_aligned_zero_and_there)
{
    skip_if_emulated();
    static const size_t sizes[] = {WI_PAGE, 3 * WI_PAGE, WI_HUGE_PAGE,
                                   WI_HUGE_PAGE + WI_PAGE};
    for (size_t i = 0; i < WI_ARRAY_LEN(sizes); i++) {
        size_t bytes = sizes[i];
        void *base = NULL;
        struct weir_error err = {0};
        unsigned char there[WI_HUGE_PAGE / WI_PAGE + 1] = {0};
        cr_assert_eq(wi_pages_open(bytes, &base, &err), WEIR_OK, "%s",
                     err.message);
        cr_assert_eq((uintptr_t)base % WI_HUGE_PAGE, 0);
        cr_assert_eq(mincore(base, bytes, there), 0);
        for (size_t p = 0; p < bytes / WI_PAGE; p++) {
            const uint8_t *page = (const uint8_t *)base + p * WI_PAGE;
            cr_assert_eq(there[p] & 1, 1, "page %zu is not there", p);
            cr_assert(page[0] == 0 && page[WI_PAGE - 1] == 0);
        }
        wi_pages_close(base, bytes);
        cr_assert_neq(mincore(base, bytes, there), 0, "it is still mapped");
    }
}

Test(pages, that_are_reserved_come_where_they_are_asked_for)
{
    skip_if_emulated();
    enum { PAGES = 5 }; /* no huge page */
    unsigned char there[PAGES] = {0};
    void *base = NULL;
    if (!wi_pages_can_populate()) {
        WT_LACKS("this system takes all pages at once");
    }
    cr_assert_eq(wi_pages_reserve(PAGES * WI_PAGE, &base, NULL), WEIR_OK);
    cr_assert_eq(wi_pages_populate((char *)base + WI_PAGE, 2 * WI_PAGE), 0);
    cr_assert_eq(mincore(base, PAGES * WI_PAGE, there), 0);
    for (size_t p = 0; p < PAGES; p++) {
        cr_assert_eq(there[p] & 1, p == 1 || p == 2, "page %zu", p);
    }
    wi_pages_close(base, PAGES * WI_PAGE);
}

/* The number in the first line that begins with `key`, in a file of /proc, from
 * the line on that begins with `from`. */
static long proc_number(const char *path, const char *from, const char *key)
{
    FILE *f = fopen(path, "re");
    char line[256];
    long number = -1;
    bool begun = false;
    cr_assert_not_null(f);
    while (number < 0 && fgets(line, sizeof(line), f) != NULL) {
        begun = begun || strncmp(line, from, strlen(from)) == 0;
        if (begun && strncmp(line, key, strlen(key)) == 0) {
            number = strtol(line + strlen(key), NULL, 10);
        }
    }
    (void)fclose(f);
    return number;
}

/* Size of the pages at an address, in KiB. */
static long page_kib(const void *base)
{
    char from[32];
    (void)snprintf(from, sizeof(from), "%lx-", (unsigned long)(uintptr_t)base);
    return proc_number("/proc/self/smaps", from, "KernelPageSize:");
}

Test(pages, whole_huge_pages_are_huge_where_the_system_has_some)
{
    const long left = proc_number("/proc/meminfo", "", "HugePages_Free:");
    void *whole = NULL;
    void *odd = NULL;
    cr_assert_eq(wi_pages_open(WI_HUGE_PAGE, &whole, NULL), WEIR_OK);
    cr_assert_eq(wi_pages_open(WI_HUGE_PAGE + WI_PAGE, &odd, NULL), WEIR_OK);
    cr_expect_eq(page_kib(whole), left > 0 ? WI_HUGE_PAGE / 1024 : 4);
    cr_expect_eq(page_kib(odd), 4);
    wi_pages_close(whole, WI_HUGE_PAGE);
    wi_pages_close(odd, WI_HUGE_PAGE + WI_PAGE);
}

Test(pages, populating_keeps_what_they_hold)
{
    skip_if_emulated();
    void *base = NULL;
    cr_assert_eq(wi_pages_open(WI_PAGE, &base, NULL), WEIR_OK);
    memset(base, 7, WI_PAGE);
    cr_assert_eq(wi_pages_populate(base, WI_PAGE), 0);
    cr_assert_eq(((const uint8_t *)base)[WI_PAGE / 2], 7);
    wi_pages_close(base, WI_PAGE);
    cr_assert_neq(wi_pages_populate(base, WI_PAGE), 0, "nothing is there");
}

static long huge_kib(const void *base)
{
    char from[32];
    (void)snprintf(from, sizeof(from), "%lx-", (unsigned long)(uintptr_t)base);
    return proc_number("/proc/self/smaps", from, "ShmemPmdMapped:");
}

Test(pages, shared_memory_becomes_huge_where_the_kernel_can)
{
    skip_if_emulated();
    const size_t bytes = 2 * WI_HUGE_PAGE + WI_PAGE;
    int fd = memfd_create("pages", MFD_CLOEXEC);
    cr_assert_eq(ftruncate(fd, (off_t)bytes), 0);
    uint8_t *base = wi_pages_map_shared(fd, bytes, true);
    cr_assert_neq(base, MAP_FAILED);
    cr_assert_eq((uintptr_t)base % WI_HUGE_PAGE, 0);
    memset(base, 7, bytes);
    bool all = wi_pages_collapse(base, bytes) == 0;
    long kib = huge_kib(base);
    cr_assert(!all || kib == 2 * WI_HUGE_PAGE / 1024, "%ld KiB", kib);

    /* a peer's mapping of the same: the same pages, huge there too */
    uint8_t *peer = wi_pages_map_shared(fd, bytes, true);
    cr_assert_eq((uintptr_t)peer % WI_HUGE_PAGE, 0);
    cr_assert_eq(wi_pages_populate(peer, bytes), 0);
    cr_assert_eq(huge_kib(peer), kib);
    for (size_t p = 0; p < bytes; p += WI_PAGE) {
        cr_assert_eq(peer[p], 7, "byte %zu was lost", p);
    }
    wi_pages_close(peer, bytes);
    wi_pages_close(base, bytes);
    (void)close(fd);
}

Test(pages, odd_sizes_are_argument_errors)
{
    static const size_t sizes[] = {0, 1, WI_PAGE - 1, WI_HUGE_PAGE + 1};
    for (size_t i = 0; i < WI_ARRAY_LEN(sizes); i++) {
        void *base = &base;
        cr_assert_eq(wi_pages_open(sizes[i], &base, NULL), WEIR_ERR_ARG);
        cr_assert_eq(base, &base, "output written on failure");
    }
}

Test(pages, what_does_not_fit_names_the_limit)
{
    /* Beyond the addresses of a process; the first wraps when it is aligned. */
    const size_t too_many[] = {SIZE_MAX - WI_PAGE + 1, (size_t)1 << 62};
    char limit[64];
    wi_limit_put(RLIMIT_AS, limit, sizeof(limit) - 12);
    (void)strcat(limit, " (ulimit -v)");
    for (size_t i = 0; i < WI_ARRAY_LEN(too_many); i++) {
        void *base = NULL;
        struct weir_error err = {0};
        cr_assert_eq(wi_pages_open(too_many[i], &base, &err),
                     WEIR_ERR_NO_MEMORY);
        cr_assert_not_null(strstr(err.message, limit), "%s", err.message);
    }
}

Test(pages, limits_have_words)
{
    struct rlimit lim = {0, 0};
    char text[32];
    cr_assert_eq(setrlimit(RLIMIT_CORE, &lim), 0);
    wi_limit_put(RLIMIT_CORE, text, sizeof(text));
    cr_assert_str_eq(text, "0 bytes");
    wi_limit_put(RLIMIT_RSS, text, sizeof(text));
    cr_assert_str_eq(text, "unlimited");
}
