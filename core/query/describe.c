/* SPDX-License-Identifier: Apache-2.0 */
/* A shuffle in words, and the differences of two. */
#include "core/query/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cc.h"
#include "core/partition/partition.h"
#include "core/query/shuffle.h"

/* A description is a list of these, in this order: */
#define BETWEEN "; "

/* "0-3,7"; cut if it is long. */
static void list_text(const uint32_t *list, uint32_t n, char *text,
                      size_t bytes)
{
    size_t at = 0;
    for (uint32_t i = 0; i < n && at + 24 < bytes;) {
        uint32_t k = i + 1;
        while (k < n && list[k] == list[k - 1] + 1) {
            k++;
        }
        at += (size_t)snprintf(text + at, bytes - at, "%s%u", i == 0 ? "" : ",",
                               list[i]);
        if (k - i > 1) {
            at += (size_t)snprintf(text + at, bytes - at, "-%u", list[k - 1]);
        }
        i = k;
    }
}

static void workers_text(uint32_t n, char *text, size_t bytes)
{
    if (n == 0) {
        (void)snprintf(text, bytes, "all workers");
    } else {
        (void)snprintf(text, bytes, "%u workers", n);
    }
}

void wi_shuffle_describe(const struct weir_shuffle *s, char text[WI_SIDE_BYTES])
{
    char from[32];
    char to[32];
    char from_workers[24];
    char to_workers[24];
    list_text(s->producers, s->n_producers, from, sizeof(from));
    list_text(s->consumers, s->n_consumers, to, sizeof(to));
    workers_text(s->producer_workers, from_workers, sizeof(from_workers));
    workers_text(s->consumer_workers, to_workers, sizeof(to_workers));
    int at = snprintf(text, WI_SIDE_BYTES,
                      "%s%s%s" BETWEEN "seed %" PRIu64 BETWEEN
                      "members %s produce with %s (%u in all)" BETWEEN
                      "members %s consume with %s (%u in all)" BETWEEN,
                      wi_partitioning_name(s->kind), s->keys,
                      s->to_node ? " to nodes" : "", s->seed, from,
                      from_workers, s->n_sources, to, to_workers, s->n_dest);
    char columns[WI_SIDE_BYTES];
    int room = (int)(WI_SIDE_BYTES - (size_t)at - 40); /* it is cut */
    wi_schema_text(s->schema, columns, sizeof(columns));
    (void)snprintf(text + at, WI_SIDE_BYTES - (size_t)at,
                   "columns %.*s" BETWEEN "sum of columns %08x", room, columns,
                   (uint32_t)s->schema->fingerprint);
}

/* The next part of a description; its length. */
static size_t part_length(const char **at)
{
    size_t n = 0;
    while ((*at)[n] != '\0' && strncmp(*at + n, BETWEEN, 2) != 0) {
        n++;
    }
    return n;
}

static void skip(const char **at, size_t n)
{
    *at += n;
    *at += **at != '\0' ? strlen(BETWEEN) : 0;
}

/* What one side says, from where the other one says something else. */
static size_t side_text(const char *a, size_t n, const char *b,
                        const char *name, char *text, size_t bytes)
{
    enum { MOST = 60 };
    size_t from = 0;
    for (size_t i = 0; n > MOST && i < n && a[i] == b[i]; i++) {
        from = a[i] == ' ' ? i + 1 : from;
    }
    return (size_t)snprintf(text, bytes, "%s%.*s%s on %s",
                            from != 0 ? ".. " : "",
                            (int)wi_min_u64(n - from, MOST), a + from,
                            n - from > MOST ? " .." : "", name);
}

void wi_shuffle_difference(const char *name_a, const char *a,
                           const char *name_b, const char *b, char *text,
                           size_t bytes)
{
    const char *whole = a;
    size_t at = 0;
    text[0] = '\0';
    while ((*a != '\0' || *b != '\0') && at < bytes) {
        size_t n = part_length(&a);
        size_t m = part_length(&b);
        if (n != m || memcmp(a, b, n) != 0) {
            at += (size_t)snprintf(text + at, bytes - at, "%s",
                                   at == 0 ? "" : BETWEEN);
            if (at < bytes) {
                at += side_text(a, n, b, name_a, text + at, bytes - at);
            }
            if (at < bytes) {
                at += (size_t)snprintf(text + at, bytes - at, ", ");
            }
            if (at < bytes) {
                at += side_text(b, m, a, name_b, text + at, bytes - at);
            }
        }
        skip(&a, n);
        skip(&b, m);
    }
    if (at == 0) {
        (void)snprintf(text, bytes,
                       "%s and %s, in the bounds or beyond what is "
                       "shown of both: %s",
                       name_a, name_b, whole);
    }
}
