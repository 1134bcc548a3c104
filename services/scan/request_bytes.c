/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding goes over the bytes once to check them, and once more to copy. Each
 * text is four bytes longer in the bytes than its characters, and one longer in
 * the copy, so the copy needs no more room than the bytes.
 */
#include "services/scan/request_bytes.h"

#include "services/scan/fail.h"
#include "services/scan/schema_bytes.h"

enum { MAGIC = 0x31515357, KINDS = WEIR_SCAN_ROLLBACK + 1 };

/* ---- encode -------------------------------------------------------------- */

static weir_err put_text(struct wi_scan_buf *out, const char *text,
                         const char *what, struct weir_error *err)
{
    size_t n = text != NULL ? strlen(text) : 0;
    if (n > WI_SCAN_TEXT_MAX) {
        return wi_scan_fail(err, WEIR_ERR_ARG, "%s has %zu bytes, more than %d",
                            what, n, (int)WI_SCAN_TEXT_MAX);
    }
    wi_scan_buf_put_u32(out, (uint32_t)n);
    wi_scan_buf_put(out, text, n);
    return WEIR_OK;
}

static weir_err put_options(struct wi_scan_buf *out,
                            const struct weir_scan_request *r,
                            struct weir_error *err)
{
    weir_err code = WEIR_OK;
    for (uint32_t i = 0; code == WEIR_OK && i < r->n_options; i++) {
        if (r->options[i].key == NULL || r->options[i].value == NULL) {
            return wi_scan_fail(err, WEIR_ERR_ARG,
                                "options[%u] has no key or no value", i);
        }
        code = put_text(out, r->options[i].key, "the key of an option", err);
        if (code == WEIR_OK) {
            code = put_text(out, r->options[i].value, r->options[i].key, err);
        }
    }
    return code;
}

static weir_err check(const struct weir_scan_request *r, struct weir_error *err)
{
    if ((unsigned)r->kind >= KINDS) {
        return wi_scan_fail(err, WEIR_ERR_ARG, "kind = %d", (int)r->kind);
    }
    if (r->n_options > WI_SCAN_OPTIONS_MAX ||
        (r->n_options > 0 && r->options == NULL)) {
        return wi_scan_fail(err, WEIR_ERR_ARG,
                            "n_options = %u, of at most %d, or options is NULL",
                            r->n_options, (int)WI_SCAN_OPTIONS_MAX);
    }
    for (size_t i = 0; i < sizeof(r->reserved) / sizeof(r->reserved[0]); i++) {
        if (r->reserved[i] != 0) {
            return wi_scan_fail(err, WEIR_ERR_ARG, "reserved[%zu] is not zero",
                                i);
        }
    }
    return WEIR_OK;
}

weir_err wi_scan_request_encode(const struct weir_scan_request *request,
                                struct wi_scan_buf *out, struct weir_error *err)
{
    weir_err code = check(request, err);
    if (code != WEIR_OK) {
        return code;
    }
    wi_scan_buf_put_u32(out, MAGIC);
    wi_scan_buf_put_u32(out, (uint32_t)request->kind);
    wi_scan_buf_put_u32(out, request->n_options);
    code = put_text(out, request->dataset, "dataset", err);
    if (code == WEIR_OK) {
        code = put_text(out, request->text, "text", err);
    }
    if (code == WEIR_OK) {
        code = put_options(out, request, err);
    }
    if (code == WEIR_OK && out->failed) {
        code = wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a request");
    }
    return code;
}

/* ---- decode -------------------------------------------------------------- */

static weir_err bad(struct weir_error *err, const char *what)
{
    return wi_scan_fail(err, WEIR_ERR_DATA, "malformed request: %s", what);
}

struct request_head {
    uint32_t magic;
    uint32_t kind;
    uint32_t n_options;
};

static bool take_head(struct wi_scan_cursor *c, struct request_head *h)
{
    return wi_scan_take_u32(c, &h->magic) && wi_scan_take_u32(c, &h->kind) &&
           wi_scan_take_u32(c, &h->n_options);
}

static const uint8_t *take_text(struct wi_scan_cursor *c, uint32_t *n_out)
{
    return wi_scan_take_u32(c, n_out) ? wi_scan_take(c, *n_out) : NULL;
}

static weir_err check_texts(struct wi_scan_cursor c, uint32_t n_texts,
                            struct weir_error *err)
{
    for (uint32_t i = 0; i < n_texts; i++) {
        uint32_t n;
        const uint8_t *at = take_text(&c, &n);
        if (at == NULL || n > WI_SCAN_TEXT_MAX) {
            return bad(err, "a text goes beyond its end");
        }
        if (memchr(at, 0, n) != NULL) {
            return bad(err, "a text with a zero in it");
        }
    }
    return c.left == 0 ? WEIR_OK : bad(err, "it does not end where it should");
}

/* The next text, which is there, moved to *room. */
static const char *move_text(struct wi_scan_cursor *c, char **room)
{
    uint32_t n = 0;
    const uint8_t *at = take_text(c, &n);
    char *text = *room;
    memcpy(text, at, n);
    text[n] = '\0';
    *room += n + 1;
    return text;
}

weir_err wi_scan_request_decode(const void *bytes, size_t len,
                                struct weir_scan_request **request_out,
                                struct weir_error *err)
{
    struct wi_scan_cursor c = {bytes, len};
    struct request_head h;
    if (!take_head(&c, &h) || h.magic != MAGIC || h.kind >= KINDS ||
        h.n_options > WI_SCAN_OPTIONS_MAX) {
        return bad(err, "its head is none");
    }
    weir_err code = check_texts(c, 2 + 2 * h.n_options, err);
    if (code != WEIR_OK) {
        return code;
    }
    struct weir_scan_request *r = calloc(
        1, sizeof(*r) + h.n_options * sizeof(struct weir_scan_option) + c.left);
    if (r == NULL) {
        return wi_scan_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a request");
    }
    struct weir_scan_option *options = (struct weir_scan_option *)(r + 1);
    char *room = (char *)(options + h.n_options);
    r->kind = (weir_scan_kind)h.kind;
    r->n_options = h.n_options;
    r->options = h.n_options > 0 ? options : NULL;
    r->dataset = move_text(&c, &room);
    r->text = move_text(&c, &room);
    for (uint32_t i = 0; i < h.n_options; i++) {
        options[i].key = move_text(&c, &room);
        options[i].value = move_text(&c, &room);
    }
    *request_out = r;
    return WEIR_OK;
}
