/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of queries from a server to a client, with an engine of our own.
 *
 *   server   weir_scan_server_open with an engine: text -> ArrowArrayStream
 *   client   weir_scan_connect(address), weir_scan_open("1000000"), read
 *
 * The engine's "queries" are numbers: so many squares. Both nodes are in this
 * process and talk over shared memory; the client's batches lie in the server's
 * memory until they are released.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/scan.h>
#include <weir/weir.h>

enum { BATCH = 100000 };

static struct weir_error why;

static void ok(weir_err rc, const char *what)
{
    if (rc < 0) {
        errx(1, "%s: %s: %s", what, weir_err_name(rc), why.message);
    }
}

/* ---- the engine ---------------------------------------------------------- */

/* A stream of squares: its state. */
struct squares {
    int64_t next;
    int64_t count;
};

/* A batch: a struct of one column, in one piece of memory. */
struct batch {
    struct ArrowArray column;
    struct ArrowArray *columns[1];
    const void *buffers[2]; /* of the column: no validity, values */
    const void *none[1];    /* of the struct: no validity */
    int64_t values[];
};

static void free_column(struct ArrowArray *a)
{
    a->release = NULL; /* the batch frees it */
}

static void free_batch(struct ArrowArray *a)
{
    free(a->private_data);
    a->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct weir_field field = {.name = "square", .format = "l"};
    struct weir_error error;
    (void)stream;
    return weir_schema_build(&field, 1, out, &error) == WEIR_OK ? 0 : EINVAL;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct squares *s = stream->private_data;
    int64_t left = s->count - s->next;
    int64_t n = left < BATCH ? left : BATCH;
    *out = (struct ArrowArray){.release = NULL};
    if (n == 0) {
        return 0; /* the end */
    }
    struct batch *b = malloc(sizeof(*b) + (size_t)n * sizeof(b->values[0]));
    if (b == NULL) {
        return ENOMEM;
    }
    for (int64_t i = 0; i < n; i++, s->next++) {
        b->values[i] = s->next * s->next;
    }
    b->none[0] = b->buffers[0] = NULL;
    b->buffers[1] = b->values;
    b->columns[0] = &b->column;
    b->column = (struct ArrowArray){.length = n,
                                    .n_buffers = 2,
                                    .buffers = b->buffers,
                                    .release = free_column};
    *out = (struct ArrowArray){.length = n,
                               .n_buffers = 1,
                               .buffers = b->none,
                               .n_children = 1,
                               .children = b->columns,
                               .release = free_batch,
                               .private_data = b};
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void free_stream(struct ArrowArrayStream *stream)
{
    free(stream->private_data);
    stream->release = NULL;
}

static weir_err engine_open(void *arg, const struct weir_scan_request *request,
                            weir_scan_job *job, struct ArrowArrayStream *out,
                            int64_t *rows_out, struct weir_scan_fault *fault,
                            struct weir_error *error)
{
    (void)arg, (void)job, (void)fault, (void)error;
    if (request->kind != WEIR_SCAN_QUERY) {
        return WEIR_ERR_UNSUPPORTED;
    }
    struct squares *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return WEIR_ERR_NO_MEMORY;
    }
    s->count = *rows_out = strtoll(request->text, NULL, 10);
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error,
                                     free_stream, s};
    return WEIR_OK;
}

/* ---- server and client --------------------------------------------------- */

static int64_t read_all(weir_scan_client *client, const char *query)
{
    const struct weir_scan_request request = {.text = query};
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    int64_t rows = 0;
    ok(weir_scan_open(client, &request, &stream, NULL, &why), "open");
    for (;;) {
        if (stream.get_next(&stream, &batch) != 0) {
            errx(1, "next: %s", stream.get_last_error(&stream));
        }
        if (batch.release == NULL) {
            break;
        }
        const int64_t *values = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++, rows++) {
            if (values[i] != rows * rows) {
                errx(1, "row %" PRId64 " is %" PRId64, rows, values[i]);
            }
        }
        batch.release(&batch);
    }
    stream.release(&stream);
    return rows;
}

int main(void)
{
    const struct weir_scan_source source = {.name = "",
                                            .engine = {.open = engine_open}};
    const struct weir_scan_server_params params = {.sources = &source,
                                                   .n_sources = 1};
    weir_node *here, *there;
    weir_scan_server *server;
    weir_scan_client *client;
    ok(weir_node_open(NULL, &there, &why), "server's node");
    ok(weir_scan_server_open(there, &params, &server, &why), "server");

    ok(weir_node_open(NULL, &here, &why), "client's node");
    const struct weir_scan_client_params to = {.address =
                                                   weir_node_address(there)};
    ok(weir_scan_connect(here, &to, &client, &why), "connect");
    int64_t rows = read_all(client, "1000000");
    printf("%" PRId64 " squares\n", rows);
    weir_scan_disconnect(client);
    weir_node_close(here);
    weir_scan_server_close(server);
    weir_node_close(there);
    return rows == 1000000 ? 0 : 1;
}
