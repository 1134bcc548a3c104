/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/ids.h"

#include <search.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>

static int compare(const void *a, const void *b)
{
    const uint64_t *x = ((const struct wi_scan_key *)a)->words;
    const uint64_t *y = ((const struct wi_scan_key *)b)->words;
    int i = x[0] == y[0];
    return (x[i] > y[i]) - (x[i] < y[i]);
}

/* Up to 256 bytes come whole, once the system has gathered enough at boot. */
struct wi_scan_key wi_scan_key_random(void)
{
    struct wi_scan_key key = {{0, 0}};
    while (key.words[0] == 0 || key.words[1] == 0) {
        if (getrandom(&key, sizeof(key), 0) != (ssize_t)sizeof(key)) {
            key = (struct wi_scan_key){{0, 0}};
        }
    }
    return key;
}

bool wi_scan_ids_put(struct wi_scan_ids *ids, struct wi_scan_key *thing)
{
    void **at = tsearch(thing, &ids->root, compare);
    return at != NULL && *at == thing;
}

void wi_scan_ids_drop(struct wi_scan_ids *ids, struct wi_scan_key *thing)
{
    if (wi_scan_ids_find(ids, thing->words) == thing) {
        (void)tdelete(thing, &ids->root, compare);
    }
}

void *wi_scan_ids_find(const struct wi_scan_ids *ids, const uint64_t *words)
{
    const struct wi_scan_key key = {{words[0], words[1]}};
    void **at = tfind(&key, &ids->root, compare);
    return at != NULL ? *at : NULL;
}
