/* SPDX-License-Identifier: Apache-2.0 */
/** Memory of the program that is to travel: mem_borrow in core/transport.h. */
#ifndef WI_BASE_BORROW_H
#define WI_BASE_BORROW_H

#include <stddef.h>
#include <stdint.h>

struct wi_borrow {
    void *base;      /* any alignment */
    size_t bytes;    /* at least 1 */
    int fd;          /* of a constant file that is mapped there, or -1 */
    uint64_t fd_off; /* where in the file `base` is */
};

#endif /* WI_BASE_BORROW_H */
