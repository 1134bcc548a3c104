# SPDX-License-Identifier: Apache-2.0
"""Make a statement smaller while it still shows a difference. It knows nothing
of SQL: what becomes wrong is refused by both contestants, which is no
difference."""
from tree import NONE, Form, Many, paths, replace, size, walk
from values import null

QUERIES = {"query", "select"}
SIMPLE = {"bool": ("true", "false"), "int": ("1", "0"), "uint": ("1",),
          "float": ("1.0",), "text": ("'a'",), "wide": ("1",)}


def alike(a, b):
    """May b stand where a does?"""
    if a.sort == "expr":
        return b.sort == "expr" and a.value and b.value and \
            a.value.name == b.value.name
    return b.sort == a.sort or {a.sort, b.sort} <= QUERIES


def simpler(node):
    """What may stand in a node's place, the smallest first."""
    if isinstance(node, Many):
        if len(node.kids) > node.least:
            for i in range(len(node.kids)):
                yield node.with_kids(node.kids[:i] + node.kids[i + 1:])
        return
    if node.optional and node is not NONE:
        yield NONE
    if not node.sort:
        return
    if node.sort == "expr" and node.kids:
        family = node.value.type.family
        for text in SIMPLE.get(family, ()):
            yield Form(text, sort="expr", value=node.value)
        text, duck = null(node.value.name)
        yield Form(text, sort="expr", duck=duck, value=node.value)
    inner = [kid for kid in walk(node) if kid is not node and
             kid.sort and alike(node, kid)]
    yield from sorted(inner, key=size)


def edits(tree):
    for path, node in paths(tree):
        for new in simpler(node):
            yield replace(tree, path, new)


def reduce(tree, shows, tries=300):
    """shows(tree): is the difference still there? It is asked so many times
    at most."""
    left = tries
    smaller = True
    while smaller:
        smaller = False
        for new in edits(tree):
            if size(new) >= size(tree):
                continue
            if left == 0:
                return tree
            left -= 1
            if shows(new):
                tree, smaller = new, True
                break
    return tree
