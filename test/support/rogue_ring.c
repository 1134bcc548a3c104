/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/rogue_ring.h"

enum { RING_FRAMES = 2, MOST_ROWS = 256 };

struct wt_msg wt_ring_message(struct wt_lab *lab, uint32_t i, uint32_t stage,
                              uint32_t unit, struct wt_ring *r)
{
    static const uint32_t all[] = {0, 1, 2};
    static uint32_t epochs;
    struct wt_rogue_link *l = lab->link[i];
    struct wt_shuffle_print print = {
        .seed = 76 + stage, .n_members = 3, .members = all};
    struct wt_msg m = wt_msg(WT_EDGE_OPEN);
    *r = (struct wt_ring){.link = l,
                          .unit = unit,
                          .epoch = ++epochs,
                          .bytes = RING_FRAMES * lab->rogue.frame_bytes};
    wt_set(&m, 4, 4, unit);
    wt_set(&m, 8, 4, r->epoch);
    wt_set(&m, 12, 4, stage);
    wt_set(&m, 16, 8, lab->id[WT_LAB_SHARED]);
    wt_set(&m, 24, 8, wt_fingerprint(&print));
    wt_set(&m, 32, 8, wt_rogue_ring(l, unit));
    wt_set(&m, 40, 4, r->bytes);
    return m;
}

void wt_ring_open(struct wt_lab *lab, uint32_t i, uint32_t stage, uint32_t unit,
                  struct wt_ring *r)
{
    struct wt_msg m = wt_ring_message(lab, i, stage, unit, r);
    wt_rogue_send(r->link, &m);
}

struct wt_place_in_ring wt_ring_place(const struct wt_ring *r)
{
    return (struct wt_place_in_ring){.pos = r->pos, .epoch = r->epoch};
}

void wt_ring_write(struct wt_ring *r, const void *bytes, uint32_t len)
{
    wt_rogue_write(r->link, wt_rogue_ring(r->link, r->unit) + r->pos % r->bytes,
                   bytes, len);
}

void wt_ring_publish(struct wt_ring *r, uint64_t len)
{
    r->pos += len;
    struct wt_msg m = wt_rogue_pos(WT_NOTIFY, r->unit, r->epoch, r->pos);
    wt_rogue_send(r->link, &m);
}

static void tally(struct wt_ring *r, const uint8_t *frame, uint32_t rows)
{
    r->sums[0] += rows;
    r->sums[1] += wt_get(frame + 8, 4);
    r->sums[2] += wt_get(frame + 24, 8);
    r->sums[3]++;
}

void wt_ring_rows(struct wt_ring *r, uint32_t rows)
{
    uint8_t frame[128 + 8 * MOST_ROWS];
    int64_t keys[MOST_ROWS];
    rows = rows < MOST_ROWS ? rows : MOST_ROWS;
    for (uint32_t i = 0; i < rows; i++) {
        keys[i] = (int64_t)(r->sums[0] + i);
    }
    uint32_t len = wt_frame_data(frame, wt_ring_place(r), keys, rows);
    tally(r, frame, rows);
    wt_ring_write(r, frame, len);
    wt_ring_publish(r, len);
}

void wt_ring_end(struct wt_ring *r)
{
    uint8_t frame[128];
    uint32_t len = wt_frame_end(frame, wt_ring_place(r), r->sums);
    wt_ring_write(r, frame, len);
    wt_ring_publish(r, len);
}
