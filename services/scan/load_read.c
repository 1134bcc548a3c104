/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a client as schema and batches. A client can write to its rooms at
 * any time, so what lies there is copied, and only the copy is looked at; of
 * the payload's own numbers each is read once (parts.h).
 */
#include <stdlib.h>
#include <string.h>

#include "services/scan/fail.h"
#include "services/scan/fault_bytes.h"
#include "services/scan/load_in.h"
#include "services/scan/parts.h"
#include "services/scan/schema_bytes.h"
#include "services/scan/slots.h"

/* ---- the load ------------------------------------------------------------ */

static weir_err no_memory(struct weir_error *err)
{
    return wi_scan_fail(err, WEIR_ERR_NO_MEMORY,
                        "no memory for a client's rows");
}

static weir_err read_schema(struct wi_scan_load *load, const uint8_t *bytes,
                            uint64_t len, struct weir_error *err)
{
    weir_err code = wi_scan_schema_decode(bytes, len, &load->schema, err);
    if (code == WEIR_OK && strcmp(load->schema.format, "+s") != 0) {
        code = wi_scan_fail(err, WEIR_ERR_DATA,
                            "rows to take in have columns: the schema is '%s'",
                            load->schema.format);
    }
    if (code == WEIR_OK) {
        code = wi_scan_shape_init(&load->shape, &load->schema, err);
        load->shaped = code == WEIR_OK;
    }
    return code;
}

static weir_err copy_schema(struct wi_scan_load *load, const uint8_t *bytes,
                            uint64_t len, struct weir_error *err)
{
    uint8_t *copy = malloc(len + 1);
    if (copy == NULL) {
        return no_memory(err);
    }
    memcpy(copy, bytes, len);
    weir_err code = read_schema(load, copy, len, err);
    free(copy);
    return code;
}

static void init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

struct wi_scan_load *wi_scan_load_make(struct weir_scan_server *s,
                                       const uint8_t *bytes, uint64_t len,
                                       bool shared, struct weir_error *err)
{
    struct wi_scan_load *load = calloc(1, sizeof(*load));
    if (load == NULL) {
        (void)no_memory(err);
        return NULL;
    }
    load->key = wi_scan_key_random();
    load->server = s;
    load->holders = 1;
    TAILQ_INIT(&load->fills);
    init_cond(&load->more);
    weir_err code = shared ? copy_schema(load, bytes, len, err)
                           : read_schema(load, bytes, len, err);
    if (code != WEIR_OK) {
        wi_scan_load_free(load);
        return NULL;
    }
    return load;
}

void wi_scan_load_free(struct wi_scan_load *load)
{
    while (load->at < load->n) {
        struct ArrowArray *batch = &load->batches[load->at++];
        batch->release(batch);
    }
    if (load->shaped) {
        wi_scan_shape_fini(&load->shape);
    }
    if (load->schema.release != NULL) {
        load->schema.release(&load->schema);
    }
    (void)pthread_cond_destroy(&load->more);
    free(load->batches);
    free(load->text);
    free(load);
}

/* ---- its batches --------------------------------------------------------- */

static weir_err join(struct wi_scan_load *load,
                     const struct wi_scan_part_view *view, void *head,
                     void *body, struct weir_error *err)
{
    const struct wi_scan_body b = {body, view->body_bytes, free, body, false};
    memcpy(head, view->head, view->head_bytes);
    memcpy(body, view->body, view->body_bytes);
    return wi_scan_join(&load->shape, head, view->head_bytes, &b,
                        &load->batches[load->n], err);
}

static weir_err read_part(struct wi_scan_load *load,
                          const struct wi_scan_part_view *view,
                          struct weir_error *err)
{
    uint64_t room = (view->body_bytes / WI_SCAN_ALIGN + 1) * WI_SCAN_ALIGN;
    void *head = malloc(view->head_bytes + 1);
    void *body = aligned_alloc(WI_SCAN_ALIGN, room);
    weir_err code = head != NULL && body != NULL
                        ? join(load, view, head, body, err)
                        : no_memory(err);
    free(head);
    if (code != WEIR_OK) {
        free(body);
    } else {
        load->n++;
    }
    return code;
}

static weir_err read_parts(struct wi_scan_load *load, const uint8_t *bytes,
                           const struct wi_scan_ask *a, struct weir_error *err)
{
    struct wi_scan_parts parts;
    struct wi_scan_part_view view;
    weir_err code = wi_scan_parts_init(&parts, bytes, a->n_bytes, 0, a->n, err);
    if (code != WEIR_OK || a->n > a->n_bytes / sizeof(struct wi_scan_part)) {
        return wi_scan_fail(err, WEIR_ERR_DATA, "n = %u batches in %llu bytes",
                            a->n, (unsigned long long)a->n_bytes);
    }
    free(load->batches);
    load->n = load->at = 0;
    load->batches = calloc((size_t)a->n + 1, sizeof(*load->batches));
    if (load->batches == NULL) {
        return no_memory(err);
    }
    while (code == WEIR_OK &&
           (code = wi_scan_parts_next(&parts, &view, err)) == WEIR_OK) {
        code = read_part(load, &view, err);
    }
    return code == WEIR_DONE ? WEIR_OK : code;
}

static weir_err read_fault(struct wi_scan_load *load, const uint8_t *bytes,
                           uint64_t len, struct weir_error *err)
{
    struct weir_scan_fault fault;
    uint8_t *copy = malloc(len + 1);
    if (copy == NULL) {
        return no_memory(err);
    }
    memcpy(copy, bytes, len);
    weir_err code = wi_scan_fault_decode(copy, len, &fault, err);
    free(copy);
    if (code == WEIR_OK) {
        free(load->text);
        load->text = fault.text;
    }
    return code;
}

weir_err wi_scan_load_read(struct wi_scan_load *load,
                           const struct wi_scan_fill *fill,
                           struct weir_error *err)
{
    const uint8_t *bytes =
        fill->room != NULL
            ? fill->room->base
            : (const uint8_t *)fill->ask.bytes + sizeof(struct wi_scan_ask);
    weir_err code = (fill->a.flags & WI_SCAN_FAILED) != 0
                        ? read_fault(load, bytes, fill->a.n_bytes, err)
                        : read_parts(load, bytes, &fill->a, err);
    if (code != WEIR_OK) {
        free(load->text);
        load->text = strdup(err->message);
    }
    return code;
}
