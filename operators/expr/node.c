/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of an expression, their memory, and messages about its text. */
#include "operators/expr/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operators/base/neutral.h"

enum { BLOCK_BYTES = 16 * 1024, ALIGN = 16 };

struct wi_block {
    struct wi_block *next;
    size_t used;
    size_t room;
    _Alignas(ALIGN) char at[];
};

const char *wi_expr_op_text(enum wi_expr_op op)
{
    static const char *const texts[] = {
#define WI_EXPR_TEXT(name, text) [WI_OP_##name] = (text),
        WI_EXPR_OPS(WI_EXPR_TEXT)
#undef WI_EXPR_TEXT
    };
    return texts[op];
}

/* Number of the character at a byte, counted from 1. */
static uint32_t character(const struct wi_expr *expr, uint32_t at)
{
    uint32_t n = 1;
    for (uint32_t i = 0; i < at && i < expr->text_bytes; i++) {
        n += ((unsigned char)expr->text[i] & 0xc0) != 0x80;
    }
    return n;
}

static void fail(struct wi_expr_build *b, weir_err code, uint32_t at,
                 const char *fmt, va_list args)
{
    if (b->code != WEIR_OK) {
        return;
    }
    char text[WEIR_ERROR_MESSAGE_BYTES];
    (void)wi_neutral_vformat(text, sizeof(text), fmt, args);
    b->code = wi_exec_fail(b->err, code, "character %u: %s",
                           character(b->expr, at), text);
}

void *wi_build_fail(struct wi_expr_build *b, uint32_t at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(b, WEIR_ERR_ARG, at, fmt, args);
    va_end(args);
    return NULL;
}

void *wi_build_fail_as(struct wi_expr_build *b, weir_err code, uint32_t at,
                       const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail(b, code, at, fmt, args);
    va_end(args);
    return NULL;
}

void *wi_build_take(struct wi_expr_build *b, size_t bytes)
{
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    struct wi_block *block = b->expr->blocks;
    if (block == NULL || block->room - block->used < bytes) {
        size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = calloc(1, sizeof(*block) + room);
        if (block == NULL) {
            b->code =
                b->code != WEIR_OK ? b->code : wi_exec_no_memory(b->err, room);
            return NULL;
        }
        block->room = room;
        block->next = b->expr->blocks;
        b->expr->blocks = block;
    }
    void *at = block->at + block->used;
    block->used += bytes;
    return at;
}

void wi_build_free(struct wi_expr *expr)
{
    while (expr->blocks != NULL) {
        struct wi_block *block = expr->blocks;
        expr->blocks = block->next;
        free(block);
    }
}

static struct wi_node *new_node(struct wi_expr_build *b, uint32_t at)
{
    if (b->expr->n_nodes == WI_EXPR_NODES) {
        return wi_build_fail(b, at, "an expression may have %u parts; split it",
                             WI_EXPR_NODES);
    }
    struct wi_node *node = wi_build_take(b, sizeof(*node));
    if (node != NULL) {
        b->expr->n_nodes++;
        node->at = at;
    }
    return node;
}

struct wi_node *wi_node_make(struct wi_expr_build *b, enum wi_expr_op op,
                             uint32_t at, uint32_t n_args,
                             struct wi_node *const *args)
{
    struct wi_node *node = new_node(b, at);
    if (node == NULL) {
        return NULL;
    }
    node->op = op;
    node->height = 1;
    node->n_args = n_args;
    if (n_args == 0) {
        return node;
    }
    node->arg = wi_build_take(b, n_args * sizeof(struct wi_node *));
    if (node->arg == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < n_args; i++) {
        if (args[i] == NULL) {
            return NULL;
        }
        node->arg[i] = args[i];
        if (args[i]->height >= node->height) {
            node->height = args[i]->height + 1;
        }
    }
    if (node->height > b->deepest) {
        return wi_build_fail(b, at, "nested deeper than %u levels", b->deepest);
    }
    return node;
}

struct wi_node *wi_node_pair(struct wi_expr_build *b, enum wi_expr_op op,
                             uint32_t at, struct wi_node *x, struct wi_node *y)
{
    struct wi_node *args[] = {x, y};
    return wi_node_make(b, op, at, 2, args);
}

struct wi_node *wi_node_copy(struct wi_expr_build *b,
                             const struct wi_node *node)
{
    struct wi_node *copy = new_node(b, node->at);
    if (copy != NULL) {
        *copy = *node;
    }
    return copy;
}

struct wi_node *wi_node_const(struct wi_expr_build *b, uint32_t at,
                              const struct wi_type *type,
                              const struct wi_value *value)
{
    struct wi_node *node = wi_node_make(b, WI_OP_CONST, at, 0, NULL);
    if (node != NULL) {
        node->type = *type;
        node->type.nullable = value->null;
        node->value = *value;
    }
    return node;
}

static void number(struct wi_node *node, uint32_t *n)
{
    if (node->op == WI_OP_REF) {
        return; /* its argument gets its number below WITH */
    }
    node->slot = (*n)++;
    for (uint32_t i = 0; i < node->n_args; i++) {
        number(node->arg[i], n);
    }
}

uint32_t wi_node_number(struct wi_node *root)
{
    uint32_t n = 0;
    number(root, &n);
    return n;
}

bool wi_node_list_add(struct wi_expr_build *b, struct wi_node_list *list,
                      struct wi_node *node)
{
    if (node == NULL) {
        return false;
    }
    if (list->n == list->room) {
        uint32_t room = list->room == 0 ? 8 : 2 * list->room;
        struct wi_node **at = wi_build_take(b, room * sizeof(*at));
        if (at == NULL) {
            return false;
        }
        if (list->n > 0) {
            memcpy(at, list->at, list->n * sizeof(*at));
        }
        list->at = at;
        list->room = room;
    }
    list->at[list->n++] = node;
    return true;
}

const char *wi_expr_type_text(const struct wi_type *type,
                              char text[WI_TYPE_TEXT_BYTES])
{
    struct wi_type plain = *type;
    plain.nullable = false;
    return wi_type_text(&plain, text);
}

struct wi_value wi_value_null(const struct wi_type *type)
{
    struct wi_value value = {.w = 0, .null = true};
    if (wi_type_rep(type) == WI_STR) {
        value.s = (struct wi_str){"", 0};
    }
    return value;
}

void wi_value_fill(const struct wi_value *value, struct wi_vec *vec, uint32_t n)
{
    size_t bytes = wi_rep_bytes(vec->rep);
    for (uint32_t i = 0; i < n; i++) {
        memcpy((char *)vec->values + i * bytes, value, bytes);
    }
    memset(vec->null, value->null ? 1 : 0, n);
    vec->null = value->null ? vec->null : NULL;
}
