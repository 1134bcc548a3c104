/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first shuffle: two processes exchange rows so that equal keys meet.
 *
 *   parent: keys 0 .. 99999       --+--hash--+-->  parent: some of the keys
 *   child:  keys 100000 .. 199999 --+        +-->  child:  all the others
 *
 * A table that both share counts how often a key was received: it must be once.
 */
#include <err.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/weir.h>

enum { NODES = 2, OWN_KEYS = 100000, KEYS = NODES * OWN_KEYS };

static char name[NODES][64];
static char *received; /* by key: how often; memory of both processes */
static struct weir_error why;

static void must(weir_err rc, const char *what)
{
    if (rc < 0) { /* positive codes are not errors */
        errx(1, "%s: %s: %s", what, weir_err_name(rc), why.message);
    }
}

/* Open a node, exchange addresses with the peer, join. */
static weir_node *join(int self, int in, int out)
{
    struct weir_node_params params = {.name = name[self]}; /* shm, 1 worker */
    char address[NODES][128] = {""};
    weir_node *node;
    must(weir_node_open(&params, &node, &why), "open");
    (void)snprintf(address[self], 128, "%s", weir_node_address(node));
    if (write(out, address[self], 128) != 128 ||
        read(in, address[1 - self], 128) != 128) {
        errx(1, "the peer is gone");
    }
    struct weir_member members[NODES] = {{name[0], address[0], 1},
                                         {name[1], address[1], 1}};
    must(weir_node_join(node, members, NODES, &why), "join");
    return node;
}

/* Take what has come; WEIR_AGAIN means that there will be more. */
static weir_err take(weir_reader *reader)
{
    struct ArrowArray batch;
    weir_err rc;
    while ((rc = weir_reader_next(reader, &batch)) == WEIR_OK) {
        const int64_t *keys = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++) {
            __atomic_fetch_add(&received[keys[i]], 1, __ATOMIC_RELAXED);
        }
        batch.release(&batch); /* its space goes back to the sender */
    }
    return rc;
}

static void shuffle(weir_node *node, const struct ArrowArray *rows)
{
    struct weir_field field = {"key", "l", 0};
    struct ArrowSchema schema;
    must(weir_schema_build(&field, 1, &schema, &why), "schema");
    struct weir_query_params q = {.id = 1};
    struct weir_shuffle_params s = {.id = 1, .schema = &schema,
                                    .partitioning = WEIR_HASH,
                                    .keys = &field.name, .n_keys = 1};
    weir_query *query;
    weir_shuffle *exchange;
    weir_writer *writer;
    weir_reader *reader;
    must(weir_query_open(node, &q, &query, &why), "query");
    must(weir_shuffle_open(query, &s, &exchange, &why), "shuffle");
    must(weir_writer_open(exchange, 0, &writer, &why), "writer");
    must(weir_reader_open(exchange, 0, &reader, &why), "reader");
    schema.release(&schema);

    weir_err rc; /* blocked on the writer, go on taking: the one rule */
    while ((rc = weir_writer_push(writer, rows)) == WEIR_AGAIN) {
        (void)take(reader);
        (void)weir_worker_wait(node, 0, WEIR_FOREVER);
    }
    while (rc == WEIR_OK && (rc = weir_writer_finish(writer)) == WEIR_AGAIN) {
        (void)take(reader);
        (void)weir_worker_wait(node, 0, WEIR_FOREVER);
    }
    while (rc == WEIR_OK && (rc = take(reader)) == WEIR_AGAIN) {
        rc = (weir_worker_wait(node, 0, WEIR_FOREVER), WEIR_OK);
    }
    must(weir_query_status(query, &why), "shuffle");
    weir_query_close(query);
}
