/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "tools/gen.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/fail.h"
#include "operators/table/table.h"
#include "tools/gen_text.h"

/* Everything that changes is under the lock. */
struct gen {
    const struct gen_params *p;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint32_t file; /* of the next part to be taken */
    uint32_t part;
    uint32_t *placed; /* of each file: parts that know where they go */
    bool failed;
    struct weir_error err; /* the first */
};

struct thread {
    struct gen *gen;
    struct wl_counter *counter;
    pthread_t id;
    struct gen_text text;
    uint32_t *columns; /* 0, 1, 2 ... for the widest table */
};

static void fail(struct gen *g, const struct weir_error *err)
{
    (void)pthread_mutex_lock(&g->lock);
    if (!g->failed) {
        g->failed = true;
        g->err = *err;
    }
    (void)pthread_cond_broadcast(&g->turn);
    (void)pthread_mutex_unlock(&g->lock);
}

/* The next part, in the order of the files; false: there is none. */
static bool take_part(struct gen *g, uint32_t *file, uint32_t *part)
{
    bool found = false;
    (void)pthread_mutex_lock(&g->lock);
    if (g->file < g->p->n_files && g->part == g->p->files[g->file].n_parts) {
        g->file++;
        g->part = 0;
    }
    if (!g->failed && g->file < g->p->n_files) {
        *file = g->file;
        *part = g->part++;
        found = true;
    }
    (void)pthread_mutex_unlock(&g->lock);
    return found;
}

/* Wait until all parts before this one have their places, and take the next
 * place. The first part without one never waits, so all move on. */
static bool take_place(struct gen *g, uint32_t file, uint32_t part,
                       const struct gen_text *text, uint64_t rows,
                       uint64_t *off)
{
    struct gen_file *f = &g->p->files[file];
    (void)pthread_mutex_lock(&g->lock);
    while (!g->failed && g->placed[file] != part) {
        (void)pthread_cond_wait(&g->turn, &g->lock);
    }
    bool ok = !g->failed;
    *off = f->bytes_out;
    f->bytes_out += text->len;
    f->rows_out += rows;
    g->placed[file]++;
    (void)pthread_cond_broadcast(&g->turn);
    (void)pthread_mutex_unlock(&g->lock);
    return ok;
}

static weir_err write_text(const struct gen_file *f,
                           const struct gen_text *text, uint64_t off,
                           struct weir_error *err)
{
    size_t done = 0;
    while (done < text->len) {
        ssize_t n = pwrite(f->fd, text->data + done, text->len - done,
                           (off_t)(off + done));
        if (n >= 0) {
            done += (size_t)n;
        } else if (errno != EINTR) {
            return tool_fail_errno(err, "write %s", f->name);
        }
    }
    return WEIR_OK;
}

static weir_err make_text(struct thread *t, const struct gen_file *f,
                          uint32_t part, uint64_t *rows, struct weir_error *err)
{
    const weir_table *table = f->table;
    const struct weir_table_part wanted = {
        .part = part,
        .n_parts = f->n_parts,
        .n_workers = 1,
        .columns = t->columns,
        .n_columns = table->columns.n,
    };
    struct ArrowArray batch;
    void *scan;
    t->text.len = 0;
    *rows = 0;
    if (part == 0 && !gen_text_names(&table->columns, &t->text)) {
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a line");
    }
    weir_err rc = table->ops.open(table->arg, &wanted, &scan, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    while ((rc = table->ops.next(scan, &batch, err)) == WEIR_OK) {
        *rows += (uint64_t)batch.length;
        bool ok = gen_text_rows(&table->columns, &batch, &t->text);
        batch.release(&batch);
        if (!ok) {
            rc = tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a part");
            break;
        }
    }
    table->ops.close(scan);
    return rc == WEIR_DONE ? WEIR_OK : rc;
}

static void *thread_main(void *arg)
{
    struct thread *t = arg;
    struct gen *g = t->gen;
    struct weir_error err = {.code = WEIR_OK};
    uint32_t file;
    uint32_t part;
    while (take_part(g, &file, &part)) {
        const struct gen_file *f = &g->p->files[file];
        uint64_t rows;
        uint64_t off;
        weir_err rc = make_text(t, f, part, &rows, &err);
        if (rc == WEIR_OK && take_place(g, file, part, &t->text, rows, &off)) {
            rc = write_text(f, &t->text, off, &err);
        }
        if (rc != WEIR_OK) {
            fail(g, &err);
        }
        t->counter->rows++;
    }
    return NULL;
}

/* Run all threads; this one is the first. */
static void run_threads(struct gen *g, struct thread *threads)
{
    const uint32_t jobs = g->p->jobs;
    uint32_t started = 1;
    struct weir_error err;
    for (; started < jobs; started++) {
        struct thread *t = &threads[started];
        int rc = pthread_create(&t->id, NULL, thread_main, t);
        if (rc != 0) {
            (void)tool_fail(&err, WEIR_ERR_SYSTEM, "start thread %u: %s",
                            started, strerror(rc));
            fail(g, &err);
            break;
        }
    }
    (void)thread_main(&threads[0]);
    for (uint32_t i = 1; i < started; i++) {
        (void)pthread_join(threads[i].id, NULL);
    }
}

static uint32_t *number_columns(const struct gen_params *p)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < p->n_files; i++) {
        uint32_t n = p->files[i].table->columns.n;
        most = n > most ? n : most;
    }
    uint32_t *columns = calloc(most, sizeof(*columns));
    for (uint32_t i = 0; columns != NULL && i < most; i++) {
        columns[i] = i;
    }
    return columns;
}

weir_err gen_run(const struct gen_params *params, struct weir_error *err)
{
    struct gen g = {.p = params};
    struct thread *threads = calloc(params->jobs, sizeof(*threads));
    uint32_t *columns = number_columns(params);
    g.placed = calloc(params->n_files, sizeof(*g.placed));
    weir_err rc = WEIR_OK;
    if (threads == NULL || columns == NULL || g.placed == NULL) {
        rc = tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for %u threads",
                       params->jobs);
    } else {
        (void)pthread_mutex_init(&g.lock, NULL);
        (void)pthread_cond_init(&g.turn, NULL);
        for (uint32_t i = 0; i < params->jobs; i++) {
            threads[i] = (struct thread){
                .gen = &g, .counter = &params->counters[i], .columns = columns};
        }
        run_threads(&g, threads);
        for (uint32_t i = 0; i < params->jobs; i++) {
            free(threads[i].text.data);
        }
        (void)pthread_cond_destroy(&g.turn);
        (void)pthread_mutex_destroy(&g.lock);
        rc = g.failed ? tool_fail(err, g.err.code, "%s", g.err.message)
                      : WEIR_OK;
    }
    free(g.placed);
    free(columns);
    free(threads);
    return rc;
}
