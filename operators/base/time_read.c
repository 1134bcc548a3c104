/* SPDX-License-Identifier: Apache-2.0 */
/* Dates and times of day, without the C library. */
#include "operators/base/time_read.h"

#include "operators/base/date.h"
#include "operators/base/digits.h"

enum {
    DAY_BYTES = 6,        /* -07-01 */
    YEAR_DIGITS = 12,     /* of the last second in 64 bits */
    NO_DIGITS = -1000000, /* stays negative in every sum */
};

/* The number of two digits; negative if they are not digits. */
static int two(const char *text)
{
    uint32_t a = wi_digit(text[0]);
    uint32_t b = wi_digit(text[1]);
    return a < 10 && b < 10 ? (int)(a * 10 + b) : NO_DIGITS;
}

static int days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* "-07-01" behind the year. */
static bool day_of_year(const char *t, int64_t year, int64_t *out)
{
    const int month = two(t + 1);
    const int day = two(t + 4);
    if (t[0] != '-' || t[3] != '-' || month < 1 || month > 12 || day < 1 ||
        day > days_in_month(year, month)) {
        return false;
    }
    *out = wi_days_of_civil((struct wi_civil){
        .year = year, .month = (uint32_t)month, .day = (uint32_t)day});
    return true;
}

/* The bytes of the year in front: four digits, or up to YEAR_DIGITS of which
 * the first is not 0, and a sign; 0: there is none. */
static uint32_t year_bytes(struct wi_str text, int64_t *year)
{
    bool negative;
    uint64_t size;
    const struct wi_str rest = wi_skip_sign(text, &negative);
    uint32_t n = 0;
    if (text.n_bytes > 4 && text.data[4] == '-') { /* the usual */
        *year = two(text.data) * 100 + two(text.data + 2);
        return *year < 0 ? 0 : 4;
    }
    while (n < rest.n_bytes && wi_digit(rest.data[n]) < 10) {
        n++;
    }
    if (n < 4 || n > YEAR_DIGITS || (n > 4 && rest.data[0] == '0') ||
        !wi_short_number(rest.data, n, &size)) {
        return 0;
    }
    *year = negative ? -(int64_t)size : (int64_t)size;
    return (uint32_t)(rest.data - text.data) + n;
}

/* The bytes of the date in front; 0: there is none. */
static uint32_t date_bytes(struct wi_str text, int64_t *days)
{
    int64_t year = 0;
    const uint32_t n = year_bytes(text, &year);
    return n > 0 && text.n_bytes - n >= DAY_BYTES &&
                   day_of_year(text.data + n, year, days)
               ? n + DAY_BYTES
               : 0;
}

enum wi_read wi_read_date(struct wi_str text, int64_t *out)
{
    int64_t days;
    if (text.n_bytes == 0 || date_bytes(text, &days) != text.n_bytes) {
        return WI_READ_MALFORMED;
    }
    if (days < INT32_MIN || days > INT32_MAX) {
        return WI_READ_MISFIT;
    }
    *out = days;
    return WI_READ_OK;
}

/* ".5" and so on, in nanoseconds, at *at; moves *at to its end. */
static bool split_second(struct wi_str text, uint32_t *at, uint64_t *out)
{
    const char *digits = text.data + *at + 1;
    uint32_t n = 0;
    while (*at + 1 + n < text.n_bytes && wi_digit(digits[n]) < 10) {
        n++;
    }
    if (n > 9 || !wi_short_number(digits, n, out)) {
        return false;
    }
    *out *= (uint64_t)wi_pow10(9 - n);
    *at += 1 + n;
    return true;
}

/* "hh:mm", "hh:mm:ss", "hh:mm:ss.f", at *at; moves *at to its end. */
static bool clock_time(struct wi_str text, uint32_t *at, int64_t *seconds,
                       uint64_t *ns)
{
    const char *t = text.data + *at;
    const uint32_t left = text.n_bytes - *at;
    if (left < 5 || t[2] != ':') {
        return false;
    }
    const bool with_seconds = left >= 8 && t[5] == ':';
    int hour = two(t);
    int minute = two(t + 3);
    int second = with_seconds ? two(t + 6) : 0;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
        second > 59) {
        return false;
    }
    *seconds = hour * 3600 + minute * 60 + second;
    *at += with_seconds ? 8 : 5;
    return !with_seconds || *at == text.n_bytes || text.data[*at] != '.' ||
           split_second(text, at, ns);
}

enum wi_read wi_read_timestamp(struct wi_str text, uint8_t unit, int64_t *out)
{
    const uint64_t tick_ns =
        UINT64_C(1000000000) / (uint64_t)wi_unit_ticks(unit);
    int64_t days = 0;
    int64_t seconds = 0;
    uint64_t ns = 0;
    uint32_t at = date_bytes(text, &days);
    if (at == 0) {
        return WI_READ_MALFORMED;
    }
    if (text.n_bytes > at) {
        const char between = text.data[at++];
        if ((between != ' ' && between != 'T') ||
            !clock_time(text, &at, &seconds, &ns)) {
            return WI_READ_MALFORMED;
        }
        at += at < text.n_bytes && text.data[at] == 'Z';
    }
    if (at != text.n_bytes) {
        return WI_READ_MALFORMED;
    }
    /* In 128 bits: the first second of the range begins below INT64_MIN,
     * although its end fits. */
    wi_i128 value =
        ((wi_i128)days * WI_DAY_SECONDS + seconds) * wi_unit_ticks(unit);
    value += ns / tick_ns;
    if (ns % tick_ns != 0 || value < INT64_MIN || value > INT64_MAX) {
        return WI_READ_MISFIT;
    }
    *out = (int64_t)value;
    return WI_READ_OK;
}
