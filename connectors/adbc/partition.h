/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Partitions: ranges of a scan that several readers share (weir_scan_share). A
 * descriptor is a text that says where the scan is:
 *
 *   weir-range 1 ID RANGE ADDRESS      ID: 32 hex digits
 *
 * Whoever has it may read it once, also in another process: with a connection
 * to the same server, by whatever address.
 */
#ifndef WI_ADBC_PARTITION_H
#define WI_ADBC_PARTITION_H

#include "connectors/adbc/connection.h"

/** Descriptors of n ranges. Errors: ADBC_STATUS_INTERNAL (no memory). Blocks:
 *  never. Threads: any. Ownership: partitions_out->release. */
AdbcStatusCode wi_adbc_partitions_make(struct AdbcPartitions *partitions_out,
                                       const struct weir_scan_id *id,
                                       uint32_t n, const char *address,
                                       struct AdbcError *error);

/* As in struct AdbcDriver. */
AdbcStatusCode wi_adbc_read_partition(struct AdbcConnection *connection,
                                      const uint8_t *bytes, size_t length,
                                      struct ArrowArrayStream *out,
                                      struct AdbcError *error);

#endif /* WI_ADBC_PARTITION_H */
