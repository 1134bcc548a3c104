/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lib/median.h"

#include <criterion/criterion.h>

Test(median, of_an_odd_number_is_the_middle_one)
{
    double v[] = {5.0, 1.0, 9.0};
    struct wb_spread s = wb_spread_of(v, 3);
    cr_assert(s.median == 5.0 && s.min == 1.0 && s.max == 9.0);
}

Test(median, of_an_even_number_is_between_the_middle_two)
{
    double v[] = {4.0, 1.0, 9.0, 2.0};
    struct wb_spread s = wb_spread_of(v, 4);
    cr_assert(s.median == 3.0 && s.min == 1.0 && s.max == 9.0);
}

Test(median, of_one_is_it)
{
    double v[] = {7.0};
    struct wb_spread s = wb_spread_of(v, 1);
    cr_assert(s.median == 7.0 && s.min == 7.0 && s.max == 7.0);
}
