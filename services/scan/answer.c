/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scan/answer.h"

#include <stdarg.h>
#include <string.h>

#include "services/scan/fail.h"

/* ---- answers ------------------------------------------------------------- */

void wi_scan_answer_refuse(const struct weir_ask *ask, weir_err code,
                           const char *fmt, ...)
{
    char text[WEIR_ERROR_MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    wi_scan_text(text, sizeof(text), fmt, args);
    va_end(args);
    (void)weir_ask_answer(ask, code, text, (uint32_t)strlen(text));
}

void wi_scan_answer_error(const struct weir_ask *ask,
                          const struct weir_error *err)
{
    (void)weir_ask_answer(ask, err->code, err->message,
                          (uint32_t)strlen(err->message));
}

void wi_scan_answer_send(const struct weir_ask *ask,
                         const struct wi_scan_answer *answer, const void *bytes,
                         uint32_t len)
{
    uint8_t all[WEIR_ASK_BYTES];
    memcpy(all, answer, sizeof(*answer));
    if (len > 0) {
        memcpy(all + sizeof(*answer), bytes, len);
    }
    (void)weir_ask_answer(ask, WEIR_OK, all, (uint32_t)sizeof(*answer) + len);
}

void wi_scan_answer_plain(const struct weir_ask *ask, uint32_t flags)
{
    const struct wi_scan_answer answer = {.flags = flags};
    wi_scan_answer_send(ask, &answer, NULL, 0);
}

/* ---- asks ---------------------------------------------------------------- */

/* What a kind names. */
enum {
    HAS_CALL = 1,
    HAS_ID = 2,
    HAS_BYTES = 4,
    HAS_REGION = 8,
    HAS_N = 16,
    HAS_SLOTS = 32,  /* bytes are numbers of slots */
    HAS_LENGTH = 64, /* n_bytes is a wish: none follow */
};

static const uint8_t names[] = {
    [WI_SCAN_ASK_HOLD] = 0,
    [WI_SCAN_ASK_OPEN] = HAS_CALL | HAS_ID | HAS_BYTES | HAS_REGION | HAS_N,
    [WI_SCAN_ASK_RANGE] = HAS_CALL | HAS_ID | HAS_N,
    [WI_SCAN_ASK_NEXT] = HAS_ID | HAS_BYTES | HAS_SLOTS,
    [WI_SCAN_ASK_GIVE] = HAS_BYTES | HAS_SLOTS,
    [WI_SCAN_ASK_END] = HAS_CALL | HAS_BYTES | HAS_SLOTS,
    [WI_SCAN_ASK_ROOM] = HAS_LENGTH,
    [WI_SCAN_ASK_LOAD] = HAS_BYTES | HAS_REGION,
    [WI_SCAN_ASK_FILL] = HAS_ID | HAS_BYTES | HAS_REGION | HAS_N,
};

enum { KINDS = sizeof(names) / sizeof(names[0]) };

/* The number of bytes, and where they are. */
static bool check_bytes(const struct wi_scan_ask *a, uint32_t has, uint32_t len)
{
    if (a->region != 0 && ((has & HAS_REGION) == 0 || a->n_bytes == 0)) {
        return false;
    }
    if ((has & HAS_LENGTH) != 0) {
        return a->n_bytes > 0 && len == 0;
    }
    if ((has & HAS_SLOTS) != 0 && a->n_bytes % sizeof(uint64_t) != 0) {
        return false;
    }
    if ((has & HAS_BYTES) == 0 && a->n_bytes != 0) {
        return false;
    }
    return len == (a->region != 0 ? 0 : a->n_bytes);
}

static uint32_t flags_of(uint16_t kind)
{
    return kind == WI_SCAN_ASK_FILL   ? WI_SCAN_END | WI_SCAN_FAILED
           : kind == WI_SCAN_ASK_GIVE ? WI_SCAN_KEPT
                                      : 0;
}

static const char *check(const struct wi_scan_ask *a, uint32_t len)
{
    if (a->version != WI_SCAN_VERSION) {
        return "another version";
    }
    if (a->kind >= KINDS || a->kind == 0) {
        return "no such kind";
    }
    uint32_t has = names[a->kind];
    if ((a->flags & ~flags_of(a->kind)) != 0 || a->zero != 0) {
        return "flags or zero";
    }
    if (((has & HAS_CALL) != 0) != (a->call != 0)) {
        return "call";
    }
    bool has_id = a->id[0] != 0 || a->id[1] != 0;
    if (has_id && (has & HAS_ID) == 0) {
        return "id";
    }
    if (a->n != 0 && (has & HAS_N) == 0) {
        return "n";
    }
    return check_bytes(a, has, len) ? NULL : "region or n_bytes";
}

bool wi_scan_ask_read(const struct weir_ask *ask, struct wi_scan_ask *out,
                      const uint8_t **inline_out)
{
    const char *wrong = "its length";
    if (ask->wants_region) {
        wi_scan_answer_refuse(ask, WEIR_ERR_NOT_FOUND,
                              "no such slot; perhaps its client is gone");
        return false;
    }
    if (ask->name.id != WI_SCAN_ASKS) {
        wi_scan_answer_refuse(ask, WEIR_ERR_NOT_FOUND,
                              "scans are asked for under another name");
        return false;
    }
    if (ask->len >= sizeof(*out)) {
        memcpy(out, ask->bytes, sizeof(*out));
        wrong = check(out, ask->len - (uint32_t)sizeof(*out));
    }
    if (wrong != NULL) {
        wi_scan_answer_refuse(ask, WEIR_ERR_DATA,
                              "not an ask of a scan's client: %s", wrong);
        return false;
    }
    *inline_out = (const uint8_t *)ask->bytes + sizeof(*out);
    return true;
}
