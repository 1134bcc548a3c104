/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions: texts that say where a range of a shared scan is. */
#include "connectors/adbc/partition.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectors/adbc/error.h"

enum { MOST_BYTES = 1024 };

#define FORMAT "weir-range 1 %016" PRIx64 "%016" PRIx64 " %u %s"

/* ---- making -------------------------------------------------------------- */

/* Everything in one block: pointers, lengths, texts of `room` bytes each. */
static void release(struct AdbcPartitions *p)
{
    free(p->private_data);
    memset(p, 0, sizeof(*p));
}

AdbcStatusCode wi_adbc_partitions_make(struct AdbcPartitions *partitions_out,
                                       const struct weir_scan_id *id,
                                       uint32_t n, const char *address,
                                       struct AdbcError *error)
{
    size_t room = sizeof(FORMAT) + 2 * 16 + 10 + strlen(address);
    char *block = calloc(n, sizeof(uint8_t *) + sizeof(size_t) + room);
    if (block == NULL) {
        return wi_adbc_fail(error, ADBC_STATUS_INTERNAL, "no memory");
    }
    const uint8_t **texts = (const uint8_t **)(void *)block;
    size_t *lengths = (size_t *)(void *)(texts + n);
    char *text = (char *)(lengths + n);
    for (uint32_t i = 0; i < n; i++, text += room) {
        int len = snprintf(text, room, FORMAT, id->words[0], id->words[1], i,
                           address);
        texts[i] = (const uint8_t *)text;
        lengths[i] = (size_t)len;
    }
    *partitions_out =
        (struct AdbcPartitions){n, texts, lengths, block, release};
    return ADBC_STATUS_OK;
}

/* ---- reading ------------------------------------------------------------- */

static AdbcStatusCode parse(const uint8_t *bytes, size_t length,
                            struct weir_scan_id *id_out, uint32_t *range_out,
                            struct AdbcError *error)
{
    char text[MOST_BYTES] = {0};
    int end = 0;
    if (bytes != NULL && length < sizeof(text)) {
        memcpy(text, bytes, length);
    }
    int n = sscanf(text, "weir-range 1 %16" SCNx64 "%16" SCNx64 " %u %n",
                   &id_out->words[0], &id_out->words[1], range_out, &end);
    return n == 3 && end > 0 ? ADBC_STATUS_OK
                             : wi_adbc_fail(error, ADBC_STATUS_INVALID_ARGUMENT,
                                            "this is no partition of Weir");
}

AdbcStatusCode wi_adbc_read_partition(struct AdbcConnection *connection,
                                      const uint8_t *bytes, size_t length,
                                      struct ArrowArrayStream *out,
                                      struct AdbcError *error)
{
    struct weir_scan_id id;
    uint32_t range = 0;
    struct wi_adbc_session *s = wi_adbc_connection_session(connection, error);
    if (s == NULL) {
        return ADBC_STATUS_INVALID_STATE;
    }
    AdbcStatusCode status = parse(bytes, length, &id, &range, error);
    return status == ADBC_STATUS_OK
               ? wi_adbc_session_range(s, &id, range, out, error)
               : status;
}
