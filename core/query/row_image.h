/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows larger than a frame: an image, which is a frame of one row in ordinary
 * memory, sent in pieces; or, where a row is larger than a lane's stage and
 * fits a frame of the ring, sent as it is.
 *
 * A writer has one image at a time. All calls are made by its worker; none
 * waits.
 */
#ifndef WI_ROW_IMAGE_H
#define WI_ROW_IMAGE_H

#include "core/query/writer.h"

/** Make the image of a row. False: it is too large, or there is no memory; the
 *  query has failed. */
bool wi_image_make(struct weir_writer *w, struct wi_lane *lane, uint64_t row);

/** Send what is left of the image, and free it. False: the ring is full. */
bool wi_image_send(struct weir_writer *w, struct wi_lane *lane);

#endif /* WI_ROW_IMAGE_H */
