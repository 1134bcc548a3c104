/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Faults of a soak: which one a round has, a function of the seed and the
 * round's number, and what may come of it.
 */
#ifndef WT_FAULT_H
#define WT_FAULT_H

#include "test/soak/crew.h"

/* X(name, what happens) */
#define WT_FAULTS(X)                                                           \
    X(nothing, "nothing")                                                      \
    X(kill, "SIGKILL; started again under its name")                           \
    X(stop, "SIGSTOP for longer than detect_ns, then SIGCONT")                 \
    X(blink, "SIGSTOP and SIGCONT at once")                                    \
    X(cut, "its wire is cut for longer than detect_ns")                        \
    X(part, "two members cannot reach each other for that long")               \
    X(cancel, "a member cancels the query")                                    \
    X(fail, "a member fails the query: no memory")                             \
    X(close, "a member closes the query before its end")                       \
    X(leave, "the same, closes its node, exits; started again")                \
    X(budget, "a member opens one shuffle too many")                           \
    X(files, "a member has no descriptor left while another comes back")       \
    X(memory, "a member gets no address space while another comes back")

enum wt_fault_kind {
#define WT_FAULT_ENUM(name, text) WT_FAULT_##name,
    WT_FAULTS(WT_FAULT_ENUM)
#undef WT_FAULT_ENUM
        WT_FAULT_N
};

enum { WT_SIZES = 3, WT_CODES = 12 };

/** A round, drawn. */
struct wt_fault {
    enum wt_fault_kind kind;
    uint32_t victim;
    uint32_t other; /* part, files, memory */
    uint32_t size;
    uint64_t at;       /* the victim's moment, see struct wt_order */
    uint64_t delay_ns; /* from there until the parent strikes */
    bool away;         /* it comes back at another address */
};

/** What came of all rounds of one kind. */
struct wt_tally {
    uint32_t rounds;
    uint32_t exact;   /* in which every member's query ended well */
    uint32_t failed;  /* in which some member's query failed */
    uint32_t again;   /* after which the first query failed, too */
    uint32_t limit;   /* of files: in which somebody says ulimit -n */
    uint64_t last_ns; /* longest from the fault to the last survivor's word */
    weir_err code[WT_CODES]; /* that members ended with */
    uint32_t times[WT_CODES];
};

struct wt_soak {
    struct wt_crew crew;
    uint64_t seed;
    uint64_t round;
    uint64_t query;          /* the last id */
    enum wt_fault_kind only; /* WT_FAULT_N: all kinds */
    /* What each member takes when all run a query of this size: the rows and
     * where they go are the same every time. */
    struct wt_sums exact[WT_SIZES][WT_CREW];
    struct wt_tally tally[WT_FAULT_N];
};

/** Rows that each member makes. */
extern const uint64_t wt_rows_of[WT_SIZES];

static inline uint64_t wt_fault_all(const struct wt_soak *s)
{
    return wt_bit(s->crew.params.n) - 1;
}

const char *wt_fault_name(enum wt_fault_kind kind);
/** WT_FAULT_N: there is none of this name. */
enum wt_fault_kind wt_fault_find(const char *name);
const char *wt_fault_text(enum wt_fault_kind kind);
/** What the victim does of it by itself. */
enum wt_own wt_fault_own(enum wt_fault_kind kind);

/** Members that no fault ends: those whose memory is looked at. */
uint64_t wt_fault_stayers(const struct wt_soak *s);

/** What round s->round does. */
struct wt_fault wt_fault_draw(const struct wt_soak *s);

/** Member k has told of the query with the fault: of the very rows, or of a
 *  code and a name that the fault may have; else it is a violation. */
void wt_fault_judge(struct wt_soak *s, const struct wt_fault *f, uint32_t k);

/** Member k has the rows of a query of all of this size, or it is one. */
void wt_fault_same_rows(const struct wt_soak *s, uint32_t k, uint32_t size);

/** Does the message have the name of one of these? */
bool wt_fault_names(const struct wt_soak *s, uint64_t members,
                    const char *message);

/** Of files: does somebody say what to change, in its message or its log? Not
 *  in every round: the log has one line per second of a link that is lost. */
bool wt_fault_says_limit(const struct wt_soak *s);

#endif /* WT_FAULT_H */
