/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of scan servers: rows, types, requests. */
#include "test/conformance/scan_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/services/scan/make.h"

/* ---- fixture ------------------------------------------------------------- */

weir_scan_client *wt_pull_open(struct wt_scan *s, uint32_t node,
                               const struct weir_scan_client_params *params)
{
    struct weir_scan_client_params p = {0};
    struct weir_member m;
    struct weir_error err;
    weir_scan_client *c = NULL;
    if (params != NULL) {
        p = *params;
    }
    cr_assert_eq(weir_node_member(s->r->c.node[node], WT_SCAN_SERVER, &m),
                 WEIR_OK);
    p.address = m.address;
    cr_assert_eq(weir_scan_connect(s->r->c.node[node], &p, &c, &err), WEIR_OK,
                 "%s", err.message);
    return c;
}

void wt_pull_close(struct wt_scan *s, weir_scan_client *c)
{
    weir_scan_disconnect(c);
    cr_assert(wt_scan_until(s, wt_scan_empty), "%lu clients, %lu bytes",
              (unsigned long)s->stats.clients, (unsigned long)s->stats.bytes);
    wt_scan_close(s);
}

struct ArrowArrayStream wt_pull_query(weir_scan_client *c, const char *text)
{
    const struct weir_scan_request r = {.dataset = "raw", .text = text};
    struct ArrowArrayStream stream = {0};
    struct weir_error err;
    cr_assert_eq(weir_scan_open(c, &r, &stream, NULL, &err), WEIR_OK, "%s: %s",
                 text, err.message);
    return stream;
}

struct ArrowArray wt_pull_next(struct ArrowArrayStream *stream)
{
    struct ArrowArray batch;
    int status = stream->get_next(stream, &batch);
    cr_assert_eq(status, 0, "%s", stream->get_last_error(stream));
    return batch;
}

int64_t wt_pull_check(const struct ArrowArray *batch, int64_t first)
{
    cr_assert_eq(batch->n_children, 1);
    const int64_t *values = batch->children[0]->buffers[1];
    for (int64_t i = 0; i < batch->length; i++) {
        cr_assert_eq(values[i], first + i);
    }
    return batch->length;
}

int64_t wt_pull_all(struct ArrowArrayStream *stream)
{
    int64_t n = 0;
    for (;;) {
        struct ArrowArray batch = wt_pull_next(stream);
        if (batch.release == NULL) {
            break;
        }
        n += wt_pull_check(&batch, n);
        batch.release(&batch);
    }
    stream->release(stream);
    return n;
}

/* ---- rows ---------------------------------------------------------------- */

void wt_scan_client_rows_arrive_in_order(const struct wt_place *place)
{
    static const struct {
        const char *text;
        int64_t rows;
    } all[] = {
        {"numbers 0 0", 0},
        {"numbers 1 1", 1},
        {"numbers 3 0", 0},
        {"numbers 7 100", 700},
        {"numbers 200 9000", 1800000},
        {"numbers 3 600000", 1800000},
    };
    for (uint32_t ahead = 1; ahead <= 16; ahead *= 4) {
        struct wt_scan *s = wt_scan_open(place, 0, NULL);
        weir_scan_client *c = wt_pull_open(
            s, 0, &(struct weir_scan_client_params){.ahead = ahead});
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
            struct ArrowArrayStream stream = wt_pull_query(c, all[i].text);
            cr_assert_eq(wt_pull_all(&stream), all[i].rows, "%s", all[i].text);
        }
        cr_assert_null(weir_scan_last_fault(c)->text);
        wt_pull_close(s, c);
    }
}

/* ---- types --------------------------------------------------------------- */

/* An engine that gives one kind of make.h, some times. */
struct kinds {
    int kind;
    int left;
};

static int kinds_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    struct kinds *k = s->private_data;
    struct ArrowArray unused;
    struct ArrowSchema child;
    wt_scan_make(k->kind, &child, &unused);
    unused.release(&unused);
    ArrowSchemaInit(out);
    int rc = ArrowSchemaSetTypeStruct(out, 1);
    ArrowSchemaMove(&child, out->children[0]);
    return rc;
}

static int kinds_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    struct kinds *k = s->private_data;
    struct ArrowSchema schema;
    out->release = NULL;
    if (k->left-- <= 0) {
        return 0;
    }
    int rc = ArrowArrayInitFromType(out, NANOARROW_TYPE_STRUCT);
    rc = rc == 0 ? ArrowArrayAllocateChildren(out, 1) : rc;
    wt_scan_make(k->kind, &schema, out->children[0]);
    out->length = out->children[0]->length;
    out->null_count = 0;
    schema.release(&schema);
    return rc;
}

static const char *kinds_error(struct ArrowArrayStream *s)
{
    (void)s;
    return NULL;
}

static void kinds_release(struct ArrowArrayStream *s)
{
    free(s->private_data);
    s->release = NULL;
}

static weir_err kinds_open(void *arg, const struct weir_scan_request *request,
                           weir_scan_job *job, struct ArrowArrayStream *out,
                           int64_t *rows_out, struct weir_scan_fault *fault,
                           struct weir_error *err)
{
    struct kinds *k = malloc(sizeof(*k));
    *k = (struct kinds){atoi(request->text), 5};
    *out = (struct ArrowArrayStream){kinds_schema, kinds_next, kinds_error,
                                     kinds_release, k};
    (void)arg, (void)job, (void)rows_out, (void)fault, (void)err;
    return WEIR_OK;
}

/* As bytes: head and body. */
static struct wi_scan_buf bytes_of(const struct ArrowSchema *schema,
                                   const struct ArrowArray *array)
{
    struct wi_scan_shape shape;
    struct wi_scan_split split = {0};
    struct weir_error err;
    cr_assert_eq(wi_scan_shape_init(&shape, schema, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(wi_scan_split(&shape, array, &split, &err), WEIR_OK, "%s",
                 err.message);
    struct wi_scan_buf b = {0};
    wi_scan_buf_put(&b, split.head.bytes, split.head.len);
    uint8_t *body = calloc(1, split.body_bytes + 1);
    wi_scan_split_copy(&split, body);
    wi_scan_buf_put(&b, body, split.body_bytes);
    free(body);
    wi_scan_split_fini(&split);
    wi_scan_shape_fini(&shape);
    return b;
}

static void pull_kind(weir_scan_client *c, int kind)
{
    char text[16];
    const struct weir_scan_request r = {.dataset = "kinds", .text = text};
    struct ArrowArrayStream stream, own = {.private_data = NULL};
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct weir_error err;
    struct kinds k = {kind, 1};
    (void)snprintf(text, sizeof(text), "%d", kind);
    cr_assert_eq(weir_scan_open(c, &r, &stream, NULL, &err), WEIR_OK, "%s: %s",
                 wt_scan_kind_name(kind), err.message);
    own.private_data = &k;
    cr_assert_eq(kinds_next(&own, &batch), 0);
    cr_assert_eq(stream.get_schema(&stream, &schema), 0);
    struct wi_scan_buf want = bytes_of(&schema, &batch);
    batch.release(&batch);
    for (int i = 0; i < 5; i++) {
        batch = wt_pull_next(&stream);
        cr_assert_not_null(batch.release);
        struct wi_scan_buf have = bytes_of(&schema, &batch);
        cr_assert_eq(have.len, want.len, "%s", wt_scan_kind_name(kind));
        cr_assert_arr_eq(have.bytes, want.bytes, want.len, "%s",
                         wt_scan_kind_name(kind));
        free(have.bytes);
        batch.release(&batch);
    }
    free(want.bytes);
    schema.release(&schema);
    batch = wt_pull_next(&stream);
    cr_assert_null(batch.release);
    stream.release(&stream);
}

void wt_scan_client_all_types_arrive(const struct wt_place *place)
{
    const struct weir_scan_source source = {.name = "kinds",
                                            .engine = {.open = kinds_open}};
    /* Slots that are too small for two, and a payload for all. */
    for (uint64_t bytes = 1024; bytes <= 1 << 20; bytes <<= 10) {
        const struct weir_scan_server_params p = {
            .sources = &source, .n_sources = 1, .batch_bytes = bytes};
        struct wt_scan *s = wt_scan_open(place, 0, &p);
        weir_scan_client *c = wt_pull_open(s, 0, NULL);
        for (int k = 0; k < wt_scan_kinds(); k++) {
            pull_kind(c, k);
        }
        wt_pull_close(s, c);
    }
}

/* ---- requests ------------------------------------------------------------ */

void wt_scan_client_no_stream_is_no_columns(const struct wt_place *place)
{
    const struct weir_scan_request r = {
        .kind = WEIR_SCAN_UPDATE, .dataset = "raw", .text = "nothing"};
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    int64_t rows = 0;
    cr_assert_eq(weir_scan_open(c, &r, &stream, &rows, NULL), WEIR_OK);
    cr_assert_eq(rows, 7);
    cr_assert_eq(stream.get_schema(&stream, &schema), 0);
    cr_assert_str_eq(schema.format, "+s");
    cr_assert_eq(schema.n_children, 0);
    schema.release(&schema);
    struct ArrowArray batch = wt_pull_next(&stream);
    cr_assert_null(batch.release);
    stream.release(&stream);
    cr_assert_eq(weir_scan_open(c, &r, NULL, NULL, NULL), WEIR_OK);
    wt_pull_close(s, c);
}

void wt_scan_client_long_request_arrives(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    for (size_t n = 700; n < 5000000; n = n * 3 + 1) {
        char *text = malloc(n + 1);
        memset(text, ' ', n);
        memcpy(text, "numbers 3 5", 11);
        text[n] = '\0';
        struct ArrowArrayStream stream = wt_pull_query(c, text);
        cr_assert_eq(wt_pull_all(&stream), 15);
        free(text);
    }
    wt_pull_close(s, c);
}

static void refuse_connect(struct wt_scan *s, struct weir_scan_client_params p,
                           const char *what)
{
    struct weir_error err;
    weir_scan_client *c;
    cr_assert_eq(weir_scan_connect(s->r->c.node[0], &p, &c, &err),
                 WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, what), "%s", err.message);
}

void wt_scan_client_what_a_program_gets_wrong_is_named(
    const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    const char *address = weir_node_address(s->r->c.node[1]);
    struct weir_error err;
    refuse_connect(s, (struct weir_scan_client_params){0}, "address");
    refuse_connect(s, (struct weir_scan_client_params){address, .ahead = 17},
                   "ahead");
    refuse_connect(s, (struct weir_scan_client_params){address, .worker = 9},
                   "worker");
    refuse_connect(
        s, (struct weir_scan_client_params){address, .reserved = {0, 1}},
        "reserved[1]");
    const struct weir_scan_request bad = {.n_options = 1};
    cr_assert_eq(weir_scan_open(c, &bad, NULL, NULL, &err), WEIR_ERR_ARG);
    cr_assert_not_null(strstr(err.message, "options"));
    cr_assert_str_eq(weir_scan_last_fault(c)->text, err.message);
    wt_pull_close(s, c);
}

/* ---- fork ---------------------------------------------------------------- */

/* In the child: what is asked for is refused, what is let go of stays. 0, or
 * what went wrong. */
static int use_in_child(struct wt_scan *s, weir_scan_client *c,
                        struct ArrowArrayStream *stream,
                        struct ArrowArray *batch)
{
    const struct weir_scan_request r = {.dataset = "raw",
                                        .text = "numbers 1 1"};
    struct ArrowArrayStream other = {0};
    struct ArrowArray next;
    struct weir_error err;
    if (weir_scan_open(c, &r, &other, NULL, &err) != WEIR_ERR_STATE) {
        return 1;
    }
    if (stream->get_next(stream, &next) == 0) {
        return 2;
    }
    weir_scan_cancel(c);
    batch->release(batch);
    stream->release(stream);
    weir_scan_disconnect(c);
    weir_scan_server_close(s->server);
    for (uint32_t i = 0; i < s->r->c.n_nodes; i++) {
        weir_node_close(s->r->c.node[i]);
    }
    return 0;
}

void wt_scan_client_a_forked_child_is_refused(const struct wt_place *place)
{
    struct wt_scan *s = wt_scan_open(place, 0, NULL);
    weir_scan_client *c = wt_pull_open(s, 0, NULL);
    struct ArrowArrayStream stream = wt_pull_query(c, "numbers 200 9000");
    struct ArrowArray batch = wt_pull_next(&stream);
    int status = -1;
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        (void)alarm(20); /* if a call hangs */
        _exit(use_in_child(s, c, &stream, &batch));
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x",
              (unsigned)status);
    int64_t rows = wt_pull_check(&batch, 0);
    batch.release(&batch);
    for (batch = wt_pull_next(&stream); batch.release != NULL;
         batch = wt_pull_next(&stream)) {
        rows += wt_pull_check(&batch, rows);
        batch.release(&batch);
    }
    cr_assert_eq(rows, 1800000);
    stream.release(&stream);
    wt_pull_close(s, c);
}
