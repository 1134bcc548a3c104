#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables, queries and DuckDB's answers for the tests of answers.

    tpc.py tpch|tpcds SCALE DIR

makes DIR, which must not exist: a folder TABLE/ with Parquet files for each
table; for tpcds queries/qNN.sql, the 99 of DuckDB's extension; for tpch
answers/qNN.tsv, what DuckDB answers the queries of bench/plans/tpch. The first
line of an answer has its types, and \\N is NULL.

It needs the packages duckdb, duckdb-extension-tpch and duckdb-extension-tpcds,
of one version.
"""
import importlib
import os
import sys
from pathlib import Path

import duckdb

PLANS = Path(__file__).parents[3] / "bench/plans/tpch"
FILES = 4  # of a large table
LARGE = 10000  # rows


def load(connection, name):
    package = importlib.import_module(f"duckdb_extension_{name}")
    folder = Path(package.__file__).parent / "extensions"
    library = next(folder.glob(f"*/{name}.duckdb_extension"))
    connection.execute(f"load '{library}'")


def write_tables(connection, folder):
    for (table,) in connection.execute("show tables").fetchall():
        (folder / table).mkdir()
        rows = connection.execute(f"select count(*) from {table}").fetchone()[0]
        files = FILES if rows > LARGE else 1
        for i in range(files):
            connection.execute(
                f"copy (select * from {table} where rowid % {files} = {i})"
                f" to '{folder}/{table}/{i}.parquet' (format parquet)")


def write_queries(connection, folder):
    for number, sql in connection.execute("from tpcds_queries()").fetchall():
        (folder / f"q{number:02}.sql").write_text(sql.strip() + "\n")


def cell(value):
    return "\\N" if value is None else str(value)


def write_answers(connection, folder):
    for path in sorted(PLANS.glob("*.sql")):
        answer = connection.execute(path.read_text())
        lines = ["\t".join(str(column[1]) for column in answer.description)]
        lines += ["\t".join(map(cell, row)) for row in answer.fetchall()]
        (folder / f"{path.stem}.tsv").write_text("\n".join(lines) + "\n")


def main():
    name, scale, final = sys.argv[1:]
    part = Path(f"{final}.part-{os.getpid()}")
    part.mkdir(parents=True)
    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    connection.execute("set enable_progress_bar = false")
    load(connection, name)
    make, write, of = {
        "tpch": ("dbgen", write_answers, "answers"),
        "tpcds": ("dsdgen", write_queries, "queries"),
    }[name]
    connection.execute(f"call {make}(sf = {float(scale)})")
    write_tables(connection, part)
    (part / of).mkdir()
    write(connection, part / of)
    part.rename(final)


main()
