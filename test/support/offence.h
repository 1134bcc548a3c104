/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Offences: what a peer can do that docs/wire.md forbids, or that it allows and
 * a node has to bear, each in a sentence, and what has to come of it.
 */
#ifndef WT_OFFENCE_H
#define WT_OFFENCE_H

#include "test/support/rogue_ring.h"

enum wt_outcome {
    WT_LINK_ENDS,   /* the node closes the connection */
    WT_QUERY_FAILS, /* the shared query fails with the code, the link goes on */
    WT_IS_BORNE,    /* neither, as long as the rogue is there */
    WT_ENDS_ANYHOW, /* either may come first */
    WT_DEPENDS,     /* whether it was noticed at all */
};

/** A field that gets another value. */
struct wt_patch {
    uint32_t off;
    uint32_t bytes;
    uint64_t value;
};

struct wt_offence {
    const char *name;
    enum wt_outcome outcome;
    weir_err code; /* QUERY_FAILS */
    void (*play)(struct wt_lab *lab, const struct wt_offence *o);
    struct wt_patch patch[2];
    enum wt_msg_type type; /* of the message that is patched */
    bool stale;    /* the frame keeps its checksum; a record comes often */
    bool tcp;      /* needs the records of tcp */
    bool nameless; /* its message need not name the rogue */
    bool before;   /* of a rogue that agreed to no regions */
    weir_err op;   /* what the victim's operation ends with (wares.h);
                      0: with whatever, WEIR_DONE: well */
};

/** Offences of a member. */
extern const struct wt_offence wt_member_offences[];
extern const uint32_t wt_n_member_offences;

/** Of frames: a member's too. */
extern const struct wt_offence wt_frame_offences[];
extern const uint32_t wt_n_frame_offences;

/** Of somebody who is no member; `outcome` is that of its own connection. */
extern const struct wt_offence wt_stranger_offences[];
extern const uint32_t wt_n_stranger_offences;

/** The same two over tcp: of records, and of greetings. */
extern const struct wt_offence wt_record_offences[];
extern const uint32_t wt_n_record_offences;
extern const struct wt_offence wt_greeting_offences[];
extern const uint32_t wt_n_greeting_offences;

/** What readers and owners of regions can do, and askers, to be played with
 *  wares there (wares.h). */
extern const struct wt_offence wt_reader_offences[];
extern const uint32_t wt_n_reader_offences;
extern const struct wt_offence wt_owner_offences[];
extern const uint32_t wt_n_owner_offences;

/** Change every field of each of these messages to every strange value, at
 *  every time; what comes of one may be anything but harm to others. */
void wt_region_sweep(struct wt_lab *lab);

/** Play one, with queries at work, and see what comes of it. The process ends,
 *  with the offence's name, if that is not what has to. */
void wt_offend(struct wt_lab *lab, const struct wt_offence *o);
void wt_intrude(struct wt_lab *lab, const struct wt_offence *o);

/** The same as wt_offend(), with wares. */
void wt_offend_wares(struct wt_lab *lab, const struct wt_offence *o);

#endif /* WT_OFFENCE_H */
