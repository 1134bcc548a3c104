/* SPDX-License-Identifier: Apache-2.0 */
/* Where a secret lies in memory: on pages that no core dump has, and nowhere
 * else. The test itself has it altered only. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/identity.h>
#include <weir/node.h>

#include "core/identity/psk.h"
#include "core/link/lock.h"

enum { BYTES = 64, CHUNK = 1 << 20, MASK = 0x55 };

/* Each byte of the secret, but for one bit pattern. */
static char altered[BYTES];

static void draw(unsigned seed)
{
    for (int i = 0; i < BYTES; i++) {
        seed = seed * 1103515245u + 12345u;
        altered[i] = (char)(('a' + (seed >> 16) % 26) ^ MASK);
    }
}

static void write_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    for (int i = 0; i < BYTES; i++) {
        volatile char c = (char)(altered[i] ^ MASK);
        cr_assert_eq(write(fd, (const void *)&c, 1), 1);
    }
    (void)close(fd);
}

static bool is_here(const char *at)
{
    for (int i = 0; i < BYTES; i++) {
        if ((at[i] ^ MASK) != altered[i]) {
            return false;
        }
    }
    return true;
}

static uint32_t count_in(int mem, uint64_t begin, uint64_t end)
{
    static char bytes[CHUNK + BYTES];
    uint32_t found = 0;
    for (uint64_t at = begin; at < end; at += CHUNK) {
        size_t want = end - at < sizeof(bytes) ? end - at : sizeof(bytes);
        ssize_t n = pread(mem, bytes, want, (off_t)at);
        for (ssize_t i = 0; i + BYTES <= n && i < CHUNK; i++) {
            found += is_here(bytes + i);
        }
    }
    memset(bytes, 0, sizeof(bytes));
    return found;
}

struct places {
    uint32_t dumped;
    uint32_t hidden;  /* dd */
    uint32_t unwiped; /* hidden, but a child has it, too */
};

/* How often it is in mappings that core dumps have, and in others. */
static struct places find(void)
{
    struct places p = {0};
    uint64_t begin = 0;
    uint64_t end = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/smaps", "r");
    int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    cr_assert(maps != NULL && mem >= 0);
    while (fgets(line, sizeof(line), maps) != NULL) {
        char mode[8];
        unsigned long from;
        unsigned long to;
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3) {
            begin = mode[0] == 'r' && strstr(line, "[v") == NULL ? from : to;
            end = to;
        } else if (strncmp(line, "VmFlags:", 8) == 0) {
            uint32_t n = count_in(mem, begin, end);
            bool hidden = strstr(line, " dd") != NULL;
            p.hidden += hidden ? n : 0;
            p.dumped += hidden ? 0 : n;
            p.unwiped += hidden && strstr(line, " wf") == NULL ? n : 0;
        }
    }
    (void)fclose(maps);
    (void)close(mem);
    return p;
}

static void expect_hidden(const char *when)
{
    struct places p = find();
    cr_assert_eq(p.dumped, 0, "%s: a core dump has it %u times", when,
                 p.dumped);
    cr_assert_gt(p.hidden, 0, "%s: not found at all", when);
    cr_assert_eq(p.unwiped, 0, "%s: a child has it", when);
}

static uint32_t give(void *arg, uint32_t which, void *bytes, uint32_t room)
{
    (void)arg;
    (void)room;
    for (int i = 0; which == 0 && i < BYTES; i++) {
        ((char *)bytes)[i] = (char)(altered[i] ^ MASK);
    }
    return which == 0 ? BYTES : 0;
}

static void skip_where_memory_is_not_ours(void)
{
#if defined(WEIR_EMULATED) || defined(__SANITIZE_ADDRESS__) ||                 \
    defined(__SANITIZE_THREAD__)
    cr_skip_test("the emulator or the sanitizer has memory of its own");
#endif
}

static weir_node *open_with(const char *file, const struct weir_identity *id)
{
    const struct weir_node_params params = {.transport = "tcp",
                                            .memory_bytes = 16u << 20,
                                            .max_members = 2,
                                            .secret_file = file,
                                            .identity = id};
    struct weir_error err = {0};
    weir_node *n = NULL;
    cr_assert_eq(weir_node_open(&params, &n, &err), WEIR_OK, "%s", err.message);
    return n;
}

Test(secret_memory, a_secret_of_a_file_is_in_no_core_dump, .timeout = 120)
{
    char path[] = "/tmp/secret-XXXXXX";
    const struct weir_identity id = {.tls_psk = 1};
    struct weir_error err = {0};
    skip_where_memory_is_not_ours();
    (void)close(mkstemp(path));
    draw(1);
    write_file(path);
    weir_node *n = open_with(path, &id);
    expect_hidden("opened");
    draw(2);
    write_file(path);
    cr_assert_eq(weir_node_renew_secret(n, &err), WEIR_OK, "%s", err.message);
    expect_hidden("renewed");
    weir_node_close(n);
    struct places p = find();
    cr_assert_eq(p.dumped + p.hidden, 0, "closed: it is still there");
    (void)unlink(path);
}

Test(secret_memory, a_secret_of_the_program_is_in_no_core_dump, .timeout = 120)
{
    const struct weir_identity id = {.secret = give};
    skip_where_memory_is_not_ours();
    draw(3);
    weir_node *n = open_with(NULL, &id);
    expect_hidden("opened");
    weir_node_close(n);
}

/* And so are the keys that are made of it. */
Test(secret_memory, keys_of_tls_lie_beside_it, .timeout = 60)
{
    const struct weir_identity id = {.secret = give, .tls_psk = 1};
    draw(4);
    weir_node *n = open_with(NULL, &id);
    const struct wi_keys *keys = n->engine.keys;
    cr_assert_not_null(keys);
    cr_assert_eq(keys->psks.n, 1);
    cr_assert_eq((uintptr_t)keys % 4096, 0);
    weir_node_close(n);
}
