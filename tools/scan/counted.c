/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/scan/counted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"

struct wrapped {
    struct ArrowArrayStream inner;
    struct counted *counted;
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct wrapped *c = stream->private_data;
    return c->inner.get_schema(&c->inner, out);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct wrapped *c = stream->private_data;
    int code = c->inner.get_next(&c->inner, out);
    if (code != 0) {
        const char *why = c->inner.get_last_error(&c->inner);
        c->counted->failed = code;
        (void)snprintf(c->counted->why, sizeof(c->counted->why), "%s",
                       why != NULL ? why : strerror(code));
    } else if (out->release != NULL) {
        c->counted->counter->rows += (uint64_t)out->length;
    }
    return code;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct wrapped *c = stream->private_data;
    return c->inner.get_last_error(&c->inner);
}

static void release(struct ArrowArrayStream *stream)
{
    struct wrapped *c = stream->private_data;
    c->inner.release(&c->inner);
    free(c);
    stream->release = NULL;
}

weir_err counted_open(struct ArrowArrayStream *inner, struct counted *counted,
                      struct ArrowArrayStream *out, struct weir_error *err)
{
    struct wrapped *c = malloc(sizeof(*c));
    if (c == NULL) {
        inner->release(inner);
        return tool_fail(err, WEIR_ERR_NO_MEMORY, "no memory for a stream");
    }
    *c = (struct wrapped){.inner = *inner, .counted = counted};
    inner->release = NULL;
    *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = get_last_error,
                                     .release = release,
                                     .private_data = c};
    return WEIR_OK;
}
