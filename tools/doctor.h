/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What `weir doctor` finds: one line per check, and for a problem the command
 * that fixes it.
 *
 *   ok       memlock     unlimited
 *   problem  port        rxe0 port 1 is DOWN: its network device eth0 is down
 *            fix:        ip link set eth0 up
 *
 * Facts of the system are read below `root`, so that a test can build a system
 * of its own.
 */
#ifndef WEIR_DOCTOR_H
#define WEIR_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/weir.h>

#include "cli/identity.h"

enum doctor_level {
    DOCTOR_OK,
    DOCTOR_NOTE, /* not wrong; worth knowing */
    DOCTOR_PROBLEM,
};

enum { DOCTOR_TEXT_BYTES = 512, DOCTOR_NAMES = 64, DOCTOR_NAME_BYTES = 64 };

struct doctor {
    const char *root;         /* "" or a directory that stands for "/" */
    const char *transport;    /* that nodes are opened with */
    const char *advertise;    /* of the listening end; NULL: as it listens */
    struct identity identity; /* of the nodes */
    uint64_t timeout_ns;      /* for a peer to answer */
    FILE *out;
    json_t *findings;    /* NULL: lines are printed as they are found */
    unsigned problems;   /* so far */
    unsigned devices;    /* RDMA devices found */
    uint64_t need_bytes; /* most that a default node holds; 0: not known */
};

/* What gives nodes a secret. */
#define DOCTOR_MAKE_SECRET                                                     \
    "openssl rand -hex 32 > FILE && chmod 600 FILE; secret_file of all nodes"

/** One finding. fix: a command, or NULL. data: numbers for JSON, taken over;
 *  may be NULL. Errors: none. Blocks: shortly. Threads: one. Ownership:
 *  data. */
void doctor_say_data(struct doctor *d, enum doctor_level level,
                     const char *check, const char *fix, json_t *data,
                     const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
#define doctor_say(d, level, check, fix, ...)                                  \
    doctor_say_data(d, level, check, fix, NULL, __VA_ARGS__)

/** Print the JSON object, if that was asked for. The exit status: 0 or 1. */
int doctor_end(struct doctor *d);

/* ---- facts --------------------------------------------------------------- */

/** First line of a file below root, without blanks around it; false: it cannot
 *  be read (text is ""). */
bool doctor_read(const struct doctor *d, char *text, size_t bytes,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

struct doctor_names {
    unsigned n;
    char name[DOCTOR_NAMES][DOCTOR_NAME_BYTES];
};

/** Entries of a directory below root, in order, dot files left out. */
void doctor_list(const struct doctor *d, struct doctor_names *names,
                 const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** May this process read and write a file below root? *exists_out: is it
 *  there? */
bool doctor_may_use(const struct doctor *d, bool *exists_out, const char *fmt,
                    ...) __attribute__((format(printf, 3, 4)));

/* ---- checks -------------------------------------------------------------- */

/** RDMA devices, ports, GIDs, device files, network devices (doctor_dev.c).
 *  Sets d->devices. */
void doctor_devices(struct doctor *d);

/** Locked memory, huge pages, /dev/shm, open files (doctor_sys.c). */
void doctor_system(struct doctor *d);

/** Open a node and see what it can use; sets d->need_bytes (doctor_why.c). */
void doctor_node(struct doctor *d);

/** Which transport a link to HOST or ADDRESS takes, and why (doctor_why.c). */
void doctor_why(struct doctor *d, const char *where);

/** Measure to a peer: HOST, HOST:PORT or ADDRESS (doctor_peer.c). */
void doctor_peer(struct doctor *d, const char *where);

/** Be the other end of doctor_peer(); until it is ended, or for one peer. */
void doctor_listen(struct doctor *d, const char *where, bool once);

/** Address of the node at HOST, HOST:PORT or ADDRESS. false: too long. */
bool doctor_address(const struct doctor *d, char *text, size_t bytes,
                    const char *where);

#define DOCTOR_PORT "7117"

#endif /* WEIR_DOCTOR_H */
