/* SPDX-License-Identifier: Apache-2.0 */
/* Files as regions, and memory that cannot be read. */
#include "test/conformance/region.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/link/link.h"
#include "core/link/lock.h"

enum { AT = 4099, BYTES = (5 << 20) + 77 };

/* A file without a name: AT bytes of something else, then wt_byte(id). */
static int make_file(uint64_t id)
{
    uint8_t *bytes = malloc(AT + BYTES);
    cr_assert_not_null(bytes);
    memset(bytes, 0xee, AT);
    for (uint64_t i = 0; i < BYTES; i++) {
        bytes[AT + i] = wt_byte(id, i);
    }
    FILE *f = tmpfile();
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, AT + BYTES, f), (size_t)AT + BYTES);
    cr_assert_eq(fflush(f), 0);
    int fd = dup(fileno(f));
    cr_assert(fd >= 0);
    (void)fclose(f);
    free(bytes);
    return fd;
}

static weir_region *publish(struct wt_reads *r, uint32_t node, uint64_t id,
                            const struct weir_region_params *p)
{
    const struct weir_name name = {7, id};
    struct weir_error err;
    weir_region *region = NULL;
    cr_assert_eq(weir_region_open(r->c.node[node], p, &region, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert(weir_region_base(region) == NULL);
    cr_assert_eq(weir_region_publish(region, &name, &err), WEIR_OK);
    return region;
}

/* Its rest from AT on, as long as asked. */
static weir_region *publish_file(struct wt_reads *r, uint32_t node, uint64_t id,
                                 int fd, uint64_t bytes)
{
    return publish(
        r, node, id,
        &(struct weir_region_params){
            .kind = WEIR_REGION_FILE, .fd = fd, .off = AT, .bytes = bytes});
}

static weir_region *publish_constant(struct wt_reads *r, uint32_t node,
                                     uint64_t id, int fd)
{
    return publish(r, node, id,
                   &(struct weir_region_params){.kind = WEIR_REGION_FILE,
                                                .fd = fd,
                                                .off = AT,
                                                .bytes = BYTES,
                                                .constant = 1});
}

static void expect(struct wt_reads *r, uint32_t node, uint64_t id, uint64_t off,
                   uint64_t bytes)
{
    struct weir_got got =
        wt_get(r, node,
               &(struct weir_get){.name = {7, id}, .off = off, .bytes = bytes});
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    cr_assert_eq(got.bytes, bytes);
    cr_assert(wt_bytes_are(got.ptr, id, off, bytes));
    weir_fetch_release(r->fetch, &got);
}

static void expect_error(struct wt_reads *r, uint32_t node, uint64_t id,
                         uint64_t off, uint64_t bytes, const char *text)
{
    struct weir_got got =
        wt_get(r, node,
               &(struct weir_get){.name = {7, id}, .off = off, .bytes = bytes});
    cr_assert_eq(got.code, WEIR_ERR_DATA, "%s", weir_err_name(got.code));
    cr_assert_not_null(strstr(weir_fetch_error(r->fetch), text), "%s",
                       weir_fetch_error(r->fetch));
    weir_fetch_release(r->fetch, &got);
}

void wt_region_file_is_got(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t node = 0; node < 2; node++) {
        int fd = make_file(70);
        weir_region *region = publish_file(r, node, 70, fd, BYTES);
        (void)close(fd); /* the region has its own */
        expect(r, node, 70, 0, BYTES);
        expect(r, node, 70, (1 << 20) - 5, 70001); /* across two copies */
        expect(r, node, 70, BYTES - 1, 1);
        weir_region_close(region);
    }
    wt_reads_close(r);
}

void wt_region_file_is_larger_than_what_copies_may_take(
    const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open_small(place, 2 << 20);
    uint8_t *dst = malloc(BYTES);
    for (uint32_t node = 0; node < 2; node++) {
        int fd = make_file(71);
        weir_region *region = publish_file(r, node, 71, fd, BYTES);
        for (uint32_t i = 0; i < 2; i++) {
            struct weir_got got =
                wt_get(r, node,
                       &(struct weir_get){
                           .name = {7, 71}, .bytes = BYTES, .dst = dst});
            cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
            cr_assert(wt_bytes_are(dst, 71, 0, BYTES));
        }
        weir_region_close(region);
        (void)close(fd);
    }
    free(dst);
    wt_reads_close(r);
}

void wt_region_constant_file_is_got(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    uint8_t *dst = malloc(BYTES);
    for (uint32_t node = 0; node < 2; node++) {
        int fd = make_file(79);
        weir_region *region = publish_constant(r, node, 79, fd);
        (void)close(fd);
        expect(r, node, 79, 0, BYTES);
        expect(r, node, 79, (1 << 20) - 5, 70001);
        expect(r, node, 79, BYTES - 1, 1);
        struct weir_got got =
            wt_get(r, node,
                   &(struct weir_get){
                       .name = {7, 79}, .off = 3, .bytes = 99, .dst = dst});
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert(wt_bytes_are(dst, 79, 3, 99));
        got =
            wt_get(r, node,
                   &(struct weir_get){
                       .name = {7, 79}, .off = BYTES, .bytes = 1, .dst = dst});
        cr_assert_eq(got.code, WEIR_ERR_ARG);
        weir_region_close(region);
    }
    free(dst);
    wt_reads_close(r);
}

void wt_region_constant_file_that_is_too_short_is_refused(
    const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    int fd = make_file(80);
    struct weir_region_params p = {.kind = WEIR_REGION_FILE,
                                   .fd = fd,
                                   .off = AT,
                                   .bytes = BYTES + 1,
                                   .constant = 1};
    weir_region *region = NULL;
    struct weir_error err;
    cr_assert_eq(weir_region_open(r->c.node[1], &p, &region, &err),
                 WEIR_ERR_DATA);
    cr_assert_not_null(strstr(err.message, "constant file"), "%s", err.message);
    cr_assert_null(region);
    p.constant = 0; /* of another file, gets of what is not there end so */
    cr_assert_eq(weir_region_open(r->c.node[1], &p, &region, &err), WEIR_OK,
                 "%s", err.message);
    weir_region_close(region);
    (void)close(fd);
    wt_reads_close(r);
}

struct mapping {
    struct wt_reads *r;
    int fd;
};

/* No part of the file is mapped any more, here or in a peer. */
static bool is_unmapped(void *arg)
{
    const struct mapping *m = arg;
    struct weir_got got;
    struct stat st;
    char line[512];
    bool found = false;
    cr_assert_eq(weir_fetch_next(m->r->fetch, &got), WEIR_DONE);
    cr_assert_eq(fstat(m->fd, &st), 0);
    FILE *maps = fopen("/proc/self/maps", "r");
    cr_assert_not_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long ino = 0; /* range, access, offset, device, inode */
        found |= sscanf(line, "%*s %*s %*s %*s %lu", &ino) == 1 &&
                 ino == (unsigned long)st.st_ino;
    }
    (void)fclose(maps);
    return !found;
}

/* Neither copied nor kept: what is written to the file is seen in what was lent
 * before, and stays seen after the region is closed. */
void wt_region_constant_file_is_read_in_its_pages(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    int fd = make_file(81);
    weir_region *region = publish_constant(r, 1, 81, fd);
    struct weir_got got = wt_get(
        r, 1,
        &(struct weir_get){.name = {7, 81}, .off = 5, .bytes = BYTES - 5});
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    cr_assert_eq(got.mapped, 1);
    cr_assert(wt_bytes_are(got.ptr, 81, 5, BYTES - 5));
    weir_region_close(region);
    const volatile uint8_t *read = got.ptr;
    uint8_t other = (uint8_t)~read[BYTES - 6];
    cr_assert_eq(pwrite(fd, &other, 1, AT + BYTES - 1), 1);
    cr_assert_eq(read[BYTES - 6], other);
    struct mapping m = {r, fd};
    cr_assert(!is_unmapped(&m));
    weir_fetch_release(r->fetch, &got);
    cr_assert(wt_until(&r->c, is_unmapped, &m), "still mapped");
    (void)close(fd);
    wt_reads_close(r);
}

/* Node 0 as node 1 knows it: a version that maps no files. */
static void forget_files(struct wt_reads *r)
{
    weir_node *owner = r->c.node[1];
    wi_node_lock(owner);
    owner->engine.members[0].link->caps &= ~(uint32_t)WI_WIRE_CAP_FILE;
    wi_node_unlock(owner);
}

/* Another one has mapped the file itself before. */
void wt_region_constant_file_is_copied_for_who_maps_no_files(
    const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 3, NULL);
    int fd = make_file(82);
    weir_region *small = publish_file(r, 1, 83, fd, 1);
    weir_region *region = publish_constant(r, 1, 82, fd);
    weir_fetch *newer = wt_fetch_of(r, 2, NULL);
    weir_peer *owner = wt_peer_of(r, 2, 1);
    const struct weir_get whole = {.name = {7, 82}, .bytes = BYTES};
    uint32_t taken;
    cr_assert_eq(weir_fetch_get(newer, owner, &whole, 1, &taken), WEIR_OK);
    struct weir_got got = wt_next_of(r, newer);
    cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(newer));
    const volatile uint8_t *pages = got.ptr;

    uint8_t byte; /* opens the link */
    (void)wt_get(r, 1,
                 &(struct weir_get){.name = {7, 83}, .bytes = 1, .dst = &byte});
    cr_assert_eq(byte, wt_byte(82, 0));
    forget_files(r);
    struct weir_got copy = wt_get(r, 1, &whole);
    cr_assert_eq(copy.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
    cr_assert(wt_bytes_are(copy.ptr, 82, 0, BYTES));
    uint8_t other = (uint8_t)~pages[0];
    cr_assert_eq(pwrite(fd, &other, 1, AT), 1);
    cr_assert_eq(pages[0], other);
    cr_assert(wt_bytes_are(copy.ptr, 82, 0, BYTES));

    weir_fetch_release(r->fetch, &copy);
    weir_fetch_release(newer, &got);
    weir_fetch_close(newer);
    weir_peer_close(owner);
    weir_region_close(region);
    weir_region_close(small);
    (void)close(fd);
    wt_reads_close(r);
}

/* Many readers of one small stage at once: each gets its own. */
void wt_region_gets_of_a_file_take_turns(const struct wt_place *place)
{
    enum { N = 48 };
    struct wt_reads *r = wt_reads_open_small(place, 3 << 20);
    int fd = make_file(72);
    weir_region *region = publish_file(r, 1, 72, fd, BYTES);
    static uint8_t dst[N][1001];
    for (uint64_t i = 0; i < N; i++) {
        uint32_t taken;
        const struct weir_get get = {.name = {7, 72},
                                     .off = i * 100003,
                                     .bytes = 1001,
                                     .dst = dst[i],
                                     .tag = i};
        cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], &get, 1, &taken),
                     WEIR_OK);
        cr_assert_eq(taken, 1);
    }
    for (uint64_t i = 0; i < N; i++) {
        struct weir_got got = wt_next(r);
        cr_assert_eq(got.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
        cr_assert(wt_bytes_are(dst[got.tag], 72, got.tag * 100003, 1001));
    }
    weir_region_close(region);
    (void)close(fd);
    wt_reads_close(r);
}

void wt_region_truncated_file_fails_only_what_is_gone(
    const struct wt_place *place)
{
    enum { LEFT = (2 << 20) + 1234 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    char at[64];
    (void)snprintf(at, sizeof(at), "ends at its byte %d", AT + LEFT);
    for (uint32_t node = 0; node < 2; node++) {
        int fd = make_file(73);
        weir_region *region = publish_file(r, node, 73, fd, BYTES);
        cr_assert_eq(ftruncate(fd, AT + LEFT), 0);
        expect_error(r, node, 73, 0, BYTES, at);
        expect_error(r, node, 73, LEFT - 1, 2, at);
        expect(r, node, 73, 0, LEFT);
        expect(r, node, 73, LEFT - 1, 1);
        expect_error(r, node, 73, 4 << 20, 1, "ends at its byte");
        weir_region_close(region);
        (void)close(fd);
    }
    wt_reads_close(r);
}

/* Copied with memcpy, such memory would end the process. Only who maps memory
 * gets copies, and whose own region it is reads it itself. */
void wt_region_memory_that_cannot_be_read_is_an_error(
    const struct wt_place *place)
{
#if defined(WEIR_EMULATED)
    cr_skip_test("qemu 7.2 ends a process whose system call meets such a page");
#endif
    enum { LEN = 3 << 20, HOLE = (1 << 20) + 8192 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    uint8_t *own = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(own != MAP_FAILED);
    for (uint64_t i = 0; i < LEN; i++) {
        own[i] = wt_byte(74, i);
    }
    cr_assert_eq(mprotect(own + HOLE, 4096, PROT_NONE), 0);
    const struct weir_region_params p = {
        .kind = WEIR_REGION_BORROWED, .base = own, .bytes = LEN};
    const struct weir_name name = {7, 74};
    struct weir_error err;
    weir_region *region = NULL;
    char at[64];
    (void)snprintf(at, sizeof(at), "cannot be read at its byte %d", HOLE);
    cr_assert_eq(weir_region_open(r->c.node[1], &p, &region, &err), WEIR_OK,
                 "%s", err.message);
    cr_assert_eq(weir_region_publish(region, &name, &err), WEIR_OK);
    expect_error(r, 1, 74, 0, LEN, at);
    expect(r, 1, 74, 0, HOLE);
    expect(r, 1, 74, 2 << 20, 1 << 20);
    weir_region_close(region);
    wt_reads_close(r);
    (void)munmap(own, LEN);
}

static bool count_down(void *arg)
{
    uint32_t *n = arg;
    return (*n)-- == 0;
}

void wt_region_closed_while_its_file_is_read(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t i = 0; i < 8; i++) {
        int fd = make_file(75);
        weir_region *region = publish_file(r, 1, 75, fd, BYTES);
        const struct weir_get get = {.name = {7, 75}, .bytes = BYTES};
        uint32_t taken;
        cr_assert_eq(weir_fetch_get(r->fetch, r->peer[1], &get, 1, &taken),
                     WEIR_OK);
        uint32_t looks = i;
        (void)wt_until(&r->c, count_down, &looks);
        weir_region_close(region);
        struct weir_got got = wt_next(r);
        cr_assert(got.code == WEIR_OK || got.code == WEIR_ERR_NOT_FOUND, "%s",
                  weir_fetch_error(r->fetch));
        weir_fetch_release(r->fetch, &got);
        (void)close(fd);
    }
    wt_reads_close(r);
}

/* ---- files that change --------------------------------------------------- */

static void rewrite(int fd, uint64_t id, uint64_t off, uint64_t bytes)
{
    uint8_t *of = malloc(bytes);
    cr_assert_not_null(of);
    for (uint64_t i = 0; i < bytes; i++) {
        of[i] = wt_byte(id, off + i);
    }
    cr_assert_eq(pwrite(fd, of, bytes, (off_t)(AT + off)), (ssize_t)bytes);
    free(of);
}

/* Also if it has the same length, and was changed a moment ago. What was lent
 * of it before stays. */
void wt_region_file_that_changes_is_got_anew(const struct wt_place *place)
{
    enum { ROUNDS = 12, OFF = (1 << 20) - 70, LEN = 140 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t node = 0; node < 2; node++) {
        int fd = make_file(76);
        const struct weir_get get = {.name = {7, 76}, .off = OFF, .bytes = LEN};
        weir_region *region = publish_file(r, node, 76, fd, BYTES);
        for (uint64_t v = 77; v < 77 + ROUNDS; v++) {
            struct weir_got old = wt_get(r, node, &get);
            cr_assert_eq(old.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
            cr_assert(wt_bytes_are(old.ptr, v - 1, OFF, LEN));
            rewrite(fd, v, OFF, LEN);
            struct weir_got new = wt_get(r, node, &get);
            cr_assert_eq(new.code, WEIR_OK, "%s", weir_fetch_error(r->fetch));
            cr_assert(wt_bytes_are(new.ptr, v, OFF, LEN), "old bytes");
            cr_assert(wt_bytes_are(old.ptr, v - 1, OFF, LEN));
            weir_fetch_release(r->fetch, &old);
            weir_fetch_release(r->fetch, &new);
        }
        weir_region_close(region);
        (void)close(fd);
    }
    wt_reads_close(r);
}

void wt_region_file_that_is_cut_and_grows_is_got_anew(
    const struct wt_place *place)
{
    enum { LEFT = (2 << 20) + 1234 };
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    char at[64];
    (void)snprintf(at, sizeof(at), "ends at its byte %d", AT + LEFT);
    for (uint32_t node = 0; node < 2; node++) {
        int fd = make_file(78);
        weir_region *region = publish_file(r, node, 78, fd, BYTES);
        for (uint32_t i = 0; i < 3; i++) {
            expect(r, node, 78, 0, BYTES);
            cr_assert_eq(ftruncate(fd, AT + LEFT), 0);
            expect_error(r, node, 78, LEFT, 1, at);
            expect_error(r, node, 78, 0, BYTES, at);
            expect(r, node, 78, 0, LEFT);
            rewrite(fd, 78, LEFT, BYTES - LEFT);
        }
        weir_region_close(region);
        (void)close(fd);
    }
    wt_reads_close(r);
}

/* Who maps it, and its own node, get the same memory again: of a file that was
 * made just now, and of one whose times are old enough to tell. */
void wt_region_file_that_stays_is_copied_once(const struct wt_place *place)
{
    struct wt_reads *r = wt_reads_open(place, 0, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t node = i % 2;
        int fd = i < 2 ? make_file(84) : open("/proc/self/exe", O_RDONLY);
        const struct weir_get get = {.name = {7, 84}, .off = 5, .bytes = 100};
        uint8_t bytes[100];
        cr_assert_eq(pread(fd, bytes, sizeof(bytes), AT + 5), 100);
        weir_region *region = publish_file(r, node, 84, fd, 4096);
        struct weir_got first = wt_get(r, node, &get);
        struct weir_got next = wt_get(r, node, &get);
        cr_assert_eq(first.code, WEIR_OK);
        cr_assert_eq(next.code, WEIR_OK);
        cr_assert_eq(memcmp(next.ptr, bytes, sizeof(bytes)), 0);
        cr_assert(!first.mapped || first.ptr == next.ptr);
        weir_fetch_release(r->fetch, &first);
        weir_fetch_release(r->fetch, &next);
        weir_region_close(region);
        (void)close(fd);
    }
    wt_reads_close(r);
}
