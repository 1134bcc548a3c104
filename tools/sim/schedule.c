/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sim/schedule.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"
#include "tools/sim/random.h"

enum { USE = 1, FIRST_NS = 1000, LAST_NS = 16000000 };

struct kind {
    const char *name;
    const char *parts;
    enum ws_group group;
};

#define KIND_ROW(name, parts, group) {#name, parts, WS_##group},
static const struct kind kinds[] = {WS_FAULT_KINDS(KIND_ROW)};

const char *ws_fault_name(enum ws_fault_kind kind)
{
    return kinds[kind].name;
}

enum ws_group ws_fault_group(enum ws_fault_kind kind)
{
    return kinds[kind].group;
}

enum ws_fault_kind ws_fault_find(const char *name, size_t len)
{
    unsigned i = 0;
    while (i < WS_FAULT_N && (strncmp(kinds[i].name, name, len) != 0 ||
                              kinds[i].name[len] != '\0')) {
        i++;
    }
    return (enum ws_fault_kind)i;
}

static bool has(enum ws_fault_kind kind, char part)
{
    return strchr(kinds[kind].parts, part) != NULL;
}

/* ---- drawing ------------------------------------------------------------- */

static uint64_t draw_value(struct ws_random *r, const struct ws_draw *d,
                           enum ws_fault_kind kind)
{
    switch (kind) {
    case WS_FAULT_delay:
        return ws_log(r, 1000, d->detect_ns / 8);
    case WS_FAULT_again:
        return ws_log(r, 1000, 500000);
    case WS_FAULT_slow:
        return ws_log(r, 2, 500);
    case WS_FAULT_jump:
        return ws_log(r, 1000, 8 * d->detect_ns);
    case WS_FAULT_join:
        return ws_log(r, 1, 1000000); /* until the last node is told */
    case WS_FAULT_damage:
    case WS_FAULT_hostile:
        return ws_below(r, 1000000);
    default:
        return ws_below(r, d->queries);
    }
}

static void draw_fault(struct ws_random *r, const struct ws_draw *d,
                       enum ws_fault_kind kind, struct ws_fault *f)
{
    *f = (struct ws_fault){.kind = kind,
                           .at_ns = ws_log(r, FIRST_NS, LAST_NS),
                           .node = ws_pick(r, d->nodes)};
    f->peer = (f->node + 1 + ws_pick(r, d->nodes - 1)) % d->nodes;
    f->peer = has(kind, 'p') ? f->peer : 0;
    f->value = has(kind, 'v') ? draw_value(r, d, kind) : 0;
    f->for_ns = has(kind, 'd') ? ws_log(r, FIRST_NS, 2 * d->detect_ns) : 0;
    if (kind == WS_FAULT_join) {
        f->node = d->nodes - 1 - ws_pick(r, d->late);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct ws_fault *x = a;
    const struct ws_fault *y = b;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

/* One run has a few kinds of faults, so that each is seen alone, too. */
void ws_schedule_draw(struct ws_schedule *s, const struct ws_draw *d)
{
    struct ws_random r = ws_random_of(d->seed, USE);
    enum ws_fault_kind some[3];
    uint32_t n = ws_pick(&r, 16) == 0 ? 0 : (uint32_t)ws_log(&r, 1, 12);
    const uint32_t n_kinds = 1 + ws_pick(&r, 3);
    uint32_t allowed = d->kinds & ((1u << WS_FAULT_N) - 1);
    *s = (struct ws_schedule){0};
    if (d->late == 0) {
        allowed &= ~(1u << WS_FAULT_join);
    }
    for (uint32_t i = 0; i < n_kinds && allowed != 0; i++) {
        do {
            some[i] = (enum ws_fault_kind)ws_pick(&r, WS_FAULT_N);
        } while ((allowed >> some[i] & 1) == 0);
    }
    n = allowed != 0 ? n : 0;
    for (uint32_t i = 0; i < n; i++) {
        draw_fault(&r, d, some[ws_pick(&r, n_kinds)], &s->fault[s->n++]);
    }
    qsort(s->fault, s->n, sizeof(s->fault[0]), by_time);
}

/* ---- text ---------------------------------------------------------------- */

static void append(char *text, size_t room, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t room, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text + used, room - used, fmt, args);
    va_end(args);
}

void ws_schedule_print(const struct ws_schedule *s, char *text, size_t room)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < s->n; i++) {
        const struct ws_fault *f = &s->fault[i];
        append(text, room, "%s%s@%" PRIu64 ":%u", i == 0 ? "" : " ",
               kinds[f->kind].name, f->at_ns, f->node);
        if (has(f->kind, 'p')) {
            append(text, room, "-%u", f->peer);
        }
        if (has(f->kind, 'v')) {
            append(text, room, "*%" PRIu64, f->value);
        }
        if (has(f->kind, 'd')) {
            append(text, room, "+%" PRIu64, f->for_ns);
        }
    }
}

/* The number behind `mark`, if the kind has that part. */
static bool take_number(const char **at, char mark, bool wanted, uint64_t *out)
{
    char *end = NULL;
    if (!wanted) {
        return true;
    }
    if (**at != mark || (*at)[1] < '0' || (*at)[1] > '9') {
        return false;
    }
    *out = strtoull(*at + 1, &end, 10);
    *at = end;
    return true;
}

static bool take_fault(const char **at, struct ws_fault *f)
{
    uint64_t node = 0;
    uint64_t peer = 0;
    *f = (struct ws_fault){0};
    f->kind = ws_fault_find(*at, strcspn(*at, "@ "));
    if (f->kind == WS_FAULT_N) {
        return false;
    }
    *at += strlen(kinds[f->kind].name);
    bool good = take_number(at, '@', true, &f->at_ns) &&
                take_number(at, ':', true, &node) &&
                take_number(at, '-', has(f->kind, 'p'), &peer) &&
                take_number(at, '*', has(f->kind, 'v'), &f->value) &&
                take_number(at, '+', has(f->kind, 'd'), &f->for_ns);
    f->node = (uint32_t)node;
    f->peer = (uint32_t)peer;
    return good && (**at == '\0' || **at == ' ');
}

weir_err ws_schedule_parse(struct ws_schedule *s, const char *text,
                           struct weir_error *err)
{
    const char *at = text + strspn(text, " ");
    *s = (struct ws_schedule){0};
    while (*at != '\0') {
        const char *begin = at;
        if (s->n == WS_FAULTS) {
            return tool_fail(err, WEIR_ERR_ARG, "more than %d faults",
                             WS_FAULTS);
        }
        if (!take_fault(&at, &s->fault[s->n])) {
            return tool_fail(err, WEIR_ERR_ARG,
                             "\"%.*s\" is no fault: KIND@NS:NODE[-NODE]"
                             "[*VALUE][+NS], each kind with its own parts",
                             (int)strcspn(begin, " "), begin);
        }
        s->n++;
        at += strspn(at, " ");
    }
    qsort(s->fault, s->n, sizeof(s->fault[0]), by_time);
    return WEIR_OK;
}
