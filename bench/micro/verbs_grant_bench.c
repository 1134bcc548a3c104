/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a grant costs over verbs: registering the memory for the peer, as the
 * transport does, or a window of type 2 on memory that stays registered.
 *
 *   verbs_grant_bench DEVICE GID_INDEX [repetitions]
 *
 * For each size the two alternate; the table shows medians in ns of making a
 * grant and of ending it. A window is made and ended by requests on a queue
 * pair, here one that is connected to itself, and is there when they have
 * completed. A device without such windows gets a line that says so. Every key
 * has to differ from the one before it; else the exit code is 1.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench/lib/median.h"

enum { MOST_BYTES = 16 << 20, MAX_REPETITIONS = 1000, ACTS = 4 };
enum act { REGISTER, DEREGISTER, BIND, UNBIND };

static const size_t sizes[] = {64 << 10, 1 << 20, 4 << 20, MOST_BYTES};
static const int remote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

struct bench {
    struct ibv_context *device;
    int gid_index;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *all;    /* windows are on it */
    struct ibv_mw *window; /* NULL: the device has none */
    void *base;
    uint32_t last_key;
    double ns[ACTS][MAX_REPETITIONS];
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void new_key(struct bench *b, uint32_t key)
{
    if (key == b->last_key) {
        (void)fprintf(stderr, "key %" PRIu32 " twice\n", key);
        exit(1);
    }
    b->last_key = key;
}

/* ---- the queue pair ------------------------------------------------------ */

static void open_device(struct bench *b, const char *name)
{
    int n = 0;
    struct ibv_device **all = ibv_get_device_list(&n);
    for (int i = 0; i < n; i++) {
        if (strcmp(ibv_get_device_name(all[i]), name) == 0) {
            b->device = ibv_open_device(all[i]);
        }
    }
    if (b->device == NULL) {
        die(name);
    }
    ibv_free_device_list(all);
}

static void move(struct bench *b, struct ibv_qp_attr *attr, int mask)
{
    int rc = ibv_modify_qp(b->qp, attr, mask | IBV_QP_STATE);
    if (rc != 0) {
        errno = rc;
        die("ibv_modify_qp");
    }
}

/* To itself. */
static void connect_pair(struct bench *b)
{
    struct ibv_qp_attr at = {.qp_state = IBV_QPS_INIT,
                             .port_num = 1,
                             .qp_access_flags = (unsigned)remote};
    move(b, &at, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    at = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = b->qp->qp_num,
        .max_dest_rd_atomic = 1,
        .ah_attr = {.is_global = 1, .port_num = 1},
    };
    at.ah_attr.grh.sgid_index = (uint8_t)b->gid_index;
    at.ah_attr.grh.hop_limit = 1;
    if (ibv_query_gid(b->device, 1, b->gid_index, &at.ah_attr.grh.dgid) != 0) {
        die("ibv_query_gid");
    }
    move(b, &at,
         IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    at = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                              .timeout = 14,
                              .retry_cnt = 7,
                              .rnr_retry = 7,
                              .max_rd_atomic = 1};
    move(b, &at,
         IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
             IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Leaves the window NULL where the device has none. */
static void open_window(struct bench *b)
{
    struct ibv_device_attr can;
    if (ibv_query_device(b->device, &can) != 0) {
        die("ibv_query_device");
    }
    bool has = (can.device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
                                        IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0;
    b->all = has ? ibv_reg_mr(b->pd, b->base, MOST_BYTES,
                              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)
                 : NULL;
    if (b->all != NULL) {
        b->window = ibv_alloc_mw(b->pd, IBV_MW_TYPE_2);
    }
    if (b->window != NULL) {
        connect_pair(b);
    }
}

static void open_all(struct bench *b, const char *name, int gid_index)
{
    open_device(b, name);
    b->gid_index = gid_index;
    b->base = mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    b->pd = ibv_alloc_pd(b->device);
    b->cq = ibv_create_cq(b->device, 8, NULL, NULL, 0);
    if (b->base == MAP_FAILED || b->pd == NULL || b->cq == NULL) {
        die("protection domain, completion queue");
    }
    struct ibv_qp_init_attr init = {
        .send_cq = b->cq,
        .recv_cq = b->cq,
        .cap = {.max_send_wr = 4,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    b->qp = ibv_create_qp(b->pd, &init);
    if (b->qp == NULL) {
        die("ibv_create_qp");
    }
    open_window(b);
}

/* ---- grants -------------------------------------------------------------- */

static void registered(struct bench *b, size_t bytes, uint32_t at)
{
    double begin = now_ns();
    struct ibv_mr *mr = ibv_reg_mr(b->pd, b->base, bytes, remote);
    double made = now_ns();
    if (mr == NULL) {
        die("ibv_reg_mr");
    }
    new_key(b, mr->rkey);
    double ends = now_ns();
    if (ibv_dereg_mr(mr) != 0) {
        die("ibv_dereg_mr");
    }
    b->ns[REGISTER][at] = made - begin;
    b->ns[DEREGISTER][at] = now_ns() - ends;
}

/* Until it has completed. */
static double request(struct bench *b, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    struct ibv_wc wc;
    int n;
    double begin = now_ns();
    wr->send_flags = IBV_SEND_SIGNALED;
    int rc = ibv_post_send(b->qp, wr, &bad);
    if (rc != 0) {
        errno = rc;
        die("ibv_post_send");
    }
    while ((n = ibv_poll_cq(b->cq, 1, &wc)) == 0) {
    }
    if (n < 0 || wc.status != IBV_WC_SUCCESS) {
        (void)fprintf(stderr, "%s\n",
                      n < 0 ? "ibv_poll_cq" : ibv_wc_status_str(wc.status));
        exit(1);
    }
    return now_ns() - begin;
}

static void windowed(struct bench *b, size_t bytes, uint32_t at)
{
    struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW};
    bind.bind_mw.mw = b->window;
    bind.bind_mw.rkey = ibv_inc_rkey(b->window->rkey);
    bind.bind_mw.bind_info =
        (struct ibv_mw_bind_info){.mr = b->all,
                                  .addr = (uintptr_t)b->base,
                                  .length = bytes,
                                  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    b->ns[BIND][at] = request(b, &bind);
    b->window->rkey = bind.bind_mw.rkey;
    new_key(b, b->window->rkey);
    struct ibv_send_wr end = {.opcode = IBV_WR_LOCAL_INV,
                              .invalidate_rkey = b->window->rkey};
    b->ns[UNBIND][at] = request(b, &end);
}

static void report(struct bench *b, size_t bytes, uint32_t n)
{
    printf("%8zu KiB", bytes >> 10);
    for (uint32_t act = 0; act < (b->window != NULL ? ACTS : BIND); act++) {
        printf("%12.0f", wb_spread_of(b->ns[act], n).median);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    static struct bench b;
    int n = argc > 3 ? atoi(argv[3]) : 50;
    if (argc < 3 || n < 1 || n > MAX_REPETITIONS) {
        (void)fprintf(stderr, "verbs_grant_bench DEVICE GID_INDEX "
                              "[repetitions, at most 1000]\n");
        return 2;
    }
    open_all(&b, argv[1], atoi(argv[2]));
    if (b.window == NULL) {
        printf("%s has no memory windows of type 2\n", argv[1]);
    }
    printf("%12s%12s%12s%12s%12s   ns\n", argv[1], "register", "deregister",
           "bind", "invalidate");
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (uint32_t at = 0; at < (uint32_t)n; at++) {
            registered(&b, sizes[i], at);
            if (b.window != NULL) {
                windowed(&b, sizes[i], at);
            }
        }
        report(&b, sizes[i], (uint32_t)n);
    }
    return 0;
}
