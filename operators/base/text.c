/* SPDX-License-Identifier: Apache-2.0 */
/* Text: a block holds many pieces, or a single long one. Blocks double up to
 * 1 MiB, so that a few strings take little and many take few blocks. */
#include "operators/base/text.h"

#include <stddef.h>

enum { FIRST_BYTES = 4096, LAST_BYTES = 1 << 20 };

struct wi_text_block {
    struct wi_text_block *next;
    size_t used;
    size_t room;
    char bytes[];
};

static weir_err add_block(struct wi_text *text, size_t n,
                          struct weir_error *err)
{
    const size_t head = offsetof(struct wi_text_block, bytes);
    size_t room = FIRST_BYTES - head;
    if (text->blocks != NULL) {
        room = 2 * (text->blocks->room + head) - head;
    }
    if (room > LAST_BYTES - head) {
        room = LAST_BYTES - head;
    }
    if (room < n) {
        room = n;
    }
    void *at = NULL;
    weir_err code = wi_mem_take(text->mem, head + room, &at, err);
    if (code != WEIR_OK) {
        return code;
    }
    struct wi_text_block *block = at;
    block->next = text->blocks;
    block->used = 0;
    block->room = room;
    text->blocks = block;
    return WEIR_OK;
}

weir_err wi_text_take(struct wi_text *text, size_t n, char **out,
                      struct weir_error *err)
{
    struct wi_text_block *block = text->blocks;
    if (block == NULL || block->room - block->used < n) {
        weir_err code = add_block(text, n, err);
        if (code != WEIR_OK) {
            return code;
        }
        block = text->blocks;
    }
    *out = block->bytes + block->used;
    block->used += n;
    text->n_bytes += n;
    return WEIR_OK;
}

void wi_text_fini(struct wi_text *text)
{
    while (text->blocks != NULL) {
        struct wi_text_block *block = text->blocks;
        text->blocks = block->next;
        wi_mem_put(text->mem, block,
                   offsetof(struct wi_text_block, bytes) + block->room);
    }
    text->n_bytes = 0;
}
