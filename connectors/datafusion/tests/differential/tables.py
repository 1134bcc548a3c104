# SPDX-License-Identifier: Apache-2.0
"""Random small tables, the files that hold them, and the script that makes the
same tables in DuckDB."""
from pathlib import Path

from values import (CSV_WORDS, DECS, INTS, PLAIN, STAMPS, T, UINTS, Value,
                    WORDS, draw, literal)

# Of a file, in the form that DuckDB or DataFusion write it, with the types
# that come back as they were.
FORMATS = {
    "parquet": PLAIN + ("uuid", "li", "lt", "st"),
    "arrow": PLAIN + ("li", "lt", "st"),
    "csv": ("i64", "f64", "txt", "flag", "dt"),
    "csv.gz": ("i64", "f64", "txt", "flag", "dt"),
    "json": ("i64", "f64", "txt", "flag", "li", "st"),
    "json.gz": ("i64", "f64", "txt", "flag"),
    "hive": INTS + UINTS + DECS + STAMPS + ("f64", "txt", "flag", "dt"),
}
# Other forms of the same values, which only Arrow has.
ARROW_FORMS = {
    "txt": ("LargeUtf8", "Utf8", "Dictionary(Int32, Utf8)",
            "Dictionary(UInt16, Utf8)"),
    "bin": ("LargeBinary", "Binary"),
    "ts": ("Timestamp(Millisecond, None)", "Timestamp(Nanosecond, None)"),
    "i64": ("Dictionary(Int16, Int64)",),
    "li": ("LargeList(Int64)",),
}


class Column:
    def __init__(self, name, value):
        self.name, self.value = name, value


class Table:
    """rows are tuples; files are lists of them.

    unique  no two rows have the same id
    marks   for statements that read it (see known.py)
    """

    def __init__(self, name, form, columns, files, unique, marks=()):
        self.name, self.form, self.columns = name, form, columns
        self.files, self.unique = files, unique
        self.marks = frozenset(marks)
        self.casts = {}

    @property
    def rows(self):
        return [row for file in self.files for row in file]

    def column(self, name):
        return next(it for it in self.columns if it.name == name)


def value_of(name):
    """What is known of a column's values, after draw()."""
    family = T[name].family
    if family in ("int", "uint"):
        return Value(name, 100)
    if family == "float":
        return Value(name, 10, 2)
    if family == "dec":
        return Value(name, 1000)
    return Value(name)


def make_columns(rng, form):
    """id, k, s for joins, and a few of any type."""
    names = ["id", "k", "s"]
    types = ["i64", "i64", "txt"]
    for _ in range(rng.randint(2, 7)):
        one = rng.choice(FORMATS[form])
        name = one if one not in names else f"{one}_{len(names)}"
        types.append(one)
        names.append(name)
    if form == "hive":
        names.append("part")
        types.append("txt")
    return [Column(name, value_of(one)) for name, one in zip(names, types)]


def make_row(rng, columns, id, words, nulls):
    row = []
    for column in columns:
        if column.name == "id":
            row.append(id)
        elif column.name == "part":
            row.append(rng.choice("xyz"))
        elif rng.random() < nulls:
            row.append(None)
        elif column.name == "k":
            row.append(rng.randint(0, 5))
        elif column.name == "s":
            row.append(rng.choice(("a", "b", "ab", "é")))
        else:
            row.append(draw(rng, column.value.name, words))
    return tuple(row)


def make_rows(rng, columns, words, n, unique):
    nulls = rng.choice((0, 0.1, 0.3))
    rows = [make_row(rng, columns, i, words, nulls) for i in range(n)]
    if not unique:
        rows = [rng.choice(rows[:max(n // 2, 1)]) for _ in rows]
    return rows


def split(rng, rows, form):
    """Over files; one of Parquet may be empty."""
    n = rng.choice((1, 2, 3, 5))
    least = 0 if form in ("parquet", "arrow") else 1
    n = max(1, min(n, len(rows) // max(least, 1)))
    cuts = sorted(rng.sample(range(1, len(rows)), n - 1)) if n > 1 else []
    files = [rows[a:b] for a, b in zip([0] + cuts, cuts + [len(rows)])]
    if form == "parquet" and rng.random() < 0.3:
        files.insert(rng.randint(0, len(files)), [])
    return files


def make_table(rng, name, form):
    columns = make_columns(rng, form)
    unique = rng.random() < 0.8
    n = rng.choice((1, 2, 8, 20, 40, 60))
    if form in ("parquet", "arrow") and rng.random() < 0.15:
        n = 0
    words = WORDS if form in ("parquet", "arrow") else CSV_WORDS
    marks = {f"file {form}"}
    if form.startswith("csv") and rng.random() < 0.3:
        words = CSV_WORDS + ("two\nlines", "\n")
        marks.add("line ends in csv")
    rows = make_rows(rng, columns, words, n, unique)
    files = split(rng, rows, form)
    if form not in ("parquet", "arrow", "hive"):
        files = with_types(rng, columns, words, files)
    table = Table(name, form, columns, files, unique, marks)
    if form == "arrow":
        for column in columns:
            forms = ARROW_FORMS.get(column.value.name)
            if forms and column.name not in ("id", "k") and rng.random() < 0.4:
                table.casts[column.name] = rng.choice(forms)
    return table


def with_types(rng, columns, words, files):
    """Types are inferred from text: the first row of a file shows them."""
    for file in files:
        if file:
            row = make_row(rng, columns, file[0][0], words, 0)
            file[0] = tuple(typical(it, old)
                            for it, old in zip(columns, row))
    return files


def typical(column, old):
    samples = {"txt": "word", "li": [1, 2], "st": {"a": 1, "b": "x"}}
    return old if column.name in ("id", "k", "s", "part") else \
        samples.get(column.value.name, old)


def make_tables(rng):
    forms = ["parquet"] * 3 + ["arrow", "csv", "json", "hive"]
    forms.append(rng.choice(("csv.gz", "json.gz", "parquet", "arrow")))
    rng.shuffle(forms)
    return [make_table(rng, f"t{i}", form) for i, form in enumerate(forms)]


def script(tables):
    """CREATE TABLE and INSERT, in DuckDB's dialect."""
    out = []
    for table in tables:
        columns = ", ".join(f"{it.name} {it.value.type.duck}"
                            for it in table.columns)
        out.append(f"CREATE TABLE {table.name} ({columns});")
        rows = [", ".join(literal(it.value.name, cell)[1]
                          for it, cell in zip(table.columns, row))
                for row in table.rows]
        if rows:
            values = ",\n  ".join(f"({row})" for row in rows)
            out.append(f"INSERT INTO {table.name} VALUES\n  {values};")
    return "\n".join(out) + "\n"


def copies(table, folder):
    """Statements by which DuckDB writes a table's files below a folder; an
    Arrow file is Parquet at first, in a folder beside it."""
    at = 0
    for i, file in enumerate(table.files):
        rows = f"SELECT * FROM {table.name} WHERE rowid >= {at} " \
            f"AND rowid < {at + len(file)}"
        at += len(file)
        yield f"COPY ({rows} ORDER BY rowid) TO {target(table, folder, i)}"


def target(table, folder, i):
    if table.form == "hive":
        # Folders part=x: each file once more has all of them.
        where = Path(folder) / "data" / table.name
        return f"'{where}' (FORMAT parquet, PARTITION_BY (part), " \
            f"OVERWRITE_OR_IGNORE, FILENAME_PATTERN 'f{i}_')"
    ending = "parquet" if table.form == "arrow" else table.form
    where = place(table, folder)
    form = "(FORMAT csv, HEADER)" if ending.startswith("csv") else \
        "(FORMAT json)" if ending.startswith("json") else "(FORMAT parquet)"
    if ending.endswith(".gz"):
        form = form[:-1] + ", COMPRESSION gzip)"
    return f"'{where}/{i}.{ending}' {form}"


def place(table, folder):
    beside = "raw" if table.form == "arrow" else "data"
    where = Path(folder) / beside / table.name
    where.mkdir(parents=True, exist_ok=True)
    return where


def arrow_copies(table, folder):
    """Statements by which DataFusion writes a table's Arrow files. Its raw
    files are tables raw_NAME_0 and so on."""
    items = ", ".join(
        f"arrow_cast({it.name}, '{table.casts[it.name]}') AS {it.name}"
        if it.name in table.casts else it.name for it in table.columns)
    where = Path(folder) / "data" / table.name
    where.mkdir(parents=True, exist_ok=True)
    for i in range(len(table.files)):
        raw = Path(folder) / "raw" / table.name / f"{i}.parquet"
        yield f"CREATE EXTERNAL TABLE raw_{table.name}_{i} " \
            f"STORED AS PARQUET LOCATION '{raw}'"
        yield f"COPY (SELECT {items} FROM raw_{table.name}_{i}) " \
            f"TO '{where}/{i}.arrow' STORED AS ARROW"
