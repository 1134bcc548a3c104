#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of TPC-H for `weir bench query --plan tpch --data DIR`.

    tpch_files.py SCALE DIR

writes a CSV file per table to DIR, which must not exist, and schema.sql with
the types. It needs the packages duckdb and duckdb-extension-tpch, of one
version: the second has the generator that DuckDB's own benchmarks use.
"""
import os
import sys
from pathlib import Path

import duckdb
import duckdb_extension_tpch


def extension():
    """The library in the package."""
    folder = Path(duckdb_extension_tpch.__file__).parent / "extensions"
    return next(folder.glob("*/tpch.duckdb_extension"))


def main():
    scale, folder = sys.argv[1:]
    part = f"{folder}.part"
    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    connection.execute("set enable_progress_bar = false")
    connection.execute(f"load '{extension()}'")
    connection.execute(f"call dbgen(sf = {float(scale)})")
    connection.execute(f"export database '{part}' (format csv, header true)")
    os.remove(os.path.join(part, "load.sql"))  # names the folder
    os.rename(part, folder)


main()
