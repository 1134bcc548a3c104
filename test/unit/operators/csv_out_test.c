/* SPDX-License-Identifier: Apache-2.0 */
/* Written CSV, and that it is read back as what was written. */
#include "operators/base/csv_out.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "operators/table/csv_scan.h"
#include "test/support/lacks.h"

static struct wi_csv_out out;

static int new_file(void)
{
    char path[] = "/tmp/csv-out-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(unlink(path), 0);
    return fd;
}

static void put(const char *text)
{
    wi_csv_out_field(&out, text, text == NULL ? 0 : strlen(text));
}

Test(csv_out, quotes_where_a_reader_needs_them)
{
    static const char expected[] =
        "plain,,\"\",\"a,b\",\"say \"\"hi\"\"\"\n\" lead\",\"trail \",\"l\nf\","
        "\"c\rr\",in side\n";
    char text[sizeof(expected) + 1] = "";
    int fd = new_file();
    wi_csv_out_init(&out, fd);
    put("plain");
    put(NULL);
    put("");
    put("a,b");
    put("say \"hi\"");
    wi_csv_out_end(&out);
    put(" lead");
    put("trail ");
    put("l\nf");
    put("c\rr");
    put("in side");
    wi_csv_out_end(&out);
    cr_assert_eq(wi_csv_out_sync(&out, "file", NULL), WEIR_OK);
    cr_assert_eq(out.bytes, sizeof(expected) - 1);
    cr_assert_eq(pread(fd, text, sizeof(text), 0), sizeof(expected) - 1);
    cr_assert_str_eq(text, expected);
    (void)close(fd);
}

/* Fields of quotes, of every length around the buffer's. Each quote is doubled,
 * so that every edge falls inside a pair in some of them. */
Test(csv_out, long_fields_come_back_across_the_buffer)
{
    enum { MOST = WI_CSV_OUT_BYTES + 40 };
    char *text = malloc(MOST);
    struct wi_csv_scan *scan;
    struct wi_csv_record r;
    int fd = new_file();
    uint32_t rows = 0;
    cr_assert_not_null(text);
    memset(text, '"', MOST);
    wi_csv_out_init(&out, fd);
    for (size_t len = MOST - 80; len < MOST; len += 7) {
        wi_csv_out_field(&out, text, len);
        wi_csv_out_field(&out, "x", 1);
        wi_csv_out_end(&out);
    }
    cr_assert_eq(wi_csv_out_sync(&out, "file", NULL), WEIR_OK);
    const struct wi_csv_file file = {fd, "file", out.bytes, ','};
    cr_assert_eq(wi_csv_scan_open(&file, 2, &scan, NULL), WEIR_OK);
    wi_csv_scan_range(scan, 0, out.bytes, 1);
    for (size_t len = MOST - 80; len < MOST; len += 7) {
        cr_assert_eq(wi_csv_scan_next(scan, &r, NULL), WEIR_OK);
        cr_assert_eq(r.fields[0].len, len);
        cr_assert_eq(memcmp(r.fields[0].text, text, len), 0);
        rows++;
    }
    cr_assert_eq(wi_csv_scan_next(scan, &r, NULL), WEIR_DONE);
    cr_assert_eq(rows, 12);
    wi_csv_scan_close(scan);
    (void)close(fd);
    free(text);
}

Test(csv_out, a_full_disk_is_kept_and_told_with_the_name)
{
    struct weir_error err = {0};
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) {
        WT_LACKS("no /dev/full: %s", strerror(errno));
    }
    wi_csv_out_init(&out, fd);
    for (int i = 0; i < WI_CSV_OUT_BYTES; i++) {
        wi_csv_out_field(&out, "x", 1);
    }
    cr_assert_eq(wi_csv_out_failed(&out), ENOSPC);
    cr_assert_eq(wi_csv_out_sync(&out, "part-7", &err), WEIR_ERR_SYSTEM);
    cr_assert(strstr(err.message, "part-7") != NULL, "%s", err.message);
    cr_assert(strstr(err.message, "No space") != NULL, "%s", err.message);
    (void)close(fd);
}
