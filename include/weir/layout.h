/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Layouts: batches that hold a shuffle's values in another form of Arrow's.
 *
 *   schema of the shuffle   pushed                          readers get
 *   u   utf8                u, U large utf8, vu utf8 view   u
 *   z   binary              z, Z large binary, vz view      z
 *   any of these and other  c C s S i I l L with a          the values, plain
 *   plain types             dictionary of any of its forms
 *   +s +w:N +m              the same, what is in it in      as the schema says
 *                           any such form
 *   +l +L list              +l or +L, its items the same    as the schema says
 *
 * A shuffle has one schema, which its members agree on and its readers get. A
 * producer whose batches are laid out otherwise says so, and its rows are cut
 * from them as they are: no cast before, and equal values hash alike whatever
 * their layout (docs/wire.md, "Hash"). An ArrowArray does not tell its layout,
 * so Weir has to be told; two writers of a shuffle may differ.
 *
 * Keys of filters and bounds (shuffle.h) are laid out as the schema says.
 */
#ifndef WEIR_LAYOUT_H
#define WEIR_LAYOUT_H

#include <weir/batch.h>
#include <weir/error.h>
#include <weir/shuffle.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Say how the batches are laid out that are pushed from now on.
 *
 * Before each push what the columns hold that differ is checked: views, offsets
 * and data buffers point inside, whatever weir_node_params.trust_batches says.
 * Per row and such column the writer keeps 16 bytes, as many as the largest
 * batch so far had rows; the texts are copied once, into the frame. Values of
 * dictionaries that are no texts are copied twice, and 4 bytes more per row are
 * kept for a dictionary. A row is null if its index is, or what it points to.
 *
 * @param schema  struct with as many columns as the shuffle has, in its order;
 *                their names and flags do not matter. NULL: as the shuffle has
 *                them, which is how a writer begins
 *
 * Errors:     WEIR_ERR_SCHEMA (what does not fit: names the column),
 *             WEIR_ERR_ARG (no writer, a released schema), WEIR_ERR_STATE (a
 *             batch is not taken yet), WEIR_ERR_NO_MEMORY; the layout is then
 *             as before; weir_writer_error has the message. A push may fail
 *             with WEIR_ERR_DATA (a value outside of its buffer, or of 2 GiB;
 *             an index outside of the dictionary),
 *             and with WEIR_ERR_NO_MEMORY
 * Blocks:     never
 * Threads:    the worker's thread
 * Ownership:  schema is borrowed for the call
 */
WEIR_API weir_err weir_writer_layout(weir_writer *writer,
                                     const struct ArrowSchema *schema);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_LAYOUT_H */
