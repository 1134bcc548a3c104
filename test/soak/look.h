/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What processes hold, round by round, and whether it grows.
 *
 *   a tenth | first quarter | ... | last quarter
 *
 * The least of the last quarter may lie above that of the first by a slack that
 * the table states. The least, because what a query leaves is freed a moment
 * after its end, sometimes after the look; what is never freed raises it.
 * The slack is for what is made once, when it is first needed: notes of members
 * (core/query/tomb.h, 17 kB for each), pages of rings.
 */
#ifndef WT_LOOK_H
#define WT_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* X(name, unit, slack) */
#define WT_LOOK_VALUES(X)                                                      \
    X(heap, "kB", 256)                                                         \
    X(rss, "kB", 4096)                                                         \
    X(descriptors, "", 1)                                                      \
    X(threads, "", 0)                                                          \
    X(mappings, "", 4)                                                         \
    X(sockets, "", 1) /* with names of this run, in /proc/net/unix */          \
    X(dev_shm, "", 0) /* files of this run there */

enum wt_look_value {
#define WT_LOOK_ENUM(name, unit, slack) WT_LOOK_##name,
    WT_LOOK_VALUES(WT_LOOK_ENUM)
#undef WT_LOOK_ENUM
        WT_LOOK_N
};

/** One process, or the whole run. */
struct wt_looks {
    uint32_t n;
    uint32_t cap;
    uint64_t (*value)[WT_LOOK_N];
};

/** Look at a process; what it alone knows is given. Errors: ends the program */
void wt_look(struct wt_looks *l, pid_t pid, uint64_t heap_bytes);

/** Sockets and files with this in their names: of the run as a whole. */
void wt_look_run(struct wt_looks *l, const char *run);

/** Print a line per value; false if one has grown. Too few looks (under 12) are
 *  not compared, which is said. */
bool wt_look_flat(const struct wt_looks *l, const char *who);

void wt_look_close(struct wt_looks *l);

#endif /* WT_LOOK_H */
