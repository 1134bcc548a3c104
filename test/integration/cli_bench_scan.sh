#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir bench scan: a small table, its own contestants, and what it refuses.
# usage: cli_bench_scan.sh BUILD_DIR
set -eu
. "$(dirname "$0")/../support/cli.sh"

"$weir" bench --help | grep -q 'bench scan' ||
    fail "built without libweir-scan"
scan() { timeout 100 "$weir" bench scan --database table --rows 20000 "$@"; }

expect 2 '"rail" must be one of shm, tcp' \
    "$weir" bench scan --contestants shm,rail
for list in 0 17 1,x 1,2,3,4,5,6,7,8,9; do
    expect 2 'columns is a list' "$weir" bench scan --columns "$list"
done

status 1 "$weir" bench scan --duckdb ./none.so --database dir -t duckdb
grep -q 'none.so' err || fail "which library is not there"
[ ! -e dir ] || fail "left a database behind"

scan -t duckdb --repeat 1 --ones 1 >out 2>err || fail "weir bench scan"
[ "$(grep -c '^[0-9]* columns, [0-9.]* MB$' out)" -eq 5 ] || fail "its sets"

# The same rows over each transport as without a server, of the engine and of
# memory; the file is not made again.
before=$(stat -c %i-%Y table)
for source in memory duckdb; do
    scan -t duckdb,shm,tcp,auto --source $source --columns 3,16 --repeat 2 \
        --ones 2 --json >"$source" 2>err || fail "weir bench scan of $source"
    tr ',' '\n' <"$source" | grep '"bytes"' >"$source.bytes"
done
[ -s memory.bytes ] || fail "no bytes"
cmp memory.bytes duckdb.bytes || fail "bytes differ"
[ "$(stat -c %i-%Y table)" = "$before" ] || fail "the table was made again"

# Another table than asked for is an error, not a figure.
status 1 "$weir" bench scan --database table --rows 20001 -t duckdb
grep -q '20000 rows came; must be 20001' err || fail "another number of rows"
echo ok
