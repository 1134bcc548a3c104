/* SPDX-License-Identifier: Apache-2.0 */
/* Clients without a server: they stand in for those of services/scan. */
#include "test/unit/connectors/adbc/near.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <nanoarrow/nanoarrow.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "services/scan/keep.h"

AdbcStatusCode AdbcDriverInit(int version, void *driver,
                              struct AdbcError *error);

struct weir_scan_engine wt_near_engine;
int wt_near_clients;
char wt_near_server_name[32];

/* ---- the client's functions ---------------------------------------------- */

struct weir_scan_client {
    struct weir_scan_job job;
    struct wi_scan_keep keep;
    struct weir_scan_fault fault;
    void (*freed)(void *arg);
    void *freed_arg;
};

/* The scan that is shared, as long as it is. */
static struct ArrowArrayStream shared;
static uint32_t shared_ranges;
static bool shared_over; /* DuckDB's streams are not to be read past the end */

weir_err weir_scan_connect(weir_node *node,
                           const struct weir_scan_client_params *params,
                           weir_scan_client **client_out,
                           struct weir_error *err)
{
    (void)node;
    (void)err;
    struct weir_scan_client *c = calloc(1, sizeof(*c));
    cr_assert_not_null(c);
    wi_scan_job_init(&c->job);
    wi_scan_keep_init(&c->keep);
    c->job.keep = &c->keep;
    c->freed = params->freed;
    c->freed_arg = params->freed_arg;
    const char *name = params->server_name;
    (void)strncpy(wt_near_server_name, name != NULL ? name : "",
                  sizeof(wt_near_server_name) - 1);
    wt_near_clients++;
    *client_out = c;
    return WEIR_OK;
}

weir_err weir_scan_open(weir_scan_client *client,
                        const struct weir_scan_request *request,
                        struct ArrowArrayStream *stream_out, int64_t *rows_out,
                        struct weir_error *err)
{
    struct weir_scan_request r = *request;
    struct ArrowArrayStream stream = {0};
    int64_t rows = -1;
    r.text = r.text != NULL ? r.text : "";
    free(client->fault.text);
    client->fault = (struct weir_scan_fault){0};
    weir_err code = wt_near_engine.open(wt_near_engine.arg, &r, &client->job,
                                        &stream, &rows, &client->fault, err);
    if (r.bind != NULL && r.bind->release != NULL) {
        r.bind->release(r.bind);
    }
    if (rows_out != NULL) {
        *rows_out = rows;
    }
    if (stream_out != NULL) {
        *stream_out = stream;
    } else if (stream.release != NULL) {
        stream.release(&stream);
    }
    return code;
}

weir_err weir_scan_share(weir_scan_client *client,
                         const struct weir_scan_request *request,
                         uint32_t n_ranges, struct weir_scan_id *id_out,
                         struct ArrowSchema *schema_out, struct weir_error *err)
{
    client->job.keep = NULL;
    weir_err code = weir_scan_open(client, request, &shared, NULL, err);
    client->job.keep = &client->keep;
    if (code == WEIR_OK) {
        shared_ranges = n_ranges;
        shared_over = false;
        *id_out = (struct weir_scan_id){{0x0123456789abcdef, UINT64_MAX}};
        cr_assert_eq(shared.get_schema(&shared, schema_out), 0);
    }
    return code;
}

static int range_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    (void)s;
    return shared.get_schema(&shared, out);
}

static int range_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    (void)s;
    int bad = 0;
    memset(out, 0, sizeof(*out));
    if (!shared_over) {
        bad = shared.get_next(&shared, out);
        shared_over = bad != 0 || out->release == NULL;
    }
    return bad;
}

static const char *range_error(struct ArrowArrayStream *s)
{
    (void)s;
    return NULL;
}

static void range_release(struct ArrowArrayStream *s)
{
    s->release = NULL;
    if (--shared_ranges == 0) {
        shared.release(&shared);
    }
}

weir_err weir_scan_open_range(weir_scan_client *client,
                              const struct weir_scan_id *id, uint32_t range,
                              struct ArrowArrayStream *stream_out,
                              struct weir_error *err)
{
    (void)client;
    (void)range;
    if (shared.release == NULL || id->words[0] != 0x0123456789abcdef ||
        id->words[1] != UINT64_MAX) {
        (void)strcpy(err->message, "no such scan");
        return WEIR_ERR_NOT_FOUND;
    }
    *stream_out = (struct ArrowArrayStream){range_schema, range_next,
                                            range_error, range_release, NULL};
    return WEIR_OK;
}

const struct weir_scan_fault *
weir_scan_last_fault(const weir_scan_client *client)
{
    return &client->fault;
}

void weir_scan_cancel(weir_scan_client *client)
{
    wi_scan_job_cancel(&client->job);
}

void weir_scan_disconnect(weir_scan_client *client)
{
    if (client != NULL) {
        wi_scan_keep_fini(&client->keep);
        wi_scan_job_fini(&client->job);
        free(client->fault.text);
        client->freed(client->freed_arg);
        free(client);
        wt_near_clients--;
    }
}

/* ---- what tests use ------------------------------------------------------ */

void wt_near_open(struct wt_near *n, enum wt_scan_engine which)
{
    memset(n, 0, sizeof(*n));
    wt_scan_engine_open(which, &wt_near_engine);
    cr_assert_eq(AdbcDriverInit(ADBC_VERSION_1_1_0, &n->d, &n->error), 0);
    cr_assert_eq(n->d.DatabaseNew(&n->database, &n->error), 0);
    cr_assert_eq(n->d.DatabaseSetOption(&n->database, "uri", "tcp:127.0.0.1:1",
                                        &n->error),
                 0);
    cr_assert_eq(n->d.DatabaseInit(&n->database, &n->error), 0, "%s",
                 n->error.message);
    cr_assert_eq(n->d.ConnectionNew(&n->connection, &n->error), 0);
    cr_assert_eq(n->d.ConnectionInit(&n->connection, &n->database, &n->error),
                 0, "%s", n->error.message);
}

void wt_near_close(struct wt_near *n)
{
    if (n->connection.private_data != NULL) {
        cr_assert_eq(n->d.ConnectionRelease(&n->connection, &n->error), 0);
    }
    cr_assert_eq(n->d.DatabaseRelease(&n->database, &n->error), 0);
    if (n->error.release != NULL) {
        n->error.release(&n->error);
    }
    cr_assert_eq(wt_near_clients, 0);
    wt_near_engine.close(wt_near_engine.arg);
}

struct AdbcStatement wt_near_query(struct wt_near *n, const char *text)
{
    struct AdbcStatement s = {0};
    cr_assert_eq(n->d.StatementNew(&n->connection, &s, &n->error), 0);
    cr_assert_eq(n->d.StatementSetSqlQuery(&s, text, &n->error), 0);
    return s;
}

int64_t wt_near_sum(struct ArrowArrayStream *stream)
{
    int64_t sum = 0;
    for (;;) {
        struct ArrowArray batch = {0};
        cr_assert_eq(stream->get_next(stream, &batch), 0, "%s",
                     stream->get_last_error(stream));
        if (batch.release == NULL) {
            break;
        }
        const int64_t *values = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++) {
            sum += values[i];
        }
        batch.release(&batch);
    }
    stream->release(stream);
    return sum;
}
