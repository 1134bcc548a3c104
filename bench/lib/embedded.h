/* SPDX-License-Identifier: Apache-2.0 */
/** Files of bench/ that are part of the program (cmake/WeirEmbed.cmake makes
 *  their text a string each), so that it runs wherever it is installed. */
#ifndef WB_EMBEDDED_H
#define WB_EMBEDDED_H

struct wb_embedded_file {
    const char *path; /* from bench/: "plans/join.json" */
    const char *text;
};

/** All of them; the last one's path is NULL. */
extern const struct wb_embedded_file wb_embedded_files[];

/** The text of one.
 *  Returns: NULL: there is none. Errors: none. Blocks: never. Threads: any.
 *  Ownership: static. */
const char *wb_embedded(const char *path);

#endif /* WB_EMBEDDED_H */
