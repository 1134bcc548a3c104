/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main() of a fuzz target where there is no fuzzer: runs each file of the
 * folders that are named, or each file that is, in the order of their names.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "test/fuzz/fuzz.h"

static unsigned n_files;

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    FZ_CHECK(f != NULL && fstat(fileno(f), &st) == 0, "cannot read %s", path);
    size_t n = (size_t)st.st_size;
    uint8_t *bytes = malloc(n != 0 ? n : 1); /* exact: ASan sees a read past */
    FZ_CHECK(bytes != NULL && fread(bytes, 1, n, f) == n, "cannot read %s",
             path);
    (void)fclose(f);
    (void)fprintf(stderr, "%s\n", path); /* the last one is who fails */
    (void)LLVMFuzzerTestOneInput(bytes, n);
    free(bytes);
    n_files++;
}

static void replay(const char *path)
{
    struct dirent **entries;
    char inner[4096];
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) {
        replay_file(path);
        return;
    }
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.') {
            (void)snprintf(inner, sizeof(inner), "%s/%s", path,
                           entries[i]->d_name);
            replay_file(inner);
        }
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        replay(argv[i]);
    }
    FZ_CHECK(n_files != 0, "usage: %s FILE|FOLDER...", argv[0]);
    (void)printf("%u inputs\n", n_files);
    return 0;
}
