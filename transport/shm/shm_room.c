/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is there memory? The kernel answers a fallocate that it cannot satisfy by
 * killing processes, not by ENOMEM (overcommit is judged page by page, and a
 * control group has no other answer), so this asks first. Others may take the
 * memory in between: this makes the kill unlikely, not impossible.
 *
 * Sources: Linux Documentation/filesystems/proc.rst (MemAvailable) and
 * Documentation/admin-guide/cgroup-v2.rst (memory.max, .current, .stat).
 */
#include "core/base/proc.h"
#include "transport/shm/shm.h"

/* What one control group leaves. Its page cache would be given up first. */
static void take_group(void *arg, const char *dir)
{
    uint64_t *room = arg;
    char text[WI_PROC_TEXT];
    uint64_t most, used, cache = 0, part;
    wi_proc_read(text, dir, "memory.max");
    if (!wi_proc_number(text, "", &most)) {
        return; /* "max", or no such file */
    }
    wi_proc_read(text, dir, "memory.current");
    if (!wi_proc_number(text, "", &used)) {
        return;
    }
    wi_proc_read(text, dir, "memory.stat");
    cache += wi_proc_number(text, "inactive_file ", &part) ? part : 0;
    cache += wi_proc_number(text, "active_file ", &part) ? part : 0;
    used -= wi_min_u64(used, cache);
    *room = wi_min_u64(*room, most - wi_min_u64(most, used));
}

uint64_t wi_shm_room(const char *root, const char **limit)
{
    char text[WI_PROC_TEXT];
    uint64_t room = UINT64_MAX, group = UINT64_MAX, free_kb, swap_kb = 0;
    *limit = "nothing";
    wi_proc_read(text, root, "proc/meminfo");
    if (wi_proc_number(text, "MemAvailable:", &free_kb)) {
        (void)wi_proc_number(text, "SwapFree:", &swap_kb);
        room = (free_kb + swap_kb) * 1024;
        *limit = "the host's memory (MemAvailable + SwapFree)";
    }
    wi_proc_groups(root, take_group, &group);
    if (group < room) {
        room = group;
        *limit = "the memory limit of the container (memory.max)";
    }
    return room;
}
