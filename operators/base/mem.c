/* SPDX-License-Identifier: Apache-2.0 */
/* malloc with a limit. Bytes count in a wi_op_mem and in all above it; the
 * first that has no room refuses. */
#include "operators/base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "operators/base/fail.h"

#define ALIGN 64u
#define LARGE_PAGE ((size_t)2 << 20)
#define LARGE_BYTES (2 * LARGE_PAGE)

static size_t rounded(size_t bytes)
{
    return bytes == 0 ? ALIGN : (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t of_all(const struct wi_op_mem *mem, uint64_t bytes)
{
    return bytes * (mem->sharers == 0 ? 1 : mem->sharers);
}

/* How much later rows will take is unknown. The message asks for twice the
 * limit, or for what is needed now if that is more: so a few runs are enough to
 * find a limit that works. */
static weir_err refuse(const struct wi_op_mem *mem, size_t bytes,
                       struct weir_error *err)
{
    uint64_t need = mem->held_bytes + bytes;
    uint64_t twice = 2 * mem->limit_bytes;
    return wi_exec_fail(
        err, WEIR_ERR_QUERY_MEMORY,
        "a worker's operators hold %" PRIu64 " bytes and need %" PRIu64
        " more, over its share of %" PRIu64
        "; the memory for the operators of a node "
        "(memory_bytes, --memory) is %" PRIu64 " bytes: raise it to %" PRIu64,
        mem->held_bytes, (uint64_t)bytes, mem->limit_bytes,
        of_all(mem, mem->limit_bytes),
        of_all(mem, need > twice ? need : twice));
}

weir_err wi_mem_check(const struct wi_op_mem *mem, uint64_t bytes,
                      struct weir_error *err)
{
    if (mem->limit_bytes == 0 || bytes <= mem->limit_bytes) {
        return WEIR_OK;
    }
    return wi_exec_fail(err, WEIR_ERR_QUERY_MEMORY,
                        "a worker's operators take %" PRIu64
                        " bytes before there are rows, over its share of "
                        "%" PRIu64 "; the memory for the operators of a node "
                        "(memory_bytes, --memory) is %" PRIu64
                        " bytes: raise it to %" PRIu64
                        " at least; what the rows need comes on top",
                        bytes, mem->limit_bytes, of_all(mem, mem->limit_bytes),
                        of_all(mem, bytes));
}

/* Large pieces are put in large pages if the system has them: hash tables touch
 * a page per row, and the first touch of a page costs as much as many rows. */
static void *take_pages(size_t size)
{
    if (size < LARGE_BYTES) {
        return aligned_alloc(ALIGN, size);
    }
    void *at = NULL;
    if (posix_memalign(&at, LARGE_PAGE, size) != 0) {
        return NULL;
    }
    (void)madvise(at, size / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
    return at;
}

weir_err wi_mem_take(struct wi_op_mem *mem, size_t bytes, void **out,
                     struct weir_error *err)
{
    size_t size = rounded(bytes);
    for (const struct wi_op_mem *m = mem; m != NULL; m = m->above) {
        if (m->limit_bytes != 0 && m->held_bytes + size > m->limit_bytes) {
            return refuse(m, size, err);
        }
    }
    void *at = take_pages(size);
    if (at == NULL) {
        return wi_exec_no_memory(err, size);
    }
    for (struct wi_op_mem *m = mem; m != NULL; m = m->above) {
        m->held_bytes += size;
        if (m->held_bytes > m->peak_bytes) {
            m->peak_bytes = m->held_bytes;
        }
    }
    *out = at;
    return WEIR_OK;
}

void wi_mem_put(struct wi_op_mem *mem, void *at, size_t bytes)
{
    if (at == NULL) {
        return;
    }
    free(at);
    for (struct wi_op_mem *m = mem; m != NULL; m = m->above) {
        m->held_bytes -= rounded(bytes);
    }
}

weir_err wi_mem_grow(struct wi_op_mem *mem, void **at, size_t old_bytes,
                     size_t new_bytes, struct weir_error *err)
{
    void *to = NULL;
    weir_err code = wi_mem_take(mem, new_bytes, &to, err);
    if (code != WEIR_OK) {
        return code;
    }
    if (*at != NULL) {
        memcpy(to, *at, old_bytes);
        wi_mem_put(mem, *at, old_bytes);
    }
    *at = to;
    return WEIR_OK;
}
