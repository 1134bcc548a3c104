#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_DIR [TEST...]: the ADBC driver of a build, loaded by ADBC's
# driver manager for Python, on servers of DuckDB and SQLite. Without TEST, and
# where there is Go, also ADBC's own validation suite.
set -eu

build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)

venv=$("$root/tools/venv.sh" adbc)

export WEIR_BUILD_DIR="$build"
export WEIR_DUCKDB="$root/build/libduckdb/libduckdb.so"
export WEIR_ADBC_SQLITE="$root/build/arrow/libadbc_driver_sqlite.so"
# What hangs says where.
export PYTHONFAULTHANDLER=1 PYTHONDONTWRITEBYTECODE=1
cd "$here"
timeout --signal=ABRT 300 "$venv/bin/python" test_adbc.py "$@"
[ $# -eq 0 ] || exit 0

# ADBC's own validation suite, a module of Go; without what the engines' drivers
# do not pass by themselves, and two of ours (connectors/adbc/README.md).
command -v go >/dev/null ||
    { echo "no go: ADBC's validation suite is left out"; exit 0; }
cd validation
exec go test -count 1 -timeout 300s -run Weir -skip "\
/Connection/TestMetadataGetInfo|/Connection/TestMetadataGetObjectsColumns|\
/Statement/TestSqlIngestErrors|/Statement/TestSqlPartitionedInts|\
DuckDB/Connection/TestMetadataGetTableTypes|\
DuckDB/Statement/TestSQLPrepareGetParameterSchema|\
DuckDB/Statement/TestSQLPrepareSelectParams" .
