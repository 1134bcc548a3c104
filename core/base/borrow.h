/* SPDX-License-Identifier: Apache-2.0 */
/** Memory of the program that is to travel: mem_borrow in core/transport.h. */
#ifndef WI_BASE_BORROW_H
#define WI_BASE_BORROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wi_borrow {
    void *base;      /* any alignment */
    size_t bytes;    /* at least 1 */
    bool file;       /* a constant file's, mapped to be read, */
    int fd;          /* which peers may map by this, or -1: */
    uint64_t fd_off; /* `base` is there */
};

#endif /* WI_BASE_BORROW_H */
