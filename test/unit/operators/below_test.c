/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a folder: nothing leads out of it. */
#define _GNU_SOURCE 1
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/plan.h>
#include <weir/table.h>

TestSuite(below, .timeout = 60);

enum { PATH_ROOM = 128 };

/* DIR/out.csv, and DIR/in with a file, links and a folder. */
struct place {
    char dir[PATH_ROOM];
    char in[PATH_ROOM];
    int fd; /* of dir */
};

static void put(const struct place *p, const char *name)
{
    int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "n\n1\n", 4), 4);
    (void)close(fd);
}

static void open_place(struct place *p)
{
    (void)strcpy(p->dir, "/tmp/weir-below-XXXXXX");
    cr_assert_not_null(mkdtemp(p->dir));
    (void)snprintf(p->in, PATH_ROOM, "%.100s/in", p->dir);
    p->fd = open(p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    cr_assert_eq(mkdirat(p->fd, "in", 0700), 0);
    cr_assert_eq(mkdirat(p->fd, "in/sub", 0700), 0);
    put(p, "out.csv");
    put(p, "in/a.csv");
    cr_assert_eq(symlinkat("../out.csv", p->fd, "in/relative.csv"), 0);
    cr_assert_eq(symlinkat("/etc/passwd", p->fd, "in/absolute.csv"), 0);
    cr_assert_eq(symlinkat("..", p->fd, "in/up"), 0);
    cr_assert_eq(symlinkat("a.csv", p->fd, "in/inside.csv"), 0);
}

static void close_place(struct place *p)
{
    static const char *const files[] = {"in/relative.csv", "in/absolute.csv",
                                        "in/up",           "in/inside.csv",
                                        "in/a.csv",        "out.csv"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        cr_assert_eq(unlinkat(p->fd, files[i], 0), 0, "%s", files[i]);
    }
    cr_assert_eq(unlinkat(p->fd, "in/sub", AT_REMOVEDIR), 0);
    cr_assert_eq(unlinkat(p->fd, "in", AT_REMOVEDIR), 0);
    (void)close(p->fd);
    cr_assert_eq(rmdir(p->dir), 0);
}

static weir_err open_table(const struct place *p, const char *path,
                           struct weir_error *err)
{
    weir_table *table = NULL;
    const struct weir_csv_params params = {.path = path, .below = p->in};
    weir_err rc = weir_table_csv_open(&params, &table, err);
    if (rc == WEIR_OK) {
        weir_table_close(table);
    }
    return rc;
}

static weir_err read_plan(const struct place *p, const char *path,
                          struct weir_error *err)
{
    char json[512];
    weir_plan *plan = NULL;
    const struct weir_plan_read_params params = {.data_dir = p->in,
                                                 .only_below = 1};
    const int n = snprintf(
        json, sizeof(json),
        "{\"weir\": 1, \"tables\": {\"t\": {\"csv\": \"%s\"}}, \"operators\": "
        "[{\"name\": \"s\", \"op\": \"scan\", \"table\": \"t\"}], "
        "\"result\": \"s\"}",
        path);
    weir_err rc = weir_plan_read(json, (size_t)n, &params, &plan, err);
    if (rc == WEIR_OK) {
        weir_plan_close(plan);
    }
    return rc;
}

Test(below, what_lies_in_the_folder_is_read)
{
    static const char *const files[] = {"a.csv", "./a.csv", "sub/../a.csv",
                                        "inside.csv"};
    struct place p;
    struct weir_error err;
    open_place(&p);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        cr_expect_eq(open_table(&p, files[i], &err), WEIR_OK, "%s: %s",
                     files[i], err.message);
        cr_expect_eq(read_plan(&p, files[i], &err), WEIR_OK, "%s: %s", files[i],
                     err.message);
    }
    cr_expect_eq(open_table(&p, "sub", &err), WEIR_ERR_DATA);
    cr_expect_eq(open_table(&p, "none.csv", &err), WEIR_ERR_SYSTEM);
    cr_expect_not_null(strstr(err.message, "in/none.csv: No such file"));
    close_place(&p);
}

Test(below, what_leads_out_of_it_is_refused_however_it_is_named)
{
    static const char *const files[] = {
        "../out.csv", "sub/../../out.csv", "relative.csv",    "absolute.csv",
        "up/out.csv", "/etc/passwd",       "up/in/../out.csv"};
    struct place p;
    struct weir_error err;
    open_place(&p);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        cr_expect_eq(open_table(&p, files[i], &err), WEIR_ERR_DATA, "%s",
                     files[i]);
        cr_expect_not_null(strstr(err.message, "leads out of its folder"));
        cr_expect_eq(read_plan(&p, files[i], &err), WEIR_ERR_DATA, "%s",
                     files[i]);
        cr_expect_not_null(strstr(err.message, "leads out of its folder"));
    }
    close_place(&p);
}
