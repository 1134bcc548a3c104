/* SPDX-License-Identifier: Apache-2.0 */
/* Transport "shm" where something runs out: descriptors, memory, /dev/shm. */
#include "test/unit/transport/shm_support.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/base/atomic.h"
#include "core/base/pages.h"
#include "test/support/lacks.h"

static const struct wi_transport_ops *const ops = &wi_shm_ops;

/* ---- descriptors -------------------------------------------------------- */

/* From here on the process can open `spare` more descriptors. */
static void limit_fds(int spare)
{
    int lowest = dup(0);
    cr_assert_geq(lowest, 0);
    close(lowest);
    /* Descriptors below the limit must be in use: fill holes. */
    struct rlimit lim;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &lim), 0);
    lim.rlim_cur = (rlim_t)(lowest + 64);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &lim), 0);
    int last = -1, fds[128], n = 0;
    while (n < 128 && (last = dup(0)) >= 0) {
        fds[n++] = last;
    }
    cr_assert_lt(last, 0);
    cr_assert_eq(errno, EMFILE);
    for (int i = 0; i < spare; i++) {
        close(fds[--n]);
    }
}

Test(shm_limits, accept_without_descriptors_waits_and_does_not_spin)
{
    struct wt_node a, b;
    wt_node_init(&a, "caller", 8);
    wt_node_init(&b, "callee", 8);
    struct wi_ep *first = wt_link(&a, &b);
    struct wi_ep *gone = b.accepted;
    limit_fds(1);
    struct wi_ep *ep = wt_dial(&a, b.address);
    wt_node_drain(&b);
    cr_assert(wt_node_rests(&b), "the node spins on what it cannot take");
    cr_assert_eq(b.n_accepted, 1);
    /* A link that closes brings the descriptor, and the look at once. */
    ops->disconnect(gone);
    WT_UNTIL(&a, &b, b.n_accepted == 2 && a.n_connected == 2);
    ops->disconnect(first);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->close(a.t);
    ops->close(b.t);
}

Test(shm_limits, accept_tries_again_after_a_while, .timeout = 60)
{
    struct wt_node a, b;
    wt_node_init(&a, "caller", 8);
    wt_node_init(&b, "callee", 8);
    limit_fds(2);
    int hog = dup(0);
    struct wi_ep *ep = wt_dial(&a, b.address);
    wt_node_drain(&b);
    cr_assert_eq(b.n_accepted, 0);
    cr_assert(wt_node_rests(&b));
    close(hog);
    b.now_ns += SHM_PAUSE_NS; /* the timer wakes the sleeper for this look */
    WT_UNTIL(&b, NULL, b.n_accepted == 1);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->close(a.t);
    ops->close(b.t);
}

Test(shm_limits, connect_without_descriptors_names_the_limit)
{
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_ep *ep = NULL;
    wt_node_init(&a, "poor", 8);
    limit_fds(0);
    cr_assert_eq(ops->connect(a.t, "shm:x", &ep, &err), WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, "ulimit -n"), "%s", err.message);
    struct wi_mem mem;
    cr_assert_eq(ops->mem_open(a.t, 4096, &mem, &err), WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, "ulimit -n"), "%s", err.message);
    cr_assert_null(ep);
    ops->close(a.t);
}

/* The grant is lost, the link is not. */
Test(shm_limits, map_without_descriptors_names_the_limit)
{
    struct wt_node a, b;
    struct weir_error err = {0};
    struct wi_mem mem;
    uint64_t key = 0;
    void *at = NULL;
    wt_node_init(&a, "giver", 8);
    wt_node_init(&b, "broke", 8);
    struct wi_ep *ep = wt_link(&a, &b);
    cr_assert_eq(ops->mem_open(a.t, 4096, &mem, &err), WEIR_OK);
    limit_fds(0);
    cr_assert_eq(ops->grant(ep, &mem, WI_ACCESS_BOTH, &key, &err), WEIR_OK);
    wt_say(ep, "key");
    WT_UNTIL(&a, &b, b.n_messages == 1);
    cr_assert_eq(ops->map(b.accepted, key, 4096, WI_ACCESS_BOTH, &at, &err),
                 WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, "ulimit -n"), "%s", err.message);
    cr_assert_null(at);
    cr_assert_eq(ops->grant(ep, &mem, WI_ACCESS_READ, &key, &err),
                 WEIR_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.message, "ulimit -n"), "%s", err.message);
    cr_assert_eq(b.n_closed, 0);
    ops->disconnect(ep);
    ops->disconnect(b.accepted);
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
    ops->close(b.t);
}

/* ---- memory ------------------------------------------------------------- */

Test(shm_limits, memory_is_sealed_and_all_there)
{
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_mem mem;
    struct stat st;
    wt_node_init(&a, "owner", 4);
    cr_assert_eq(ops->mem_open(a.t, 20 << 20, &mem, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(fstat((int)mem.handle, &st), 0);
    cr_assert_eq(st.st_size, 20 << 20);
    cr_assert_eq(st.st_blocks, (20 << 20) / 512, "not all pages were taken");
    cr_assert_neq(ftruncate((int)mem.handle, 4096), 0);
    cr_assert_neq(ftruncate((int)mem.handle, 40 << 20), 0);
    cr_assert_eq(fcntl((int)mem.handle, F_GETFD), FD_CLOEXEC);
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
}

static void skip_if_emulated(void)
{
#if defined(WEIR_EMULATED)
    cr_skip_test("qemu 7.2 says that it has populated pages, and has not");
#endif
}

static long pages_of(const struct wi_mem *mem)
{
    struct stat st;
    cr_assert_eq(fstat((int)mem->handle, &st), 0);
    return st.st_blocks / 8;
}

static void take(struct wi_transport *t, const struct wi_mem *mem, size_t from,
                 size_t to)
{
    struct weir_error err = {0};
    const struct wi_mem_part part = {mem->base, mem->bytes, from, to};
    cr_assert_eq(ops->mem_take(t, &part, &err), WEIR_OK, "%s", err.message);
}

Test(shm_limits, memory_is_taken_where_it_is_asked_for)
{
    skip_if_emulated();
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_mem mem;
    wt_node_init(&a, "sparing", 4);
    if (!wi_pages_can_populate()) {
        WT_LACKS("this system takes all pages at once");
    }
    cr_assert_eq(ops->mem_reserve(a.t, 20 << 20, &mem, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(pages_of(&mem), 0);
    cr_assert_neq(ftruncate((int)mem.handle, 4096), 0);
    take(a.t, &mem, 5000, 5001);
    cr_assert_eq(pages_of(&mem), 1);
    take(a.t, &mem, 4000, 9000);
    cr_assert_eq(pages_of(&mem), 3);
    take(a.t, &mem, 0, 12288); /* again */
    cr_assert_eq(pages_of(&mem), 3);
    take(a.t, &mem, (20 << 20) - 1, 20 << 20);
    cr_assert_eq(pages_of(&mem), 4);
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
}

/* As small pages or, where the system lets them be made, as huge ones. */
Test(shm_limits, large_parts_are_all_there_after_they_were_taken)
{
    skip_if_emulated();
    const size_t bytes = (5 << 20) + 8192; /* two huge pages, and a rest */
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_mem mem;
    wt_node_init(&a, "large", 4);
    cr_assert_eq(ops->mem_reserve(a.t, bytes, &mem, &err), WEIR_OK, "%s",
                 err.message);
    take(a.t, &mem, 0, 4096);
    *(uint8_t *)mem.base = 7;
    take(a.t, &mem, 1 << 20, bytes);
    cr_assert(
        wi_pages_are_there((char *)mem.base + (1 << 20), bytes - (1 << 20)));
    cr_assert_eq(*(uint8_t *)mem.base, 7);
    cr_assert_eq(((uint8_t *)mem.base)[bytes - 1], 0);
    cr_assert_leq(pages_of(&mem), (long)(bytes / 4096));
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
}

/* KiB of huge pages in the mapping at an address. */
static long huge_kib(const void *base)
{
    char from[32], line[256];
    const char *key = "ShmemPmdMapped:";
    long kib = -1;
    bool begun = false;
    FILE *f = fopen("/proc/self/smaps", "re");
    cr_assert_not_null(f);
    (void)snprintf(from, sizeof(from), "%lx-", (unsigned long)(uintptr_t)base);
    while (kib < 0 && fgets(line, sizeof(line), f) != NULL) {
        begun = begun || strncmp(line, from, strlen(from)) == 0;
        if (begun && strncmp(line, key, strlen(key)) == 0) {
            kib = strtol(line + strlen(key), NULL, 10);
        }
    }
    (void)fclose(f);
    return kib;
}

/* 8 times as fast to make as small ones; where the system lets them be made. */
Test(shm_limits, memory_taken_at_once_has_the_huge_pages_that_parts_have)
{
    skip_if_emulated();
    const size_t bytes = (5 << 20) + 8192; /* two huge pages, and a rest */
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_mem parts, whole;
    wt_node_init(&a, "whole", 4);
    cr_assert_eq(ops->mem_reserve(a.t, bytes, &parts, &err), WEIR_OK, "%s",
                 err.message);
    take(a.t, &parts, 0, bytes);
    cr_assert_eq(ops->mem_open(a.t, bytes, &whole, &err), WEIR_OK, "%s",
                 err.message);
    cr_assert_eq(huge_kib(whole.base), huge_kib(parts.base));
    cr_assert_eq(pages_of(&whole), (long)(bytes / 4096));
    ops->mem_close(a.t, &whole);
    ops->mem_close(a.t, &parts);
    ops->close(a.t);
}

/* Else the room would be used up before it is looked at again. */
Test(shm_limits, what_is_taken_counts_also_where_it_is_a_huge_page)
{
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_mem mem;
    wt_node_init(&a, "counting", 4);
    cr_assert_eq(ops->mem_reserve(a.t, 20 << 20, &mem, &err), WEIR_OK, "%s",
                 err.message);
    const struct shm *t = wi_container_of(a.t, struct shm, base);
    uint64_t spare = wi_load_rlx(&t->spare_bytes); /* rlx: one thread */
    if (!wi_pages_can_populate() || spare < 4 << 20) {
        WT_LACKS("pages are taken at once, or there is little memory");
    }
    take(a.t, &mem, 4 << 20, (4 << 20) + (32 << 10));
    spare -= wi_load_rlx(&t->spare_bytes); /* rlx: one thread */
    cr_assert_geq(spare, (uint64_t)pages_of(&mem) * 4096);
    ops->mem_close(a.t, &mem);
    ops->close(a.t);
}

/* What the limit leaves is asked for again before pages are taken, as the
 * kernel would kill. */
Test(shm_limits, a_part_that_the_host_does_not_have_is_an_error)
{
    struct wt_node a;
    struct weir_error err = {0};
    const struct wi_mem_part part = {NULL, (size_t)1 << 46, 0, (size_t)1 << 46};
    wt_node_init(&a, "greedy", 4);
    if (!wi_pages_can_populate()) {
        WT_LACKS("this system takes all pages at once");
    }
    cr_assert_eq(ops->mem_take(a.t, &part, &err), WEIR_ERR_NO_MEMORY);
    cr_assert_not_null(strstr(err.message, "70368744177664 bytes"), "%s",
                       err.message);
    ops->close(a.t);
}

Test(shm_limits, memory_over_the_file_size_limit_is_an_error_not_a_signal)
{
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_mem mem = {0};
    struct rlimit lim = {1 << 20, 1 << 20};
    wt_node_init(&a, "small", 4);
    int before = wt_fd_count();
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
    cr_assert_eq(ops->mem_open(a.t, 2 << 20, &mem, &err), WEIR_ERR_NO_MEMORY);
    cr_assert_not_null(strstr(err.message, "2097152"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "ulimit -f"), "%s", err.message);
    cr_assert_null(mem.base);
    cr_assert_eq(wt_fd_count(), before);
    ops->close(a.t);
}

Test(shm_limits, more_than_the_host_has_is_an_error_with_the_sum)
{
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_mem mem = {0};
    wt_node_init(&a, "greedy", 4);
    cr_assert_eq(ops->mem_open(a.t, (size_t)1 << 46, &mem, &err),
                 WEIR_ERR_NO_MEMORY);
    cr_assert_not_null(strstr(err.message, "70368744177664 bytes"), "%s",
                       err.message);
    cr_assert_null(mem.base);
    ops->close(a.t);
}

Test(shm_limits, bytes_that_are_no_pages_are_refused)
{
    struct wt_node a;
    struct weir_error err = {0};
    struct wi_mem mem;
    wt_node_init(&a, "odd", 4);
    cr_assert_eq(ops->mem_open(a.t, 0, &mem, &err), WEIR_ERR_ARG);
    cr_assert_eq(ops->mem_open(a.t, 4097, &mem, &err), WEIR_ERR_ARG);
    ops->close(a.t);
}

/* /dev/shm of 64 KiB, in a mount namespace of its own: memory of any size is
 * there and can be touched. Exit code 77: the system does not permit it. */
static _Noreturn void use_memory_beside_tiny_dev_shm(void)
{
    char name[64];
    struct wi_transport_params params = {.name = name};
    struct wi_transport *t;
    struct wi_mem mem;
    struct weir_error err = {0};
    const size_t bytes = 16 << 20;
    (void)snprintf(name, sizeof(name), "tiny-%ld", (long)getpid());
    if (unshare(CLONE_NEWNS | (geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("t", "/dev/shm", "tmpfs", 0, "size=64k") != 0) {
        _exit(77);
    }
    if (ops->open(&params, &t, &err) != WEIR_OK ||
        ops->mem_open(t, bytes, &mem, &err) != WEIR_OK) {
        _exit(10);
    }
    memset(mem.base, 0xa5, bytes);
    uint8_t last = ((uint8_t *)mem.base)[bytes - 1];
    ops->mem_close(t, &mem);
    ops->close(t);
    _exit(last == 0xa5 ? 0 : 11);
}

Test(shm_limits, small_dev_shm_is_no_limit)
{
    pid_t child = fork();
    if (child == 0) {
        use_memory_beside_tiny_dev_shm();
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) == 77) {
        WT_LACKS("no private mount namespace permitted here");
    }
    cr_assert_eq(WEXITSTATUS(status), 0);
}

/* ---- the limit that decides --------------------------------------------- */

struct tree {
    char root[64];
};

static void tree_init(struct tree *tree)
{
    strcpy(tree->root, "/tmp/weir-room-XXXXXX");
    cr_assert_not_null(mkdtemp(tree->root));
}

static void tree_put(const struct tree *tree, const char *file,
                     const char *text)
{
    char path[512];
    int n = snprintf(path, sizeof(path), "%s/%s", tree->root, file);
    cr_assert_lt(n, (int)sizeof(path));
    for (char *p = path + strlen(tree->root) + 1; *p != '\0'; p++) {
        if (*p == '/') {
            *p = '\0';
            cr_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
            *p = '/';
        }
    }
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    cr_assert_geq(fputs(text, f), 0);
    cr_assert_eq(fclose(f), 0);
}

static void tree_fini(const struct tree *tree)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", tree->root);
    cr_assert_eq(system(command), 0);
}

Test(shm_limits, least_of_host_and_all_control_groups_decides)
{
    struct tree tree;
    const char *limit = NULL;
    tree_init(&tree);
    cr_assert_eq(wi_shm_room(tree.root, &limit), UINT64_MAX);
    tree_put(&tree, "proc/meminfo",
             "MemTotal: 900 kB\nMemAvailable:    500 kB\nSwapFree: 12 kB\n");
    cr_assert_eq(wi_shm_room(tree.root, &limit), 512 * 1024);
    cr_assert_not_null(strstr(limit, "MemAvailable"));
    tree_put(&tree, "proc/self/cgroup", "1:name=x:/y\n0::/pod/job\n");
    tree_put(&tree, "sys/fs/cgroup/pod/job/memory.max", "max\n");
    tree_put(&tree, "sys/fs/cgroup/pod/job/memory.current", "1\n");
    cr_assert_eq(wi_shm_room(tree.root, &limit), 512 * 1024);
    tree_put(&tree, "sys/fs/cgroup/pod/memory.max", "200000\n");
    tree_put(&tree, "sys/fs/cgroup/pod/memory.current", "150000\n");
    cr_assert_eq(wi_shm_room(tree.root, &limit), 50000);
    cr_assert_not_null(strstr(limit, "memory.max"));
    tree_put(&tree, "sys/fs/cgroup/pod/memory.stat",
             "anon 9\ninactive_file 30000\nactive_file 10000\n");
    cr_assert_eq(wi_shm_room(tree.root, &limit), 90000);
    tree_put(&tree, "sys/fs/cgroup/pod/memory.current", "300000\n");
    cr_assert_eq(wi_shm_room(tree.root, &limit), 0);
    tree_put(&tree, "sys/fs/cgroup/pod/job/memory.max", "1000\n");
    tree_put(&tree, "sys/fs/cgroup/pod/memory.max", "max\n");
    cr_assert_eq(wi_shm_room(tree.root, &limit), 999);
    tree_put(&tree, "proc/self/cgroup", "0::/\n");
    tree_put(&tree, "sys/fs/cgroup/memory.max", "700\n");
    tree_put(&tree, "sys/fs/cgroup/memory.current", "0\n");
    cr_assert_eq(wi_shm_room(tree.root, &limit), 700);
    tree_fini(&tree);
}
