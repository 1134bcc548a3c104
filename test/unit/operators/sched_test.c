/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler: downstream first, and parks only when nothing can move. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/plan/sched.h"
#include "test/support/operators.h"

TestSuite(sched, .timeout = 60);

enum { ROOTS = 3 };

/* Returns what its script says, a letter per step: m(oved), i(nput), o(utput),
 * d(one), f(ailed). */
struct player {
    struct wi_op op;
    const char *script;
    char name;
    bool stopped;
};

static char told[128];

static enum wi_state play(struct wi_op *op, struct wi_chunk *out)
{
    static const char letters[] = "miodf";
    struct player *p = (struct player *)op;
    (void)out;
    size_t n = strlen(told);
    told[n] = p->name;
    told[n + 1] = '\0';
    cr_assert_neq(*p->script, '\0', "%c was stepped too often", p->name);
    return (enum wi_state)(strchr(letters, *p->script++) - letters);
}

static void note_stop(struct wi_op *op)
{
    ((struct player *)op)->stopped = true;
}

static void nothing(struct wi_op *op)
{
    (void)op;
}

static const struct wi_op_ops ops = {"player", play, note_stop, nothing};

struct stage {
    struct wi_ctx ctx;
    struct player player[ROOTS];
    struct wi_op *root[ROOTS];
    struct wi_sched sched;
};

/* Roots a, b, c: a is farthest downstream. */
static void open_stage(struct stage *s, const char *const scripts[ROOTS])
{
    memset(s, 0, sizeof(*s));
    told[0] = '\0';
    wt_ctx_init(&s->ctx, 0);
    for (uint32_t i = 0; i < ROOTS; i++) {
        wi_op_init(&s->player[i].op, &ops, &s->ctx, NULL, NULL);
        s->player[i].script = scripts[i];
        s->player[i].name = (char)('a' + i);
        s->root[i] = &s->player[i].op;
    }
    s->sched = (struct wi_sched){.root = s->root, .n = ROOTS};
}

static void step(struct stage *s, enum wi_state want, const char *whom)
{
    told[0] = '\0';
    cr_assert_eq(wi_sched_step(&s->sched), want);
    cr_assert_str_eq(told, whom);
}

Test(sched, farthest_downstream_goes_first)
{
    struct stage s;
    const char *const scripts[] = {"immid", "md", "imd"};
    open_stage(&s, scripts);
    step(&s, WI_MOVED, "ab");
    step(&s, WI_MOVED, "a");
    step(&s, WI_MOVED, "a");
    step(&s, WI_MOVED, "ab"); /* b is done */
    step(&s, WI_MOVED, "a");  /* a is done */
    step(&s, WI_WAIT_INPUT, "c");
    step(&s, WI_MOVED, "c");
    step(&s, WI_MOVED, "c");
    step(&s, WI_DONE, "");
}

/* The rule that keeps plans from deadlocks, from both sides. */
Test(sched, blocked_output_holds_up_no_other_fragment)
{
    struct stage s;
    const char *const scripts[] = {"iimii", "ooooo", "mmmio"};
    open_stage(&s, scripts);
    step(&s, WI_MOVED, "abc");
    step(&s, WI_MOVED, "abc");
    step(&s, WI_MOVED, "a");
    step(&s, WI_MOVED, "abc");
    step(&s, WI_WAIT_INPUT, "abc");
}

Test(sched, done_fragment_is_stopped_and_left_alone)
{
    struct stage s;
    const char *const scripts[] = {"d", "d", "d"};
    open_stage(&s, scripts);
    step(&s, WI_MOVED, "a");
    cr_assert(s.player[0].stopped);
    cr_assert_not(s.player[1].stopped);
    step(&s, WI_MOVED, "b");
    step(&s, WI_MOVED, "c");
    step(&s, WI_DONE, "");
    step(&s, WI_DONE, "");
}

Test(sched, failure_ends_the_step)
{
    struct stage s;
    const char *const scripts[] = {"i", "f", ""};
    open_stage(&s, scripts);
    step(&s, WI_FAILED, "ab");
    cr_assert_eq(s.ctx.failed, s.root[1]);
}

Test(sched, worker_without_fragments_is_done)
{
    struct wi_sched none = {0};
    cr_assert_eq(wi_sched_step(&none), WI_DONE);
}
