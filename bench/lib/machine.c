/* SPDX-License-Identifier: Apache-2.0 */
/* Source: Linux, Documentation/filesystems/proc.rst (cpuinfo, whose lines are
 * "word<tabs>: value"). */
#include "bench/lib/machine.h"

#include <string.h>
#include <sys/utsname.h>

#include "core/base/isa.h"
#include "core/base/proc.h"

/* Append the value of the first line that begins with this word, and what goes
 * before it. */
static void add_value(char *text, const char *info, const char *word,
                      const char *before)
{
    const char *line = strstr(info, word);
    const char *value = line != NULL ? strchr(line, ':') : NULL;
    size_t used = strlen(text);
    if (value == NULL || used >= WB_PROCESSOR_TEXT) {
        return;
    }
    value += strspn(value, ": ");
    (void)snprintf(text + used, WB_PROCESSOR_TEXT - used, "%s%.*s", before,
                   (int)strcspn(value, "\n"), value);
}

void wb_processor(char *text, const char *root)
{
    char info[WI_PROC_TEXT];
    char dir[512];
    struct utsname kernel;
    text[0] = '\0';
    (void)snprintf(dir, sizeof(dir), "%s/proc", root);
    wi_proc_read(info, dir, "cpuinfo");
    add_value(text, info, "model name\t", "");
    if (text[0] != '\0') {
        add_value(text, info, "cpu family\t", ", family ");
        add_value(text, info, "model\t", ", model ");
    } else if (uname(&kernel) == 0) {
        (void)snprintf(text, WB_PROCESSOR_TEXT, "%s", kernel.machine);
    }
}

void wb_machine_print(FILE *out)
{
    char processor[WB_PROCESSOR_TEXT];
    wb_processor(processor, "");
    (void)fprintf(out, "processor: %s; instructions: %s\n", processor,
                  wi_isa_name(wi_isa_best()));
}
