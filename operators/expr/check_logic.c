/* SPDX-License-Identifier: Apache-2.0 */
/* Types of comparisons, IN, BETWEEN, LIKE, CASE, COALESCE and NULLIF. */
#include "operators/expr/check.h"
#include "operators/expr/like.h"
#include "operators/expr/set.h"

struct wi_node *wi_check_compare(struct wi_expr_build *b, struct wi_node *node)
{
    struct wi_type type;
    if (!wi_check_common(node->arg[0], node->arg[1], &type)) {
        return wi_check_mismatch(
            b, node, "both must be numbers, texts, bytes, dates or bools");
    }
    for (uint32_t i = 0; i < 2; i++) {
        node->arg[i] = wi_check_convert(b, node->arg[i], &type);
        if (node->arg[i] == NULL) {
            return NULL;
        }
    }
    node->type = wi_type_of(WI_TYPE_BOOL);
    return wi_check_finish(b, node);
}

/* The comparison x op y; both have types. */
static struct wi_node *compare(struct wi_expr_build *b, enum wi_expr_op op,
                               struct wi_node *x, struct wi_node *y)
{
    if (x == NULL || y == NULL) {
        return NULL;
    }
    struct wi_node *node = wi_node_pair(b, op, y->at, x, y);
    return node == NULL ? NULL : wi_check_compare(b, node);
}

static struct wi_node *join(struct wi_expr_build *b, enum wi_expr_op op,
                            const struct wi_node_list *list, uint32_t at)
{
    if (list->n == 1) {
        return list->at[0];
    }
    struct wi_node *node = wi_node_make(b, op, at, list->n, list->at);
    if (node != NULL) {
        node->type = wi_type_of(WI_TYPE_BOOL);
    }
    return wi_check_finish(b, node);
}

/* A type that holds x and all constants of the list. */
static bool set_type(struct wi_expr_build *b, struct wi_node *node,
                     struct wi_type *out)
{
    struct wi_node joint = *node->arg[0];
    for (uint32_t i = 1; i < node->n_args; i++) {
        const struct wi_node *value = node->arg[i];
        struct wi_type type;
        if (!wi_node_is_const(value)) {
            continue;
        }
        if (!wi_check_common(&joint, value, &type)) {
            struct wi_node *pair[] = {node->arg[0], node->arg[i]};
            struct wi_node shown = {
                .op = WI_OP_IN, .at = value->at, .arg = pair};
            (void)wi_check_mismatch(b, &shown,
                                    "the values must be comparable with what "
                                    "stands before `in`");
            return false;
        }
        joint.untyped = joint.untyped && value->untyped;
        joint.type = type;
        joint.op = WI_OP_REF; /* no constant: digits by type */
    }
    *out = joint.type;
    return true;
}

/* One test of x against all constants of the list. */
static struct wi_node *in_set(struct wi_expr_build *b, struct wi_node *node,
                              uint32_t n_values)
{
    struct wi_type type;
    if (!set_type(b, node, &type)) {
        return NULL;
    }
    struct wi_node *x =
        wi_check_convert(b, wi_check_again(b, node->arg[0]), &type);
    if (x == NULL) {
        return NULL;
    }
    struct wi_node *in = wi_node_make(b, WI_OP_IN, node->at, 1, &x);
    struct wi_set *set = wi_set_make(b, &type, n_values);
    if (in == NULL || set == NULL) {
        return NULL;
    }
    for (uint32_t i = 1; i < node->n_args; i++) {
        if (wi_node_is_const(node->arg[i])) {
            struct wi_node *value = wi_check_convert(b, node->arg[i], &type);
            if (value == NULL) {
                return NULL;
            }
            if (!wi_node_is_const(value)) {
                return wi_build_fail(b, value->at,
                                     "the value does not fit the type of the "
                                     "list");
            }
            wi_set_add(set, &value->value);
        }
    }
    wi_set_sort(set);
    in->set = set;
    in->type = wi_type_of(WI_TYPE_BOOL);
    in->type.nullable = wi_set_has_null(set);
    return wi_check_finish(b, in);
}

struct wi_node *wi_check_in(struct wi_expr_build *b, struct wi_node *node)
{
    struct wi_node_list tests = {.n = 0};
    struct wi_node *x = node->arg[0];
    uint32_t n_values = 0;
    for (uint32_t i = 1; i < node->n_args; i++) {
        n_values += wi_node_is_const(node->arg[i]);
    }
    if (n_values > 0 &&
        !wi_node_list_add(b, &tests, in_set(b, node, n_values))) {
        return NULL;
    }
    for (uint32_t i = 1; i < node->n_args; i++) {
        if (!wi_node_is_const(node->arg[i]) &&
            !wi_node_list_add(
                b, &tests,
                compare(b, WI_OP_EQ, wi_check_again(b, x), node->arg[i]))) {
            return NULL;
        }
    }
    struct wi_node *any = join(b, WI_OP_OR, &tests, node->at);
    return wi_check_with(b, x, wi_check_negate(b, any, node->negated));
}

struct wi_node *wi_check_between(struct wi_expr_build *b, struct wi_node *node)
{
    struct wi_node_list tests = {.n = 0};
    struct wi_node *x = node->arg[0];
    if (!wi_node_list_add(
            b, &tests,
            compare(b, WI_OP_GE, wi_check_again(b, x), node->arg[1])) ||
        !wi_node_list_add(
            b, &tests,
            compare(b, WI_OP_LE, wi_check_again(b, x), node->arg[2]))) {
        return NULL;
    }
    struct wi_node *both = join(b, WI_OP_AND, &tests, node->at);
    return wi_check_with(b, x, wi_check_negate(b, both, node->negated));
}

/* The escape character: one byte, or 0 for none. -1: reported. */
static int escape_of(struct wi_expr_build *b, const struct wi_node *node)
{
    if (node->n_args < 3) {
        return 0;
    }
    const struct wi_node *escape = node->arg[2];
    if (!wi_node_is_const(escape) || escape->type.kind != WI_TYPE_UTF8 ||
        escape->value.null || escape->value.s.n_bytes != 1 ||
        (escape->value.s.data[0] & 0x80) != 0) {
        (void)wi_build_fail(b, escape->at,
                            "escape: one ASCII character was expected, as in "
                            "escape '!'");
        return -1;
    }
    return escape->value.s.data[0];
}

struct wi_node *wi_check_like(struct wi_expr_build *b, struct wi_node *node)
{
    struct wi_type type = wi_type_of(WI_TYPE_BOOL);
    struct wi_node *x = wi_check_want(b, node, node->arg[0], WI_TYPE_UTF8);
    struct wi_node *pattern =
        x == NULL ? NULL : wi_check_want(b, node, node->arg[1], WI_TYPE_UTF8);
    if (pattern == NULL) {
        return NULL;
    }
    if (!wi_node_is_const(pattern)) {
        return wi_build_fail(b, pattern->at,
                             "like: a constant pattern was expected");
    }
    int escape = escape_of(b, node);
    if (escape < 0) {
        return NULL;
    }
    if (pattern->value.null) {
        struct wi_value null = wi_value_null(&type);
        return wi_node_const(b, node->at, &type, &null);
    }
    struct wi_node *like = wi_node_make(b, WI_OP_LIKE, node->at, 1, &x);
    if (like == NULL) {
        return NULL;
    }
    like->type = type;
    like->negated = node->negated;
    like->like = wi_like_make(b, pattern->at, pattern->value.s, (char)escape);
    return like->like == NULL ? NULL : wi_check_finish(b, like);
}

/* Cast the arguments that may be the result to one type, the node's. */
static bool agree(struct wi_expr_build *b, struct wi_node *node,
                  const struct wi_node_list *values)
{
    struct wi_node joint = *values->at[0];
    for (uint32_t i = 1; i < values->n; i++) {
        struct wi_type type;
        if (!wi_check_common(&joint, values->at[i], &type)) {
            char first[WI_TYPE_TEXT_BYTES];
            char other[WI_TYPE_TEXT_BYTES];
            (void)wi_build_fail(b, values->at[i]->at,
                                "%s gives %s before and %s here: one type was "
                                "expected",
                                wi_expr_op_text(node->op),
                                wi_expr_type_text(&joint.type, first),
                                wi_expr_type_text(&values->at[i]->type, other));
            return false;
        }
        joint.untyped = joint.untyped && values->at[i]->untyped;
        joint.type = type;
        joint.op = WI_OP_REF;
    }
    if (joint.untyped) {
        (void)wi_build_fail(b, node->at,
                            "%s gives nulls only: write cast(null as type)",
                            wi_expr_op_text(node->op));
        return false;
    }
    node->type = joint.type;
    node->type.nullable = false;
    for (uint32_t i = 0; i < values->n; i++) {
        values->at[i] = wi_check_convert(b, values->at[i], &node->type);
        if (values->at[i] == NULL) {
            return false;
        }
    }
    return true;
}

static struct wi_node *make_choice(struct wi_expr_build *b,
                                   struct wi_node *node,
                                   const struct wi_node_list *args)
{
    struct wi_node *made =
        wi_node_make(b, node->op, node->at, args->n, args->at);
    if (made == NULL) {
        return NULL;
    }
    made->type = node->type;
    bool nullable = node->op == WI_OP_COALESCE || args->n % 2 == 0;
    for (uint32_t i = 0; i < args->n; i++) {
        bool null = args->at[i]->type.nullable;
        if (node->op == WI_OP_COALESCE) {
            nullable = nullable && null;
        } else if (i % 2 == 1 || i + 1 == args->n) {
            nullable = nullable || null;
        }
    }
    made = wi_check_finish(b, made);
    if (made != NULL && !wi_node_is_const(made)) {
        made->type.nullable = nullable;
    }
    return made;
}

/* The arguments are conditions and values in turn; the value of `else`, if
 * there is one, is last. */
static struct wi_node *check_case(struct wi_expr_build *b, struct wi_node *node)
{
    struct wi_node_list args = {.n = 0};
    struct wi_node_list values = {.n = 0};
    uint32_t first = node->searched ? 1 : 0;
    for (uint32_t i = first; i < node->n_args; i++) {
        bool value = (i - first) % 2 == 1 || i + 1 == node->n_args;
        if (value && !wi_node_list_add(b, &values, node->arg[i])) {
            return NULL;
        }
    }
    if (!agree(b, node, &values)) {
        return NULL;
    }
    uint32_t v = 0;
    for (uint32_t i = first; i < node->n_args; i++) {
        bool value = (i - first) % 2 == 1 || i + 1 == node->n_args;
        struct wi_node *arg =
            value ? values.at[v++]
            : node->searched
                ? compare(b, WI_OP_EQ, wi_check_again(b, node->arg[0]),
                          node->arg[i])
                : wi_check_want(b, node, node->arg[i], WI_TYPE_BOOL);
        if (!wi_node_list_add(b, &args, arg)) {
            return NULL;
        }
    }
    struct wi_node *made = make_choice(b, node, &args);
    return node->searched ? wi_check_with(b, node->arg[0], made) : made;
}

/* nullif(x, y) becomes case when x = y then null else x end. */
static struct wi_node *check_nullif(struct wi_expr_build *b,
                                    struct wi_node *node)
{
    struct wi_node *x = node->arg[0];
    if (x->untyped) {
        return x;
    }
    struct wi_node_list args = {.n = 0};
    struct wi_value null = wi_value_null(&x->type);
    if (!wi_node_list_add(
            b, &args,
            compare(b, WI_OP_EQ, wi_check_again(b, x), node->arg[1])) ||
        !wi_node_list_add(b, &args, wi_node_const(b, x->at, &x->type, &null)) ||
        !wi_node_list_add(b, &args, wi_check_again(b, x))) {
        return NULL;
    }
    node->type = x->type;
    node->op = WI_OP_CASE;
    return wi_check_with(b, x, make_choice(b, node, &args));
}

struct wi_node *wi_check_choice(struct wi_expr_build *b, struct wi_node *node)
{
    if (node->op == WI_OP_CASE) {
        return check_case(b, node);
    }
    if (node->op == WI_OP_NULLIF) {
        return check_nullif(b, node);
    }
    struct wi_node_list args = {.at = node->arg, .n = node->n_args};
    return agree(b, node, &args) ? make_choice(b, node, &args) : NULL;
}
