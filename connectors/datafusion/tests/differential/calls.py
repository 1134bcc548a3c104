# SPDX-License-Identifier: Apache-2.0
"""Aggregates and window functions: those whose values do not depend on the
order of rows, or that say a total order."""
from expressions import expr, maybe
from scope import is_orderable
from tree import NONE, Form, Many, write
from values import INF, INTS, T, UINTS, Value

NULLS = ("", "", " NULLS FIRST", " NULLS LAST")
ORDERED = ("", " ASC", " DESC")
ANY = ("min", "max")
# Last bits depend on how partial results meet.
ROUGH = ("stddev", "stddev_pop", "var_samp", "var_pop")
ROUGH_OF_TWO = ("corr", "covar_samp", "covar_pop", "regr_slope", "regr_r2")


class Calls:
    def key(self, one):
        text = "{}" + self.rng.choice(ORDERED) + self.rng.choice(NULLS)
        return Form(text, one, sort="key")

    def total(self, scope, strict=True):
        """ORDER BY of all rows, as one piece that is never taken apart."""
        keys = scope.total(strict)
        if keys is None:
            return None
        self.rng.shuffle(keys)
        some = scope.columns(is_orderable, outer=False)
        if some and self.chance(0.5):
            keys.insert(0, self.rng.choice(some))
        # DataFusion has no array_agg(x ORDER BY y, y).
        keys = list({write(key): key for key in keys}.values())
        if not keys:
            return None
        listed = Many([self.key(one) for one in keys])
        return Form("ORDER BY {}", listed, fixed=True)

    def shared_total(self, scope):
        """DataFusion has one order for the aggregates of a query."""
        if scope.order is None:
            scope.order = self.total(scope, False)
        return scope.order

    # Aggregates

    def aggregate(self, scope, name, depth):
        """One of a grouped scope that gives a type, or None."""
        before, self.windows = self.windows, False
        try:
            return self.aggregated(scope, name, depth)
        finally:
            self.windows = before

    def aggregated(self, scope, name, depth):
        rows, family = scope.rows_below(), T[name].family
        depth = min(depth, 1)
        make = {"i64": self.whole, "f64": self.floating, "flag": self.flags,
                "txt": self.texts_of, "d38_10": None, "li": self.array,
                "lt": self.array}.get(name)
        if family in ("struct", "list") and make is None:
            return None
        choices = [(1, self.extreme), (0.5, self.first)]
        if make is not None:
            choices.append((4, make))
        if name in ("li", "lt"):
            choices = [(1, self.array)]
        found = self.pick(choices)(rows, name, depth)
        if found is None:
            return None
        text, kids, value, *duck = found
        duck = duck[0] if duck else text
        end = self.filter(rows)
        if "{filter}" not in text:
            text, duck = text + "{filter}", duck + "{filter}"
        text, duck = (it.replace("{filter}", "{}") for it in (text, duck))
        return expr(text, *kids, end, value=value, duck=duck,
                    marks={"aggregate"})

    def filter(self, scope, chance=0.2):
        return maybe(lambda: Form(" FILTER (WHERE {})", self.bool(scope, 1),
                                  optional=True), self.rng, chance)

    def distinct_word(self, chance=0.4):
        return maybe(lambda: Form("DISTINCT ", optional=True), self.rng,
                     chance)

    def extreme(self, rows, name, depth):
        if T[name].family in ("struct", "list", "interval", "uuid"):
            return None
        one = self.expr(rows, name, depth)
        return f"{self.rng.choice(ANY)}({{}})", (one,), one.value

    def first(self, rows, name, depth):
        order = self.shared_total(rows)
        if order is None:
            return None
        one = self.expr(rows, name, depth)
        which = self.rng.choice(("first", "last"))
        return (f"{which}_value({{}} {{}})", (one, order), one.value,
                f"{which}({{}} {{}})")

    def whole(self, rows, name, depth):
        n = Value("i64", 10 ** 6)
        if self.chance(0.3):
            return "count(*)", (), n
        if self.chance(0.5):
            of = self.expr(rows, self.type_at_hand(rows), depth)
            return "count({}{})", (self.distinct_word(), of), n
        if self.chance(0.15):
            word = self.rng.choice(("bit_and", "bit_or", "bit_xor"))
            of = self.leaf(rows, "i64")
            return f"{word}({{}})", (of,), Value("i64")
        of = self.expr(rows, self.rng.choice(INTS + UINTS[:3]), depth)
        value = self.fits("i64", of.value.bound * 10 ** 6) or Value("i64")
        if of.value.bound == INF:
            return None
        return ("CAST(sum({}{}){filter} AS BIGINT)",
                (self.distinct_word(0.25), of), value)

    def floating(self, rows, name, depth):
        if self.chance(0.25):
            return self.rough(rows, depth)
        of = self.expr(rows, self.rng.choice(("f64", "f64", "i64", "i32",
                                              "f32")), depth)
        sums = Value("f64", of.value.bound * 10 ** 6, of.value.places)
        if of.value.rough or not sums.is_exact(50):
            return None
        if of.value.type.family == "float" and self.chance(0.5):
            return ("sum({}{})", (self.distinct_word(0.25), of), sums)
        if of.value.type.family == "float" and self.chance(0.2):
            return "median({})", (of,), Value("f64", of.value.bound, 10)
        return ("avg({}{})", (self.distinct_word(0.25), of),
                Value("f64", INF, 99))

    def rough(self, rows, depth):
        if not self.printed:
            return None
        value = Value("f64", rough=True)
        of = self.leaf(rows, "f64")
        if self.chance(0.6):
            return f"{self.rng.choice(ROUGH)}({{}})", (of,), value
        both = of, self.leaf(rows, "f64")
        return f"{self.rng.choice(ROUGH_OF_TWO)}({{}}, {{}})", both, value

    def flags(self, rows, name, depth):
        word = self.rng.choice(("bool_and", "bool_or"))
        return f"{word}({{}})", (self.bool(rows, depth),), Value("flag")

    def texts_of(self, rows, name, depth):
        order = self.shared_total(rows)
        if order is None:
            return None
        return ("string_agg({}, ',' {})",
                (self.expr(rows, "txt", depth), order), Value("txt"))

    def array(self, rows, name, depth):
        order = self.shared_total(rows)
        if order is None:
            return None
        item = "i64" if name == "li" else "txt"
        return ("array_agg({} {})", (self.expr(rows, item, depth), order),
                Value(name))

    # Windows

    def window(self, scope, name, depth):
        """A call with OVER that gives a type, or None."""
        self.windows = False  # they do not nest
        try:
            return self.over(scope, name, min(depth, 1))
        finally:
            self.windows = True

    def over(self, scope, name, depth):
        family = T[name].family
        if family in ("struct", "list", "interval", "uuid", "wild"):
            return None
        choices = [(2, self.moved), (2, self.extreme_over)]
        if name == "i64":
            choices += [(3, self.ranked), (3, self.counted_over)]
        if name == "f64":
            choices += [(3, self.averaged_over), (1, self.shares)]
        if name == "flag":
            choices += [(1, self.flags_over)]
        return self.pick(choices)(scope, name, depth)

    def partition(self, scope):
        some = scope.columns(is_orderable, outer=False)
        if not some or self.chance(0.3):
            return NONE
        keys = [self.rng.choice(some)
                for _ in range(self.rng.choice((1, 1, 2)))]
        if self.chance(0.15):
            keys = [self.expr(scope, keys[0].value.name, 1)]
        return Form("PARTITION BY {} ", Many(keys), optional=True)

    def order(self, scope):
        """In any order of its own; rows may tie."""
        some = scope.columns(is_orderable, outer=False)
        if not some:
            return None
        keys = [self.key(self.rng.choice(some))
                for _ in range(self.rng.choice((1, 1, 2)))]
        return Form("ORDER BY {}", Many(keys))

    def ranked(self, scope, name, depth):
        word = self.rng.choice(("row_number()", "rank()", "dense_rank()",
                                "ntile(3)"))
        order = self.total(scope) if word in ("row_number()", "ntile(3)") \
            else self.order(scope)
        return order and expr(
            f"CAST({word} OVER ({{}}{{}}) AS BIGINT)", self.partition(scope),
            order, value=Value("i64", 10 ** 6), marks={"window"})

    def shares(self, scope, name, depth):
        word = self.rng.choice(("percent_rank()", "cume_dist()"))
        order = self.order(scope)
        return order and expr(
            f"{word} OVER ({{}}{{}})", self.partition(scope), order,
            value=Value("f64", 1, 99), marks={"window"})

    def moved(self, scope, name, depth):
        """lag, lead, first_value, last_value, nth_value."""
        order = self.total(scope)
        if order is None:
            return None
        n = self.rng.randint(1, 3)
        word, rest, frames = self.rng.choice((
            ("lag", "", False), ("lead", "", False), ("lag", f", {n}", False),
            ("lead", f", {n}", False), ("first_value", "", True),
            ("last_value", "", True), ("nth_value", f", {n}", True)))
        nulls = maybe(lambda: Form(" IGNORE NULLS", optional=True), self.rng,
                      0.25)
        if nulls is not NONE and self.chance(0.4):
            nulls = Form(" RESPECT NULLS", optional=True)
        frame = self.frame(True) if frames else NONE
        one = self.expr(scope, name, depth)
        # DuckDB wants what is said of nulls within the brackets.
        inside = f"{word}({{}}{rest}{{}}) OVER ({{}}{{}}{{}})"
        outside = f"{word}({{}}{rest}){{}} OVER ({{}}{{}}{{}})"
        return expr(inside if self.chance(0.3) else outside, one, nulls,
                    self.partition(scope), order, frame, value=one.value,
                    duck=inside, marks={"window"})

    def frame(self, total):
        bounds = ("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING",
                  "CURRENT ROW", "1 FOLLOWING", "2 FOLLOWING",
                  "UNBOUNDED FOLLOWING")
        units = "ROWS" if total and self.chance(0.7) else \
            self.rng.choice(("RANGE", "GROUPS"))
        if units == "RANGE":
            bounds = bounds[0], bounds[3], bounds[6]
        first = self.rng.randrange(len(bounds) - 1)
        if self.chance(0.2):
            # Of the start alone; it is not after the current row.
            first = min(first, bounds.index("CURRENT ROW"))
            return Form(f" {units} {bounds[first]}", optional=True)
        last = self.rng.randrange(max(first, 1), len(bounds))
        return Form(f" {units} BETWEEN {bounds[first]} AND {bounds[last]}",
                    optional=True)

    def framed(self, scope, call, value):
        """An aggregate over a frame: call is a form with no end yet."""
        rows = self.chance(0.6)
        order = self.total(scope) if rows else self.order(scope)
        if order is None or self.chance(0.15):
            order = frame = NONE
        elif not rows and self.chance(0.3):
            order, frame = self.distance(scope) or (order, NONE)
        else:
            frame = maybe(lambda: self.frame(rows), self.rng, 0.7)
        return expr("{}{} OVER ({}{}{})", call, self.filter(scope),
                    self.partition(scope), order, frame, value=value,
                    marks={"window"})

    def distance(self, scope):
        """ORDER BY one number or date, and RANGE by a distance of it."""
        some = scope.columns(lambda it: it.name in INTS + ("f64", "dt", "ts"),
                             outer=False)
        if not some:
            return None
        key = self.rng.choice(some)
        step = "INTERVAL '40 days'" if key.value.name in ("dt", "ts") else \
            self.rng.choice("12")
        ends = self.rng.choice((
            f"{step} PRECEDING AND CURRENT ROW",
            f"{step} PRECEDING AND {step} FOLLOWING",
            f"CURRENT ROW AND {step} FOLLOWING",
            f"UNBOUNDED PRECEDING AND {step} FOLLOWING"))
        order = Form("ORDER BY {}", Many([self.key(key)]))
        return order, Form(f" RANGE BETWEEN {ends}", optional=True)

    def extreme_over(self, scope, name, depth):
        one = self.expr(scope, name, depth)
        word = self.rng.choice(ANY)
        return self.framed(scope, Form(f"{word}({{}})", one), one.value)

    def counted_over(self, scope, name, depth):
        if self.chance(0.4):
            of = self.expr(scope, self.type_at_hand(scope), depth)
            call = Form("count({})", of) if self.chance(0.6) else \
                Form("count(*)")
            return self.framed(scope, call, Value("i64", 10 ** 6))
        of = self.expr(scope, self.rng.choice(INTS), depth)
        value = self.fits("i64", of.value.bound * 10 ** 6)
        if value is None:
            return None
        return self.framed(scope, Form("sum({})", of), value)

    def averaged_over(self, scope, name, depth):
        of = self.expr(scope, self.rng.choice(("f64", "i64")), depth)
        sums = Value("f64", of.value.bound * 10 ** 6, of.value.places)
        if not sums.is_exact(50):
            return None
        if of.value.name == "f64" and self.chance(0.6):
            return self.framed(scope, Form("sum({})", of), sums)
        return self.framed(scope, Form("avg({})", of), Value("f64", INF, 99))

    def flags_over(self, scope, name, depth):
        word = self.rng.choice(("bool_and", "bool_or"))
        call = Form(f"{word}({{}})", self.bool(scope, depth))
        return self.framed(scope, call, Value("flag"))
