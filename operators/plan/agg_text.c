/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates as text. The expression language reads what is inside the
 * brackets; here only their end is found. */
#include "operators/plan/agg_text.h"

#include <string.h>

#include "operators/base/neutral.h"

static const char *skip_blank(const char *at)
{
    while (wi_neutral_space(*at)) {
        at++;
    }
    return at;
}

static bool read_name(const char **at, enum wi_agg_fn *fn)
{
    static const struct {
        const char *name;
        enum wi_agg_fn fn;
    } names[] = {
        {"count", WI_AGG_COUNT}, {"sum", WI_AGG_SUM}, {"avg", WI_AGG_AVG},
        {"min", WI_AGG_MIN},     {"max", WI_AGG_MAX},
    };
    size_t n = 0;
    while (wi_neutral_alnum((*at)[n]) || (*at)[n] == '_') {
        n++;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i].name) == n &&
            wi_neutral_same(*at, names[i].name, n)) {
            *fn = names[i].fn;
            *at = skip_blank(*at + n);
            return true;
        }
    }
    return false;
}

/* Where the bracket that is open before `at` closes, or NULL. Brackets in
 * 'texts' and "names" do not count. A doubled quote inside one reads as its
 * end and the beginning of another. */
static const char *find_close(const char *at)
{
    unsigned int depth = 1;
    char quote = '\0';
    for (; *at != '\0'; at++) {
        if (quote != '\0') {
            quote = *at == quote ? '\0' : quote;
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
        } else if (*at == '(') {
            depth++;
        } else if (*at == ')' && --depth == 0) {
            return at;
        }
    }
    return NULL;
}

bool wi_agg_read(const char *text, struct wi_agg_text *out)
{
    struct wi_agg_text agg = {.fn = WI_AGG_COUNT};
    const char *at = skip_blank(text);
    if (!read_name(&at, &agg.fn) || *at != '(') {
        return false;
    }
    const char *begin = skip_blank(at + 1);
    const char *end = find_close(at + 1);
    if (end == NULL || *skip_blank(end + 1) != '\0') {
        return false;
    }
    while (end > begin && wi_neutral_space(end[-1])) {
        end--;
    }
    if (end <= begin) {
        return false;
    }
    agg.argument = begin;
    agg.n_bytes = (size_t)(end - begin);
    if (agg.n_bytes == 1 && *begin == '*') {
        if (agg.fn != WI_AGG_COUNT) {
            return false;
        }
        agg.fn = WI_AGG_COUNT_ROWS;
        agg.n_bytes = 0;
    }
    *out = agg;
    return true;
}

bool wi_agg_text_same(const struct wi_agg_text *a, const struct wi_agg_text *b)
{
    return a->fn == b->fn && a->n_bytes == b->n_bytes &&
           memcmp(a->argument, b->argument, a->n_bytes) == 0;
}
