/* SPDX-License-Identifier: Apache-2.0 */
/* Owners that write to their regions, or close them, beside their readers. */
#include "test/conformance/region.h"

#include <sched.h>

/* One processor for this thread and those that it starts, and this one has it
 * as soon as it is woken: who woke it is still in a system call then. Where
 * that is not allowed the test is weaker. */
static void run_at_once(void)
{
    const struct sched_param first = {.sched_priority = 1};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)sched_getcpu(), &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
    (void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
}

/* A get that has ended reads its region no more, also when the owner's thread
 * is still within the call that has sent the bytes: that is not to look like a
 * data race to ThreadSanitizer. */
void wt_region_what_was_got_may_be_written(const struct wt_place *place)
{
    enum { N = 100 };
    run_at_once();
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_region *region = wt_region(r, 1, 22, 1000, 0);
    uint8_t *owned = weir_region_base(region);
    for (uint32_t i = 0; i < N; i++) {
        uint8_t dst[8];
        struct weir_got got = wt_get(
            r, 1,
            &(struct weir_get){
                .name = {7, 22}, .off = i, .bytes = sizeof(dst), .dst = dst});
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert(wt_bytes_are(dst, 22, i, sizeof(dst)));
        owned[i] = (uint8_t)~owned[i];
    }
    weir_region_close(region);
    wt_reads_close(r);
}

static void expect_woken(const struct wt_place *place, uint32_t owner)
{
    const uint64_t ms = 1000000;
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    weir_node *node = r->c.node[0];
    weir_region *region = wt_region(r, owner, 24, 1000, 0);
    struct weir_got got =
        wt_get(r, owner, &(struct weir_get){.name = {7, 24}, .bytes = 100});
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    weir_fetch_release(r->fetch, &got);
    while (weir_worker_wait(node, 0, 200 * ms) == WEIR_OK) {
        cr_assert_eq(weir_fetch_next(r->fetch, &got), WEIR_DONE);
    }
    weir_region_close(region);
    cr_assert_eq(weir_worker_wait(node, 0, 20000 * ms), WEIR_OK);
    wt_reads_close(r);
}

/* What it keeps of a region that its own node closes is let go of, also by a
 * reader that sleeps; */
void wt_region_reader_of_an_own_region_is_woken(const struct wt_place *place)
{
    expect_woken(place, 0);
}

/* and what it has mapped of a peer's. */
void wt_region_reader_of_a_mapped_region_is_woken(const struct wt_place *place)
{
    expect_woken(place, 1);
}
