# SPDX-License-Identifier: Apache-2.0
"""Random expressions of a wanted type."""
from decimal import Decimal

from scope import widened
from tree import NONE, Form, Many
from values import (INTERVALS, INTS, LIMITS, PLAIN, T, UINTS, Value, draw,
                    literal, null)

PARTS = ("year", "month", "day", "quarter", "doy", "dow", "week", "hour",
         "minute")
TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour")
PATTERNS = ("'a%'", "'%b'", "'_'", "'%a%b%'", "'A_'", "''", "'%x\\%%'")
COMPARED = PLAIN
WIDTH = {"f32": 22, "f64": 50}


def expr(text, *kids, value, **more):
    return Form(text, *kids, sort="expr", value=value, **more)


def maybe(form, rng, chance):
    return form() if rng.random() < chance else NONE


class Expressions:
    """self.rng; self.window, self.aggregate, self.subquery are of others."""

    def pick(self, choices):
        """One of (weight, function)s."""
        weights = [weight for weight, _ in choices]
        return self.rng.choices(choices, weights)[0][1]

    def chance(self, p):
        return self.rng.random() < p

    def literal(self, name):
        value = draw(self.rng, name)
        if T[name].family in ("int", "uint", "float", "dec"):
            value = self.small(name)
        if name == "flag":
            value = self.chance(0.75)  # false leaves no rows
        text, duck = literal(name, value)
        if T[name].family == "dec":
            text = duck = f"CAST({text} AS {T[name].sql})"
        known = Value(name, 10, 2 if T[name].family == "float" else 0)
        if T[name].family not in ("int", "uint", "float", "dec"):
            known = Value(name)
        marks = {"wild float"} if name == "f64w" else ()
        return expr(text, duck=duck, value=known, marks=marks)

    def small(self, name):
        family = T[name].family
        if family == "uint":
            return self.rng.randint(0, 9)
        if family == "int":
            return self.rng.randint(-5, 9)
        if family == "float":
            return self.rng.randint(-20, 20) / 4
        return Decimal(self.rng.randint(-99, 99)).scaleb(-1)

    def null(self, name):
        text, duck = null(name)
        return expr(text, value=Value(name, 0), duck=duck)

    def type_at_hand(self, scope, accept=None):
        """The name of a type that a column in scope has, most of the time."""
        accept = accept or (lambda value: value.name in COMPARED)
        at_hand = scope.columns(lambda it: accept(it) and not it.rough)
        if at_hand and self.chance(0.85):
            return self.rng.choice(at_hand).value.name
        return self.rng.choice(("i64", "f64", "txt", "flag", "dt", "i32"))

    # An expression of a type; depth: of functions below it.

    def expr(self, scope, name, depth):
        if self.chance(0.03):
            return self.null(name)
        if scope.keys is not None and self.chance(0.5 if depth else 0.9):
            if made := self.aggregate(scope, name, depth):
                return made
        if self.windows and scope.outer is None and self.chance(0.15):
            if made := self.window(scope, name, depth):
                return made
        if depth <= 0 or self.chance(0.2):
            return self.leaf(scope, name)
        family = T[name].family
        general = [(1, self.case), (1, self.coalesce), (0.5, self.nullif),
                   (0.4, self.scalar)]
        own = {"int": self.ints, "uint": self.uints, "float": self.floats,
               "dec": self.decs, "bool": self.bools, "text": self.texts,
               "date": self.dates, "stamp": self.stamps, "list": self.lists,
               "struct": self.structs}.get(family)
        if family in ("list", "struct", "interval", "uuid"):
            general = []
        if own is not None:
            general.append((6, own))
        if not general:
            return self.leaf(scope, name)
        made = self.pick(general)(scope, name, depth - 1)
        return made or self.leaf(scope, name)

    def leaf(self, scope, name):
        outer = self.chance(0.2)
        found = scope.columns(lambda it: it.name == name and not it.rough,
                              outer)
        if found and self.chance(0.93):
            return self.rng.choice(found)
        if self.chance(0.75):
            if made := self.converted(scope, name, outer):
                return made
        if name in ("uuid", "iv"):
            return self.null(name)
        return self.literal(name)

    def converted(self, scope, name, outer):
        """A column of another type, as this one."""
        family = T[name].family
        whole = scope.columns(lambda it: it.name in INTS + UINTS and
                              it.bound <= 100, outer)
        if not whole:
            return None
        one = self.rng.choice(whole)
        if family == "bool":
            return expr(self.rng.choice(("({} < 3)", "({} = 1)",
                                         "({} IS NULL)", "({} > 0)")), one,
                        value=Value(name))
        if family == "text":
            return expr("CAST({} AS VARCHAR)", one, value=Value(name))
        if family in ("int", "float", "dec"):
            return expr(f"CAST({{}} AS {T[name].sql})", one,
                        value=Value(name, 100))
        return None

    # Of any type

    def case(self, scope, name, depth):
        arms = Many([Form(" WHEN {} THEN {}", self.bool(scope, depth),
                          self.expr(scope, name, depth))
                     for _ in range(self.rng.choice((1, 1, 2)))], "")
        other = self.expr(scope, name, depth)
        value = other.value
        for arm in arms.kids:
            value = widened(value, arm.kids[1].value)
        end = maybe(lambda: Form(" ELSE {}", other, optional=True), self.rng,
                    0.8)
        return expr("CASE{}{} END", arms, end, value=value)

    def coalesce(self, scope, name, depth):
        several = [self.expr(scope, name, depth)
                   for _ in range(self.rng.choice((2, 2, 3)))]
        value = several[0].value
        for one in several[1:]:
            value = widened(value, one.value)
        return expr("coalesce({})", Many(several), value=value)

    def nullif(self, scope, name, depth):
        if name == "f64w":
            return None
        one = self.expr(scope, name, depth)
        return expr("nullif({}, {})", one, self.expr(scope, name, depth),
                    value=one.value)

    def scalar(self, scope, name, depth):
        if self.chance(0.08):
            return self.perhaps_several(scope, name)
        return self.scalar_subquery(scope, name)

    # Numbers

    def fits(self, name, bound, places=0):
        value = Value(name, bound, places)
        if name in WIDTH:
            return value if value.is_exact(WIDTH[name]) else None
        return value if bound <= LIMITS[name] else None

    def arithmetic(self, scope, name, depth, operators):
        a, b = self.expr(scope, name, depth), self.expr(scope, name, depth)
        operator = self.rng.choice(operators)
        if operator == "*":
            value = self.fits(name, a.value.bound * b.value.bound,
                              a.value.places + b.value.places)
        else:
            value = self.fits(name, a.value.bound + b.value.bound,
                              max(a.value.places, b.value.places))
        if value is None or a.value.rough or b.value.rough:
            return a
        return expr(f"({{}} {operator} {{}})", a, b, value=value)

    def ints(self, scope, name, depth):
        make = self.pick([
            (5, lambda: self.arithmetic(scope, name, depth, "++-*")),
            (1, lambda: self.divided(scope, name, depth)),
            (1, lambda: self.unary(scope, name, depth, ("abs({})", "-({})"))),
            (2, lambda: self.counted(scope, name, depth)),
            (0.5, lambda: self.greatest(scope, name, depth))])
        return make()

    def uints(self, scope, name, depth):
        if name == "u64":
            return self.greatest(scope, name, depth)
        make = self.pick([
            (2, lambda: self.arithmetic(scope, name, depth, "+*")),
            (1, lambda: self.greatest(scope, name, depth))])
        return make()

    def unary(self, scope, name, depth, texts):
        one = self.expr(scope, name, depth)
        return expr(self.rng.choice(texts), one, value=one.value)

    def greatest(self, scope, name, depth):
        a, b = self.expr(scope, name, depth), self.expr(scope, name, depth)
        function = self.rng.choice(("greatest", "least"))
        return expr(f"{function}({{}}, {{}})", a, b,
                    value=widened(a.value, b.value))

    def divided(self, scope, name, depth):
        a, b = self.expr(scope, name, depth), self.literal(name)
        if self.chance(0.5):
            return expr("({} / nullif({}, 0))", a, b, value=a.value,
                        duck="({} // nullif({}, 0))")
        return expr("({} % nullif({}, 0))", a, b, value=a.value)

    def counted(self, scope, name, depth):
        """Integers of something else."""
        if name != "i64":
            return None
        make = self.pick([
            (2, lambda: expr(
                "CAST(length({}) AS BIGINT)", self.expr(scope, "txt", depth),
                value=Value("i64", 10 ** 4))),
            (1, lambda: self.part(scope, depth)),
            (1, lambda: expr(
                "CAST({} AS BIGINT)", self.bool(scope, depth),
                value=Value("i64", 1))),
            (0.5, lambda: expr(
                "CAST(strpos({}, {}) AS BIGINT)",
                self.expr(scope, "txt", depth), self.literal("txt"),
                value=Value("i64", 10 ** 4))),
            (0.5, lambda: self.of_nested(scope))])
        return make()

    def of_nested(self, scope):
        """An element or a length of a list, a field of a struct."""
        lists = scope.columns(lambda it: it.name == "li")
        structs = scope.columns(lambda it: it.name == "st")
        if lists and self.chance(0.6):
            one = self.rng.choice(lists)
            if self.chance(0.5):
                return expr("({})[1]", one, value=Value("i64", 100))
            return expr("CAST(coalesce(array_length({}), 0) AS BIGINT)", one,
                        duck="coalesce(len({}), 0)", value=Value("i64", 10))
        if structs:
            return expr("({})['a']", self.rng.choice(structs),
                        value=Value("i64", 100))
        return None

    def part(self, scope, depth):
        name = self.rng.choice(("dt", "ts", "ts"))
        parts = PARTS[:-2] if name == "dt" else PARTS
        part = self.rng.choice(parts)
        one = self.expr(scope, name, depth)
        return expr(f"CAST(date_part('{part}', {{}}) AS BIGINT)", one,
                    value=Value("i64", 10 ** 4))

    def floats(self, scope, name, depth):
        rounds = ("floor({})", "ceil({})", "abs({})", "-({})")
        make = self.pick([
            (4, lambda: self.arithmetic(scope, name, depth, "+-*")),
            (1, lambda: self.unary(scope, name, depth, rounds)),
            (0.5, lambda: self.greatest(scope, name, depth)),
            (1, lambda: self.from_int(scope, name, depth))])
        return make()

    def from_int(self, scope, name, depth):
        one = self.expr(scope, self.rng.choice(INTS), depth)
        value = self.fits(name, one.value.bound)
        return value and expr(f"CAST({{}} AS {T[name].sql})", one, value=value)

    def decs(self, scope, name, depth):
        make = self.pick([
            (4, lambda: self.arithmetic(scope, name, depth, "+-")),
            (1, lambda: self.unary(scope, name, depth, ("abs({})", "-({})"))),
            (1, lambda: self.times(scope, name, depth))])
        return make()

    def times(self, scope, name, depth):
        """An integer's multiple of a decimal."""
        if name not in ("d9_2", "d18_4"):
            return None
        a, b = self.leaf(scope, name), self.literal("i8")
        value = self.fits(name, a.value.bound * b.value.bound)
        return value and expr(f"CAST({{}} * {{}} AS {T[name].sql})", a, b,
                              value=value)

    # Texts, dates

    def texts(self, scope, name, depth):
        def text():
            return self.expr(scope, "txt", depth)
        known = Value("txt")
        n = self.rng.randint(1, 3)
        make = self.pick([
            (2, lambda: expr("({} || {})", text(), text(), value=known)),
            (1, lambda: expr(self.rng.choice(
                ("upper({})", "lower({})", "trim({})", "reverse({})",
                 f"left({{}}, {n})", f"right({{}}, {n})", f"repeat({{}}, {n})",
                 f"substr({{}}, {n})", f"substr({{}}, {n}, 2)")), text(),
                value=known)),
            (1, lambda: expr("replace({}, {}, {})", text(),
                             self.text_literal(), text(), value=known)),
            (1, lambda: expr("concat({}, {})", text(), text(), value=known)),
            (1, lambda: self.as_text(scope, depth)),
            (0.5, lambda: self.text_of_nested(scope))])
        return make()

    def text_literal(self):
        return expr(self.rng.choice(("'a'", "'b'", "'é'", "' '", "'ab'")),
                    value=Value("txt"))

    def as_text(self, scope, depth):
        name = self.rng.choice(("i64", "i32", "dt", "flag", "u16"))
        return expr("CAST({} AS VARCHAR)", self.expr(scope, name, depth),
                    value=Value("txt"))

    def text_of_nested(self, scope):
        structs = scope.columns(lambda it: it.name == "st")
        lists = scope.columns(lambda it: it.name == "lt")
        if structs and self.chance(0.5):
            return expr("({})['b']", self.rng.choice(structs),
                        value=Value("txt"))
        if lists:
            return expr("({})[1]", self.rng.choice(lists), value=Value("txt"))
        return None

    def dates(self, scope, name, depth):
        if self.chance(0.5):
            return expr("CAST({} AS DATE)", self.expr(scope, "ts", depth),
                        value=Value("dt"))
        days = self.rng.choice(("1 day", "2 days", "1 month"))
        return expr(f"CAST(({{}} + INTERVAL '{days}') AS DATE)",
                    self.leaf(scope, "dt"), value=Value("dt"))

    def stamps(self, scope, name, depth):
        if name != "ts":
            return None
        unit = self.rng.choice(TRUNCATIONS)
        interval = self.rng.choice(INTERVALS)
        sign = self.rng.choice("+-")
        make = self.pick([
            (1, lambda: expr(f"date_trunc('{unit}', {{}})",
                             self.expr(scope, "ts", depth),
                             value=Value("ts"))),
            (1, lambda: expr(f"({{}} {sign} INTERVAL '{interval}')",
                             self.leaf(scope, "ts"), value=Value("ts"))),
            (1, lambda: expr("CAST({} AS TIMESTAMP)",
                             self.expr(scope, "dt", depth),
                             value=Value("ts")))])
        return make()

    def lists(self, scope, name, depth):
        item = "i64" if name == "li" else "txt"
        several = Many([self.expr(scope, item, depth)
                        for _ in range(self.rng.choice((1, 2)))])
        return expr("make_array({})", several, duck="list_value({})",
                    value=Value(name))

    def structs(self, scope, name, depth):
        a, b = self.expr(scope, "i64", depth), self.expr(scope, "txt", depth)
        return expr("named_struct('a', {}, 'b', {})", a, b,
                    duck="struct_pack(a := {}, b := {})", value=Value("st"))

    # Truths

    def bool(self, scope, depth):
        return self.expr(scope, "flag", depth)

    def bools(self, scope, name, depth):
        make = self.pick([
            (5, self.compared), (2, self.both), (1, self.negated),
            (1.5, self.is_null), (1, self.between), (1, self.listed),
            (1, self.like), (0.7, self.distinct), (0.6, self.truth),
            (1, self.exists), (1, self.in_subquery), (0.4, self.quantified)])
        return make(scope, depth)

    def compared(self, scope, depth):
        name = self.type_at_hand(scope)
        a, b = self.expr(scope, name, depth), self.expr(scope, name, depth)
        if T[name].family in ("int", "dec") and self.chance(0.2):
            b = self.expr(scope, self.rng.choice(INTS), depth)
        operator = self.rng.choice(("=", "=", "<>", "<", "<=", ">", ">="))
        return expr(f"({{}} {operator} {{}})", a, b, value=Value("flag"))

    def both(self, scope, depth):
        operator = self.rng.choice((" AND ", " OR "))
        several = [self.bool(scope, depth)
                   for _ in range(self.rng.choice((2, 2, 3)))]
        return expr("({})", Many(several, operator), value=Value("flag"))

    def negated(self, scope, depth):
        return expr("(NOT {})", self.bool(scope, depth), value=Value("flag"))

    def is_null(self, scope, depth):
        any = self.rng.choice(scope.columns(lambda it: True) or
                              [self.literal("i64")])
        if self.chance(0.3):
            any = self.expr(scope, self.type_at_hand(scope), depth)
        no = self.rng.choice(("", " NOT"))
        return expr(f"({{}} IS{no} NULL)", any, value=Value("flag"))

    def between(self, scope, depth):
        name = self.type_at_hand(scope)
        several = [self.expr(scope, name, depth) for _ in range(3)]
        no = self.rng.choice(("", " NOT"))
        return expr(f"({{}}{no} BETWEEN {{}} AND {{}})", *several,
                    value=Value("flag"))

    def listed(self, scope, depth):
        name = self.type_at_hand(scope)
        several = [self.literal(name) if self.chance(0.8) else
                   self.expr(scope, name, 0)
                   for _ in range(self.rng.choice((1, 2, 4)))]
        no = self.rng.choice(("", " NOT"))
        return expr(f"({{}}{no} IN ({{}}))", self.expr(scope, name, depth),
                    Many(several), value=Value("flag"))

    def like(self, scope, depth):
        verb = self.rng.choice(("LIKE", "NOT LIKE", "ILIKE"))
        pattern = self.rng.choice(PATTERNS)
        if "\\" in pattern:
            pattern += " ESCAPE '\\'"
        return expr(f"({{}} {verb} {pattern})",
                    self.expr(scope, "txt", depth), value=Value("flag"))

    def distinct(self, scope, depth):
        name = self.type_at_hand(scope)
        no = self.rng.choice(("", " NOT"))
        return expr(f"({{}} IS{no} DISTINCT FROM {{}})",
                    self.expr(scope, name, depth),
                    self.expr(scope, name, depth), value=Value("flag"))

    def truth(self, scope, depth):
        what = self.rng.choice(("TRUE", "NOT TRUE", "FALSE", "NOT FALSE"))
        return expr(f"({{}} IS {what})", self.bool(scope, depth),
                    value=Value("flag"))

    def exists(self, scope, depth):
        return self.exists_subquery(scope)

    def in_subquery(self, scope, depth):
        name = self.type_at_hand(scope)
        return self.membership(scope, name, depth)

    def quantified(self, scope, depth):
        name = self.type_at_hand(scope)
        return self.quantified_subquery(scope, name, depth)
