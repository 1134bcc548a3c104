# SPDX-License-Identifier: Apache-2.0
"""Are two answers the same? Rows are compared as multisets, and in order by
the columns that a statement orders by; values by their kind, exactly, but for
those that are `rough`. -0.0 and 0.0 are one value: which of them a sum, or a
group, shows depends on the order of rows."""
import json
import re
import struct
from collections import Counter, defaultdict
from decimal import Decimal

NULL = ("null",)
TOLERANCE = 1e-9


class Difference:
    """left and right are names of contestants; kind is what a reducer keeps
    while it makes a statement smaller."""

    def __init__(self, left, right, kind, text):
        self.left, self.right, self.kind, self.text = left, right, kind, text

    def is_failure(self):
        """The left one failed, where the right one has rows."""
        return self.kind.startswith(("('error', 'rows')",
                                     "lost ('lost', 'rows')"))

    def signature(self):
        return self.left, self.right, self.kind


def number(value):
    value = Decimal(value)
    return value.normalize() if value else Decimal(0)


def single(value):
    """The float32 that is next to a decimal text."""
    try:
        return struct.unpack("f", struct.pack("f", float(value)))[0] + 0.0
    except OverflowError:
        return float(value)


def stamp(value):
    value = value.replace(" ", "T")
    value = re.sub(r"(Z|[+-]00:?00|\+00)$", "", value)
    return re.sub(r"\.?0+$", "", value) if "." in value else value


def nested(value):
    if isinstance(value, dict):
        return tuple(sorted((key, nested(it)) for key, it in value.items()
                            if it is not None))
    if isinstance(value, list):
        return tuple(nested(it) for it in value)
    if isinstance(value, Decimal):
        return ("n", str(number(value)))
    return ("v", str(value))


KINDS = {"number": number, "float": lambda it: float(it) + 0.0,
         "float32": single, "text": str, "blob": str.lower, "bool": bool,
         "date": stamp, "stamp": stamp, "time": stamp, "nested": nested,
         "any": str}


def cell(row, name, value):
    """NULL is a key that is not there; NaN and infinities are null."""
    if name not in row:
        return NULL
    if row[name] is None:
        return ("not finite",)
    try:
        return ("is", KINDS[value.type.kind](row[name]))
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return ("odd", str(row[name]))


def parse(text):
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def table(answer, columns):
    rows = [parse(text) for text in answer.rows]
    return [tuple(cell(row, name, value) for name, value in columns.items())
            for row in rows]


def near(a, b):
    """Of too few values a rough one is NULL to some, and NaN to others."""
    if a[0] != "is" or b[0] != "is":
        return a[0] != "is" and b[0] != "is"
    a, b = a[1], b[1]
    return abs(a - b) <= TOLERANCE * max(1, abs(a), abs(b))


def same_rough(left, right, rough):
    """Rows that agree in all other columns, paired by size of the rough."""
    def parts(rows):
        groups = defaultdict(list)
        for row in rows:
            exact = tuple(it for i, it in enumerate(row) if i not in rough)
            groups[exact].append(tuple(row[i] for i in rough))
        return {key: sorted(group, key=str) if len(rough) > 1 else
                sorted(group, key=lambda it: (it[0][0], it[0][1:]))
                for key, group in groups.items()}
    left, right = parts(left), parts(right)
    return left.keys() == right.keys() and all(
        len(left[key]) == len(right[key]) and
        all(near(x, y) for a, b in zip(left[key], right[key])
            for x, y in zip(a, b)) for key in left)


def compare_rows(left, right, columns, order):
    """None, or what is different: rows and columns are as table() has them."""
    names = list(columns)
    rough = [i for i, name in enumerate(names) if columns[name].rough]
    if rough:
        if not same_rough(left, right, rough):
            return "rows", first_differences(left, right)
    elif Counter(left) != Counter(right):
        return "rows", first_differences(left, right)
    keys = [names.index(name) for name in order if name in names]
    for a, b in zip(left, right):
        if any(a[i] != b[i] for i in keys):
            return "order", f"{show(a)} stands where the other has {show(b)}"
    return None


def first_differences(left, right):
    only = Counter(left) - Counter(right)
    other = Counter(right) - Counter(left)
    return f"{len(left)} and {len(right)} rows; only the first has " \
        f"{some(only)}; only the second has {some(other)}"


def some(rows):
    return ", ".join(show(row) for row in list(rows.elements())[:3]) or "none"


def show(row):
    return "(" + ", ".join("NULL" if it == NULL else str(it[-1])
                           for it in row) + ")"


BEGINNINGS = re.compile(
    r"^(?:DataFusion error|Error during planning|Execution error|"
    r"(?:Internal|Schema|SQL|Arrow|Invalid argument|External) error|"
    r"This feature is not implemented|[A-Z]\w+ Error): ")


def gist(error):
    """An error without what depends on names and numbers."""
    error = error.split("This issue was likely")[0]
    error = re.split(r";? caused by;? ", error)[-1]
    while (left := BEGINNINGS.sub("", error, count=1)) != error:
        error = left
    error = re.sub(r"https?://\S+", "URL", error)
    error = re.sub(r"[0-9]+", "#", error)
    return re.sub(r"\s+", " ", error)[:60]


def has_panicked(answer):
    return answer.rows is None and "panicked" in str(answer)


def compare(left, right, a, b, columns, order):
    """Answers a and b of the contestants left and right: a Difference, or
    None."""
    kinds = a.kind(), b.kind()
    if has_panicked(a) and has_panicked(b):
        return None  # with workers that is an error, else the end
    if "lost" in kinds:
        return Difference(left, right, f"lost {kinds}", f"{a} | {b}")
    if kinds == ("error", "error"):
        return None
    if "error" in kinds:
        error = a.error if kinds[0] == "error" else b.error
        return Difference(left, right, f"{kinds} {gist(error)}", f"{a} | {b}")
    if a.rows == b.rows:
        return None
    found = compare_rows(table(a, columns), table(b, columns), columns, order)
    return found and Difference(left, right, *found)
