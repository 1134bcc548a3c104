#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of TPC-H for `make bench-sql`.

    tpch_parquet.py SCALE DIR

writes a Parquet file per table to DIR, which must not exist. It needs the
packages duckdb and duckdb-extension-tpch, of one version.
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
    os.makedirs(part)
    for (table,) in connection.execute("show tables").fetchall():
        connection.execute(
            f"copy {table} to '{part}/{table}.parquet' (format parquet)")
    os.rename(part, folder)


main()
