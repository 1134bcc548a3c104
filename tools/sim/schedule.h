/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What goes wrong in a simulated run: a plain list of faults, each at a time.
 *
 *   cut@120000:0-1 stall@5000:2+300000 slow@7000:1*50+900000
 *
 * KIND@NS:NODE[-NODE][*VALUE][+NS]: at which virtual nanosecond, to which node
 * or nodes, how much, and for how long. A list is drawn from a seed, can be
 * printed, and is read back, so that a shorter one can be run in its place.
 */
#ifndef WS_SCHEDULE_H
#define WS_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/error.h>

enum { WS_FAULTS = 16, WS_SCHEDULE_BYTES = 1024 };

/* X(name, parts, group): the parts that it has besides its
 * time and node: p(eer), v(alue), d(uration). Group: what it may do to a query,
 * see judge.c. */
#define WS_FAULT_KINDS(X)                                                      \
    X(delay, "vd", BEARABLE)   /* transfers take up to VALUE ns more */        \
    X(again, "vd", BEARABLE)   /* VALUE in a million posts are refused */      \
    X(slow, "vd", LOSSY)       /* its port is VALUE times slower */            \
    X(cut, "p", LOSSY)         /* a link breaks */                             \
    X(drop, "pd", LOSSY)       /* a link loses all, then breaks */             \
    X(stall, "d", LOSSY)       /* the node stands still */                     \
    X(crash, "", LOSSY)        /* it falls silent, for good */                 \
    X(restart, "", LOSSY)      /* it is killed and started again */            \
    X(hold, "d", BEARABLE)     /* its readers read nothing */                  \
    X(jump, "v", LOSSY)        /* its clock jumps by VALUE ns */               \
    X(memory, "d", SPOILING)   /* it is refused memory */                      \
    X(damage, "pv", DAMAGING)  /* a byte of what it sends next is changed */   \
    X(hostile, "pv", DAMAGING) /* it sends what the protocol forbids */        \
    X(join, "v", BEARABLE)     /* a node that was not there joins */           \
    X(leave, "", BEARABLE)     /* it is removed: new queries lack it */        \
    X(stop, "v", BEARABLE)     /* its readers of query VALUE have enough */    \
    X(cancel, "v", SPOILING)   /* it cancels query VALUE */                    \
    X(fail, "v", SPOILING)     /* its program fails query VALUE */             \
    X(close, "v", SPOILING)    /* it closes query VALUE early */

#define WS_FAULT_ENUM(name, parts, group) WS_FAULT_##name,
enum ws_fault_kind { WS_FAULT_KINDS(WS_FAULT_ENUM) WS_FAULT_N };
#undef WS_FAULT_ENUM

/** What may come of a fault, worst first. */
enum ws_group {
    WS_BEARABLE, /* nothing: all queries succeed */
    WS_LOSSY,    /* a peer may be found lost */
    WS_SPOILING, /* the program, or its memory, fails a query */
    WS_DAMAGING, /* a node breaks the protocol: its queries fail in any way */
};

struct ws_fault {
    enum ws_fault_kind kind;
    uint32_t node;
    uint32_t peer;
    uint64_t at_ns;
    uint64_t value;
    uint64_t for_ns;
};

struct ws_schedule {
    uint32_t n;
    struct ws_fault fault[WS_FAULTS];
};

/** Name of a kind, and its number: WS_FAULT_N if there is none. */
const char *ws_fault_name(enum ws_fault_kind kind);
enum ws_fault_kind ws_fault_find(const char *name, size_t len);
enum ws_group ws_fault_group(enum ws_fault_kind kind);

/** What schedules are drawn for. */
struct ws_draw {
    uint64_t seed;
    uint32_t kinds; /* bits: which faults there may be */
    uint32_t nodes;
    uint32_t late; /* of these: the last ones, which are not there at first */
    uint32_t queries;
    uint64_t detect_ns;
};

/** Draw a schedule: a function of its arguments. */
void ws_schedule_draw(struct ws_schedule *s, const struct ws_draw *d);

/** Write it as text; cut if it is longer than `room`. */
void ws_schedule_print(const struct ws_schedule *s, char *text, size_t room);

/** Read it back. Errors: WEIR_ERR_ARG, what is wrong. */
weir_err ws_schedule_parse(struct ws_schedule *s, const char *text,
                           struct weir_error *err);

#endif /* WS_SCHEDULE_H */
