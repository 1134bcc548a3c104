# SPDX-License-Identifier: Apache-2.0
"""Types, what is known of a value, and literals.

Sums of floats depend on the order of rows, and integers overflow differently
in different engines. So that neither hides a fault, numbers are small, floats
are multiples of 1/4, and each expression carries a bound of its magnitude and
its binary places: as long as these fit, every order gives the same bits.
"""
import math
from decimal import Decimal

INF = math.inf


class Type:
    """name; family of operations; its text in each dialect; how its values are
    compared (see compare.py); what DataFusion may call it."""

    def __init__(self, name, family, sql, kind, arrow, duck=None):
        self.name, self.family, self.kind = name, family, kind
        self.sql, self.duck, self.arrow = sql, duck or sql, arrow

    def __repr__(self):
        return self.name


def make_types():
    text = "Utf8|Utf8View|LargeUtf8|Dictionary.*"
    blob = "Binary|BinaryView|LargeBinary"
    stamp = "Timestamp.(Second|s|Millisecond|ms|Microsecond|us|µs|" \
        "Nanosecond|ns).*"
    types = [Type(f"i{bits}", "int", sql, "number",
                  f"Int{bits}|Dictionary.*Int{bits}.")
             for bits, sql in ((8, "TINYINT"), (16, "SMALLINT"),
                               (32, "INTEGER"), (64, "BIGINT"))]
    types += [Type(f"u{bits}", "uint", f"{sql} UNSIGNED", "number",
                   f"UInt{bits}", f"U{sql}")
              for bits, sql in ((8, "TINYINT"), (16, "SMALLINT"),
                                (32, "INTEGER"), (64, "BIGINT"))]
    types += [Type(f"d{p}_{s}", "dec", f"DECIMAL({p},{s})", "number",
                   f"Decimal[0-9]+.{p}, *{s}.")
              for p, s in ((4, 1), (9, 2), (18, 4), (38, 10))]
    return {it.name: it for it in types + [
        Type("i64w", "wide", "BIGINT", "number", "Int64"),
        Type("u64w", "wide", "BIGINT UNSIGNED", "number", "UInt64",
             "UBIGINT"),
        Type("f32", "float", "REAL", "float32", "Float32"),
        Type("f64", "float", "DOUBLE", "float", "Float64"),
        Type("f64w", "wild", "DOUBLE", "float", "Float64"),
        Type("flag", "bool", "BOOLEAN", "bool", "Boolean"),
        Type("txt", "text", "VARCHAR", "text", text),
        Type("bin", "blob", "BYTEA", "blob", blob, "BLOB"),
        Type("uuid", "uuid", "BYTEA", "blob", "FixedSizeBinary.16.|" + blob,
             "UUID"),
        Type("dt", "date", "DATE", "date", "Date32|Date64"),
        Type("ts", "stamp", "TIMESTAMP", "stamp", stamp),
        Type("tsm", "stamp", "TIMESTAMP", "stamp", stamp, "TIMESTAMP_MS"),
        Type("tsn", "stamp", "TIMESTAMP", "stamp", stamp, "TIMESTAMP_NS"),
        Type("tz", "zone", "TIMESTAMPTZ", "stamp", stamp),
        Type("tm", "time", "TIME", "time", "Time(32|64).*"),
        Type("iv", "interval", "INTERVAL", "any", "Interval.*"),
        Type("li", "list", "BIGINT[]", "nested", ".*List.*Int.*"),
        Type("lt", "list", "VARCHAR[]", "nested", ".*List.*Utf8.*"),
        Type("st", "struct", "STRUCT(a BIGINT, b VARCHAR)", "nested",
             "Struct.*"),
    ]}


T = make_types()
INTS = ("i8", "i16", "i32", "i64")
UINTS = ("u8", "u16", "u32", "u64")
DECS = ("d4_1", "d9_2", "d18_4", "d38_10")
NUMBERS = INTS + UINTS + DECS + ("f32", "f64")
STAMPS = ("ts", "tsm", "tsn")
PLAIN = NUMBERS + STAMPS + ("flag", "txt", "bin", "dt", "tz", "tm", "i64w",
                            "u64w", "f64w")
NESTED = ("li", "lt", "st")


class Value:
    """What is known of an expression's values.

    bound   no value is larger in magnitude; INF: not known
    places  binary places that a float may have; 0 of others
    rough   its last bits depend on the order of rows: only ever printed
    """

    __slots__ = ("type", "bound", "places", "rough")

    def __init__(self, name, bound=INF, places=0, rough=False):
        self.type = T[name]
        self.bound, self.places, self.rough = bound, places, rough

    @property
    def name(self):
        return self.type.name

    def is_exact(self, bits):
        """A float with so many bits holds all of its values."""
        return self.bound * 2 ** min(self.places, 200) < 2 ** bits


LIMITS = {"i8": 127, "i16": 2 ** 15 - 1, "i32": 2 ** 31 - 1,
          "i64": 2 ** 63 - 1, "u8": 255, "u16": 2 ** 16 - 1,
          "u32": 2 ** 32 - 1, "u64": 2 ** 63 - 1, "f32": 2 ** 20,
          "f64": 2 ** 50, "d4_1": 999, "d9_2": 10 ** 7 - 1,
          "d18_4": 10 ** 14 - 1, "d38_10": 10 ** 28 - 1}

WORDS = ("", "a", "A", "ab", "b", "ba", "abc", "o'x", "a b", "x%y", "a_b",
         "é", "日本", "zz", "10", "-3", "NaN", "null", " a", "a ")
CSV_WORDS = tuple(word for word in WORDS if word) + (
    "a,b", 'say "no"', "long " * 12 + "text")
DATES = ("1969-12-31", "1970-01-01", "1999-12-31", "2000-02-29", "2024-01-31",
         "2024-02-01", "2024-12-31")
TIMES = ("00:00:00", "12:30:15", "23:59:59", "06:00:00.25")
INTERVALS = ("1 day", "3 hours", "90 minutes", "1 month", "2 days 1 hour")
WIDE = {"i64w": (-2 ** 63, 2 ** 63 - 1, 0, -1, 2 ** 53 + 1),
        "u64w": (0, 1, 2 ** 63, 2 ** 64 - 1, 2 ** 32)}
WILD = ("nan", "inf", "-inf", "-0.0", "0.0", "1e308", "-1e308", "5e-324",
        "0.1", "1.5")


def draw(rng, name, words=WORDS):
    """A value for a table, as what literal() takes."""
    family = T[name].family
    if family in ("int", "uint"):
        low = 0 if family == "uint" else -8
        return rng.randint(low, 9) if rng.random() < 0.8 else \
            rng.randint(low, 100)
    if family == "wide":
        return rng.choice(WIDE[name])
    if family == "wild":
        return rng.choice(WILD)
    if family == "float":
        return rng.randint(-40, 40) / 4
    if family == "dec":
        scale = int(name.split("_")[1])
        return Decimal(rng.randint(-999, 999)).scaleb(-min(scale, 2))
    if family == "list":
        item = "i64" if name == "li" else "txt"
        return [None if rng.random() < 0.15 else draw(rng, item, words)
                for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    if family == "struct":
        return {"a": rng.choice((None, 1, 2, 3)),
                "b": rng.choice((None, "x", "y"))}
    return draw_other(rng, family, words)


def draw_other(rng, family, words):
    if family == "bool":
        return rng.random() < 0.5
    if family == "text":
        return rng.choice(words)
    if family == "blob":
        return bytes(rng.choice((0, 65, 66, 255))
                     for _ in range(rng.choice((0, 1, 1, 2))))
    if family == "uuid":
        return f"00000000-0000-4000-8000-00000000000{rng.randint(0, 9)}"
    if family == "date":
        return rng.choice(DATES)
    if family in ("stamp", "zone"):
        return rng.choice(DATES) + " " + rng.choice(TIMES)
    if family == "time":
        return rng.choice(TIMES)
    if family == "interval":
        return rng.choice(INTERVALS)
    raise AssertionError(family)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def literal(name, value):
    """Texts of a value that draw() gave, for DataFusion and for DuckDB."""
    family = T[name].family
    both = None
    if value is None:
        both = "NULL"
    elif family == "bool":
        both = "true" if value else "false"
    elif family in ("int", "uint", "wide", "dec"):
        both = str(value)
    elif family == "float":
        return float_literal(name, value)
    elif family == "wild":
        both = f"CAST('{value}' AS DOUBLE)"
    elif family == "text":
        both = quoted(value)
    elif family == "time":
        # DataFusion's own TIME is of nanoseconds, and compared to no other.
        return f"arrow_cast('{value}', 'Time64(Microsecond)')", \
            f"TIME '{value}'"
    elif family in ("date", "interval"):
        both = f"{T[name].sql} '{value}'"
    elif family in ("stamp", "zone"):
        zone = "+00" if family == "zone" else ""
        both = f"{T[name].sql} '{value}{zone}'"
    if both is not None:
        return both, both
    return odd_literal(name, value)


def float_literal(name, value):
    if name == "f32":
        return (f"CAST({value} AS REAL)",) * 2
    # DuckDB takes 1.5 for a decimal.
    return str(value), f"CAST({value} AS DOUBLE)"


def null(name):
    """NULL of a type, for DataFusion and for DuckDB."""
    if name == "tm":
        return ("arrow_cast(NULL, 'Time64(Microsecond)')",
                "CAST(NULL AS TIME)")
    if name == "bin":
        return "arrow_cast(NULL, 'BinaryView')", "CAST(NULL AS BLOB)"
    if name == "st":
        empty = odd_literal("st", {"a": None, "b": None})
        return tuple(f"CASE WHEN false THEN {it} END" for it in empty)
    return f"CAST(NULL AS {T[name].sql})", f"CAST(NULL AS {T[name].duck})"


def odd_literal(name, value):
    family = T[name].family
    if family == "blob":
        escaped = "".join(f"\\x{byte:02X}" for byte in value)
        # What files have; with X'00' alone coalesce() and others fail.
        return (f"arrow_cast(X'{value.hex()}', 'BinaryView')",
                f"'{escaped}'::BLOB")
    if family == "uuid":
        return f"X'{value.replace('-', '')}'", f"UUID '{value}'"
    if family == "list":
        item = "i64" if name == "li" else "txt"
        both = "[" + ", ".join(literal(item, it)[0] for it in value) + "]"
        return f"make_array({both[1:-1]})", f"CAST({both} AS {T[name].sql})"
    parts = literal("i64", value["a"])[0], literal("txt", value["b"])[0]
    a, b = (f"CAST({part} AS {sql})"
            for part, sql in zip(parts, ("BIGINT", "VARCHAR")))
    return (f"named_struct('a', {a}, 'b', {b})",
            f"struct_pack(a := {a}, b := {b})")
