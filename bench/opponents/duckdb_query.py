#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DuckDB as an opponent of `weir bench query`.

    duckdb_query.py DATA_DIR THREADS SQL...

loads the CSV files of a folder into tables in memory, says "ready", and then
for every line "run I" on standard input runs that query, the first is 0,
fetches its rows, and answers with

    rows N
    N lines of CSV, names of columns first, values as text, floats with an
    exponent
    seconds S        of the query and the fetch alone
"""
import csv
import os
import sys
import time

import duckdb


def load(connection, folder):
    """One table in memory per file, typed as schema.sql says; without that
    file, as DuckDB infers from all rows."""
    schema = os.path.join(folder, "schema.sql")
    typed = os.path.exists(schema)
    if typed:
        with open(schema, encoding="utf-8") as statements:
            connection.execute(statements.read())
    for file in sorted(os.listdir(folder)):
        name, extension = os.path.splitext(file)
        if extension != ".csv":
            continue
        command = (f"copy {name} from ? (format csv, header true)" if typed else
                   f"create table {name} as select * from read_csv(?, "
                   "header = true, sample_size = -1)")
        connection.execute(command, [os.path.join(folder, file)])


def text(value):
    """A float has an exponent, so that it is known from a decimal."""
    return f"{value:.17e}" if isinstance(value, float) else value


def run(connection, query, out):
    """Run and time the query once, then print what it gave."""
    begin = time.perf_counter()
    result = connection.execute(query)
    rows = result.fetchall()
    seconds = time.perf_counter() - begin
    print(f"rows {len(rows) + 1}", file=out)
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([column[0] for column in result.description])
    lines.writerows(map(text, row) for row in rows)
    print(f"seconds {seconds:.9f}", file=out, flush=True)


def main():
    folder, threads, *queries = sys.argv[1:]
    connection = duckdb.connect(":memory:")
    connection.execute("set enable_progress_bar = false")  # standard output
    connection.execute(f"set threads to {int(threads)}")
    load(connection, folder)
    print(f"ready duckdb {duckdb.__version__}", flush=True)
    for line in sys.stdin:
        word, index = line.split()
        if word != "run":
            sys.exit(f"duckdb_query: unknown command {line!r}")
        run(connection, queries[int(index)], sys.stdout)


main()
