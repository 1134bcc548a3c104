# SPDX-License-Identifier: Apache-2.0
"""Statements as trees: text with holes, so that one tree gives the text of
each dialect, and a reducer can take parts away without knowing SQL.

    Form    text with a hole per kid; its sort says what may take its place
    Many    kids between separators, of which some may go
    NONE    nothing: what an optional form becomes

Trees are not altered: an edit makes a new one that shares what it can.
"""

DATAFUSION, DUCKDB = "datafusion", "duckdb"


class Form:
    """A piece of SQL.

    text, duck  pieces around the kids, for DataFusion and for DuckDB
    sort        "expr", "query", "from", "item", "key", "clause" or ""
    value       what an expression or item gives (see values.py), or None
    optional    may be left out
    fixed       the reducer leaves it whole: its parts depend on each other
    marks       names of what is special about it (see known.py)
    """

    __slots__ = ("text", "duck", "kids", "sort", "value", "optional",
                 "fixed", "marks", "name")

    def __init__(self, text, *kids, duck=None, sort="", value=None,
                 optional=False, fixed=False, marks=(), name=None):
        self.text = pieces(text, len(kids))
        self.duck = self.text if duck is None else pieces(duck, len(kids))
        self.kids = kids
        self.sort = sort
        self.value = value
        self.optional = optional
        self.fixed = fixed
        self.marks = frozenset(marks)
        self.name = name

    def with_kids(self, kids):
        copy = object.__new__(Form)
        for slot in Form.__slots__:
            setattr(copy, slot, getattr(self, slot))
        copy.kids = tuple(kids)
        return copy

    def write(self, dialect, out):
        text = self.text if dialect == DATAFUSION else self.duck
        for piece, kid in zip(text, self.kids):
            out.append(piece)
            kid.write(dialect, out)
        out.append(text[-1])


class Many:
    __slots__ = ("kids", "separator", "least")
    sort, value, optional, fixed, marks, name = "", None, 0, 0, frozenset(), 0

    def __init__(self, kids, separator=", ", least=1):
        self.kids = tuple(kids)
        self.separator = separator
        self.least = least

    def with_kids(self, kids):
        return Many(kids, self.separator, self.least)

    def write(self, dialect, out):
        for i, kid in enumerate(self.kids):
            if i:
                out.append(self.separator)
            kid.write(dialect, out)


def pieces(text, holes):
    """A text around its holes; without kids braces are only braces."""
    if not holes:
        return (text,)
    parts = tuple(text.split("{}"))
    assert len(parts) == holes + 1, text
    return parts


NONE = Form("")


def write(tree, dialect=DATAFUSION):
    out = []
    tree.write(dialect, out)
    return "".join(out)


def walk(tree):
    """All nodes, parents first."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.kids))


def marks(tree):
    return frozenset().union(*(node.marks for node in walk(tree)))


def size(tree):
    """What a reducer makes smaller: nodes, and then characters."""
    return sum(1 for _ in walk(tree)), len(write(tree))


def paths(tree, path=()):
    """Where each node stands, parents first, outside of what is fixed."""
    yield path, tree
    if not tree.fixed:
        for i, kid in enumerate(tree.kids):
            yield from paths(kid, path + (i,))


def replace(tree, path, new):
    if not path:
        return new
    kids = list(tree.kids)
    kids[path[0]] = replace(kids[path[0]], path[1:], new)
    return tree.with_kids(kids)
