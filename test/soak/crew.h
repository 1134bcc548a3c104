/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The members of a soak: long-lived processes that do what the parent orders,
 * die, are stopped, and are started again under their names.
 *
 *   parent                                 member k
 *   wt_crew_start(k)     ------- fork ---> opens its node      (crew_member.c)
 *   wt_crew_await(k)     <------- 'd' ---- address is in its slot
 *   wt_crew_order(k, op) ------- 'g' ----> joins, runs a query, is told of
 *                                          another's address, quits
 *                        <------- 'h' ---- the moment of the order has come
 *   wt_crew_await(k)     <------- 'd' ---- answer is in its slot
 *
 * As test/support/proc.h, but here members come back, no end of one is an end
 * of the program, and a wait that is over in vain asks who waits for whom.
 */
#ifndef WT_CREW_H
#define WT_CREW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "test/support/plan.h"

enum { WT_CREW = 16 };

enum wt_op {
    WT_JOIN,
    WT_ADD,  /* a peer has a new address */
    WT_TAKE, /* what `own` says, from this process, until WT_GIVE */
    WT_GIVE,
    WT_RUN,
    WT_LOOK, /* say what is known here only */
    WT_QUIT,
};

/** What a member does by itself in a query, when its moment has come. */
enum wt_own {
    WT_OWN_NOTHING,
    WT_OWN_TELL, /* says 'h' and goes on: the parent strikes */
    WT_OWN_HOLD, /* the same, but it goes on at the parent's word */
    WT_OWN_CANCEL,
    WT_OWN_FAIL,   /* with WEIR_ERR_QUERY_MEMORY */
    WT_OWN_CLOSE,  /* closes the query */
    WT_OWN_LEAVE,  /* closes the query and the node, and exits */
    WT_OWN_BUDGET, /* at the open: one shuffle more than max_shuffles */
    WT_OWN_FILES,  /* has no descriptor left, from WT_TAKE on */
    WT_OWN_MEMORY, /* the system gives it no address space, the same */
};

struct wt_order {
    enum wt_op op;
    uint32_t peer; /* WT_ADD: who has a new address */
    uint64_t query;
    uint64_t rows;
    uint32_t members[WT_CREW];
    uint32_t n_members;
    enum wt_own own;
    uint64_t at; /* rows made, moved and taken here until its moment */
};

struct wt_answer {
    weir_err code; /* WEIR_DONE; what failed it; WEIR_AGAIN: left it itself */
    char message[WEIR_ERROR_MESSAGE_BYTES];
    struct wt_sums sums;
    bool no_files;       /* the log has said ulimit -n since WT_TAKE */
    uint64_t heap_bytes; /* WT_LOOK: from malloc */
};

/** In memory that all processes see. written by: the parent the first three,
 *  the member the others. */
struct wt_slot {
    char name[48];
    char listen[256]; /* "": as the transport likes */
    struct wt_order order;
    char address[256];
    struct wt_answer answer;
};

struct wt_crew_params {
    uint32_t n;
    const char *transport;
    const char *listen; /* verbs: NULL or ADDRESS:0 */
    uint64_t detect_ns;
    bool net; /* each in a network namespace of its own (test/support/net.h) */
};

struct wt_crew {
    struct wt_crew_params params;
    struct wt_slot *slot;
    pid_t pid[WT_CREW]; /* 0: not there */
    int say_fd[WT_CREW];
    int go_fd[WT_CREW];
    uint64_t busy; /* members that owe a 'd' */
    uint64_t hit;  /* members that have said 'h' in this order */
    uint64_t gone; /* members whose pipe has ended */
};

/** Member k, in a set of members. */
static inline uint64_t wt_bit(uint32_t k)
{
    return UINT64_C(1) << k;
}

/** What member k has said last. */
static inline const struct wt_answer *wt_crew_answer(const struct wt_crew *c,
                                                     uint32_t k)
{
    return &c->slot[k].answer;
}

/** Errors: ends the program. */
void wt_crew_open(struct wt_crew *c, const struct wt_crew_params *params);
/** SIGKILL for all that are there. */
void wt_crew_close(struct wt_crew *c);

/** Start member k; it owes a 'd' for its open. */
void wt_crew_start(struct wt_crew *c, uint32_t k);

/** Order what is in its slot; it owes a 'd'. */
void wt_crew_order(struct wt_crew *c, uint32_t k);

/** Member k, which holds, goes on. */
void wt_crew_go(struct wt_crew *c, uint32_t k);

/** Look at all until one of `until` is not busy any more, or (moments) has hit,
 *  or is gone; false: ns are over before. */
bool wt_crew_look(struct wt_crew *c, uint64_t until, bool moments, uint64_t ns);

/** All of these have said 'd'. If one has not after a minute, or is gone, the
 *  program ends, with what the members wait for. */
void wt_crew_await(struct wt_crew *c, uint64_t members);

/** Its process has ended, or is ended by this signal (0: by itself). */
void wt_crew_end(struct wt_crew *c, uint32_t k, int signal_number);

void wt_crew_signal(struct wt_crew *c, uint32_t k, int signal_number);
/** SIGSTOP, and wait until it stands. */
void wt_crew_stop(struct wt_crew *c, uint32_t k);

/** A member's life. Never returns. */
void wt_crew_member(const struct wt_crew_params *params, struct wt_slot *slots,
                    uint32_t self, const int fds[2]) __attribute__((noreturn));

/** Something that must not be: say it, and how to repeat it, and exit 1. */
void wt_soak_violation(const char *fmt, ...)
    __attribute__((noreturn, format(printf, 1, 2)));

#endif /* WT_CREW_H */
