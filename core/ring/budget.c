/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of the memory plan, and its words. */
#include "core/ring/budget.h"

#include <stdio.h>

#include "core/base/cc.h"
#include "core/base/err.h"
#include "core/base/neutral.h"
#include "core/base/pages.h"
#include "core/ring/ready.h"
#include "core/ring/ring.h"

/* Stages: as large as pays, and as small as they get. */
#define STAGE_BYTES 8256u
#define STAGE_LEAST 960u

/* Units of a link with more than max_shuffles needs. */
#define MOST_UNITS 512u

/* Of the cap, what rings of a flexible plan may take. */
#define RINGS_SHARE(cap) ((cap) / 4 * 3)

static void lay_out_unit(const struct wi_budget_params *p, struct wi_budget *b)
{
    b->frame_bytes = p->frame_bytes;
    b->slack_bytes = wi_budget_slack(p->frame_bytes);
    b->unit_bytes = 2 * p->frame_bytes + b->slack_bytes;
    uint64_t ring = (uint64_t)p->ring_frames * p->frame_bytes + b->slack_bytes;
    b->ring_units = (uint32_t)((ring + b->unit_bytes - 1) / b->unit_bytes);
}

/* Whole pages; huge ones if that adds less than an eighth. */
static uint64_t whole_pages(uint64_t bytes)
{
    uint64_t huge = wi_align_up(bytes, WI_HUGE_PAGE);
    return huge - bytes < bytes / 8 ? huge : wi_align_up(bytes, WI_PAGE);
}

static uint64_t stages_of_all(const struct wi_budget_params *p,
                              const struct wi_budget *b)
{
    return b->stages_bytes * p->max_shuffles * p->workers;
}

static void sum_up(const struct wi_budget_params *p, struct wi_budget *b)
{
    uint64_t unit = b->unit_bytes + sizeof(struct wi_ring_ctl);
    b->area_bytes = whole_pages(b->n_units * unit);
    uint64_t areas = p->max_members;
    if (!p->mapped) {
        areas += p->max_members - 1;
    }
    /* bells: a bit per ring that may come, and its summary, per worker */
    uint64_t bells = wi_bell_bytes(p->max_members * b->n_units) * p->workers;
    /* tallies: a page per link, for peers that read regions (tally.h) */
    uint64_t tallies = (uint64_t)p->max_members * WI_PAGE;
    b->stages_bytes = (uint64_t)b->stage_bytes * p->max_members * p->workers;
    b->total_bytes = areas * b->area_bytes + wi_align_up(bells, WI_PAGE) +
                     tallies + stages_of_all(p, b);
}

/* Up to `bytes`: an odd number of lines, so that the stages of a writer are
 * spread over the cache's sets. */
static uint32_t stage_of(const struct wi_budget_params *p, uint64_t bytes)
{
    uint64_t most = wi_min_u32(STAGE_BYTES, p->frame_bytes);
    uint64_t lines = wi_min_u64(bytes, most) / WI_CACHE_LINE;
    lines -= lines != 0 && lines % 2 == 0;
    return wi_max_u32((uint32_t)lines * WI_CACHE_LINE, STAGE_LEAST);
}

/* The smallest rings, and what they leave for stages. */
static bool choose_least(const struct wi_budget_params *p, struct wi_budget *b)
{
    if (!b->per_node) {
        return false;
    }
    b->stage_bytes = 0;
    sum_up(p, b);
    uint64_t spare =
        p->cap_bytes > b->total_bytes ? p->cap_bytes - b->total_bytes : 0;
    uint64_t n = (uint64_t)p->max_shuffles * p->workers * p->max_members;
    b->stage_bytes = stage_of(p, spare / (n * p->workers));
    sum_up(p, b);
    return b->total_bytes <= p->cap_bytes;
}

/* Try the roomiest plan first. Rings are shortened before stages are. */
static bool choose(const struct wi_budget_params *p, struct wi_budget *b)
{
    for (int per_node = 0; per_node <= (p->workers > 1); per_node++) {
        uint32_t edges = p->max_shuffles * p->workers;
        edges *= per_node != 0 ? 1 : p->workers;
        b->per_node = per_node != 0;
        b->stage_bytes = per_node != 0 ? stage_of(p, STAGE_BYTES) : 0;
        for (uint32_t units = b->ring_units; units >= 1; units--) {
            b->n_units = edges * units;
            sum_up(p, b);
            if (b->total_bytes <= p->cap_bytes) {
                return true;
            }
        }
    }
    return choose_least(p, b);
}

/* Smaller frames in the shortest rings, and for open frames what is left. With
 * the smallest the links that are open at a time have to fit, not all. */
static void choose_smaller(const struct wi_budget_params *p,
                           struct wi_budget *b)
{
    struct wi_budget_params q = *p;
    uint64_t writers = (uint64_t)p->max_shuffles * p->workers;
    uint64_t lanes = (uint64_t)p->max_members * p->workers;
    do {
        q.frame_bytes =
            wi_max_u32(q.frame_bytes / 2 / 64 * 64, WI_LEAST_FRAME_BYTES);
        lay_out_unit(&q, b);
        b->per_node = p->workers > 1;
        b->n_units = p->max_shuffles * p->workers;
        b->stage_bytes = 0;
        sum_up(&q, b);
    } while (b->total_bytes > RINGS_SHARE(p->cap_bytes) &&
             q.frame_bytes > WI_LEAST_FRAME_BYTES);
    uint64_t rings = wi_min_u64(b->total_bytes, RINGS_SHARE(p->cap_bytes));
    if (b->per_node) {
        b->stage_bytes = stage_of(&q, STAGE_BYTES);
        b->stages_bytes = wi_min_u64(b->stage_bytes * lanes,
                                     (p->cap_bytes - rings) / writers);
    }
    b->total_bytes = rings + stages_of_all(p, b);
}

/* The same units, more often. */
static void add_spare(const struct wi_budget_params *p, struct wi_budget *b)
{
    const struct wi_budget usual = *b;
    uint32_t times = b->per_node ? 1 : MOST_UNITS / usual.n_units;
    for (; times > 1; times--) {
        b->n_units = usual.n_units * times;
        sum_up(p, b);
        if (b->total_bytes <= p->spare_bytes) {
            return;
        }
    }
    *b = usual;
}

weir_err wi_budget_make(const struct wi_budget_params *p, struct wi_budget *out,
                        struct weir_error *err)
{
    struct wi_budget b = {.cap_bytes = p->cap_bytes};
    lay_out_unit(p, &b);
    bool chosen = choose(p, &b);
    if (!chosen && p->flexible) {
        choose_smaller(p, &b);
    } else if (!chosen) {
        return wi_fail(
            err, WEIR_ERR_BUDGET,
            "memory budget too small: %u members x %u shuffles x %u workers x "
            "%u bytes (two frames of %u)%s need %llu bytes, memory_bytes is "
            "%llu: raise it to %llu, or lower max_members, max_shuffles or "
            "frame_bytes",
            p->max_members, p->max_shuffles, p->workers, b.unit_bytes,
            p->frame_bytes, p->mapped ? "" : " on both sides of each link",
            (unsigned long long)b.total_bytes, (unsigned long long)p->cap_bytes,
            (unsigned long long)b.total_bytes);
    }
    b.usual_bytes = b.area_bytes;
    if (chosen) {
        add_spare(p, &b);
    }
    char stages[64] = "";
    if (b.per_node) {
        (void)wi_neutral_format(
            stages, sizeof(stages), ", open frames of %u bytes, %.1f MiB",
            b.stage_bytes, (double)stages_of_all(p, &b) / 1048576);
    }
    (void)wi_neutral_format(
        b.text, sizeof(b.text),
        "%u members x %llu KiB%s = %.1f MiB of %.1f MiB; rings "
        "thread-to-%s, %u to %u KiB each, %u per link%s",
        p->max_members, (unsigned long long)(b.area_bytes / 1024),
        p->mapped ? "" : " in and out", (double)b.total_bytes / 1048576,
        (double)p->cap_bytes / 1048576, b.per_node ? "node" : "thread",
        2 * b.frame_bytes / 1024, p->ring_frames * b.frame_bytes / 1024,
        b.n_units, stages);
    b.rings_cap_bytes = p->cap_bytes - stages_of_all(p, &b);
    *out = b;
    return WEIR_OK;
}
