#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DuckDB as an opponent of `weir bench query`.

    duckdb_query.py DATA_DIR SQL THREADS

loads the CSV files of `weir gen chbench` into tables in memory, says "ready",
and then for every line "run" on standard input runs the query, fetches its
rows, and answers with

    rows N
    N lines of CSV, names of columns first, values as text
    seconds S        of the query and the fetch alone
"""
import csv
import os
import sys
import time

import duckdb


def load(connection, folder):
    """One table in memory per file, typed as DuckDB infers it from all rows."""
    for file in sorted(os.listdir(folder)):
        name, extension = os.path.splitext(file)
        if extension == ".csv":
            connection.execute(
                f"create table {name} as select * from read_csv(?, "
                "header = true, sample_size = -1)",
                [os.path.join(folder, file)])


def run(connection, query, out):
    """Run and time the query once, then print what it gave."""
    begin = time.perf_counter()
    result = connection.execute(query)
    rows = result.fetchall()
    seconds = time.perf_counter() - begin
    print(f"rows {len(rows) + 1}", file=out)
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([column[0] for column in result.description])
    lines.writerows(rows)
    print(f"seconds {seconds:.9f}", file=out, flush=True)


def main():
    folder, query, threads = sys.argv[1:]
    connection = duckdb.connect(":memory:")
    connection.execute("set enable_progress_bar = false")  # standard output
    connection.execute(f"set threads to {int(threads)}")
    load(connection, folder)
    print(f"ready duckdb {duckdb.__version__}", flush=True)
    for line in sys.stdin:
        if line.strip() != "run":
            sys.exit(f"duckdb_query: unknown command {line!r}")
        run(connection, query, sys.stdout)


main()
