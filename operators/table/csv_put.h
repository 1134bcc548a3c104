/* SPDX-License-Identifier: Apache-2.0 */
/** Fields of records, parsed into column buffers. */
#ifndef WI_OPERATORS_CSV_PUT_H
#define WI_OPERATORS_CSV_PUT_H

#include "operators/table/build.h"
#include "operators/table/csv_scan.h"

/** Which field, and the column that its values go to. */
struct wi_csv_put {
    uint32_t field;
    bool utf8; /* the field must be UTF-8 */
    struct wi_build_col *col;
    int64_t least; /* integers: the type's range */
    int64_t most;
};

struct wi_csv_put wi_csv_put_of(uint32_t field, struct wi_build_col *col);

/** @param ascii  true: the field is known to be ASCII
 *  Errors, without a message: WEIR_ERR_DATA (not a value of the type),
 *  WEIR_ERR_NO_MEMORY. Blocks: never. Threads: the scan's.
 *  Ownership: nothing. */
weir_err wi_csv_put_value(const struct wi_csv_put *put, uint32_t row,
                          const struct wi_csv_field *f, bool ascii);
void wi_csv_put_null(const struct wi_csv_put *put, uint32_t row);

#endif /* WI_OPERATORS_CSV_PUT_H */
