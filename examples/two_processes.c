/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes, a node each, exchange rows over shm so that equal keys meet.
 *
 *   parent: keys 0 .. 99999       --+--hash--+-->  parent: some of the keys
 *   child:  keys 100000 .. 199999 --+        +-->  child:  all the others
 *
 * A table that both share counts how often a key came: it must be once.
 */
#include <err.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/weir.h>

enum { NODES = 2, OWN_KEYS = 100000, KEYS = NODES * OWN_KEYS };

static char name[NODES][64];
static char *came; /* by key: how often; memory of both processes */
static struct weir_error why;

static int ok(weir_err rc, const char *what)
{
    if (rc < 0) { /* positive codes are not errors */
        errx(1, "%s: %s: %s", what, weir_err_name(rc), why.message);
    }
    return rc == WEIR_OK;
}

/* Open a node, exchange addresses with the peer over `wire`, join. */
static weir_node *join(int self, int wire)
{
    struct weir_node_params params = {.name = name[self]}; /* shm, 1 worker */
    char address[NODES][128] = {""};
    weir_node *node;
    ok(weir_node_open(&params, &node, &why), "open");
    (void)snprintf(address[self], 128, "%s", weir_node_address(node));
    if (write(wire, address[self], 128) != 128 ||
        read(wire, address[1 - self], 128) != 128) {
        errx(1, "the peer is gone");
    }
    struct weir_member members[] = {{name[0], address[0], 1},
                                    {name[1], address[1], 1}};
    ok(weir_node_join(node, members, NODES, &why), "join");
    return node;
}

/* Take all that is there. True: nothing more will come. */
static int take(weir_reader *reader)
{
    struct ArrowArray batch;
    weir_err rc;
    while ((rc = weir_reader_next(reader, &batch)) == WEIR_OK) {
        const int64_t *keys = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++) {
            __atomic_fetch_add(&came[keys[i]], 1, __ATOMIC_RELAXED);
        }
        batch.release(&batch); /* its space goes back to the sender */
    }
    ok(rc, "next");
    return rc == WEIR_DONE;
}

static void shuffle(weir_node *node, const struct ArrowArray *rows)
{
    struct weir_field field = {"key", "l", 0}; /* int64, no nulls */
    struct ArrowSchema schema;
    ok(weir_schema_build(&field, 1, &schema, &why), "schema");
    struct weir_query_params q = {.id = 1}; /* by all members */
    struct weir_shuffle_params s = {.id = 1,
                                    .schema = &schema,
                                    .partitioning = WEIR_HASH,
                                    .keys = &field.name,
                                    .n_keys = 1};
    weir_query *query;
    weir_shuffle *exchange;
    weir_writer *writer;
    weir_reader *reader;
    ok(weir_query_open(node, &q, &query, &why), "query");
    ok(weir_shuffle_open(query, &s, &exchange, &why), "shuffle");
    ok(weir_writer_open(exchange, 0, &writer, &why), "writer");
    ok(weir_reader_open(exchange, 0, &reader, &why), "reader");
    schema.release(&schema);
    int pushed = 0, finished = 0, drained = 0;
    while (!finished || !drained) { /* try everything, then wait */
        drained = drained || take(reader);
        pushed = pushed || ok(weir_writer_push(writer, rows), "push");
        finished =
            finished || (pushed && ok(weir_writer_finish(writer), "end"));
        if (!finished || !drained) {
            (void)weir_worker_wait(node, 0, WEIR_FOREVER);
        }
    }
    weir_query_close(query); /* and with it the writer and the reader */
}

static void borrowed(struct ArrowArray *array)
{
    array->release = NULL; /* nothing to free */
}

int main(void)
{
    int wire[NODES];
    came = mmap(NULL, KEYS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    if (came == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, wire) != 0) {
        err(1, "setup");
    }
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(name[i], 64, "process-%d-%d", (int)getpid(), i);
    }
    pid_t child = fork(); /* first fork, then open nodes */
    int self = child == 0;
    (void)close(wire[1 - self]);
    weir_node *node = join(self, wire[self]);

    static int64_t keys[OWN_KEYS];
    for (int i = 0; i < OWN_KEYS; i++) {
        keys[i] = self * OWN_KEYS + i;
    }
    const void *buffers[] = {NULL, keys}; /* validity, values */
    struct ArrowArray column = {.length = OWN_KEYS,
                                .n_buffers = 2,
                                .buffers = buffers,
                                .release = borrowed};
    struct ArrowArray *columns[] = {&column};
    struct ArrowArray rows = {.length = OWN_KEYS,
                              .n_children = 1,
                              .n_buffers = 1,
                              .buffers = buffers,
                              .children = columns,
                              .release = borrowed};
    shuffle(node, &rows);
    weir_node_close(node);
    if (self == 1) {
        return 0;
    }
    int status = 1, wrong = 0;
    (void)waitpid(child, &status, 0);
    for (int key = 0; key < KEYS; key++) {
        wrong += came[key] != 1;
    }
    (void)printf("%d keys, %d not received exactly once\n", KEYS, wrong);
    return status != 0 || wrong != 0;
}
