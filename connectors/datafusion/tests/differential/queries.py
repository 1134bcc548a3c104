# SPDX-License-Identifier: Apache-2.0
"""Random queries: what stands around expressions."""
from calls import Calls
from expressions import Expressions, expr, maybe
from scope import Relation, Scope, is_orderable, of_query, of_table, total_of
from scope import widened
from tree import NONE, Form, Many, write
from values import NESTED, PLAIN, Value

JOINS = ("JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN",
         "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
DUCK_JOINS = {"LEFT SEMI JOIN": "SEMI JOIN", "LEFT ANTI JOIN": "ANTI JOIN"}
ROWS = 20000  # of all that a FROM puts together, at most
OUTPUT = PLAIN + NESTED


class Statement:
    """tree, and the columns of its rows: names (c1...) with their values."""

    def __init__(self, tree):
        self.tree = tree

    @property
    def columns(self):
        return columns_of(self.tree)

    @property
    def order(self):
        """Names of columns by which the rows come in order."""
        return order_of(self.tree)


def columns_of(tree):
    """Of the statement's first SELECT list, whatever became of the tree."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.sort == "select":
            return {it.name: it.value for it in node.kids[1].kids}
        stack.extend(reversed([kid for kid in node.kids
                               if kid.sort != "ctes"]))
    return {}


def order_of(tree):
    while tree.kids:
        if tree.name == "ordered":
            return [key.name for key in tree.kids[1].kids]
        tree = tree.kids[-1]
    return []


class Query:
    """tree, the values of its columns (named c1...), and how many rows."""

    def __init__(self, tree, columns, rows):
        self.tree, self.columns, self.rows = tree, columns, rows


class Generator(Expressions, Calls):
    def __init__(self, rng, tables):
        self.rng, self.tables = rng, tables
        self.windows = False  # may one stand here?
        self.printed = False  # is a value only printed?
        self.ctes = []
        self.n = self.deep = 0

    def statement(self):
        self.ctes, self.n = [], 0
        self.windows = self.printed = False
        forms = [self.cte() for _ in range(self.rng.choice((0,) * 7 +
                                                           (1, 1, 2)))]
        limited = self.chance(0.15)
        # Half of them are small: one part that is refused hides the others.
        self.deep = self.rng.choice((0, 1, 1, 2))
        top = self.query(self.deep, printed=not limited)
        tree = self.ordered(top, limited, 0.5)
        if forms:
            recursive = any(form.name == "recursive" for form in forms)
            word = "WITH RECURSIVE" if recursive else "WITH"
            listed = Form("{}", Many(forms), sort="ctes")
            tree = Form(f"{word} {{}} {{}}", listed, tree)
        return Statement(tree)

    def name(self, letter):
        self.n += 1
        return f"{letter}{self.n}"

    # WITH

    def cte(self):
        name = self.name("w")
        if self.chance(0.3):
            return self.recursive(name)
        query = self.query(1)
        self.ctes.append((name, query.columns, query.rows))
        return Form(f"{name} AS ({{}})", query.tree, sort="cte")

    def recursive(self, name):
        values = [Value("i64", 100), Value("txt")]
        table = min(self.tables, key=lambda it: len(it.rows)) \
            if self.chance(0.5) else self.rng.choice(self.tables)
        base = of_table(table, self.name("b"))
        scope = Scope([base])
        first = Form(
            "SELECT CAST({} AS BIGINT) AS c1, CAST({} AS VARCHAR) AS c2 "
            f"FROM {table.name} AS {base.alias} WHERE {{}}",
            self.leaf(scope, "i64"), self.leaf(scope, "txt"),
            self.bool(scope, 1))
        self_alias = self.name("r")
        me = Relation(self_alias, {"c1": values[0], "c2": values[1]}, None, 50)
        if self.chance(0.5):
            rows, add, condition = Scope([me]), "", ""
        else:
            other = of_table(self.rng.choice(self.tables), self.name("b"))
            rows = Scope([me, other])
            add = f" JOIN {other.source} AS {other.alias} " \
                f"ON {other.alias}.id = {self_alias}.c1 + 1"
        step = Form(
            f"SELECT {self_alias}.c1 + 1 AS c1, CAST({{}} AS VARCHAR) AS c2 "
            f"FROM {name} AS {self_alias}{add} "
            f"WHERE {self_alias}.c1 < {self.rng.randint(1, 6)}",
            self.leaf(rows, "txt"), marks=base.marks)
        all = self.rng.choice((" ALL", " ALL", ""))
        self.ctes.append((name, values, 500))
        return Form(f"{name} AS ({{}} UNION{all} {{}})", first, step,
                    sort="cte", name="recursive", marks={"recursive"})

    # Queries

    def query(self, depth, names=None, outer=None, printed=False):
        """Of types by name; None: any."""
        if names is None:
            names = [self.rng.choice(OUTPUT) if self.chance(0.3) else None
                     for _ in range(self.rng.choice((1, 2, 2, 3, 3, 4)))]
        if depth > 0 and self.chance(0.12):
            return self.set_operation(depth - 1, names, outer)
        return self.select(depth, names, outer, printed)

    def set_operation(self, depth, names, outer):
        names = [name or self.rng.choice(PLAIN) for name in names]
        a, b = (self.query(depth, names, outer) for _ in range(2))
        word = self.rng.choice(("UNION ALL", "UNION ALL", "UNION", "INTERSECT",
                                "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"))
        values = [widened(x, y) for x, y in zip(a.columns, b.columns)]
        special = set()
        if "f64w" in names and word != "UNION ALL":
            special.add("wild float")
        if word in ("INTERSECT ALL", "EXCEPT ALL"):
            special.add("all but union")
        if word != "UNION ALL" and set(names) & set(NESTED):
            word = "UNION ALL"
        tree = Form(f"({{}}) {word} ({{}})", a.tree, b.tree, sort="query",
                    marks=special)
        return Query(tree, values, a.rows + b.rows)

    def select(self, depth, names, outer, printed):
        from_form, scope = self.from_(depth, outer)
        where = maybe(lambda: Form(" WHERE {}", self.bool(scope, self.deep),
                                   optional=True), self.rng, 0.3)
        group = having = NONE
        if self.chance(0.35):
            group, scope = self.group(scope)
            having = maybe(lambda: Form(" HAVING {}", self.bool(scope, 1),
                                        optional=True), self.rng, 0.2)
        before = self.windows, self.printed
        self.windows = outer is None
        items = [self.item(scope, name, i, printed)
                 for i, name in enumerate(names)]
        qualify, self.windows = NONE, False
        if outer is None and self.chance(0.06):
            if over := self.ranked(scope, "i64", 1):
                qualify = Form(" QUALIFY {} <= 2", over, optional=True)
        self.windows, self.printed = before
        columns = [item.value for item in items]
        distinct = self.unique(items) if self.chance(0.12) else NONE
        tree = Form("SELECT {}{} FROM {}{}{}{}{}", distinct,
                    Many(items), from_form, where, group, having, qualify,
                    sort="select")
        return Query(tree, columns, scope.rows())

    def unique(self, items):
        if any(not is_orderable(it.value) for it in items):
            return NONE
        wild = any(it.value.name == "f64w" for it in items)
        return Form("DISTINCT ", optional=True,
                    marks={"wild float"} if wild else ())

    def item(self, scope, name, i, printed):
        if name is None and scope.keys is not None and self.chance(0.35):
            name = self.rng.choice(("i64", "i64", "f64"))
        name = name or self.type_at_hand(
            scope, lambda it: it.name in OUTPUT)
        self.printed = printed
        one = self.expr(scope, name, self.rng.randint(0, self.deep + 1))
        self.printed = False
        if one.value.name == "f64w" and not one.kids and scope.keys is None:
            # Read and printed only, it is the same everywhere.
            one = expr(write(one), value=one.value,
                       marks=one.marks - {"wild float"})
        return Form(f"{{}} AS c{i + 1}", one, sort="item", value=one.value,
                    name=f"c{i + 1}")

    def group(self, scope):
        some = scope.columns(is_orderable, outer=False)
        keys = [self.rng.choice(some)
                for _ in range(self.rng.choice((0, 1, 1, 1, 2, 2, 3)))
                if some]
        if keys and self.chance(0.3):
            keys[0] = self.expr(scope, keys[0].value.name, 2)
        # Literals are positions here.
        known = {write(key): key for key in keys}
        keys = [key for text, key in known.items() if "." in text]
        if not keys:
            return Form(""), scope.grouped([])
        form, unique = Many(keys), True
        if len(keys) > 1 and self.chance(0.2):
            unique = False  # NULL is a key, and stands for those left out
            word = self.rng.choice(("ROLLUP", "CUBE", "GROUPING SETS"))
            if word == "GROUPING SETS":
                form = Form("GROUPING SETS (({}), ({}))", form,
                            keys[0], marks={"grouping sets"})
            else:
                form = Form(f"{word} ({{}})", form, marks={"grouping sets"})
        return Form(" GROUP BY {}", form), scope.grouped(keys, unique)

    # FROM

    def from_(self, depth, outer):
        form, first, rows = self.relation(depth, outer)
        relations = [first]
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2))):
            next = self.relation(depth, outer)
            if rows * max(next[2], 1) > ROWS:
                continue
            form, relations, rows = self.join(form, relations, next, outer,
                                              rows)
        return form, Scope(relations, outer)

    def relation(self, depth, outer):
        make = self.pick([(6, self.table)] +
                         [(2, self.cte_again)] * bool(self.ctes) +
                         [(1.2 * (depth > 0), self.derived),
                          (0.3, self.values), (0.3, self.series),
                          (0.3, self.unnested)])
        return make(depth)

    def table(self, depth):
        table = self.rng.choice(self.tables)
        relation = of_table(table, self.name("a"))
        form = Form(f"{table.name} AS {relation.alias}", sort="from",
                    marks=table.marks)
        return form, relation, len(table.rows)

    def cte_again(self, depth):
        name, columns, rows = self.rng.choice(self.ctes)
        relation = of_query(columns, self.name("a"), rows)
        return (Form(f"{name} AS {relation.alias}", sort="from"), relation,
                rows)

    def derived(self, depth):
        windows, self.windows = self.windows, False
        query = self.query(depth - 1)
        limited = self.chance(0.3)
        tree = self.ordered(query, limited, 1) if limited else query.tree
        self.windows = windows
        relation = of_query(query.columns, self.name("q"), query.rows)
        return (Form(f"({{}}) AS {relation.alias}", tree, sort="from"),
                relation, query.rows)

    def values(self, depth):
        names = [self.rng.choice(("i64", "txt", "f64", "flag", "dt"))
                 for _ in range(self.rng.choice((1, 2)))]
        rows = [Form("({})", Many([
            self.literal(name) if self.chance(0.85) or i == 0 else
            self.null(name) for name in names], least=len(names)))
            for i in range(self.rng.randint(1, 4))]
        # An integer of DuckDB's is as wide as it must be.
        known = {f"c{i + 1}": Value(name, 100, 2 * (name == "f64"))
                 for i, name in enumerate(names)}
        relation = Relation(self.name("v"), known, total_of(known), len(rows))
        form = Form(f"(VALUES {{}}) AS {relation.alias}"
                    f"({', '.join(known)})", Many(rows), sort="from")
        return form, relation, len(rows)

    def series(self, depth):
        n = self.rng.randint(0, 9)
        relation = Relation(self.name("g"), {"c1": Value("i64", 10)}, ["c1"],
                            n + 1, unique=True)
        return (Form(f"generate_series(0, {n}) AS {relation.alias}(c1)",
                     sort="from"), relation, n + 1)

    def unnested(self, depth):
        """Elements of a list, with their row's id."""
        lists = [(table, it) for table in self.tables for it in table.columns
                 if it.value.name in NESTED[:2]]
        if not lists:
            return self.table(depth)
        table, column = self.rng.choice(lists)
        inner = of_table(table, self.name("a"))
        item = Value("i64", 100) if column.value.name == "li" else Value("txt")
        relation = of_query([Value("i64", 100), item], self.name("u"),
                            3 * len(table.rows))
        form = Form(f"(SELECT {inner.alias}.id AS c1, unnest({inner.alias}."
                    f"{column.name}) AS c2 FROM {table.name} AS "
                    f"{inner.alias}) AS {relation.alias}", sort="from",
                    marks=table.marks | {"unnest"})
        return form, relation, 3 * len(table.rows)

    def join(self, left, relations, next, outer, rows):
        right, relation, n = next
        both = Scope(relations + [relation], outer)
        if self.chance(0.08):
            form = Form("{} CROSS JOIN {}", left, right, sort="from")
            return form, relations + [relation], rows * max(n, 1)
        word = self.rng.choice(JOINS)
        if relation.source and relations[-1].source and \
                len(relations) == 1 and self.chance(0.07):
            using = self.rng.choice(("id", "k", "s", "id, k"))
            form = Form(f"{{}} {word} {{}} USING ({using})", left, right,
                        sort="from", duck=f"{{}} {DUCK_JOINS.get(word, word)} "
                        f"{{}} USING ({using})")
            kept = relations if word in DUCK_JOINS else relations + [relation]
            return form, kept, rows * max(n, 1)
        on = self.condition(Scope(relations), Scope([relation]), both)
        form = Form(f"{{}} {word} {{}} ON {{}}", left, right, on, sort="from",
                    duck=f"{{}} {DUCK_JOINS.get(word, word)} {{}} ON {{}}")
        kept = relations if word in DUCK_JOINS else relations + [relation]
        return form, kept, rows * max(n, 1)

    def condition(self, left, right, both):
        """Of columns of one type, most of the time."""
        def accept(value):
            return value.name in PLAIN and not value.rough
        pairs = []
        for _ in range(self.rng.choice((1, 1, 1, 2))):
            one = self.rng.choice(left.columns(accept) or [None])
            if one is None:
                continue
            others = right.columns(lambda it: it.name == one.value.name)
            if others:
                operator = self.rng.choices(
                    ("=", "IS NOT DISTINCT FROM", "<"), (8, 1, 1))[0]
                pairs.append(expr(f"({{}} {operator} {{}})", one,
                                  self.rng.choice(others),
                                  value=Value("flag")))
        if not pairs or self.chance(0.2):
            pairs.append(self.bool(both, 1))
        return expr("({})", Many(pairs, " AND "), value=Value("flag"))

    # ORDER BY and LIMIT

    def ordered(self, query, limited, chance):
        """By all columns where there is a limit, else by some."""
        columns = [i for i, value in enumerate(query.columns)
                   if is_orderable(value)]
        if limited and len(columns) < len(query.columns):
            limited = False
        if not columns or not (limited or self.chance(chance)):
            return query.tree
        self.rng.shuffle(columns)
        if not limited:
            columns = columns[:self.rng.randint(1, len(columns))]
        keys = []
        for i in columns:
            key = self.key(Form(f"c{i + 1}"))
            key.name = f"c{i + 1}"
            keys.append(key)
        wild = any(query.columns[i].name == "f64w" for i in columns)
        limit = NONE
        if limited:
            offset = maybe(lambda: Form(f" OFFSET {self.rng.randint(0, 4)}",
                                        optional=True), self.rng, 0.3)
            limit = Form(f" LIMIT {self.rng.choice((0, 1, 3, 3, 10, 10))}{{}}",
                         offset, optional=True)
        return Form("{} ORDER BY {}{}", query.tree,
                    Many(keys, least=len(keys) if limited else 1), limit,
                    sort="query", name="ordered",
                    marks={"wild float"} if wild else ())

    # Subqueries in expressions

    def inner_from(self, scope):
        """A table or so, with the scope around it in sight, sometimes."""
        outer = scope if self.chance(0.5) else None
        form, relation, _ = self.relation(0, None)
        inner = Scope([relation], outer and Scope(outer.relations))
        if outer is not None and outer.keys is not None:
            inner.outer = None
        return form, inner

    def correlated(self, inner):
        """WHERE with an equality of both sides, or without."""
        terms = []
        if inner.outer is not None:
            terms.append(self.condition(
                Scope(inner.relations), Scope(inner.outer.relations),
                inner.ungrouped()))
        if self.chance(0.4) or not terms:
            terms.append(self.bool(Scope(inner.relations), 1))
        return Form(" WHERE {}", Many(terms, " AND "), optional=True)

    def guarded(self, make):
        """No window of the outer query is inside."""
        before, self.windows = (self.windows, self.printed), False
        self.printed = False
        try:
            return make()
        finally:
            self.windows, self.printed = before

    def scalar_subquery(self, scope, name):
        def make():
            form, inner = self.inner_from(scope)
            where = self.correlated(inner)
            rows = Scope(inner.relations, None, keys=[])
            one = self.aggregate(rows, name, 1)
            if one is None or one.value.rough:
                return None
            return expr("(SELECT {} FROM {}{})", one, form, where,
                        value=one.value, marks={"scalar subquery"})
        return self.guarded(make)

    def perhaps_several(self, scope, name):
        """A subquery that fails where it has two rows."""
        def make():
            form, inner = self.inner_from(scope)
            rows = Scope(inner.relations)
            one = self.leaf(rows, name)
            where = Form(" WHERE {}", self.condition(
                rows, rows, rows) if self.chance(0.3) else self.bool(rows, 1))
            return expr("(SELECT {} FROM {}{})", one, form, where,
                        value=one.value, marks={"several rows"})
        return self.guarded(make)

    def exists_subquery(self, scope):
        def make():
            form, inner = self.inner_from(scope)
            no = self.rng.choice(("", "NOT "))
            return expr(f"({no}EXISTS (SELECT 1 FROM {{}}{{}}))", form,
                        self.correlated(inner), value=Value("flag"),
                        marks={"exists"})
        return self.guarded(make)

    def membership(self, scope, name, depth):
        def make():
            one = self.expr(scope, name, depth)
            form, inner = self.inner_from(scope)
            other = self.expr(Scope(inner.relations), name, 1)
            no = self.rng.choice(("", " NOT"))
            where = maybe(lambda: self.correlated(inner), self.rng, 0.6)
            return expr(f"({{}}{no} IN (SELECT {{}} FROM {{}}{{}}))", one,
                        other, form, where, value=Value("flag"),
                        marks={"in subquery"})
        return self.guarded(make)

    def quantified_subquery(self, scope, name, depth):
        def make():
            one = self.expr(scope, name, depth)
            form, inner = self.inner_from(scope)
            other = self.expr(Scope(inner.relations), name, 1)
            operator = self.rng.choice(("=", "<", ">=", "<>"))
            word = self.rng.choice(("ANY", "ALL"))
            return expr(f"({{}} {operator} {word} (SELECT {{}} FROM {{}}))",
                        one, other, form, value=Value("flag"),
                        marks={"quantified"})
        return self.guarded(make)
