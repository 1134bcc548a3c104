/* SPDX-License-Identifier: Apache-2.0 */
/* Pushing, finishing and reading with a wait in between. */
#include <weir/shuffle.h>

#include "core/link/worker.h"
#include "core/query/query.h"
#include "core/query/reader.h"
#include "core/query/shuffle.h"
#include "core/query/writer.h"

weir_err weir_writer_push_wait(weir_writer *writer,
                               const struct ArrowArray *batch)
{
    if (writer == NULL) {
        return WEIR_ERR_ARG;
    }
    weir_node *node = writer->shuffle->query->node;
    weir_err rc;
    while ((rc = weir_writer_push(writer, batch)) == WEIR_AGAIN) {
        (void)weir_worker_wait(node, writer->worker->idx, WEIR_FOREVER);
    }
    return rc;
}

weir_err weir_writer_finish_wait(weir_writer *writer)
{
    if (writer == NULL) {
        return WEIR_ERR_ARG;
    }
    weir_node *node = writer->shuffle->query->node;
    weir_err rc;
    while ((rc = weir_writer_finish(writer)) == WEIR_AGAIN) {
        (void)weir_worker_wait(node, writer->worker->idx, WEIR_FOREVER);
    }
    return rc;
}

weir_err weir_reader_next_wait(weir_reader *reader,
                               struct ArrowArray *batch_out)
{
    if (reader == NULL) {
        return WEIR_ERR_ARG;
    }
    weir_node *node = reader->shuffle->query->node;
    weir_err rc;
    while ((rc = weir_reader_next(reader, batch_out)) == WEIR_AGAIN ||
           (rc == WEIR_HELD && wi_reader_may_get(reader))) {
        (void)weir_worker_wait(node, reader->worker->idx, WEIR_FOREVER);
    }
    return rc;
}
