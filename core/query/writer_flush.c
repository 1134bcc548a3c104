/* SPDX-License-Identifier: Apache-2.0 */
#include "core/query/writer_flush.h"

#include "core/link/engine.h"
#include "core/link/worker.h"
#include "core/query/lane.h"
#include "core/query/writer.h"

/* Lanes looked at for early flushing in one push. */
#define FLUSH_LOOK 64u

/* A writer is busy while it is given this many bytes per microsecond or more;
 * one that shares its processor with sixteen others still is. */
#define BUSY_BYTES_PER_US 32u

/* After this many bytes a busy writer sends one frame that is not full. */
#define BUSY_BYTES (256u << 10)

/* Is part of a frame to go out now? To a consumer that sleeps on an empty ring;
 * to one that does not, and yet has nothing of this lane to read, later. In a
 * ring of several lanes, another consumer's frames hide what this one has
 * read. */
static bool is_wanted(const struct wi_lane *lane, uint64_t age_ns)
{
    return lane->staged != 0 || wi_lane_consumer_waits(lane) ||
           (age_ns > WI_LATE_NS &&
            (lane->stage != NULL || wi_lane_is_drained(lane)));
}

/* How many frames of posted rings may go out now though they are not full?
 * None soon after the worker has waited: it may wait again soon, and sends them
 * then. Later as many as there are, unless the writer is busy: then they will
 * be full soon, and each that goes earlier costs its two nodes what a full one
 * costs. Time that the worker could not run does not count, see run_clock.h. */
static uint32_t quota(const struct weir_writer *w, uint64_t now_ns)
{
    if (now_ns - w->flow_ns <= WI_DENSE_NS) {
        return 0;
    }
    uint64_t least = (now_ns - w->flow_ns) * BUSY_BYTES_PER_US / 1000;
    if (w->flow_bytes < least) {
        return UINT32_MAX;
    }
    return w->flow_bytes >= BUSY_BYTES ? 1 : 0;
}

/* Publish the lane's part-filled frame if its consumer waits for it. True if it
 * did. */
static bool flush_if_wanted(struct weir_writer *w, struct wi_lane *lane,
                            uint64_t age_ns)
{
    if (is_wanted(lane, age_ns)) {
        wi_lane_publish(w, lane, WI_FOLLOWS_NONE);
        return true;
    }
    wi_lane_ask_credit(lane);
    return false;
}

/* A frame that is not full has to wait for more rows. */
static bool is_early(const struct wi_lane *lane, uint64_t age_ns, uint32_t left)
{
    bool held = left == 0 && !lane->out->mapped && lane->stage == NULL;
    return age_ns <= (held ? WI_LATE_NS : WI_DENSE_NS);
}

void wi_writer_flow(struct weir_writer *w)
{
    uint32_t turns = wi_load_rlx(&w->worker->turns); /* rlx: our own */
    if (turns != w->turns_seen) {
        w->turns_seen = turns;
        wi_worker_look(w->worker, 0);
        w->flow_ns = wi_lane_now(w);
        w->flow_bytes = 0;
    }
}

/* Now. An earlier reading that is later lacked what had been lost. */
static uint64_t look_at_clock(struct weir_writer *w)
{
    wi_worker_look(w->worker, WI_DENSE_NS);
    uint64_t now_ns = wi_lane_now(w);
    w->flow_ns = wi_min_u64(w->flow_ns, now_ns);
    return now_ns;
}

/* Since a frame of the lane was last published. A posted ring that has carried
 * none is not dense, and late 20 ms from now. */
static uint64_t age_of(struct wi_lane *lane, uint64_t now_ns)
{
    if (lane->sent_ns == 0 && now_ns > WI_DENSE_NS &&
        wi_load_acq(&lane->out->state) == WI_OUT_OPEN && /* E7 */
        !lane->out->mapped) {
        lane->sent_ns = now_ns - WI_DENSE_NS - 1;
    }
    lane->sent_ns = wi_min_u64(lane->sent_ns, now_ns); /* as look_at_clock() */
    return now_ns - lane->sent_ns;
}

/* One lane after a push or a poll. True if a frame went out. */
static bool flush_if_due(struct weir_writer *w, struct wi_lane *lane,
                         uint64_t now_ns, uint32_t left)
{
    uint64_t age_ns = age_of(lane, now_ns);
    if (lane->out->held) {
        wi_lane_ask_credit(lane); /* what should follow did not come */
    }
    if (!wi_lane_has_rows(lane) || is_early(lane, age_ns, left) ||
        !flush_if_wanted(w, lane, age_ns)) {
        return false;
    }
    wi_run_clock_ask(&w->worker->run);
    return true;
}

void wi_writer_flush_waiting(struct weir_writer *w, bool pushed)
{
    uint32_t n = wi_min_u32(w->n_lanes, FLUSH_LOOK);
    uint64_t now_ns = look_at_clock(w);
    uint32_t most = pushed ? quota(w, now_ns) : UINT32_MAX;
    uint32_t left = most;
    for (uint32_t i = 0; i < n; i++) {
        struct wi_lane *lane = &w->lanes[w->flush_next];
        w->flush_next = w->flush_next + 1 < w->n_lanes ? w->flush_next + 1 : 0;
        left -= flush_if_due(w, lane, now_ns, left) && left != 0;
    }
    if (left != most) {
        w->flow_ns = now_ns;
        w->flow_bytes = 0;
    }
}

/* Publish a frame that is not full; or, while its consumer has others to read,
 * ask to be told when it has not. What is in a stage goes out in any case, for
 * the same reason as in is_wanted(). */
static void flush_lane(struct weir_writer *w, struct wi_lane *lane)
{
    if (lane->stage != NULL) {
        wi_lane_publish(w, lane, WI_FOLLOWS_NONE);
        return;
    }
    /* E5 sc: the wish to be told when the ring is empty, then the look; as
     * in wi_lane_room() */
    wi_store_sc(&lane->out->ctl->producer_waits, WI_WAITS_FOR_EMPTY);
    if (wi_lane_is_drained(lane)) {
        wi_lane_publish(w, lane, WI_FOLLOWS_NONE);
    } else {
        wi_lane_ask_credit(lane);
    }
}

bool wi_writer_flush_idle(struct weir_writer *w, uint64_t keep_ns)
{
    bool left = false;
    if (wi_load_rlx(&w->finished)) { /* rlx: our own */
        return false;
    }
    w->locked = true;
    uint64_t now_ns = wi_lane_now(w);
    for (uint32_t i = 0; i < w->n_lanes; i++) {
        struct wi_lane *lane = &w->lanes[wi_writer_lane_at(w, i)];
        /* E7 acquire: as in wi_lane_ready(); stop-sending is left to the next
         * push, because the node's lock is held here */
        if (!wi_lane_has_rows(lane) || wi_load_acq(&lane->out->stop_all) != 0 ||
            wi_load_acq(&lane->out->state) != WI_OUT_OPEN) { /* E7 */
            continue;
        }
        if (keep_ns != 0 && age_of(lane, now_ns) <= keep_ns) {
            left = true;
            continue;
        }
        flush_lane(w, lane);
    }
    w->locked = false;
    return left;
}
