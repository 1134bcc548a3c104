# SPDX-License-Identifier: Apache-2.0
"""What an expression may refer to."""
from tree import Form
from values import Value


class Relation:
    """columns  {name: Value}
    total    names of columns whose values name a row (rows that agree in them
             agree in all), None if no such columns can be ordered
    unique   no two rows agree in them
    rows     so many at most
    source   the name of its table, if it is one
    """

    def __init__(self, alias, columns, total, rows, marks=(), source=None,
                 unique=False):
        self.alias, self.columns = alias, columns
        self.total, self.rows, self.marks = total, rows, frozenset(marks)
        self.source, self.unique = source, unique

    def column(self, name):
        value = self.columns[name]
        extra = {"wild float"} if value.name == "f64w" else set()
        return Form(f"{self.alias}.{name}", sort="expr", value=value,
                    marks=self.marks | extra)


class Scope:
    """Relations of a FROM, and those of the query around it.

    keys  of a grouped query: expressions that stand for its rows
    """

    def __init__(self, relations, outer=None, keys=None):
        self.relations, self.outer, self.keys = relations, outer, keys
        self.unique = False  # of a grouped one: do keys name a row?
        self.below = None
        self.order = None  # a total order that aggregates share

    def grouped(self, keys, unique=True):
        scope = Scope(self.relations, self.outer, keys)
        scope.unique = unique
        return scope

    def ungrouped(self):
        return Scope(self.relations, self.outer)

    def rows_below(self):
        """What aggregates are of; one scope for all of them."""
        if self.below is None:
            self.below = self.ungrouped()
        return self.below

    def own(self):
        """Expressions that are at hand without a function."""
        if self.keys is not None:
            return list(self.keys)
        return [relation.column(name) for relation in self.relations
                for name in relation.columns]

    def columns(self, accept, outer=True):
        found = [it for it in self.own() if accept(it.value)]
        if outer and self.outer is not None:
            found += self.outer.columns(accept)
        return found

    def total(self, strict):
        """Keys that order all rows, or None. Strict: no two rows tie. Else
        those that do are the same, which is enough for array_agg; but of two
        windows each may have them the other way round."""
        if strict and not (self.unique if self.keys is not None else
                           all(it.unique for it in self.relations)):
            return None
        if self.keys is not None:
            return None if any(not is_orderable(it.value)
                               for it in self.keys) else list(self.keys)
        keys = []
        for relation in self.relations:
            if relation.total is None:
                return None
            keys += [relation.column(name) for name in relation.total]
        return keys

    def rows(self):
        product = 1
        for relation in self.relations:
            product *= max(relation.rows, 1)
        return product


def is_orderable(value):
    return value.type.kind != "nested" and not value.rough and \
        value.type.family != "interval"


def total_of(columns, unique=None):
    """Of a relation: its unique column, or all of them."""
    if unique is not None:
        return [unique]
    if all(map(is_orderable, columns.values())):
        return list(columns)
    return None


def of_table(table, alias):
    columns = {it.name: it.value for it in table.columns}
    unique = "id" if table.unique else None
    return Relation(alias, columns, total_of(columns, unique),
                    len(table.rows), table.marks, table.name, table.unique)


def of_query(columns, alias, rows):
    """columns: Values, named c1 and so on."""
    named = {f"c{i + 1}": value for i, value in enumerate(columns)}
    return Relation(alias, named, total_of(named), rows)


def widened(a, b):
    """What is known of a value that comes from one of two."""
    return Value(a.name, max(a.bound, b.bound), max(a.places, b.places),
                 a.rough or b.rough)
