/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Who this node has links to, by entry of engine->members. Under the node's
 * lock.
 *
 *   0 .. n_members-1     members: the number is that of the cluster. One that
 *                        nobody here has given a name, or that was removed,
 *                        is a hole
 *   max_members ..       others (peer.h)
 *
 * A member stays where it is: its number is not used again, and its texts live
 * as long as the node.
 */
#ifndef WI_MEMBERS_H
#define WI_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/node.h>

#include "core/link/warn.h"

struct wi_engine;
struct wi_link;

/** A text that was replaced and may still be in use. */
struct wi_old_text {
    struct wi_old_text *next;
    char *text;
};

struct wi_member {
    char *name; /* NULL: the number is not in use */
    char *address;
    uint32_t workers;
    struct wi_link *link; /* the live one, or NULL */
    uint32_t n_links;     /* with those that are ending */
    bool rested;          /* there was one, and it closed in good order */
    bool removed;         /* no new queries with it */
    bool own;             /* of an outsider: it is this node */
    char *server_name;    /* of an outsider: NULL: its address says whom */
    uint32_t holds;       /* of an outsider: handles */
    uint32_t change;      /* seed: the last one of this entry, 0: none */
    uint32_t heard;       /* seed: last change that it was told of */
    uint64_t heard_by;    /* seed: the incarnation that was */
    struct wi_gate gates[WI_CAUSES];
};

/**
 * Check a list of members and copy it: this node has joined.
 *
 * Errors: as weir_node_join.  Blocks: never
 */
weir_err wi_members_join(struct wi_engine *e, const struct weir_member *members,
                         uint32_t n, struct weir_error *err);

/** Check one member by itself: its texts, its workers, its address. */
weir_err wi_member_check(const struct wi_engine *e, uint32_t idx,
                         const struct weir_member *m, struct weir_error *err);

/** Copy a member into its entry, which is empty. Errors: no memory */
weir_err wi_member_copy(struct wi_engine *e, uint32_t idx,
                        const struct weir_member *m);

/** Give an entry another address. Errors: no memory */
weir_err wi_member_move(struct wi_engine *e, uint32_t idx, const char *address);

/** Is there a member of this number that can take part in new queries? */
bool wi_member_here(const struct wi_engine *e, uint32_t idx);

/** Entries for members and others, all empty. */
weir_err wi_members_open(struct wi_engine *e);
void wi_members_close(struct wi_engine *e);

/** Name of a member, or of another entry, for messages. */
const char *wi_member_name(const struct wi_engine *e, uint32_t idx);

/** What an entry that is no member's calls itself, if it says so. */
void wi_member_call(struct wi_engine *e, uint32_t idx, const char *name);

/** The first entry of n from idx on that is not in use; UINT32_MAX: none. */
uint32_t wi_member_free_entry(const struct wi_engine *e, uint32_t idx,
                              uint32_t n);

/** A link of this entry was freed. */
void wi_member_unlinked(struct wi_engine *e, uint32_t idx);

/** A handle or a link of this entry is gone: empty it if that was the last and
 *  it is no member's. */
void wi_member_rest(struct wi_engine *e, uint32_t idx);

#endif /* WI_MEMBERS_H */
