/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schemas as bytes. Arrow IPC has an encoding of its own, which knows a fixed
 * set of types and needs flatbuffers; the C Data Interface's fields are texts
 * and numbers, which are written as they are.
 *
 * Source: Apache Arrow, "The Arrow C data interface".
 */
#include "services/scan/schema_bytes.h"

#include <nanoarrow/nanoarrow.h>

#include "services/scan/fail.h"

enum {
    MAGIC = 0x31435357, /* "WSC1" */
    HAS_NAME = 1,
    HAS_METADATA = 2,
    HAS_DICTIONARY = 4,
    HAS_ALL = 7,
};

/* ---- metadata ------------------------------------------------------------ */

/* A length within metadata: false if it is negative, or not there. */
static bool take_length(struct wi_scan_cursor *c, uint32_t *out)
{
    return wi_scan_take_u32(c, out) && *out <= INT32_MAX;
}

/* Are these bytes metadata, all of them? */
static bool metadata_ok(const uint8_t *bytes, size_t len)
{
    struct wi_scan_cursor c = {bytes, len};
    uint32_t pairs;
    if (!take_length(&c, &pairs)) {
        return false;
    }
    for (uint64_t i = 0; i < 2 * (uint64_t)pairs; i++) {
        uint32_t n;
        if (!take_length(&c, &n) || wi_scan_take(&c, n) == NULL) {
            return false;
        }
    }
    return c.left == 0;
}

/* ---- encode -------------------------------------------------------------- */

struct encoding {
    struct wi_scan_buf *out;
    uint32_t fields;
    struct weir_error *err;
};

static weir_err put_text(struct encoding *e, const char *text, size_t len)
{
    if (len > WI_SCAN_TEXT_MAX) {
        return wi_scan_fail(e->err, WEIR_ERR_SCHEMA,
                            "a text of a schema has %zu bytes, at most %d are "
                            "sent",
                            len, WI_SCAN_TEXT_MAX);
    }
    wi_scan_buf_put_u32(e->out, (uint32_t)len);
    wi_scan_buf_put(e->out, text, len);
    return WEIR_OK;
}

static weir_err put_texts(struct encoding *e, const struct ArrowSchema *s)
{
    weir_err code = put_text(e, s->format, strlen(s->format));
    if (code == WEIR_OK && s->name != NULL) {
        code = put_text(e, s->name, strlen(s->name));
    }
    if (code == WEIR_OK && s->metadata != NULL) {
        int64_t len = ArrowMetadataSizeOf(s->metadata);
        code = put_text(e, s->metadata, (size_t)len);
    }
    return code;
}

static weir_err check_field(struct encoding *e, const struct ArrowSchema *s,
                            uint32_t depth)
{
    if (s == NULL || s->release == NULL || s->format == NULL ||
        s->n_children < 0 || (s->n_children > 0 && s->children == NULL)) {
        return wi_scan_fail(e->err, WEIR_ERR_SCHEMA,
                            "a field without format, or released");
    }
    e->fields++;
    if (depth > WI_SCAN_DEPTH_MAX ||
        s->n_children > WI_SCAN_FIELDS_MAX - (int64_t)e->fields) {
        return wi_scan_fail(e->err, WEIR_ERR_SCHEMA,
                            "more than %d fields, or deeper than %d, at '%s'",
                            WI_SCAN_FIELDS_MAX, WI_SCAN_DEPTH_MAX, s->format);
    }
    return WEIR_OK;
}

static weir_err put_field(struct encoding *e, const struct ArrowSchema *s,
                          uint32_t depth)
{
    weir_err code = check_field(e, s, depth);
    if (code != WEIR_OK) {
        return code;
    }
    wi_scan_buf_put_u32(e->out,
                        (s->name != NULL ? HAS_NAME : 0u) |
                            (s->metadata != NULL ? HAS_METADATA : 0u) |
                            (s->dictionary != NULL ? HAS_DICTIONARY : 0u));
    wi_scan_buf_put_u64(e->out, (uint64_t)s->flags);
    wi_scan_buf_put_u32(e->out, (uint32_t)s->n_children);
    code = put_texts(e, s);
    for (int64_t i = 0; code == WEIR_OK && i < s->n_children; i++) {
        code = put_field(e, s->children[i], depth + 1);
    }
    if (code == WEIR_OK && s->dictionary != NULL) {
        code = put_field(e, s->dictionary, depth + 1);
    }
    return code;
}

weir_err wi_scan_schema_encode(const struct ArrowSchema *schema,
                               struct wi_scan_buf *out, struct weir_error *err)
{
    struct encoding e = {out, 0, err};
    wi_scan_buf_put_u32(out, MAGIC);
    weir_err code = put_field(&e, schema, 1);
    if (code == WEIR_OK && out->failed) {
        code = wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a schema");
    }
    return code;
}

/* ---- decode -------------------------------------------------------------- */

struct decoding {
    struct wi_scan_cursor in;
    uint32_t fields;
    struct weir_error *err;
};

static weir_err bad(struct decoding *d, const char *what)
{
    return wi_scan_fail(d->err, WEIR_ERR_DATA, "malformed schema: %s", what);
}

static weir_err no_memory(struct decoding *d)
{
    return wi_scan_fail(d->err, WEIR_ERR_NO_MEMORY, "no memory for a schema");
}

/* A text in memory of its own, with a zero at its end; texts but metadata have
 * none within. */
static weir_err take_text(struct decoding *d, bool zeros, char **out,
                          size_t *len_out)
{
    uint32_t len;
    const uint8_t *at = NULL;
    if (wi_scan_take_u32(&d->in, &len) && len <= WI_SCAN_TEXT_MAX) {
        at = wi_scan_take(&d->in, len);
    }
    if (at == NULL) {
        return bad(d, "a text goes beyond its end");
    }
    if (!zeros && memchr(at, 0, len) != NULL) {
        return bad(d, "a zero byte in a text");
    }
    char *text = malloc((size_t)len + 1);
    if (text == NULL) {
        return no_memory(d);
    }
    memcpy(text, at, len);
    text[len] = '\0';
    *out = text;
    *len_out = len;
    return WEIR_OK;
}

/* One of the three texts, into the schema. */
static weir_err take_into(struct decoding *d, struct ArrowSchema *s, int which)
{
    char *text = NULL;
    size_t len = 0;
    weir_err code = take_text(d, which == HAS_METADATA, &text, &len);
    if (code != WEIR_OK) {
        return code;
    }
    if (which == HAS_METADATA) {
        if (!metadata_ok((const uint8_t *)text, len)) {
            code = bad(d, "metadata that are none");
        } else if (ArrowSchemaSetMetadata(s, text) != NANOARROW_OK) {
            code = no_memory(d);
        }
    } else if ((which == HAS_NAME
                    ? ArrowSchemaSetName(s, text)
                    : ArrowSchemaSetFormat(s, text)) != NANOARROW_OK) {
        code = no_memory(d);
    }
    free(text);
    return code;
}

struct field_head {
    uint32_t has;
    uint64_t flags;
    uint32_t n_children;
};

static weir_err take_head(struct decoding *d, struct field_head *h,
                          uint32_t depth)
{
    if (!wi_scan_take_u32(&d->in, &h->has) ||
        !wi_scan_take_u64(&d->in, &h->flags) ||
        !wi_scan_take_u32(&d->in, &h->n_children)) {
        return bad(d, "it ends within a field");
    }
    d->fields++;
    if (depth > WI_SCAN_DEPTH_MAX || d->fields > WI_SCAN_FIELDS_MAX ||
        h->n_children > WI_SCAN_FIELDS_MAX - d->fields) {
        return bad(d, "too many fields, or too deep");
    }
    /* What is left bounds the memory for the children: a field takes 20. */
    if (h->n_children > d->in.left / 20) {
        return bad(d, "more children than bytes");
    }
    if ((h->has & ~(uint32_t)HAS_ALL) != 0) {
        return bad(d, "unknown parts");
    }
    return WEIR_OK;
}

static weir_err take_field(struct decoding *d, struct ArrowSchema *s,
                           uint32_t depth)
{
    struct field_head h = {0};
    weir_err code = take_head(d, &h, depth);
    for (int which = 0; code == WEIR_OK && which <= HAS_METADATA; which++) {
        if (which == 0 || (h.has & (uint32_t)which) != 0) {
            code = take_into(d, s, which);
        }
    }
    if (code != WEIR_OK) {
        return code;
    }
    s->flags = (int64_t)h.flags;
    if (ArrowSchemaAllocateChildren(s, h.n_children) != NANOARROW_OK) {
        return no_memory(d);
    }
    for (uint32_t i = 0; i < h.n_children; i++) {
        ArrowSchemaInit(s->children[i]);
    }
    for (uint32_t i = 0; code == WEIR_OK && i < h.n_children; i++) {
        code = take_field(d, s->children[i], depth + 1);
    }
    if (code == WEIR_OK && (h.has & HAS_DICTIONARY) != 0) {
        if (ArrowSchemaAllocateDictionary(s) != NANOARROW_OK) {
            return no_memory(d);
        }
        ArrowSchemaInit(s->dictionary);
        code = take_field(d, s->dictionary, depth + 1);
    }
    return code;
}

weir_err wi_scan_schema_decode(const void *bytes, size_t len,
                               struct ArrowSchema *schema_out,
                               struct weir_error *err)
{
    struct decoding d = {{bytes, len}, 0, err};
    uint32_t magic;
    if (!wi_scan_take_u32(&d.in, &magic) || magic != MAGIC) {
        return bad(&d, "it does not begin as one");
    }
    struct ArrowSchema schema;
    ArrowSchemaInit(&schema);
    weir_err code = take_field(&d, &schema, 1);
    if (code == WEIR_OK && d.in.left != 0) {
        code = bad(&d, "bytes after its end");
    }
    if (code != WEIR_OK) {
        ArrowSchemaRelease(&schema);
        return code;
    }
    *schema_out = schema;
    return WEIR_OK;
}
