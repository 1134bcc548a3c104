#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_DIR [TEST...]: the ADBC driver of a build, loaded by ADBC's
# driver manager for Python, on servers of DuckDB and SQLite. It and pyarrow
# come from PyPI, by pip, at one version each and checked by their hashes, into
# the user's cache. Without TEST, and where there is Go, also ADBC's own
# validation suite.
set -eu

build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)

manager=1.13.0
arrow=26.0.1
venv=${XDG_CACHE_HOME:-$HOME/.cache}/weir/adbc-$manager-$arrow
if [ ! -f "$venv/done" ]; then
    echo "Fetching from PyPI: adbc-driver-manager $manager, pyarrow $arrow"
    rm -rf "$venv"
    python3 -m venv "$venv"
    cat >"$venv/list" <<LIST
adbc-driver-manager==$manager \\
--hash=sha256:2e5444a944e3c17c778601e35e83902e26d9571e77ca132b61f264c78346a06c
pyarrow==$arrow \\
--hash=sha256:39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c
LIST
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
        --only-binary :all: --require-hashes -r "$venv/list"
    touch "$venv/done"
fi

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
