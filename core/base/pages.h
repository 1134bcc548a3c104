/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory whose pages are there before it is used: no row pays for a page fault,
 * and a lack of memory is found at open.
 */
#ifndef WI_BASE_PAGES_H
#define WI_BASE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/error.h>

/** Alignment of wi_pages_open(), the size of a huge page. */
#define WI_HUGE_PAGE ((size_t)2 << 20)

/**
 * Map private, zeroed pages.
 *
 * Multiples of WI_HUGE_PAGE are huge pages if the system has enough of them set
 * aside (hugetlb); all else is small pages.
 *
 * Errors:     WEIR_ERR_ARG (not a multiple of WI_PAGE), WEIR_ERR_NO_MEMORY
 * Blocks:     while the kernel clears the pages
 * Threads:    any
 * Ownership:  wi_pages_close
 */
weir_err wi_pages_open(size_t bytes, void **base_out, struct weir_error *err);

/** The same without the pages: none may be touched before wi_pages_populate().
 *  They are there at once where they are huge pages that were set aside, and on
 *  kernels that cannot populate. */
weir_err wi_pages_reserve(size_t bytes, void **base_out,
                          struct weir_error *err);

/**
 * Map zeroed pages for secrets: no core dump has them, a child of fork(2) finds
 * zeros in them, and they are kept in memory where the limit of locked memory
 * (ulimit -l) allows it.
 *
 * Errors:     WEIR_ERR_NO_MEMORY, WEIR_ERR_SYSTEM (they cannot be kept out of
 *             core dumps)
 * Blocks:     shortly
 * Threads:    any
 * Ownership:  wipe them, then wi_pages_close
 */
weir_err wi_pages_secret_open(size_t bytes, void **base_out,
                              struct weir_error *err);

void wi_pages_close(void *base, size_t bytes);

/** Can the system populate pages when asked to (Linux 5.14 and later)? */
bool wi_pages_can_populate(void);

/** Take the pages that are missing and enter all into the page table; what they
 *  hold stays. Kernels that cannot do it at the first touch. 0, or errno. */
int wi_pages_populate(void *base, size_t bytes);

/** Are all pages of a mapping of shared memory taken, by whoever maps it? Whole
 *  pages. Errors: false. Blocks: never. Threads: any. Ownership: nothing. */
bool wi_pages_are_there(void *base, size_t bytes);

/**
 * Map the first `bytes` of a file of shared memory, to read and perhaps to
 * write, at an address where its huge pages stay huge.
 *
 * Errors:     MAP_FAILED with errno, as mmap(2)
 * Blocks:     never
 * Threads:    any
 * Ownership:  wi_pages_close; the descriptor stays the caller's
 */
void *wi_pages_map_shared(int fd, size_t bytes, bool write);

/**
 * Turn shared memory into huge pages where whole ones fit and have a page
 * already; what is missing is taken and zero. Walking the table for 4 KiB pages
 * cost the two-stage plan a tenth of its time. Needs Linux 6.1 and a system
 * that allows huge pages; contents never change.
 *
 * Errors:     errno, which may be ignored; 0 if all whole ones are huge
 * Blocks:     about 0.2 ms per huge page, 0.7 ms if all of it was there
 * Threads:    any
 * Ownership:  nothing
 */
int wi_pages_collapse(void *base, size_t bytes);

/** Write a limit of setrlimit(2), in bytes, into `room` bytes of text. */
void wi_limit_put(int resource, char *text, size_t room);

#endif /* WI_BASE_PAGES_H */
