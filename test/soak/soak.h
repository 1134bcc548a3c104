/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Members of a cluster that lives through real faults, round after round.
 *
 *   parent                               member (a process each)
 *   order in its seat, 'q' ------------> runs query `id`, which may be struck
 *   <------------------------------ 'd'  outcome in its seat
 *   'a' -------------------------------> the member `about` is (again) there
 *   'l', 'u' --------------------------> limits on, off
 *   'v' -------------------------------> what it has: vitals in its seat
 *   'x' -------------------------------> closes its node and ends
 *
 * Seats are in memory that all share; who has been given a byte owns its seat
 * until it has given one back.
 */
#ifndef WT_SOAK_H
#define WT_SOAK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "test/support/plan.h"

enum { SOAK_MEMBERS = 8 };

/** What strikes member `victim` in the midst of a query. */
enum fault {
    FAULT_NONE,
    FAULT_KILL,   /* SIGKILL; it is started again under its name */
    FAULT_STOP,   /* SIGSTOP for longer than detect_ns */
    FAULT_CUT,    /* all its connections are shut down */
    FAULT_CANCEL, /* it cancels the query */
    FAULT_CLOSE,  /* it closes the query before its end */
    FAULT_FILES,  /* it may open no more descriptors, and is cut */
    FAULT_SPACE,  /* it may have no more memory (RLIMIT_AS), and is cut */
    FAULTS,
};

struct vitals {
    uint64_t resident_bytes;
    uint64_t mappings;
    uint64_t files;
    uint64_t threads;
};

struct seat {
    pid_t pid;
    char name[48];
    char address[256];
    /* of the next order */
    uint64_t id;
    uint64_t rows;
    uint32_t about;
    enum fault fault; /* that the member does itself: CANCEL, CLOSE */
    /* of its answer */
    weir_err code; /* WEIR_DONE, or what failed the query */
    char message[WEIR_ERROR_MESSAGE_BYTES];
    struct wt_sums sums;
    struct vitals vitals;
};

struct soak {
    const char *transport;
    uint32_t n;
    uint64_t detect_ns;
    struct seat seat[SOAK_MEMBERS];
};

/** A member's life. Never returns. */
void soak_member(struct soak *s, uint32_t self, int go_fd, int say_fd)
    __attribute__((noreturn));

#endif /* WT_SOAK_H */
