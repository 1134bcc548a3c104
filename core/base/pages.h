/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory by the page that is there before it is used: no row pays for a page
 * fault, and what is lacking is found lacking at open.
 */
#ifndef WI_BASE_PAGES_H
#define WI_BASE_PAGES_H

#include <stddef.h>

#include <weir/error.h>

/** Alignment of wi_pages_open(), the size of a huge page. */
#define WI_HUGE_PAGE ((size_t)2 << 20)

/**
 * Map private, zeroed pages.
 *
 * Whole multiples of WI_HUGE_PAGE are huge pages where the system has enough of
 * them set aside (hugetlb), which nobody else can use; else small ones.
 *
 * Errors:     WEIR_ERR_ARG (not a multiple of WI_PAGE), WEIR_ERR_NO_MEMORY
 * Blocks:     while the kernel clears the pages
 * Threads:    any
 * Ownership:  wi_pages_close
 */
weir_err wi_pages_open(size_t bytes, void **base_out, struct weir_error *err);

void wi_pages_close(void *base, size_t bytes);

/** Enter pages into the page table; what they hold stays. Kernels that cannot
 *  (before Linux 5.14) do it at the first touch. 0, or errno. */
int wi_pages_populate(void *base, size_t bytes);

/** Write a limit of setrlimit(2), in bytes, into `room` bytes of text. */
void wi_limit_put(int resource, char *text, size_t room);

#endif /* WI_BASE_PAGES_H */
