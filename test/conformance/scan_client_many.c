/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of scan servers: two hundred at a time, of five nodes, on a server
 * that has memory for a few. */
#include <pthread.h>

#include "test/conformance/scan_client.h"

enum { NODES = 6, CLIENTS = 40, TOTAL = 60000 };

/* The clients of one node, which its thread asks in turns. */
struct crowd {
    struct wt_scan *s;
    uint32_t node;
    weir_scan_client *client[CLIENTS];
    struct ArrowArrayStream stream[CLIENTS];
    int64_t rows[CLIENTS];
    uint32_t reading;
};

static void open_all(struct crowd *k)
{
    const struct weir_scan_client_params p = {.max_bytes = 1 << 18};
    for (uint32_t i = 0; i < CLIENTS; i++) {
        k->client[i] = wt_pull_open(k->s, k->node, &p);
    }
}

static void *read_all(void *arg)
{
    struct crowd *k = arg;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        k->stream[i] = wt_pull_query(k->client[i], "numbers 12 5000");
    }
    k->reading = CLIENTS;
    while (k->reading > 0) {
        for (uint32_t i = 0; i < CLIENTS; i++) {
            if (k->stream[i].release == NULL) {
                continue;
            }
            struct ArrowArray batch = wt_pull_next(&k->stream[i]);
            if (batch.release == NULL) {
                k->stream[i].release(&k->stream[i]);
                k->reading--;
            } else {
                k->rows[i] += wt_pull_check(&batch, k->rows[i]);
                batch.release(&batch);
            }
        }
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        weir_scan_disconnect(k->client[i]);
    }
    return NULL;
}

void wt_scan_client_two_hundred_clients_share_memory(
    const struct wt_place *place)
{
    static struct crowd crowd[NODES];
    const struct weir_scan_server_params p = {
        .max_bytes = 1 << 20, .batch_bytes = 1 << 16, .threads = 4};
    struct wt_scan *s = wt_scan_open(place, NODES, &p);
    pthread_t thread[NODES];
    for (uint32_t n = 0; n < NODES; n++) {
        crowd[n] = (struct crowd){.s = s, .node = n};
        if (n != WT_SCAN_SERVER) {
            open_all(&crowd[n]);
            cr_assert_eq(pthread_create(&thread[n], NULL, read_all, &crowd[n]),
                         0);
        }
    }
    for (uint32_t n = 0; n < NODES; n++) {
        if (n == WT_SCAN_SERVER) {
            continue;
        }
        (void)pthread_join(thread[n], NULL);
        for (uint32_t i = 0; i < CLIENTS; i++) {
            cr_assert_eq(crowd[n].rows[i], TOTAL);
        }
    }
    cr_assert(wt_scan_until(s, wt_scan_empty), "%lu clients, %lu bytes",
              (unsigned long)s->stats.clients, (unsigned long)s->stats.bytes);
    cr_assert_eq(s->stats.rows, (uint64_t)(NODES - 1) * CLIENTS * TOTAL);
    /* One payload each, beside what the cap allows. */
    cr_assert_leq(s->stats.peak_bytes, p.max_bytes + (uint64_t)(NODES - 1) *
                                                         CLIENTS *
                                                         p.batch_bytes);
    wt_scan_close(s);
}
