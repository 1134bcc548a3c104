/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A simulated run: a cluster, its queries, what goes wrong with them, and what
 * was found.
 *
 *   shape --> ws_world_run: open, [strike, run on]..., settle, last query
 *                             |         |                 |
 *                          strike.c  part.c, actor.c   judge.c
 *                             after every step of a node: watch.c
 *
 * A query on one of its members is a *part*; what one worker does of a part is
 * an *actor*, a task of the simulator.
 */
#ifndef WS_WORLD_H
#define WS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/plan.h>
#include <weir/run.h>
#include <weir/weir.h>

#include "tools/sim/random.h"
#include "tools/sim/shape.h"

enum {
    WS_HELD = 6, /* batches that a worker keeps of a stage, at most */
    WS_RULE_BYTES = 32,
    WS_TEXT_BYTES = 1600,
    WS_DESTINATIONS = WS_NODES * WS_WORKERS,
};

struct ws_world;
struct ws_part;
struct ws_watch;
struct ws_ware;
struct ws_heard;

/** A batch that a worker keeps. */
struct ws_kept {
    struct ArrowArray batch;
    struct ws_sums sums; /* of it, when it came */
};

/** A stage as one worker sees it. */
struct ws_end {
    weir_writer *writer;
    weir_reader *reader;
    bool finished;
    bool drained;
    bool stopped; /* its reader had enough */
    bool wanted;  /* a fault wants it to stop */
    bool pushing; /* batch is not taken yet */
    bool moves;   /* moving is a batch that is being sent on */
    bool idle;    /* the source has ended: only finish is left */
    uint32_t made;
    struct ws_batch *batch;
    struct ArrowArray moving;
    int64_t at; /* join: rows of moving that were looked at */
    uint32_t n_kept;
    struct ws_kept kept[WS_HELD];
    struct ws_sums got;
};

struct ws_actor {
    struct ws_part *part;
    uint32_t worker;
    uint32_t opened; /* ends, two of each stage */
    bool done;
    uint32_t tries; /* of opening */
    struct ws_random random;
    struct ws_end end[WS_STAGES];
    uint64_t keys[64]; /* join: bits of the keys that came first */
};

enum ws_state {
    WS_ABSENT,
    WS_AWAITED,
    WS_RUNNING,
    WS_DONE,
    WS_FAILED,
    WS_DIED
};

/** A query on a member. */
struct ws_part {
    struct ws_world *world;
    uint32_t query;
    uint32_t node;
    enum ws_state state;
    weir_query *handle;
    weir_run *run; /* the executor's, instead */
    weir_shuffle *shuffle[WS_STAGES];
    struct weir_error outcome;
    bool own; /* it was this member that ended it early */
    uint32_t actors_left;
    struct ws_actor actor[WS_WORKERS];
    /* rows that each worker's writers have sent, once they are closed */
    uint64_t sent[WS_STAGES][WS_WORKERS][WS_DESTINATIONS];
};

/** What a query of the executor gave. */
struct ws_answer {
    uint32_t rows;
    int64_t count;
    int64_t sum;
};

struct ws_node {
    bool there;      /* it is a member */
    bool gone;       /* was removed, for good */
    bool leaving;    /* is to be removed as soon as nobody opens a query */
    bool crashed;    /* or restarted: parts of before have died */
    bool down;       /* crashed */
    bool hostile;    /* it breaks the protocol */
    bool damages;    /* its frames come damaged */
    bool alone;      /* without memory, or still for long: it may have lost all
                      links at once, the first member's, too */
    bool slowed;     /* its port was so slow that a link may have been lost */
    uint32_t losses; /* of links, that its log has */
    uint32_t lost;   /* peers of these, bits */
    bool touched;    /* a fault may have made it, or a link of it, lost */
    uint32_t life;   /* how often it was restarted */
    uint64_t hold_until_ns;
};

/** What is to be done to what goes next from a node to another. */
struct ws_tamper {
    uint32_t write;   /* the bit that is turned in a write, and 1 */
    uint32_t message; /* the same, in a message */
    uint32_t field;   /* how a field of a message is changed, and 1 */
    uint32_t frame;   /* the same, of a frame's head */
    bool repeat;      /* a message comes twice */
};

/** What was found. */
struct ws_finding {
    char rule[WS_RULE_BYTES]; /* empty: nothing */
    char text[WS_TEXT_BYTES];
};

struct ws_world {
    struct ws_shape shape;
    weir_sim *sim;
    struct ws_node node[WS_NODES];
    struct ws_query query[WS_QUERIES]; /* with those members that were there */
    bool begun[WS_QUERIES];
    uint64_t call_off_ns[WS_QUERIES]; /* a member has died: the program does
                                         not wait for it beyond this time */
    bool called_off[WS_QUERIES];
    struct ws_part part[WS_QUERIES][WS_NODES];
    weir_plan *plan; /* of the executor's queries */
    struct ws_answer answer[WS_QUERIES];
    struct ws_watch *watch;
    struct ws_ware *wares; /* one of each node, or NULL */
    struct ws_tamper tamper[WS_NODES][WS_NODES];
    struct ws_heard *heard; /* of each node by each, or NULL */
    bool false_fail;        /* a hostile node said that a query failed */
    struct ArrowSchema schema;
    uint64_t tick_ns; /* time is to pass until then */
    struct ws_finding finding;
};

/** What a run comes to. */
struct ws_result {
    struct ws_finding finding;
    uint64_t trace; /* of all events and outcomes */
    uint64_t events;
    uint64_t virtual_ns;
    uint32_t done; /* queries, by how they ended on their members */
    uint32_t failed;
};

/** Note a violation; the first one stands, and ends the run. */
void ws_violate(struct ws_world *w, const char *rule, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

static inline bool ws_violated(const struct ws_world *w)
{
    return w->finding.rule[0] != '\0';
}

/** Run one from its shape. Errors: none; what could not be set up is a
 *  finding. */
void ws_world_run(const struct ws_shape *shape, struct ws_result *out);

#endif /* WS_WORLD_H */
