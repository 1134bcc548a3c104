/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/table.h"

#include <stdlib.h>

#include "core/base/cc.h"

enum { FIRST_CHAINS = 16 };

static struct wi_entry *entry_of(struct wi_list *n)
{
    return wi_container_of(n, struct wi_entry, chain);
}

void wi_table_init(struct wi_table *t)
{
    *t = (struct wi_table){.chains = &t->first};
    wi_list_init(&t->first);
}

static void free_chains(const struct wi_table *t)
{
    if (t->chains != &t->first) {
        free(t->chains);
    }
}

void wi_table_fini(struct wi_table *t)
{
    free_chains(t);
    wi_table_init(t);
}

/* Twice as many chains, if there is memory. */
static void grow(struct wi_table *t)
{
    uint32_t now = t->mask + 1;
    uint32_t more = now == 1 ? (uint32_t)FIRST_CHAINS : now * 2;
    struct wi_table was = *t;
    struct wi_list *chains = more > now ? calloc(more, sizeof(*chains)) : NULL;
    if (chains == NULL) {
        return;
    }
    for (uint32_t i = 0; i < more; i++) {
        wi_list_init(&chains[i]);
    }
    t->chains = chains;
    t->mask = more - 1;
    for (uint32_t i = 0; i < now; i++) {
        struct wi_list *from = now == 1 ? &t->first : &was.chains[i];
        struct wi_list *n;
        while ((n = wi_list_take(from)) != NULL) {
            wi_list_push_back(wi_table_chain(t, entry_of(n)->hash), n);
        }
    }
    if (now != 1) {
        free(was.chains);
    }
}

void wi_table_put(struct wi_table *t, struct wi_entry *e, uint64_t hash)
{
    if (t->n > t->mask) {
        grow(t);
    }
    e->hash = hash;
    t->n++;
    wi_list_push_back(wi_table_chain(t, hash), &e->chain);
}

void wi_table_drop(struct wi_table *t, struct wi_entry *e)
{
    wi_list_remove(&e->chain);
    t->n--;
}
