/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "bench/scan/held.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

struct wb_held {
    struct ArrowSchema schema;
    struct ArrowArray *batches;
    uint32_t n;
    uint32_t room;
};

/* One stream of it. */
struct loan {
    struct wb_held *held;
    int64_t columns;
    uint32_t next; /* batch */
    bool one;
};

/* ---- batches that are lent ----------------------------------------------- */

/* A batch: the array's children point at these, these at the held buffers. */
struct lent {
    struct ArrowArray *pointers;
    const void *buffers[1];
    struct ArrowArray *children[];
};

static void give_back_column(struct ArrowArray *array)
{
    array->release = NULL;
}

static void give_back(struct ArrowArray *array)
{
    struct lent *lent = array->private_data;
    free(lent->pointers);
    free(lent);
    array->release = NULL;
}

static int lend(const struct loan *loan, const struct ArrowArray *held,
                struct ArrowArray *out)
{
    const size_t n = (size_t)loan->columns;
    const int64_t rows = loan->one ? 1 : held->length;
    struct lent *lent = calloc(1, sizeof(*lent) + n * sizeof(void *));
    struct ArrowArray *columns = calloc(n + 1, sizeof(*columns));
    if (lent == NULL || columns == NULL) {
        free(lent);
        free(columns);
        return ENOMEM;
    }
    lent->pointers = columns;
    for (size_t i = 0; i < n; i++) {
        columns[i] = *held->children[i];
        columns[i].release = give_back_column;
        columns[i].offset += held->offset;
        columns[i].length = rows;
        /* -1 (not known) is for columns that have validity. */
        columns[i].null_count = columns[i].buffers[0] == NULL ? 0 : -1;
        lent->children[i] = &columns[i];
    }
    *out = (struct ArrowArray){.length = rows,
                               .n_buffers = 1,
                               .n_children = loan->columns,
                               .buffers = lent->buffers,
                               .children = lent->children,
                               .release = give_back,
                               .private_data = lent};
    return 0;
}

/* ---- schemas ------------------------------------------------------------- */

struct fields {
    struct ArrowSchema *columns;
    struct ArrowSchema *pointers[];
};

static void drop_column(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void drop_schema(struct ArrowSchema *schema)
{
    struct fields *fields = schema->private_data;
    free(fields->columns);
    free(fields);
    schema->release = NULL;
}

static int lend_schema(const struct loan *loan, struct ArrowSchema *out)
{
    const struct ArrowSchema *held = &loan->held->schema;
    const size_t n = (size_t)loan->columns;
    struct fields *fields = calloc(1, sizeof(*fields) + n * sizeof(void *));
    struct ArrowSchema *columns = calloc(n + 1, sizeof(*columns));
    if (fields == NULL || columns == NULL) {
        free(fields);
        free(columns);
        return ENOMEM;
    }
    fields->columns = columns;
    for (size_t i = 0; i < n; i++) {
        columns[i] = *held->children[i];
        columns[i].release = drop_column;
        fields->pointers[i] = &columns[i];
    }
    *out = (struct ArrowSchema){.format = "+s",
                                .name = "",
                                .n_children = loan->columns,
                                .children = fields->pointers,
                                .release = drop_schema,
                                .private_data = fields};
    return 0;
}

/* ---- streams ------------------------------------------------------------- */

static int stream_schema(struct ArrowArrayStream *stream,
                         struct ArrowSchema *out)
{
    return lend_schema(stream->private_data, out);
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct loan *loan = stream->private_data;
    *out = (struct ArrowArray){.release = NULL};
    if (loan->next == loan->held->n || (loan->one && loan->next > 0)) {
        return 0;
    }
    return lend(loan, &loan->held->batches[loan->next++], out);
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "no memory for a batch";
}

static void stream_release(struct ArrowArrayStream *stream)
{
    free(stream->private_data);
    stream->release = NULL;
}

static weir_err engine_open(void *arg, const struct weir_scan_request *request,
                            weir_scan_job *job,
                            struct ArrowArrayStream *stream_out,
                            int64_t *rows_out,
                            struct weir_scan_fault *fault_out,
                            struct weir_error *err)
{
    struct wb_held *held = arg;
    char *end = NULL;
    long columns = strtol(request->text, &end, 10);
    bool one = strcmp(end, " one") == 0;
    (void)job;
    (void)rows_out;
    (void)fault_out;
    if (columns < 1 || columns > held->schema.n_children ||
        (*end != '\0' && !one)) {
        return wi_fail(err, WEIR_ERR_ARG, "no such columns: \"%s\"",
                       request->text);
    }
    struct loan *loan = malloc(sizeof(*loan));
    if (loan == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a stream");
    }
    *loan = (struct loan){.held = held, .columns = columns, .one = one};
    *stream_out = (struct ArrowArrayStream){.get_schema = stream_schema,
                                            .get_next = stream_next,
                                            .get_last_error = stream_error,
                                            .release = stream_release,
                                            .private_data = loan};
    return WEIR_OK;
}

static void engine_close(void *arg)
{
    (void)arg;
}

struct weir_scan_engine wb_held_engine(struct wb_held *held)
{
    return (struct weir_scan_engine){engine_open, engine_close, held};
}

/* ---- taking them --------------------------------------------------------- */

static weir_err stream_failed(struct ArrowArrayStream *from, int code,
                              struct weir_error *err)
{
    const char *why = from->get_last_error(from);
    return wi_fail(err, WEIR_ERR_DATA, "the table: %s",
                   why != NULL ? why : strerror(code));
}

static bool make_room(struct wb_held *held)
{
    uint32_t room = held->room == 0 ? 64 : 2 * held->room;
    if (held->n < held->room) {
        return true;
    }
    struct ArrowArray *more =
        realloc(held->batches, room * sizeof(held->batches[0]));
    if (more == NULL) {
        return false;
    }
    held->batches = more;
    held->room = room;
    return true;
}

static weir_err take_all(struct wb_held *held, struct ArrowArrayStream *from,
                         struct weir_error *err)
{
    int code = from->get_schema(from, &held->schema);
    while (code == 0) {
        struct ArrowArray *batch;
        if (!make_room(held)) {
            return wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a table");
        }
        batch = &held->batches[held->n];
        batch->release = NULL;
        code = from->get_next(from, batch);
        if (code == 0 && batch->release == NULL) {
            return WEIR_OK;
        }
        held->n += code == 0;
    }
    return stream_failed(from, code, err);
}

weir_err wb_held_open(struct ArrowArrayStream *from, struct wb_held **out,
                      struct weir_error *err)
{
    struct wb_held *held = calloc(1, sizeof(*held));
    weir_err rc =
        held == NULL ? wi_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a table")
                     : take_all(held, from, err);
    from->release(from);
    if (rc != WEIR_OK) {
        wb_held_close(held);
        return rc;
    }
    *out = held;
    return WEIR_OK;
}

void wb_held_close(struct wb_held *held)
{
    if (held == NULL) {
        return;
    }
    for (uint32_t i = 0; i < held->n; i++) {
        held->batches[i].release(&held->batches[i]);
    }
    if (held->schema.release != NULL) {
        held->schema.release(&held->schema);
    }
    free(held->batches);
    free(held);
}
