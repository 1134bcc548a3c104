/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Regions: memory that peers read, or write, by themselves.
 *
 *   owner                                      any peer
 *   weir_region_open      memory, a file's
 *                         range, or borrowed
 *   weir_region_publish   under a name ......> weir_fetch_get   (fetch.h)
 *   weir_region_close     revokes ...........> WEIR_ERR_NOT_FOUND
 *
 * A name is two words, which the program chooses: a shuffle and a map attempt,
 * a scan and a batch, a file and a block. Who knows the name and reaches the
 * node can read the region. Addresses and keys of the network are the library's
 * business.
 *
 * A get or a put that begins after weir_region_publish has returned finds that
 * region, until it is closed; one that begins after weir_region_close has
 * returned never does: it ends with WEIR_ERR_NOT_FOUND, or in what is published
 * under the name since. It begins after, if its program knows that by whatever
 * way: a message, an ask, a file, a lock. What a reader keeps of a region does
 * not change that, be it mapped pages. One that is under way when a region is
 * closed ends in that one, in the next one, or with WEIR_ERR_NOT_FOUND, but
 * never in parts of two. (Where one of the two runs an older version, the old
 * region may be found until the reader's node has heard of the close. If the
 * owner's node is opened anew, so it may until the reader's node has seen that
 * the old one is gone: weir_got.incarnation tells.)
 *
 * What a peer's get costs the owner depends on what lies below:
 *
 *              weir's memory       borrowed memory        a constant file
 *   verbs      nothing (RDMA read of what was            a copy, 1 MiB at a
 *              registered once, read-only,               time
 *              and of 8 bytes that say if it
 *              was closed)
 *   shm        nothing (mapped)    a copy, 1 MiB at a    nothing (mapped)
 *                                  time; no puts
 *   tcp        sent by the owner, without a copy
 *
 * Any other file is read 1 MiB at a time. Such parts and the copies above are
 * made by a thread of the node, shared by all readers of a transport while any
 * of them has them, and take at most a quarter of memory_bytes; gets wait for
 * room.
 *
 * Of such a file each get asks the owner, where that thread compares what it
 * has copied with the file: by size and times (mtime, ctime), and by all bytes
 * of the part while those times are less than 3 s old or have changed. So every
 * byte of a get is as it was in the file at some time after the get began; a
 * file that was written, cut or made longer before is got as it is now. Bytes
 * of one get may be of several times, though, and stores by way of a mapping
 * (mmap) count from when the kernel gives the file a new time. Of a constant
 * file none of this is looked at. Copies of borrowed memory that peers may
 * write to are compared likewise, by all bytes of the part.
 *
 * Over shm and verbs each link whose peer reads regions takes a page of 4 KiB
 * beside memory_bytes, and over shm a descriptor.
 *
 * A peer that asks for more than there is, or for what is gone, gets an error
 * for that operation; nothing else happens to it, to the link, or to the owner.
 */
#ifndef WEIR_REGION_H
#define WEIR_REGION_H

#include <stdint.h>

#include <weir/error.h>
#include <weir/node.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_region weir_region;

/** Name of a region, unique on its node while it is published. */
struct weir_name {
    uint64_t space; /* whose: what weir_asks_open takes (ask.h) */
    uint64_t id;
};

typedef enum weir_region_kind {
    WEIR_REGION_NEW,      /* zeroed memory of the library */
    WEIR_REGION_FILE,     /* a range of a regular file; read only */
    WEIR_REGION_BORROWED, /* memory of the program */
} weir_region_kind;

/** What a region is made of. Zero means the default in brackets. */
struct weir_region_params {
    weir_region_kind kind; /* [WEIR_REGION_NEW] */
    int fd;       /* FILE: open for reading; duplicated, so it may be closed */
    uint64_t off; /* FILE: where the region begins, in bytes from the start */
    uint64_t bytes; /* its length, at least 1. A file may be shorter, or become
                       so: gets of what is not there end with WEIR_ERR_DATA,
                       others do not */
    void *base;     /* BORROWED: any alignment; stays as it is until release */
    void (*release)(void *arg); /* BORROWED: called once, when nobody uses the
                       memory any more, by any thread; must not block, nor call
                       back into the library [none] */
    void *release_arg;
    int writable;         /* 1: peers may put, too; not FILE */
    int constant;         /* 1, FILE only: the program promises that the range
                       stays as it is, and that the file does not become
                       shorter, until the region is closed and peers have given
                       back what they were lent. (It may be removed.) Then this
                       process maps it, and peers over shm do: if the promise
                       is broken, or the file's device fails, whoever reads
                       gets SIGBUS [0] */
    uint64_t reserved[4]; /* must be zero */
};

/**
 * Make a region. Peers do not see it before it is published.
 *
 * Memory of WEIR_REGION_NEW counts against memory_bytes of the node. Over
 * verbs, NEW and BORROWED memory is registered when a peer first asks for it,
 * once for all peers. A FILE holds a descriptor, a constant one only if peers
 * may map it.
 *
 * @param region_out  [out] set on WEIR_OK only
 *
 * Errors:     WEIR_ERR_ARG (names the field), WEIR_ERR_BUDGET (the sum),
 *             WEIR_ERR_NO_MEMORY (the limit, and how to raise it),
 *             WEIR_ERR_DATA (a constant file is shorter than the range),
 *             WEIR_ERR_SYSTEM (the descriptor)
 * Blocks:     while the kernel clears pages
 * Threads:    any
 * Ownership:  weir_region_close
 */
WEIR_API weir_err weir_region_open(weir_node *node,
                                   const struct weir_region_params *params,
                                   weir_region **region_out,
                                   struct weir_error *err);

/**
 * Let peers find the region under a name. What was written to it before is what
 * they read; later writes they may see or not, as with memory that is shared.
 *
 * Errors:     WEIR_ERR_DUPLICATE (the name is in use on this node),
 *             WEIR_ERR_STATE (published already), WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    any
 * Ownership:  nothing
 */
WEIR_API weir_err weir_region_publish(weir_region *region,
                                      const struct weir_name *name,
                                      struct weir_error *err);

/** Where the region begins, NULL for a file; 64-byte aligned if NEW.
 *  Errors: none. Blocks: never. Threads: any. Ownership: the region's. */
WEIR_API void *weir_region_base(const weir_region *region);

/** Its length.
 *  Errors: none. Blocks: never. Threads: any. Ownership: nothing. */
WEIR_API uint64_t weir_region_bytes(const weir_region *region);

/**
 * Revoke and free. The name is free at once. Operations of peers that are under
 * way end with their bytes, or as later ones do: with WEIR_ERR_NOT_FOUND, or in
 * another region that is published under the name by then.
 *
 * The memory itself is let go when no peer can reach it any more: when each
 * peer has said that it has stopped, or its link has ended. Over shm a peer
 * that has mapped NEW memory keeps those pages, which are nobody's else then,
 * until it has given back what it was lent. BORROWED: then release is called;
 * until then the memory stays.
 *
 * Errors:     none
 * Blocks:     never
 * Threads:    any, not within release; no other call on this region may run
 * Ownership:  frees region; NULL is allowed
 */
WEIR_API void weir_region_close(weir_region *region);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_REGION_H */
