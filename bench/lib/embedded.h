/* SPDX-License-Identifier: Apache-2.0 */
/** Files of bench/ that are part of the program (cmake/WeirEmbed.cmake makes
 *  their text a string each), so that it runs wherever it is installed. */
#ifndef WB_EMBEDDED_H
#define WB_EMBEDDED_H

extern const char wb_embedded_join_json[];
extern const char wb_embedded_join_sql[];
extern const char wb_embedded_aggregation_json[];
extern const char wb_embedded_aggregation_sql[];
extern const char wb_embedded_duckdb_query_py[];

#endif /* WB_EMBEDDED_H */
