/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrow schemas for programs that have no Arrow library.
 *
 * The struct owns one allocation with the child pointers and child structs.
 * Each child owns its texts: a consumer may move a child out and release the
 * struct before it.
 */
#include <weir/batch.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/format/schema.h"

enum { MAX_FIELDS = 1024 };

static void release_child(struct ArrowSchema *schema)
{
    schema->release = NULL;
    free(schema->private_data);
}

static void release_tree(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL) {
            schema->children[i]->release(schema->children[i]);
        }
    }
    schema->release = NULL;
    free(schema->private_data);
}

static weir_err check_fields(const struct weir_field *fields, uint32_t n_fields,
                             const struct ArrowSchema *schema_out,
                             struct weir_error *err)
{
    weir_err rc = wi_check_args(err, WI_ARG(fields), WI_ARG(schema_out));
    if (rc != WEIR_OK) {
        return rc;
    }
    if (n_fields < 1 || n_fields > MAX_FIELDS) {
        return wi_fail(err, WEIR_ERR_ARG, "n_fields = %u, allowed is 1 to %d",
                       n_fields, (int)MAX_FIELDS);
    }
    for (uint32_t i = 0; i < n_fields; i++) {
        if (fields[i].name == NULL || fields[i].format == NULL) {
            return wi_fail(err, WEIR_ERR_ARG,
                           "schema: field %u has no name or no format", i);
        }
    }
    return WEIR_OK;
}

static bool fill_child(const struct weir_field *field,
                       struct ArrowSchema *child)
{
    size_t format_bytes = strlen(field->format) + 1;
    size_t name_bytes = strlen(field->name) + 1;
    char *text = malloc(format_bytes + name_bytes);
    if (text == NULL) {
        return false;
    }
    memcpy(text, field->format, format_bytes);
    memcpy(text + format_bytes, field->name, name_bytes);
    *child = (struct ArrowSchema){
        .format = text,
        .name = text + format_bytes,
        .flags = field->nullable ? ARROW_FLAG_NULLABLE : 0,
        .release = release_child,
        .private_data = text,
    };
    return true;
}

/* On false the tree is partly filled: release frees it. */
static bool fill_tree(const struct weir_field *fields, uint32_t n_fields,
                      struct ArrowSchema *tree)
{
    struct ArrowSchema **pointers = tree->private_data;
    struct ArrowSchema *children = (void *)(pointers + n_fields);

    tree->format = "+s";
    tree->name = "";
    tree->children = pointers;
    tree->release = release_tree;
    for (uint32_t i = 0; i < n_fields; i++) {
        pointers[i] = &children[i];
        if (!fill_child(&fields[i], &children[i])) {
            return false;
        }
        tree->n_children++;
    }
    return true;
}

weir_err weir_schema_build(const struct weir_field *fields, uint32_t n_fields,
                           struct ArrowSchema *schema_out,
                           struct weir_error *err)
{
    struct ArrowSchema tree = {0};
    struct wi_schema *parsed;
    weir_err rc = check_fields(fields, n_fields, schema_out, err);
    if (rc != WEIR_OK) {
        return rc;
    }
    tree.private_data = calloc(n_fields, sizeof(struct ArrowSchema *) +
                                             sizeof(struct ArrowSchema));
    if (tree.private_data == NULL) {
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "schema: no memory");
    }
    if (!fill_tree(fields, n_fields, &tree)) {
        tree.release(&tree);
        return wi_fail(err, WEIR_ERR_NO_MEMORY, "schema: no memory");
    }
    rc = wi_schema_open(&tree, &parsed, err); /* only to check the formats */
    if (rc != WEIR_OK) {
        tree.release(&tree);
        return rc;
    }
    wi_schema_close(parsed);
    *schema_out = tree;
    return WEIR_OK;
}
