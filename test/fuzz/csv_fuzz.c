/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV: any bytes are a file whose types are found, or that is read with types
 * that are given. However it is cut into parts, the same rows come, or an error
 * with file and line; and types that were found fit every value.
 */
#include <sys/mman.h>
#include <unistd.h>

#include <weir/table.h>

#include "core/base/cc.h"
#include "operators/table/table.h"
#include "test/fuzz/fuzz.h"

enum { MAX_BYTES = 4096, N_FIELDS = 3 };

static const struct weir_field typed[][N_FIELDS] = {
    {{"a", "l", 1}, {"b", "u", 1}, {"c", "d:12,2", 1}},
    {{"a", "tdD", 0}, {"b", "b", 1}, {"c", "g", 0}},
    {{"a", "tsu:UTC", 1}, {"b", "w:3", 1}, {"c", "z", 0}},
    {{"a", "c", 0}, {"b", "L", 1}, {"c", "d:38,10", 1}},
};

struct outcome {
    weir_err code;
    uint64_t rows;
    uint64_t sum; /* of all bytes of all values, whatever the cut */
};

/* ---- rows ---------------------------------------------------------------- */

static uint64_t mix(uint64_t sum, const uint8_t *at, uint64_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < n; i++) {
        h = (h ^ at[i]) * 0x100000001b3u;
    }
    return sum + h;
}

static bool is_null(const struct ArrowArray *a, uint64_t i)
{
    const uint8_t *bits = a->buffers[0];
    return bits != NULL && (bits[i / 8] >> (i % 8) & 1) == 0;
}

static void add_column(struct outcome *o, const struct ArrowArray *a,
                       const struct wi_type *type)
{
    uint64_t begin = (uint64_t)a->offset;
    uint64_t width = wi_type_bytes(type);
    for (uint64_t i = begin; i < begin + (uint64_t)a->length; i++) {
        if (is_null(a, i)) {
            o->sum++;
        } else if (wi_type_is_var(type)) {
            const int32_t *off = a->buffers[1];
            o->sum = mix(o->sum, (const uint8_t *)a->buffers[2] + off[i],
                         (uint64_t)(off[i + 1] - off[i]));
        } else if (width == 0) {
            uint8_t bit = ((const uint8_t *)a->buffers[1])[i / 8];
            o->sum += 3u + (bit >> (i % 8) & 1);
        } else {
            o->sum =
                mix(o->sum, (const uint8_t *)a->buffers[1] + i * width, width);
        }
    }
}

static weir_err scan(weir_table *t, uint32_t part, uint32_t n_parts,
                     struct outcome *o, struct weir_error *err)
{
    uint32_t columns[64];
    uint32_t n = t->columns.n < 64 ? t->columns.n : 64;
    for (uint32_t i = 0; i < n; i++) {
        columns[i] = i;
    }
    struct weir_table_part p = {.part = part,
                                .n_parts = n_parts,
                                .worker = part,
                                .n_workers = n_parts,
                                .columns = columns,
                                .n_columns = n};
    void *s = NULL;
    struct ArrowArray batch;
    weir_err rc = t->ops.open(t->arg, &p, &s, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    while ((rc = t->ops.next(s, &batch, err)) == WEIR_OK) {
        o->rows += (uint64_t)batch.length;
        for (uint32_t i = 0; i < n; i++) {
            add_column(o, batch.children[i], &t->columns.at[i].type);
        }
        batch.release(&batch);
    }
    t->ops.close(s);
    return rc;
}

static struct outcome scan_all(weir_table *t, uint32_t n_parts)
{
    struct outcome o = {.code = WEIR_OK};
    struct weir_error err = {.message = ""};
    for (uint32_t i = 0; i < n_parts; i++) {
        weir_err rc = scan(t, i, n_parts, &o, &err);
        if (rc != WEIR_DONE) {
            FZ_CHECK(err.code == rc && strchr(err.message, '\n') == NULL &&
                         err.message[0] != '\0',
                     "%s: %s", weir_err_name(rc), err.message);
            o.code = rc;
        }
    }
    return o;
}

static void compare(weir_table *t, bool found)
{
    struct outcome whole = scan_all(t, 1);
    FZ_CHECK(!found || whole.code == WEIR_OK,
             "types that were found do not fit: %s", weir_err_name(whole.code));
    for (uint32_t n = 2; n <= 5; n += 3) {
        struct outcome cut = scan_all(t, n);
        FZ_CHECK(cut.code == whole.code, "in %u parts %s, whole %s", n,
                 weir_err_name(cut.code), weir_err_name(whole.code));
        FZ_CHECK(whole.code != WEIR_OK ||
                     (cut.rows == whole.rows && cut.sum == whole.sum),
                 "in %u parts %llu rows, whole %llu", n,
                 (unsigned long long)cut.rows, (unsigned long long)whole.rows);
    }
}

/* ---- files --------------------------------------------------------------- */

static int file_of(const uint8_t *bytes, size_t n)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FZ_CHECK(fd >= 0 && (n == 0 || write(fd, bytes, n) == (ssize_t)n),
             "no file");
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char delimiters[] = {',', ';', '\t', '|'};
    struct fz_input in = {bytes, n};
    struct weir_error err = {.message = ""};
    weir_table *t = NULL;
    char path[64];
    if (n > MAX_BYTES) {
        return -1;
    }
    uint8_t how = fz_u8(&in);
    int fd = file_of(in.at, in.left);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct weir_csv_params p = {.path = path,
                                .delimiter = delimiters[how % 4],
                                .null_text = (how & 4) != 0 ? "-" : NULL};
    bool found = (how & 8) == 0;
    if (!found) {
        p.fields = typed[how / 32 % WI_ARRAY_LEN(typed)];
        p.n_fields = N_FIELDS;
        p.no_header = (how & 16) != 0;
    }
    weir_err rc = weir_table_csv_open(&p, &t, &err);
    if (rc == WEIR_OK) {
        compare(t, found);
        weir_table_close(t);
    } else {
        FZ_CHECK(err.code == rc && err.message[0] != '\0' &&
                     strchr(err.message, '\n') == NULL,
                 "%s: %s", weir_err_name(rc), err.message);
    }
    (void)close(fd);
    return 0;
}
