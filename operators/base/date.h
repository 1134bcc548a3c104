/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Days, and the proleptic Gregorian calendar.
 *
 * Source: H. Hinnant, "chrono-compatible low-level date algorithms": eras of
 * 400 years = 146097 days, years that begin in March. In 64 bits here,
 * enough for any day of a timestamp.
 */
#ifndef WI_OPERATORS_DATE_H
#define WI_OPERATORS_DATE_H

#include <stdint.h>

struct wi_civil {
    int64_t year;
    uint32_t month; /* 1..12 */
    uint32_t day;   /* 1..31 */
};

#define WI_DAY_SECONDS INT64_C(86400)

/** Rounds down, for n > 0. */
static inline int64_t wi_floor_div(int64_t v, int64_t n)
{
    return v / n - (v % n < 0);
}
static inline int64_t wi_floor_mod(int64_t v, int64_t n)
{
    int64_t r = v % n;
    return r < 0 ? r + n : r;
}

/** Days since 1970-01-01. */
static inline int64_t wi_days_of_civil(struct wi_civil c)
{
    int64_t year = c.year - (c.month <= 2);
    int64_t era = wi_floor_div(year, 400);
    int64_t yoe = year - era * 400;
    int64_t month = (int64_t)c.month + (c.month > 2 ? -3 : 9);
    int64_t doy = (153 * month + 2) / 5 + (int64_t)c.day - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468;
}

static inline struct wi_civil wi_civil_of_days(int64_t days)
{
    days += 719468;
    int64_t era = wi_floor_div(days, 146097);
    int64_t doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    int64_t month = mp < 10 ? mp + 3 : mp - 9;
    return (struct wi_civil){.year = yoe + era * 400 + (month <= 2),
                             .month = (uint32_t)month,
                             .day = (uint32_t)(doy - (153 * mp + 2) / 5 + 1)};
}

/** Ticks per second of an enum wi_unit. */
static inline int64_t wi_unit_ticks(uint8_t unit)
{
    static const int64_t ticks[] = {1, 1000, 1000000, 1000000000};
    return ticks[unit];
}

#endif /* WI_OPERATORS_DATE_H */
