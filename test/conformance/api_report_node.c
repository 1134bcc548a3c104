/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a node whose two workers share a ring: which of them waits, and
 * what none of them has released. */
#include "test/conformance/api.h"

#include <stdio.h>
#include <string.h>

enum { WORKERS = 2, LINES = 32 };

struct crew {
    struct wt_cluster c;
    struct ArrowSchema schema;
    struct ArrowArray batch; /* to send, then what came */
    weir_query *query;
    weir_writer *writer; /* of worker 0 */
    weir_reader *reader; /* of worker 1 */
    char line[LINES][512];
    uint32_t n_lines;
};

static const struct weir_field fields[] = {{"id", "l", 0}};
static const struct wt_rows rows = {.fields = fields, .n_fields = 1};

static void take_line(void *arg, const char *line)
{
    struct crew *k = arg;
    if (k->n_lines < LINES) {
        (void)snprintf(k->line[k->n_lines++], sizeof(k->line[0]), "%s", line);
    }
}

static void says(struct crew *k, const char *line)
{
    bool found = false;
    k->n_lines = 0;
    cr_assert_eq(weir_node_report(k->c.node[0], take_line, k), WEIR_OK);
    for (uint32_t i = 0; i < k->n_lines && !found; i++) {
        found = strcmp(k->line[i], line) == 0;
    }
    for (uint32_t i = 0; i < k->n_lines && !found; i++) {
        (void)fprintf(stderr, "  %s\n", k->line[i]);
    }
    cr_assert(found, "not said: %s", line);
}

static void open_crew(struct crew *k, const struct wt_place *place)
{
    struct wt_cluster_params cluster = {
        .nodes = 1, .workers = WORKERS, .node = {.max_shuffles = 1}};
    const struct weir_query_params q = {.id = 7};
    struct weir_shuffle_params p = {.id = 1, .partitioning = WEIR_VECTOR};
    struct weir_error err = {0};
    weir_shuffle *s;
    memset(k, 0, sizeof(*k));
    cluster.node.memory_bytes = wt_least_memory(place, &cluster);
    wt_cluster_open(&k->c, place, &cluster);
    weir_err rc = weir_schema_build(fields, 1, &k->schema, &err);
    p.schema = &k->schema;
    rc =
        rc != WEIR_OK ? rc : weir_query_open(k->c.node[0], &q, &k->query, &err);
    rc = rc != WEIR_OK ? rc : weir_shuffle_open(k->query, &p, &s, &err);
    rc = rc != WEIR_OK ? rc : weir_writer_open(s, 0, &k->writer, &err);
    rc = rc != WEIR_OK ? rc : weir_reader_open(s, 1, &k->reader, &err);
    cr_assert_eq(rc, WEIR_OK, "%s", err.message);
}

/* The ring comes with a step of the engine. */
static bool is_pushed(void *arg)
{
    static const uint32_t to_worker_1 = 1;
    struct crew *k = arg;
    return weir_writer_push_to(k->writer, &k->batch, &to_worker_1) == WEIR_OK;
}

static bool has_come(void *arg)
{
    struct crew *k = arg;
    return weir_reader_next(k->reader, &k->batch) == WEIR_OK;
}

void wt_api_report_tells_workers_apart(const struct wt_place *place)
{
    static struct crew k;
    open_crew(&k, place);
    wt_rows_make(&rows, 0, 1, &k.batch);
    cr_assert(wt_until(&k.c, is_pushed, &k));
    k.batch.release(&k.batch);
    cr_assert_eq(weir_writer_flush(k.writer), WEIR_OK);
    cr_assert(wt_until(&k.c, has_come, &k));
    says(&k, "query 7 shuffle 1 worker 0 reader: was never opened, the shuffle "
             "is open for 0.0 s");
    says(&k, "query 7 shuffle 1 worker 1 writer: was never opened, the shuffle "
             "is open for 0.0 s");
    says(&k, "query 7 shuffle 1 worker 1 reader: waits for n0 worker 1 to open "
             "its writer, for 0.0 s; the link is open for 0.0 s");
    says(&k, "query 7 shuffle 1 worker 1 reader: this node's workers have not "
             "released 1 batch of n0 worker 0 for 0.0 s, 192 of 32768 bytes of "
             "its ring are in use");
    says(&k, "query 7 shuffle 1 worker 0 writer: n0 has not released 192 of "
             "32768 bytes for 0.0 s");
    k.batch.release(&k.batch);
    cr_assert_eq(weir_writer_finish(k.writer), WEIR_OK);
    cr_assert_eq(weir_reader_next(k.reader, &k.batch), WEIR_AGAIN);
    says(&k, "query 7 shuffle 1 worker 1 reader: 1 of 2 producing workers have "
             "ended");
    weir_query_close(k.query);
    k.schema.release(&k.schema);
    wt_cluster_close(&k.c);
}
