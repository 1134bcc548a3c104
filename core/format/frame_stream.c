/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format/frame_stream.h"

#include <stdalign.h>
#include <string.h>

#include "core/base/cc.h"

enum { LINE = WI_SUM_BLOCK_BYTES, STAGE_BYTES = 2048 };

void wi_stream_start(struct wi_stream *st, uint8_t *to)
{
    memset(st, 0, sizeof(*st));
    st->to = to;
}

/* Bytes after those of st->line are at hand: write the lines that are whole. */
static void move_lines(struct wi_stream *st, uint8_t *line, uint32_t bytes)
{
    uint32_t whole = bytes / LINE;
    memcpy(line - sizeof(st->last), &st->last, sizeof(st->last));
    wi_sum_move(&st->part, st->to, line, whole, wi_isa_best());
    line += (size_t)whole * LINE;
    memcpy(&st->last, line - sizeof(st->last), sizeof(st->last));
    memcpy(st->line, line, LINE);
    st->to += (size_t)whole * LINE;
    st->fill = bytes % LINE;
}

void wi_stream_put(struct wi_stream *st, const struct wi_view *v,
                   uint32_t width, const struct wi_rows *rows)
{
    alignas(LINE) uint8_t stage[LINE + LINE + STAGE_BYTES + LINE];
    struct wi_rows some = *rows;
    for (uint32_t left = rows->n; left != 0; left -= some.n) {
        some.n = wi_min_u32(left, STAGE_BYTES / width);
        memcpy(stage + LINE, st->line, LINE);
        wi_copy_fixed(stage + LINE + st->fill, v, width, &some);
        move_lines(st, stage + LINE, st->fill + some.n * width);
        some.first += some.n;
        some.idx = some.idx != NULL ? some.idx + some.n : NULL;
    }
}

void wi_stream_end(struct wi_stream *st)
{
    if (st->fill != 0) {
        alignas(LINE) uint8_t stage[LINE + LINE + LINE] = {0};
        memcpy(stage + LINE, st->line, st->fill);
        move_lines(st, stage + LINE, LINE);
    }
    wi_sum_part_end(&st->part, st->last);
}
