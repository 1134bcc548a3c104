/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Registered memory for what a node sends from: outgoing rings.
 *
 *   transport mem_open --> chunks (registered once) --> jemalloc arena whose
 *   extents are cut from the chunks --> wi_arena_alloc / wi_arena_free
 *
 * jemalloc serves only this: its own arena, through mallocx, found with
 * dlopen. The host program's malloc is never touched, whatever the link order.
 * Where jemalloc cannot be loaded (arena.c says when), the chunks are cut
 * into whole units instead.
 *
 * Memory that *peers write to* does not come from here: it is opened per link
 * (core/link/link.h), because after a failure it is given up as a whole.
 */
#ifndef WI_ARENA_H
#define WI_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "core/ring/budget.h"
#include "core/transport.h"

struct wi_arena;

/**
 * @param cap_bytes  most bytes that *held may come to
 * @param held       bytes that the node holds; the chunks held are counted in
 *
 * Errors:     WEIR_ERR_NO_MEMORY
 * Blocks:     never.  Threads: an arena is used under its node's lock
 * Ownership:  wi_arena_close, after everything was freed; t must outlive it
 */
weir_err wi_arena_open(struct wi_transport *t, uint64_t cap_bytes,
                       uint64_t *held, struct wi_arena **out,
                       struct weir_error *err);
void wi_arena_close(struct wi_arena *a);

/** Follow the plan, before the first alloc: chunks of the size that one link
 *  needs (at most 4 MiB) and, without jemalloc, blocks of whole units, so that
 *  the plan's sum holds. A small plan is served without jemalloc. */
void wi_arena_plan(struct wi_arena *a, const struct wi_budget *plan,
                   uint32_t links);

/**
 * Errors:     NULL with err: WEIR_ERR_BUDGET (the cap), or as mem_open
 * Blocks:     shortly, when a chunk is added
 * Ownership:  wi_arena_free; zeroed, 64-byte aligned
 */
void *wi_arena_alloc(struct wi_arena *a, size_t bytes, struct weir_error *err);
void wi_arena_free(struct wi_arena *a, void *p, size_t bytes);

/** The same for rings to `peer`, which the next query to it opens again: what
 *  is kept for a peer comes back as it was left, and goes to nobody else: the
 *  rows in it were for that peer. What is kept is at most a quarter of the cap,
 *  and freed before an alloc fails. */
void *wi_arena_alloc_for(struct wi_arena *a, uint32_t peer, size_t bytes,
                         struct weir_error *err);
void wi_arena_keep(struct wi_arena *a, uint32_t peer, void *p, size_t bytes);

/** Bytes of chunks held now. */
uint64_t wi_arena_bytes(const struct wi_arena *a);

/** The transport whose memory it is. */
struct wi_transport *wi_arena_transport(const struct wi_arena *a);

/** "jemalloc 5.3.0" or "chunks". */
const char *wi_arena_kind(void);

#endif /* WI_ARENA_H */
